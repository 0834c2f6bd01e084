// SPDX-License-Identifier: GPL-2.0-or-later
// Report: nodejs/node#51162, vercel/next.js#43493. fetch() whose body nobody reads: its connection is closed after a
// collection, so descriptors and memory come and go. `read`: it is read. Neither leaks.
//
// kind: garbage that is not collected
// healthy fetch-unread: unread
//   warm: 60
// healthy fetch-read: read
//   warm: 45
'use strict';
const http = require('http');
const { fork } = require('child_process');
if (process.argv[2] === 'backend') {
  http.createServer((req, res) => res.end(Buffer.alloc(300000, 1)))
    .listen(0, '127.0.0.1', function () { process.send(this.address().port); });
  process.on('disconnect', () => process.exit(0));
} else {
  fork(__filename, ['backend']).on('message', (port) => {
    const isUp = async () => {
      const r = await fetch('http://127.0.0.1:' + port + '/health');
      if (process.argv[2] === 'read') await r.arrayBuffer();
      return r.status === 200;
    };
    setInterval(isUp, 150);
  });
}
