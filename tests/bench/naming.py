# SPDX-License-Identifier: GPL-2.0-or-later
"""Leaks from 1,000 different C call stacks of at least 30 frames, for bench/naming.c.

The digits of a number choose by which of four C functions each level of the recursion calls the
next; the interpreter itself does the rest. Run it with PYTHONMALLOC=malloc.
"""
import os
import sys

held = []


def by_map(call, number, level):
    return list(map(lambda _: call(number, level), (1,)))


def by_sort(call, number, level):
    return sorted((1,), key=lambda _: call(number, level))


def by_max(call, number, level):
    return max((1,), key=lambda _: call(number, level))


def by_filter(call, number, level):
    return list(filter(lambda _: call(number, level), (1,)))


ways = (by_map, by_sort, by_max, by_filter)


def step(number, level):
    if level == 5:
        held.append(bytes(1000 + number % 64))
    else:
        ways[number >> 2 * level & 3](step, number, level + 1)
    return 0


print("ready", os.getpid(), flush=True)
for line in sys.stdin:
    if line == "quit\n":
        break
    for number in range(1000):
        step(number, 0)
    print("done", flush=True)
