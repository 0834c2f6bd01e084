// SPDX-License-Identifier: GPL-2.0-or-later
// Report: Brooooooklyn/canvas#716, #735. encode() leaks the encoded or copied pixels, in native memory. `still`: the
// canvas is drawn, and not encoded.
//
// kind: native memory of a Node module
// npm: @napi-rs/canvas@0.1.44
// leak canvas-encode: encode
//   part: native-blocks|live|other
//   code: drawChart
//   near: skia|canvas|napi|encode|Sk
// healthy canvas-drawn: still
//   warm: 20
'use strict';
const { createCanvas } = require('@napi-rs/canvas');
const kept = createCanvas(300, 320);

async function drawChart(encode) {
  const canvas = encode ? createCanvas(300, 320) : kept;
  const context = canvas.getContext('2d');
  context.fillStyle = '#03a9f4';
  context.fillRect(10, 10, 200, 200);
  return encode ? (await canvas.encode('png')).length : 0;
}
setInterval(drawChart, 100, process.argv[2] !== 'still');
