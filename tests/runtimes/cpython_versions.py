#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cpython_versions.py LEAKMON RUNS PYTHON...: classes of busy Python programs, against their own count.

Runs cpython_census.py under each PYTHON, with a thread that makes and drops objects all the time, and
counts its objects RUNS times with `leakmon retain --census`. A PYTHON is a program, or ROOT:PROGRAM in
a tree of another system (debootstrap). As root. Exit code 1: a count was wrong and not marked."""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUSY = '''
import runpy, sys, threading
def work():
    while True:
        [{"number": i, "text": str(i), "list": [i, (i,)]} for i in range(2000)]
threading.Thread(target=work, daemon=True).start()
runpy.run_path(sys.argv[1], run_name="__main__")
'''


def command(python):
    census = os.path.join(HERE, 'cpython_census.py')
    if ':' not in python:
        return [python, '-c', BUSY, census]
    root, program = python.split(':')
    shutil.copy(census, os.path.join(root, 'tmp/cpython_census.py'))
    return ['chroot', root, program, '-c', BUSY, '/tmp/cpython_census.py']


def look(leakmon, pid, truth):
    """What is wrong; '' if all is right; and whether it is marked as inexact."""
    out = subprocess.run([leakmon, 'retain', '--census', '-p', pid, '--format', 'json', '--top', '0'],
                         capture_output=True, text=True)
    report = json.loads(out.stdout)
    runtime = next(one for one in report['runtimes'] if one['runtime'] == 'cpython')
    counts = {one['name']: one['count'] for one in report['classes']
              if one['kind'] == 'managed class'}
    wrong = [f'{name}: {counts.get(name, 0)}, not {row["count"]}'
             for name, row in truth['classes'].items() if counts.get(name, 0) != row['count']]
    return '; '.join(wrong), bool(runtime['why_not_walked'] or runtime['nonsense'])


def check(leakmon, runs, python):
    child = subprocess.Popen(command(python), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        child.stdout.readline()
        pid = str(child.pid)
        child.stdin.write('truth\n')
        child.stdin.flush()
        truth = json.loads(child.stdout.readline())
        right = marked = 0
        for _ in range(runs):
            wrong, is_marked = look(leakmon, pid, truth)
            right += not wrong
            marked += is_marked
            if wrong:
                print(f'{truth["version"]}: {"marked" if is_marked else "NOT MARKED"}: {wrong}')
        print(f'{truth["version"]} ({python}): {right} of {runs} right, {marked} marked', flush=True)
        return right + marked >= runs
    finally:
        child.kill()
        child.wait()


def main():
    leakmon, runs, pythons = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    return not all([check(leakmon, runs, python) for python in pythons])


if __name__ == '__main__':
    sys.exit(main())
