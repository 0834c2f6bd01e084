#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""no_harm.py LEAKMON STOPS [RUNTIME...]: managed programs under load, stopped again and again.

Each program (tests/runtimes/no_harm) allocates and collects, has code compiled, waits in epoll, futexes, sleeps
and timers, exchanges bytes, counts a signal that comes a hundred times a second, and checks itself all the time.
It is looked at until it has been stopped STOPS times, shared among the runtimes: mostly with `retain --census`,
sometimes with `retain`, `memory` and `diagnose`; every tenth leakmon is killed in the middle of a stop,
it, its helpers (one guards the stop), or both. STOPS of 0: half a minute alone. Ctrl-C: the results so far.

Programs read lines: `alone` and `looked` say what the next beats of a millisecond count as, `truth` asks for
a line of JSON: counts, all of which must go on rising; what was wrong, by name; and beats by their length in
steps of 10 µs. They write `ready`, and `s` for each signal, which is awaited before the next is sent, so none
can merge. Printed is a line for each runtime. Exit code 1: one died, was left stopped, or found anything wrong;
what it was is printed. Calls that a SIGKILL of the helper that stops threads made fail with EINTR (user/doc/retain.md,
Pauses) are counted apart. As root."""
import collections
import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, 'no_harm')
TREES = os.environ.get('LEAKMON_RUNTIMES') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'leakmon/runtimes')
PATIENCE_S = 60
ALONE_S = 3
VICTIMS = ('leakmon', 'its helpers', 'both')
EINTR = re.compile(r'EINTR|errno 4$')
ENVIRONMENT = {**os.environ, 'DOTNET_SYSTEM_GLOBALIZATION_INVARIANT': '1', 'DOTNET_GCgen0size': '200000',
               'GO111MODULE': 'off', 'GOFLAGS': ''}
NOT_THERE = 77
JAVA, NODE = 'java -Xmx32m -Xmn4m -XX:+Use{}GC Target', '{} --expose-gc --max-semi-space-size=1 target.js'
DOTNET = f'{HERE}/dotnet.sh {{}} {SOURCES}/Target.cs'
# Source, the tool that is needed, how it is compiled and started, a signal that its runtime does not need itself.
RUNTIMES = {
    'cpython': ('target.py', '/usr/bin/python3', 'true', '/usr/bin/python3 target.py', signal.SIGUSR1),
    **{'java-' + name.lower(): ('Target.java', 'javac', 'javac -XDignore.symbol.file Target.java',
                                JAVA.format(name), signal.SIGUSR2)
       for name in ('G1', 'Serial', 'Parallel', 'Z', 'Shenandoah')},
    **{name: ('target.js', path, 'true', NODE.format(path), signal.SIGUSR2)
       for name, path in (('node', '/usr/bin/node'), ('node-18', TREES + '/node-18/bin/node'))},
    'go': ('target.go', '/usr/lib/go-1.19/bin/go', 'GOCACHE=$PWD/cache /usr/lib/go-1.19/bin/go build target.go',
           './target', signal.SIGUSR1),
    **{'dotnet-' + version: ('Target.cs', 'mcs', DOTNET.format(version), f'$({DOTNET.format(version)})', signal.SIGUSR1)
       for version in ('9', '8')},
    'ruby': ('target.rb', 'ruby', 'true', 'ruby target.rb', signal.SIGUSR1),
    'ocaml': ('target.ml', 'ocamlopt', 'ocamlopt -I +threads unix.cmxa threads.cmxa target.ml -o target',
              './target', signal.SIGUSR1),
    'ghc': ('Target.hs', 'ghc', 'ghc -v0 -O -threaded -with-rtsopts=-T Target.hs -o target', './target',
            signal.SIGUSR1),
}


class Missing(Exception):
    """A tool is not installed."""


def becomes(condition, limit_s):
    end = time.monotonic() + limit_s
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return met


class Target:
    """A program, and the thread that sends it signals."""

    def __init__(self, name, directory):
        file, tool, make, start, self.number = RUNTIMES[name]
        # In a separate folder: compilers write beside the source.
        shutil.copy(os.path.join(SOURCES, file), directory)
        done = subprocess.run(['sh', '-c', f'command -v {tool} || exit {NOT_THERE}; {make}'], cwd=directory,
                              env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=False)
        if done.returncode == NOT_THERE:
            raise Missing
        done.check_returncode()
        self.stderr = open(directory + '/stderr', 'w+', encoding='utf-8')
        self.child = subprocess.Popen(['sh', '-c', 'exec ' + start], cwd=directory, env=ENVIRONMENT, text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr)
        self.pid, self.lines, self.acknowledged = self.child.pid, queue.Queue(), threading.Semaphore(0)
        self.sent, self.lost, self.ending, self.turn = 0, 0, False, threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()
        if self.lines.get(timeout=PATIENCE_S) != 'ready':
            self.child.kill()
            raise SystemExit('the program did not begin: ' + self.complaints())
        self.sender = threading.Thread(target=self.send, daemon=True)
        self.sender.start()

    def read(self):
        for line in self.child.stdout:
            if line == 's\n':
                self.acknowledged.release()
            else:
                self.lines.put(line.strip())
        self.lines.put('')

    def send(self):
        while not self.ending and self.child.poll() is None:
            with self.turn:
                self.child.send_signal(self.number)
                self.sent += 1
                self.lost += not self.acknowledged.acquire(timeout=PATIENCE_S)
            time.sleep(0.01)

    def tell(self, line):
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.write(line + '\n')
            self.child.stdin.flush()

    def truth(self):
        with self.turn:
            self.tell('truth')
            return json.loads(self.lines.get(timeout=PATIENCE_S) or 'null')

    def tasks(self):
        """State and tracer of each thread."""
        for task in os.listdir(f'/proc/{self.pid}/task'):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                with open(f'/proc/{self.pid}/task/{task}/status', encoding='utf-8') as file:
                    status = dict(line.split(':', 1) for line in file)
                yield status['State'].strip()[0], int(status['TracerPid'])

    def is_free(self):
        return not any(state in 'Tt' or tracer for state, tracer in self.tasks())

    def stands_still(self):
        """Names of counts that do not rise any more."""
        first, last = self.truth()['counts'], {}

        def rises():
            last.update(self.truth()['counts'])
            return all(last[name] > count for name, count in first.items())

        return [] if becomes(rises, PATIENCE_S) else [name for name, count in first.items() if last[name] <= count]

    def complaints(self):
        self.stderr.seek(0)
        return self.stderr.read().strip()

    def end(self):
        self.ending = True
        self.child.kill()
        self.child.wait()
        self.stderr.close()


class Looks:
    """leakmon's processes, and what became of them and of the program."""

    def __init__(self, leakmon, target):
        self.leakmon, self.target, self.number = leakmon, target, 0
        self.stops = self.longest_ns = 0
        self.seen, self.wrong = collections.Counter(), collections.Counter()
        self.failed, self.by_kills = collections.Counter(), collections.Counter()

    def argv(self):
        pid = str(self.target.pid)
        census = ['retain', '--census', '-p', pid, '--format', 'json', '--top', '1', '0.01', '25']
        kinds = {5: ['retain', '-p', pid, '--format', 'json', '--top', '1', '1', '2'],
                 10: ['memory', '-p', pid, '--format', 'json', '1', '1'],
                 15: ['diagnose', '-p', pid, '--format', 'json', '--for', '5s']}
        return [self.leakmon, *kinds.get(self.number % 20, census)]

    def look(self):
        argv = self.argv()
        # Files: nobody reads while a stop is awaited.
        with tempfile.TemporaryFile('w+') as out_file, tempfile.TemporaryFile('w+') as error_file:
            child = subprocess.Popen(argv, stdout=out_file, stderr=error_file)
            victim = VICTIMS[self.number // 10 % 3] if self.number % 10 == 9 else None
            killed = self.kill_in_a_stop(child, victim) if victim else []
            child.wait()
            out, error = (file.seek(0) or file.read() for file in (out_file, error_file))
        name = ' '.join(argv[1:3]) if argv[2] == '--census' else argv[1]
        self.seen[f'{name}{", killed" if killed else ""}'] += 1
        self.stops += child.returncode == -signal.SIGKILL
        for line in out.splitlines():
            if argv[1] == 'retain' and line.endswith('}'):
                self.count(json.loads(line))
        if not killed and child.returncode not in (0, 3):
            self.seen[f'exit code {child.returncode} of {name}: {error.strip()[-200:]}'] += 1
        self.after(killed, victim != 'leakmon')
        self.number += 1

    def count(self, report):
        image = report['picture']
        self.stops += image['stopped']
        self.longest_ns = max(self.longest_ns, image['pause_ns'])
        if not image['stopped']:
            self.seen[f'not stopped: {image["why_not_stopped"]}'] += 1

    def kill_in_a_stop(self, child, victim):
        """Whom it killed."""
        while child.poll() is None:
            with open(f'/proc/{self.target.pid}/stat', encoding='utf-8') as file:
                if file.read().rsplit(')', 1)[1][1] == 't':
                    break
            time.sleep(0.0001)
        else:
            return []
        helpers = []
        with contextlib.suppress(FileNotFoundError):
            with open(f'/proc/{child.pid}/task/{child.pid}/children', encoding='utf-8') as file:
                helpers = [int(pid) for pid in file.read().split()]
        for pid in {'leakmon': [child.pid], 'its helpers': helpers, 'both': [*helpers, child.pid]}[victim]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return [*helpers, child.pid]

    def after(self, killed, helpers):
        """The program runs, and nothing of leakmon is left. Calls may have failed if its helpers were killed."""
        if self.target.child.poll() is None:
            with contextlib.suppress(queue.Empty, TypeError, json.JSONDecodeError):
                failed = collections.Counter(self.target.truth()['wrong'])
                new, self.failed = failed - self.failed, failed
                for name, count in new.items():
                    if killed and helpers and EINTR.search(name):
                        self.by_kills[name] += count
        if self.target.child.poll() is None and not becomes(self.target.is_free, 5 if killed else 0.5):
            self.wrong['left stopped or traced'] += 1
        if not becomes(lambda: not any(os.path.exists(f'/proc/{pid}') for pid in killed), 5):
            self.wrong['processes of leakmon that stay'] += 1


def latency(beats):
    """Median, 99th percentile and longest, in ms."""
    lengths = sorted(collections.Counter({int(step) / 100: count for step, count in beats.items()}).elements())
    chosen = (lengths[len(lengths) // 2], lengths[len(lengths) * 99 // 100], lengths[-1]) if lengths else ()
    return '/'.join(f'{ms:.1f}' for ms in chosen) or '-'


def run(leakmon, name, stops, directory, ended):
    try:
        target = Target(name, directory)
    except Missing:
        print(f'{name}: skipped: not installed')
        return True
    looks = Looks(leakmon, target)
    try:
        time.sleep(ALONE_S if stops else 30)
        while looks.stops < stops and target.child.poll() is None and not ended:
            target.tell('looked')
            looks.look()
            if looks.number % 10 == 0:
                target.tell('alone')
                time.sleep(ALONE_S)
                print(f'{name}: {looks.stops} stops', file=sys.stderr, flush=True)
        verdict(name, target, looks)
    finally:
        target.end()
    return not looks.wrong


def verdict(name, target, looks):
    truth = {'counts': {}, 'wrong': {}, 'alone': {}, 'looked': {}}
    try:
        for still in target.stands_still():
            looks.wrong['stands still: ' + still] += 1
        target.ending = True
        target.sender.join()
        truth = target.truth()
        if target.lost or truth['counts']['signals'] != target.sent:
            looks.wrong['signals lost'] += max(target.lost, target.sent - truth['counts']['signals'])
    except (queue.Empty, TypeError):
        code = target.child.poll()
        looks.wrong['no answer' if code is None else f'died: exit code {code}'] += 1
    looks.wrong.update(collections.Counter(truth['wrong']) - looks.by_kills)
    complaints = target.complaints()
    if complaints:
        looks.wrong['stderr: ' + complaints] += 1
    print(f'{name}: {looks.stops} stops, the longest {looks.longest_ns / 1e6:.1f} ms; wrong: '
          f'{dict(looks.wrong) or "nothing"}; by kills of helpers: {dict(looks.by_kills) or "nothing"}; signals {truth["counts"].get("signals")} of {target.sent}; '
          f'latency p50/p99/max alone {latency(truth["alone"])} ms, looked at {latency(truth["looked"])} ms; '
          f'{dict(looks.seen)}; {truth["counts"]}', flush=True)


def main():
    leakmon, stops, names = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(RUNTIMES)
    right, ended = True, []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.append(True))
    for name in names:
        with tempfile.TemporaryDirectory(prefix='leakmon-no-harm-') as directory:
            right &= bool(ended) or run(leakmon, name, -(-stops // len(names)), directory, ended)
    return not right


if __name__ == '__main__':
    sys.exit(main())
