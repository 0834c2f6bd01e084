#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""busy_stops.py LEAKMON RUNS [NAME...]: planted classes of OCaml, Haskell and PHP programs that
allocate all the time.

Compiles the programs of tests/runtimes/ocaml and tests/runtimes/ghc here (with OCAMLOPT, if that is set)
and in the trees of scripts/deps.sh, as it starts that of tests/runtimes/php, and counts their objects RUNS
times with `leakmon retain --census`. A NAME is a part of what is to be run: "ocaml", "ghc@trixie", "xn". As
root. Exit code 1: a count was off by more than 0.2 % and not marked as inexact."""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TREES = os.environ.get('LEAKMON_RUNTIMES') or os.path.join(
    os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'), 'leakmon/runtimes')
TOLERANCE = 0.002
FEEDS = {'closure Feeds.fun_': 1001, 'custom _j': 123, 'exception Feeds.Broken': 21}
SESSIONS = {'Main.Session': 3000, 'Main.Item': 21000, 'Main.Pinned': 7}
OCAML = 'ocamlopt -g {} -o program'
GHC = 'ghc -v0 -rtsopts Census.hs -o program'
EFFECTS = '/usr/lib/*/ocaml/*/stdlib__Effect.cmi'
# Name, folder, compiler, command to compile, arguments, planted classes by the start of their names.
PROGRAMS = [
    ('ocaml', 'ocaml', 'ocamlopt', OCAML.format('feeds.ml census.ml'), ['busy'], FEEDS),
    ('ocaml fibres', 'ocaml', 'ocamlopt', OCAML.format('fibres.ml'), ['busy'], {'custom _j': 5000}),
    ('ghc', 'ghc', 'ghc', GHC, ['busy'], SESSIONS),
    ('ghc xn', 'ghc', 'ghc', GHC, ['busy', '+RTS', '-xn'], SESSIONS),
    ('php', 'php', 'php', 'cp busy.php program && chmod +x program', [], {'Kept': 3000}),
]


def look(leakmon, pid, key, planted):
    """What is off, '' if all is right; why it is marked; and how often the stop was repeated."""
    out = subprocess.run([leakmon, 'retain', '--census', '-p', pid, '--format', 'json', '--top', '0'],
                         capture_output=True, text=True)
    report = json.loads(out.stdout)
    runtime = next((one for one in report.get('runtimes', []) if one['runtime'] == key), None)
    if not runtime:
        return 'not read', 'not read: ' + out.stderr, 0
    off = []
    for start, wanted in planted.items():
        count = sum(one['count'] for one in report['classes']
                    if one['module'] == key and one['name'].startswith(start))
        if abs(count - wanted) > wanted * TOLERANCE:
            off.append(f'{start}: {count}, not {wanted}')
    marked = runtime['why_not_walked'] or (runtime['nonsense'] and 'words that are no objects')
    return '; '.join(off), marked or '', runtime.get('retries', 0)


def run(leakmon, runs, root, program):
    name, folder, compiler, command, arguments, planted = program
    directory = tempfile.mkdtemp(prefix='leakmon-busy-', dir=root + '/tmp')
    within = directory[len(root):]
    inside = ['chroot', root] if root else []
    if not root:
        command = command.replace('ocamlopt', os.environ.get('OCAMLOPT', 'ocamlopt'))
    child = None
    try:
        for source in glob.glob(os.path.join(HERE, folder, '*.*')):
            shutil.copy(source, directory)
        subprocess.run(['unshare', '-m', 'sh', '-c',
                        f'{"mount -t proc proc " + root + "/proc &&" if root else ""} exec "$@"', 'sh',
                        *inside, 'sh', '-c', f'cd {within} && {command}'], check=True)
        child = subprocess.Popen([*inside, within + '/program', *arguments], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        if child.stdout.readline() != 'ready\n':
            return True
        right = unmarked = most = 0
        marks = collections.Counter()
        for _ in range(runs):
            off, mark, retries = look(leakmon, str(child.pid), folder, planted)
            right += not off
            marks[mark] += 1
            unmarked += bool(off) and not mark
            most = max(most, retries)
            if off:
                print(f'{name}@{root}: {mark or "NOT MARKED"}: {off}')
        print(f'{name}@{root}: {right} of {runs} right, {runs - marks.pop("", 0)} marked, {unmarked} '
              f'wrong and not marked; stops repeated, at most: {most}', *marks.items(), flush=True)
        return not unmarked
    finally:
        if child:
            child.kill()
            child.wait()
        shutil.rmtree(directory)


def main():
    leakmon, runs, names = os.path.abspath(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    done = True
    for root in [''] + sorted(glob.glob(TREES + '/[a-z]*/usr')):
        root = root[:-len('/usr')] if root else ''
        for program in PROGRAMS:
            wanted = not names or any(one in f'{program[0]}@{root}' for one in names)
            has_compiler = os.path.exists(f'{root}/usr/bin/{program[2]}')
            fibres = program[0] != 'ocaml fibres' or glob.glob(root + EFFECTS) or (
                not root and 'OCAMLOPT' in os.environ)
            if wanted and has_compiler and fibres:
                done &= run(leakmon, runs, root, program)
    return not done


if __name__ == '__main__':
    sys.exit(main())
