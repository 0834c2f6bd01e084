// SPDX-License-Identifier: GPL-2.0-or-later
// Report: nodejs/node#61882. With AsyncContextFrame (24 and later) idle HTTP parsers keep the async context of their
// last request, and bursts that become wider need more of them, to a limit. All connections are closed: no
// descriptor leaks. `level`: bursts of one width.
//
// kind: JavaScript objects
// node: 24
// healthy http-parsers: wider
//   may: managed-objects
// healthy http-parsers-level: level
//   warm: 20
'use strict';
const { AsyncLocalStorage } = require('async_hooks');
const http = require('http');
const store = new AsyncLocalStorage();

class RequestScope {
  constructor(n) {
    this.n = n;
    this.body = Buffer.alloc(4096, n & 255);
    this.rows = Array.from({ length: 50 }, (_, i) => ({ i, n }));
  }
}
const back = http.createServer((req, res) => setTimeout(() => res.end(), 30));
let n = 0;
back.listen(0, '127.0.0.1', () => {
  const { port } = back.address();
  let width = 1;
  setInterval(() => {
    width = process.argv[2] === 'level' ? 100 : Math.min(width + 1, 900);
    for (let i = 0; i < width; i += 4) {
      store.run(new RequestScope(++n), () => {
        http.get({ port, host: '127.0.0.1', agent: false, headers: { connection: 'close' } }, (r) => r.resume());
      });
    }
  }, 400);
});
