#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""python_census.py LEAKMON RUNS OBJECTS...: the census of a Python program, beside its own.

For each number, a program (PYTHON, else Debian's) makes so many objects: instances with attributes, lists,
tuples and ints. Measured are `leakmon retain --census` from outside (wall and CPU time, how long the process
stood, its memory for each object, more than for a program with few, without its copy of the process's memory), and
collections.Counter(type(one) for one in gc.get_objects()) in the process, which stands meanwhile; medians
of RUNS. As root."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = r'''
import collections, gc, sys, time
class Item:
    def __init__(self, number):
        self.number = number
        self.list = [number, (number,)]
kept = [Item(1000 + i) for i in range(int(sys.argv[1]) // 4)]
print("ready", flush=True)
for line in sys.stdin:
    began = time.monotonic()
    count = sum(collections.Counter(type(one) for one in gc.get_objects()).values())
    print(time.monotonic() - began, count, flush=True)
'''
SMALL = 1000 # objects, for what leakmon takes in any case


def census(leakmon, pid):
    """Of one look: seconds of wall, CPU and stop; bytes an object; objects."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([leakmon, 'retain', '--census', '-p', str(pid), '--format', 'json'],
                                 stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        if status:
            raise SystemExit('leakmon failed')
        out.seek(0)
        report = json.loads(out.read())
    objects = next(one['objects'] for one in report['runtimes'] if one['runtime'] == 'cpython')
    image = report['picture']
    return {'wall': wall, 'cpu': usage.ru_utime + usage.ru_stime, 'stop': image['pause_ns'] / 1e9,
            'peak': usage.ru_maxrss * 1024, 'copy': image['read_bytes'], 'objects': objects}


def measure(leakmon, runs, count):
    """Medians of looks, and of the seconds that the program itself takes."""
    python = os.environ.get('PYTHON', '/usr/bin/python3')
    child = subprocess.Popen([python, '-c', PROGRAM, str(count)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        child.stdout.readline()
        looks = [census(leakmon, child.pid) for _ in range(runs)]
        for look in looks:
            child.stdin.write('\n')
            child.stdin.flush()
            look['own'] = float(child.stdout.readline().split()[0])
    finally:
        child.kill()
        child.wait()
    return {key: statistics.median(one[key] for one in looks) for key in looks[0]}


def main():
    leakmon, runs = sys.argv[1], int(sys.argv[2])
    small = measure(leakmon, runs, SMALL)
    for count in sys.argv[3:]:
        row = measure(leakmon, runs, int(count))
        copy = row['copy'] - small['copy']
        more = row['peak'] - small['peak']
        print(f'{row["objects"]:.0f} objects: census {row["wall"]:.2f} s, CPU {row["cpu"]:.2f} s, '
              f'stop {1000 * row["stop"]:.0f} ms; memory {row["peak"] / 1e6:.0f} MB at most, '
              f'{more / row["objects"]:.0f} bytes an object, {(more - copy) / row["objects"]:.0f} of them '
              f'beside the copy of {row["copy"] / 1e6:.0f} MB; gc.get_objects() by class {row["own"]:.2f} s',
              flush=True)


if __name__ == '__main__':
    sys.exit(main())
