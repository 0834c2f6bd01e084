// SPDX-License-Identifier: GPL-2.0-or-later
// Report: remix-run/react-router#15247, nodejs/node#17469. Each chunk of a long response is raced against one promise
// that never settles, which keeps them all. `fixed`: the chunks are written without the library.
//
// kind: JavaScript objects
// node: 24
// npm: @react-router/node@8.3.1 react-router@8.3.1 react@19 react-dom@19
// leak promise-race: leak
//   part: managed-objects
//   code: Promise|ArrayBuffer|Uint8Array
//   holder: writableErrorPromise
// healthy promise-none: fixed
import { createRequire } from 'module';
import { Readable, Writable } from 'stream';
const { writeReadableStreamToWritable } = createRequire(import.meta.url)('@react-router/node');
let n = 0;
const events = new ReadableStream({
  async pull(c) {
    await new Promise((r) => setTimeout(r, 10));
    c.enqueue(new TextEncoder().encode(`data: {"n":${++n},"pad":"${'x'.repeat(400)}"}\n\n`));
  },
});
const client = new Writable({ write(chunk, encoding, done) { setImmediate(done); } });
if (process.argv[2] === 'fixed') Readable.fromWeb(events).pipe(client);
else writeReadableStreamToWritable(events, client);
