// SPDX-License-Identifier: GPL-2.0-or-later
// A JavaScript program that knows its own truth. Each line of its input is a command, which it
// answers with "done" or with JSON. Run with --expose-gc.
'use strict';

const crypto = require('crypto');
const EventEmitter = require('events');
const fs = require('fs');
const os = require('os');
const path = require('path');
const readline = require('readline');
const v8 = require('v8');

class PlantedSession {
	constructor(id) {
		this.id = id;
		this.payload = `payload ${id}`;
	}
}
class PlantedSpecial extends PlantedSession {
	constructor(id) {
		super(id);
		this.extra = {id};
	}
}
function PlantedOldStyle(n) {
	this.n = n;
}
class PlantedLink {
	constructor(next) {
		this.next = next;
	}
}
class PlantedInModule {}
class PlantedCaptured {}
class PlantedWide {}
class PlantedOfWide {}
class PlantedBySymbol {}
class PlantedWeak {}
class PlantedOfWeakMap {}

const truth = {PlantedSession: 300, PlantedSpecial: 123, PlantedOldStyle: 77, PlantedLink: 22000,
	PlantedInModule: 456, PlantedCaptured: 50, PlantedWide: 20, PlantedOfWide: 20,
	PlantedOfWeakMap: 10, PlantedExported: 70, PlantedRequired: 80, PlantedBySymbol: 60};
const LISTENERS = 60;

function times(count, make) {
	return Array.from({length: count}, (_, i) => make(i));
}

// More properties than the object itself has room for.
function widen() {
	const wide = new PlantedWide();
	wide.a = wide.b = wide.c = wide.d = wide.e = wide.f = wide.g = wide.h = wide.i = wide.j = 1;
	wide.last = new PlantedOfWide();
	return wide;
}

function capture(held) {
	return () => held;
}

// Calls of it never return: what they wait for does not come.
async function waitForever(held) {
	await new Promise(resolve => waiting.push(resolve));
	return held;
}

// Where in this file something stands, as leakmon writes it.
function place(text) {
	const lines = fs.readFileSync(__filename, 'utf8').split('\n');
	return `${path.basename(__filename)}:${lines.findIndex(line => line.includes(text)) + 1}`;
}

const waiting = [];
const emitter = new EventEmitter();
emitter.setMaxListeners(0);
for (let i = 0; i < LISTENERS; i++) {
	emitter.on('data', function onData() {
		return i;
	});
}
const pending = [];
for (let i = 0; i < 40; i++) {
	pending.push(waitForever(i));
	pending.push(new Promise(resolve => waiting.push(resolve)));
	pending.at(-1).then(function onceDone() {
		return i;
	});
	setTimeout(function onTimer() {
		return i;
	}, 1 << 30);
}
truth[`Function ${place('return () => ' + 'held')}`] = 50;
truth[`Function onData ${place('function ' + 'onData()')}`] = LISTENERS;
truth[`Timeout of onTimer ${place('function ' + 'onTimer()')}`] = 40;
truth[`Promise with then onceDone ${place('function ' + 'onceDone()')}`] = 40;
for (const what of ['of', 'awaited in'])
	truth[`Promise ${what} async function waitForever ${place('function ' + 'waitForever(')}`] = 40;
truth[`async function waitForever ${place('function ' + 'waitForever(')}`] = 40;

global.appGlobal = {
	cache: new Map(times(300, i => [`secret key ${i}`, [new PlantedSession(i)]])),
	special: new Set(times(123, i => new PlantedSpecial(i))),
	old: times(77, i => new PlantedOldStyle(i)),
	closures: times(50, () => capture(new PlantedCaptured())),
	wide: times(20, widen),
	buffers: times(5, () => Buffer.alloc(1 << 20)),
	weak: new WeakRef(new PlantedWeak()),
	[Symbol('kPlanted')]: times(60, () => new PlantedBySymbol()),
	[Symbol('a private note')]: null,
};
require('./v8_required.js');
let chain = null;
for (let i = 0; i < 22000; i++)
	chain = new PlantedLink(chain);
const inModule = times(456, () => new PlantedInModule());
const keys = times(10, () => ({}));
const weakMap = new WeakMap(keys.map(key => [key, new PlantedOfWeakMap()]));

// V8's own snapshot of the heap. All modules of Node that this needs are loaded when it returns.
function snapshotOnce() {
	const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'leakmon-v8-')), 'snapshot');
	v8.writeHeapSnapshot(file);
	const heap = JSON.parse(fs.readFileSync(file, 'utf8'));
	fs.rmSync(path.dirname(file), {recursive: true});
	return heap;
}

// How many objects of each constructor a snapshot has.
function snapshot() {
	snapshotOnce();
	const heap = snapshotOnce();
	const meta = heap.snapshot.meta;
	const type = meta.node_fields.indexOf('type'), name = meta.node_fields.indexOf('name');
	const types = meta.node_types[type];
	const counts = {};
	for (let i = 0; i < heap.nodes.length; i += meta.node_fields.length) {
		if (types[heap.nodes[i + type]] !== 'object')
			continue;
		const key = heap.strings[heap.nodes[i + name]];
		counts[key] = (counts[key] || 0) + 1;
	}
	return counts;
}

let busy = null;
const commands = {
	truth() {
		gc();
		return JSON.stringify(truth);
	},
	// Of the main thread; what is asked first makes objects of its own. The second collection waits
	// until what the first one found is freed.
	external() {
		gc();
		gc();
		process.memoryUsage();
		return JSON.stringify(process.memoryUsage());
	},
	// What a collection of the whole heap leaves in the old generation.
	collected() {
		gc();
		const spaces = v8.getHeapSpaceStatistics().filter(
			space => !/^new|^read_only/.test(space.space_name));
		return JSON.stringify({bytes: spaces.reduce((sum, space) => sum + space.space_used_size, 0)});
	},
	snapshot() {
		return JSON.stringify(snapshot());
	},
	// Objects that native code has weak handles of, and nothing else.
	wrapped() {
		return JSON.stringify({Hash: times(200, () => crypto.createHash('md5')).length});
	},
	collect() {
		gc();
		return 'done';
	},
	// Allocates without a pause, so that the young generation is collected all the time.
	busy() {
		busy = setInterval(() => {
			for (let i = 0, some = []; i < 20000; i++)
				some[i % 3000] = {i, text: `some ${i}`};
		}, 0);
		return 'done';
	},
	idle() {
		clearInterval(busy);
		gc();
		return 'done';
	},
};

readline.createInterface({input: process.stdin}).on('line', line => {
	console.log(commands[line]());
	// What the program still uses.
	if (!chain || !inModule.length || !weakMap || !keys.length || !waiting.length || !emitter ||
		!pending.length)
		console.log('nothing');
});
import('./v8_exported.mjs').then(() => console.log('ready'));
