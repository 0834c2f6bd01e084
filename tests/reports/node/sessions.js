// SPDX-License-Identifier: GPL-2.0-or-later
// Objects of Node. `map`: a Map by request. `listeners`: an emitter that each request listens to. `timers`: callbacks
// of timers that run for ever. `buffers`: Buffers outside the heap, in a list. `lru`: a Map of the latest 1,000.
// `churn`: garbage alone. `once`: listeners that leave. `ring`: Buffers in a ring of 100.
//
// kind: JavaScript objects
// leak node-map: map
//   part: managed-objects
//   code: Session
//   holder: sessions
// leak node-listeners: listeners
//   part: managed-objects
//   code: Session
//   holder: listener|bus|_events|data
// leak node-timers: timers
//   part: managed-objects
//   code: Session|Timeout
//   holder: [Tt]imer|onTick|Timeout|PriorityQueue|lists
// leak node-buffers: buffers
//   kind: off-heap memory of managed objects
//   part: native-blocks|managed-objects|live
//   code: Buffer|Uint8Array|keepBuffer
//   holder: buffers
// healthy node-lru: lru
//   warm: 20
// healthy node-churn: churn
// healthy node-once: once
// healthy node-buffer-ring: ring
'use strict';
const { EventEmitter } = require('events');

class Session {
  constructor(n) {
    this.user = `user ${n}`;
    this.basket = Array.from({ length: 20 }, (_, i) => ({ item: `${n}/${i}`, count: i }));
  }
}
const sessions = new Map(), buffers = [], bus = new EventEmitter();
bus.setMaxListeners(0);

function keepBuffer(n, most) {
  buffers[n % most] = Buffer.alloc(32768, n & 255);
}
const modes = {
  map(n) { sessions.set(n, new Session(n)); },
  listeners(n) { const session = new Session(n); bus.on('data', () => session.user.length); },
  timers(n) { const session = new Session(n); setInterval(function onTick() { session.user += ''; }, 3600000); },
  buffers(n) { keepBuffer(n, Infinity); },
  lru(n) { sessions.set(n, new Session(n)); sessions.delete(n - 1000); },
  churn(n) { new Session(n); },
  once(n) { const session = new Session(n); bus.once('data', () => session.user.length); bus.emit('data'); },
  ring(n) { keepBuffer(n, 100); },
};
let number = 0;
const step = modes[process.argv[2] || 'churn'];
setInterval(() => { for (let i = 0; i < (step === modes.buffers ? 2 : 10); i++) step(++number); }, 50);
