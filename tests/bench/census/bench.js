// SPDX-License-Identifier: GPL-2.0-or-later
class Item { constructor(n) { this.number = n; this.list = [n, this]; } }
const kept = [], count = Number(process.argv[2]) / 2;
for (let i = 0; i < count; i++) kept.push(new Item(i));
let longest = 0, before = process.hrtime.bigint();
setInterval(() => {
    const now = process.hrtime.bigint();
    longest = Math.max(longest, Number(now - before));
    before = now;
}, 1);
require('readline').createInterface({input: process.stdin}).on('line', line => {
    if (line) {
        require('v8').writeHeapSnapshot(line);
        require('fs').unlinkSync(line);
        return setTimeout(() => console.log('done'), 5);
    }
    console.log(longest / 1e9);
    longest = 0;
    return kept;
});
console.log('ready');
