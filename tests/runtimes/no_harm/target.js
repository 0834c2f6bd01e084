// SPDX-License-Identifier: GPL-2.0-or-later
/* A program under load that checks itself; what it reads and writes: see ../no_harm.py. */
'use strict';
const {Worker, isMainThread, parentPort, workerData} = require('worker_threads');
const net = require('net');
const {PerformanceObserver, performance} = require('perf_hooks');
const {writeSync} = require('fs');

function byteAt(position) {
    return (position * 31 + Math.floor(position / 4093)) & 255;
}

/* The other side of the futex: turns go back and forth, word 0 says whose it is; word 1 counts. */
function hand(words, own, failed) {
    for (let turn = own; turn < 1 << 30; turn += 2) {
        for (let now; (now = Atomics.load(words, 0)) !== turn;) {
            if (Atomics.wait(words, 0, now, 60000) === 'timed-out') failed('a turn that never comes');
        }
        Atomics.add(words, 1, 1);
        Atomics.store(words, 0, turn + 1);
        Atomics.notify(words, 0);
        const began = performance.now(), empty = new Int32Array(new SharedArrayBuffer(4));
        if (Atomics.wait(empty, 0, 0, 3) !== 'timed-out') failed('woken in vain');
        if (performance.now() - began < 2.9) failed('waited too short');
    }
}

if (!isMainThread) {
    hand(workerData.words, workerData.own, name => parentPort.postMessage(name));
}

const counts = {beats: 0, rounds: 0, checks: 0, received: 0, signals: 0, ticks: 0, collections: 0, handed: 0};
const wrong = {}, latencies = {alone: {}, looked: {}};
const kept = new Map();
const words = new Int32Array(new SharedArrayBuffer(8));
const finalised = new FinalizationRegistry(() => {
    counts.finalised++;
});
let phase = 'alone', before = process.hrtime.bigint();

function failed(name) {
    wrong[name] = (wrong[name] ?? 0) + 1;
}

function expect(name, right) {
    if (!right) failed(name);
}

function checkKept() {
    let right = 0;
    for (let i = 0; i < 1000; i++) {
        const value = kept.get(`key ${i}`);
        right += value !== undefined && value.number === i && value.list[0] === i * 0.5 && value.list[1] === value;
    }
    expect('planted objects', right === 1000);
    counts.checks++;
}

/* New code each round, so that the compilers have work. */
function allocate() {
    let head = null, sum = 0;
    for (let i = 0; i < 2000; i++) head = {number: i, following: head, text: `${i}`};
    for (let node = head; node; node = node.following) sum += node.number + (node.text.length === 0);
    expect('new objects', sum === 1999000);
    const made = new Function('n', `let sum = ${counts.rounds}; for (let i = 0; i < n; i++) sum += i % 7; return sum`);
    for (let i = 0; i < 200; i++) expect('new code', made(100) === 295 + counts.rounds);
    finalised.register(head, null);
    counts.rounds++;
    if (counts.rounds % 10 === 0) checkKept();
    if (counts.rounds % 50 === 0) global.gc();
    setTimeout(allocate, 3);
}

function exchange() {
    let written = 0, got = 0;
    const server = net.createServer(socket => {
        socket.on('data', data => {
            let right = 0;
            for (const byte of data) right += byte === byteAt(got++);
            expect('received bytes', right === data.length);
            counts.received++;
        });
        socket.on('error', error => failed(`read: ${error.code}`));
        socket.on('end', () => failed('end of the stream'));
    }).listen(0, '127.0.0.1', () => {
        const socket = net.connect(server.address().port, '127.0.0.1');
        socket.on('error', error => failed(`write: ${error.code}`));
        const write = () => {
            const data = Buffer.alloc(written % 4000 + 1);
            for (let i = 0; i < data.length; i++) data[i] = byteAt(written++);
            socket.write(data, () => setTimeout(write, 1));
        };
        write();
    });
}

function beat() {
    const now = process.hrtime.bigint(), step = Number(now - before) / 10000 | 0;
    latencies[phase][step] = (latencies[phase][step] ?? 0) + 1;
    before = now;
    counts.beats++;
    setTimeout(beat, 1);
}

function main() {
    let unread = '';
    for (let i = 0; i < 1000; i++) {
        const value = {number: i, list: [i * 0.5]};
        value.list.push(value);
        kept.set(`key ${i}`, value);
    }
    counts.finalised = 0;
    new PerformanceObserver(list => {
        counts.collections += list.getEntries().length;
    }).observe({entryTypes: ['gc']});
    for (const own of [0, 1]) {
        new Worker(__filename, {workerData: {words, own}}).on('message', failed)
            .on('error', error => failed(`worker: ${error.message}`)).on('exit', () => failed('a worker ended'));
    }
    process.on('uncaughtException', error => failed(`uncaught: ${error.message}`));
    process.on('SIGUSR2', () => {
        counts.signals++;
        writeSync(1, 's\n');
    });
    process.stdin.on('end', () => process.exit()).on('data', data => {
        const lines = (unread + data).split('\n');
        unread = lines.pop();
        for (const line of lines) {
            counts.handed = Atomics.load(words, 1);
            if (line === 'truth') {
                writeSync(1, JSON.stringify({counts, wrong, ...latencies}) + '\n');
            } else {
                phase = line;
                before = process.hrtime.bigint();
            }
        }
    });
    setInterval(() => {
        counts.ticks++;
    }, 5);
    exchange();
    allocate();
    beat();
    writeSync(1, 'ready\n');
}

if (isMainThread) main();
