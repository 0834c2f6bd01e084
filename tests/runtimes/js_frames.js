// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Has native memory allocated through chains of functions, and says by which: "allocate", "deflate",
 * "method", "each" or "start", and how often; it answers with the stack as V8 knows it, from the
 * function that does it outwards: {"frames":[["allocate","/…/js_frames.js",42],…]}.
 */
'use strict';
const zlib = require('zlib');
const { Worker } = require('worker_threads');

const kept = [];
let stack = null;

/* The stack of the caller, once: what is on the same line as the call has it, too. 0. */
function here() {
	if (stack === null) {
		const prepare = Error.prepareStackTrace;

		Error.stackTraceLimit = 100;
		Error.prepareStackTrace = (error, sites) => sites;
		stack = new Error().stack.slice(1);
		Error.prepareStackTrace = prepare;
	}
	return 0;
}

function allocate() {
	kept.push(new ArrayBuffer(1000 + here()));
}

function deflate() {
	kept.push(zlib.createDeflateRaw({ level: 6 + here() }));
}

class Keeper {
	#held = [];

	keep(size) {
		this.#held.push(new ArrayBuffer(size + here()));
	}

	static from(size) {
		const keeper = new Keeper();

		kept.push(keeper); keeper.keep(size);
	}
}

function method() {
	Keeper.from(1000);
}

/* A builtin is between. */
function each() {
	[1000].forEach((size) => {
		kept.push(new ArrayBuffer(size + here()));
	});
}

function start() {
	kept.push(new Worker('setInterval(() => {}, 1000)', { eval: here() === 0 }));
}

const steps = { allocate, deflate, method, each, start };

/* Loops of their own, in functions that are compiled apart. */
function repeat(step, count) {
	for (let i = 0; i < count; i++)
		once(step);
}

function once(step) {
	if (step)
		step();
}

function act(words) {
	repeat(steps[words[0]], Number(words[1]));
}

function frames() {
	return stack.filter((site) => site.getFileName() === __filename)
		.map((site) => [site.getFunctionName() || '(anonymous)', site.getFileName(),
				site.getLineNumber()]);
}

function answer(line) {
	stack = null;
	act(line.split(' ')); process.stdout.write(JSON.stringify({ frames: frames() }) + '\n');
}

let input = '';

process.stdin.on('data', function receive(data) {
	input += data;
	for (let end = input.indexOf('\n'); end >= 0; end = input.indexOf('\n')) {
		const line = input.slice(0, end);

		input = input.slice(end + 1);
		if (line === 'quit')
			process.exit(0);
		answer(line);
	}
});
process.stdout.write('ready\n');
