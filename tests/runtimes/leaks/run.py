#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""run.py LEAKMON [RUNS [KIND...]]: how often leaks in web servers are named within a minute.

Each run starts a server, asks it 50 times a second for work and once a second for a leak, and asks
`leakmon diagnose`, 50 s after which it must name what leaks: `go` leaks one goroutine a second, the
others ten objects, of which the class and the holder must be named. `clean` ones are only asked for
work, and nothing of them may be named: "no leak", or for a heap that still fills "unknown". JOBS runs
at once (1). As root."""
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 50
GO = os.environ.get('GO', '/usr/lib/go-1.19/bin/go')


def go_server(directory):
    program = os.path.join(directory, 'server')
    subprocess.run([GO, 'build', '-o', program, os.path.join(HERE, 'server.go')], check=True,
                   env={**os.environ, 'GO111MODULE': 'off', 'GOCACHE': directory + '/cache',
                        'GOTOOLCHAIN': 'local'})
    return [program]


def commands(kind, directory):
    if kind.startswith('go'):
        return go_server(directory)
    if kind.startswith('java'):
        subprocess.run(['javac', '-d', directory, os.path.join(HERE, 'Server.java')], check=True)
        return [os.environ.get('JAVA', 'java'), '-Xmx256m', '-cp', directory, 'Server',
                kind.partition('-')[2]]
    if kind.startswith('node'):
        return [os.environ.get('NODE', 'node'), os.path.join(HERE, 'server.js'),
                kind.partition('-')[2]]
    python = os.environ.get('PYTHON', '/usr/bin/python3')
    return [python, os.path.join(HERE, 'server.py'), 'flask' if 'flask' in kind else 'plain']


def load(port, path, per_second, ended):
    while not ended.wait(1 / per_second):
        try:
            urllib.request.urlopen(f'http://127.0.0.1:{port}/{path}', timeout=10).read()
        except (OSError, http.client.HTTPException):
            pass


# What the report on a leak has in it: the class, and what holds it.
NAMES = {
    'python': ['__main__.Session', 'sessions'],
    'flask': ['__main__.Session', 'sessions'],
    'java-static': ['Server$Session', 'static sessions'],
    'java-threadlocal': ['Server$Session', 'ThreadLocal'],
    'node-listener': ['Session', "<listeners on 'data'>"],
    'node-closure': ['Session', 'callbacks'],
    'node-timer': ['Session', 'onTick'],
}


def named(kind, found):
    """What is to be named, and whether it is."""
    text = json.dumps(found)
    if kind.endswith('clean'):
        return found['verdict'] in ('no-leak', 'unknown')
    if kind == 'go':
        return found['part'] == 'goroutines' and 'main.notify' in text and 'main.leak' in text
    return found['part'] == 'managed-objects' and all(name in text for name in NAMES[kind])


def run(leakmon, kind, command):
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    ended = threading.Event()
    port = int(server.stdout.readline())
    threads = [threading.Thread(target=load, args=(port, 'work', 50, ended), daemon=True)]
    if not kind.endswith('clean'):
        threads.append(threading.Thread(target=load, args=(port, 'leak', 1, ended), daemon=True))
    for thread in threads:
        thread.start()
    time.sleep(3)
    began = time.monotonic()
    try:
        out = subprocess.run([leakmon, 'diagnose', '-p', str(server.pid), '--for', str(SECONDS),
                              '--format', 'json'], capture_output=True, text=True, timeout=180)
        found = json.loads(out.stdout)['processes'][0]
        return named(kind, found), time.monotonic() - began, found
    except (ValueError, KeyError, IndexError, subprocess.TimeoutExpired) as error:
        return False, time.monotonic() - began, {'error': repr(error)}
    finally:
        ended.set()
        server.kill()
        server.wait()


def main():
    leakmon, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20
    kinds = sys.argv[3:] or ['go', 'python', 'flask', 'go-clean', 'python-clean']
    good = True
    jobs = int(os.environ.get('JOBS', 1))
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(jobs) as pool:
        for kind in kinds:
            command = commands(kind, directory)
            hits, slowest = 0, 0
            for i, (hit, seconds, found) in enumerate(
                    pool.map(lambda _: run(leakmon, kind, command), range(runs))):
                hits += hit
                slowest = max(slowest, seconds)
                load_now = os.getloadavg()[0]
                print(f'{kind} {i + 1}: {"named" if hit else "MISSED"} after {seconds:.0f} s, '
                      f'load {load_now:.0f}', '' if hit else json.dumps(found)[:2000], flush=True)
            print(f'{kind}: {hits} of {runs}, at most {slowest:.0f} s', flush=True)
            good &= hits * 20 >= runs * 19
    return not good


if __name__ == '__main__':
    sys.exit(main())
