#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""traced.py FRAMES: keeps objects under tracemalloc, and counts them by call stack itself.

Prints `ready`; then, for each line on stdin, one line of JSON: [[[[file, line], ...], objects, bytes],
...], innermost line first, of all blocks of its own lines but those of the last loop."""
import json
import sys
import tracemalloc


def keep_large():
    KEPT.append(bytearray(100000))


def keep_small(count):
    for i in range(count):
        KEPT.append(('x', i, [i]))


def deep(calls):
    if calls:
        deep(calls - 1)
    else:
        KEPT.extend(str(i) * 3 for i in range(5000))


KEPT = []
tracemalloc.start(int(sys.argv[1]))
keep_large()
keep_small(3000)
deep(3)
deep(40)
print('ready', flush=True)
for line in sys.stdin:
    sites = {}
    for _, size, frames, *_ in tracemalloc.take_snapshot().traces._traces:
        if frames[0][0] != __file__ or any(name == __file__ and number >= 35 for name, number in frames):
            continue
        site = sites.setdefault(tuple(map(tuple, frames)), [0, 0])
        site[0] += 1
        site[1] += size
    print(json.dumps([[list(key), *value] for key, value in sites.items()]), flush=True)
