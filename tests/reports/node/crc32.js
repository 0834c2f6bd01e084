// SPDX-License-Identifier: GPL-2.0-or-later
// Report: napi-rs/node-rs#655. crc32c() of @node-rs/crc32 grows outside the heap: 180 MiB a minute.
//
// kind: native memory of a Node module
// npm: @node-rs/crc32@1.5.1
// leak crc32:
//   part: native-blocks|live
//   code: checksum|v8impl::Reference
//   near: napi|crc32|Reference
'use strict';
const { crc32c } = require('@node-rs/crc32');
const bytes = Buffer.alloc(1000, 7);

function checksum() {
  for (let i = 0; i < 2000; i++) crc32c(bytes);
}
setInterval(checksum, 50);
