// SPDX-License-Identifier: GPL-2.0-or-later
// A workload (tests/workloads/workload.h) that grows in V8's heap: 96 MiB of small objects.
'use strict';
const v8 = require('v8');
const kept = [];

function grow() {
	// 128 numbers of 8 bytes each.
	for (let i = 0; i < 96 * 1024; i++)
		kept.push(new Array(128).fill(i + 0.5));
}

const commands = {
	grow() { grow(); return 'done'; },
	truth() {
		const heap = v8.getHeapStatistics();
		return JSON.stringify({ held: heap.used_heap_size, mapped: heap.total_heap_size });
	},
};

require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
	if (line === 'quit')
		process.exit(0);
	console.log(commands[line]());
});
console.log('ready ' + process.pid);
