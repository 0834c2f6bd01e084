#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""contradictions.py DIRECTORY [MINUTES [LEAKMON]]: after `start.sh DIRECTORY`, as root. A triage runs for
MINUTES (30); each program is read by `memory` in turns. All reports are kept in DIRECTORY/reports; those
in which two verdicts contradict each other are printed and counted. Exit code 1: there is one."""
import json
import os
import re
import subprocess
import sys
import time

# They grow without end, the same all the time: none of these is true of them once they were called leaking.
GROWS = ('cycle', 'blocks', 'descriptors', 'threads', 'python', 'node', 'java', 'go', 'redis', 'crun')
CALM = ('steady', 'plateau', 'one-off', 'churning', 'too-early')
LEAK, NO_LEAK = re.compile('a leak if this goes on|leaking'), re.compile('not a leak|no growth to explain|not known whether')

at = os.path.abspath(sys.argv[1])
minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 30
leakmon = sys.argv[3] if len(sys.argv) > 3 else 'build/leakmon'
reports = os.path.join(at, 'reports')
counts = {'reports': 0, 'contradictions': 0}


def contradiction(where, what):
    counts['contradictions'] += 1
    print(f'{where}: {what}', flush=True)


def check_sentence(where, verdict, text):
    if LEAK.search(text) and NO_LEAK.search(text):
        contradiction(where, f'two verdicts in one sentence: {text}')
    if verdict == 'leaking' and NO_LEAK.search(text):
        contradiction(where, f'leaking, and: {text}')


def check_triage(report, names, leaked):
    for entry in report['processes']:
        verdict, pid = entry['verdict'], entry['pid']
        where = f"triage {report['sequence']}, {names.get(pid, entry['comm'])} {pid}"
        cause = entry['growth'].get('cause')
        if verdict != entry['growth']['verdict'] and not cause and 'managed' not in entry:
            contradiction(where, f"{verdict}, and its growth {entry['growth']['verdict']}")
        if cause:
            check_sentence(where, verdict, cause['text'])
            if cause['no_leak'] and verdict == 'leaking':
                contradiction(where, f"leaking, and no leak: {cause['text']}")
        if names.get(pid) in GROWS:
            leaked[pid] = leaked.get(pid) or verdict == 'leaking'
            if leaked[pid] and verdict in CALM:
                contradiction(where, f'was leaking, and is {verdict}')


def check_memory(report, name):
    for process in report['processes']:
        where = f"memory of {name} {process['pid']}"
        conclusion = process.get('conclusion')
        if not conclusion:
            continue
        check_sentence(where, process.get('verdict'), conclusion['text'])
        if process.get('verdict') != conclusion['verdict']:
            contradiction(where, f"{process.get('verdict')}, and {conclusion['verdict']}")
        if conclusion['no_leak'] and LEAK.search(conclusion['text']):
            contradiction(where, f"no leak, and: {conclusion['text']}")


def lines_of(path):
    with open(path) as file:
        for line in file:
            if line.endswith('\n'):
                counts['reports'] += 1
                yield json.loads(line)


def main():
    os.makedirs(reports, exist_ok=True)
    names = {}
    for line in open(os.path.join(at, 'pids')):
        name, pid = line.split()
        names[int(pid)] = name
    # What crun and the JVM's client started is known by its parent only.
    for pid in list(names):
        if names[pid] == 'crun':
            children = subprocess.run(['pgrep', '-P', str(pid)], capture_output=True, text=True).stdout.split()
            names.update((int(child), 'crun') for child in children)
    triage_path = os.path.join(reports, 'triage.json')
    with open(triage_path, 'w') as out, open(os.path.join(reports, 'errors'), 'w') as errors:
        triage = subprocess.Popen([leakmon, 'triage', '-T', '40', '--format', 'json', '5'], stdout=out, stderr=errors)
        end, number = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end:
            for pid, name in names.items():
                if name not in GROWS or time.monotonic() >= end:
                    continue
                number += 1
                path = os.path.join(reports, f'memory-{number}.json')
                with open(path, 'w') as memory:
                    subprocess.run([leakmon, 'memory', '-p', str(pid), '--format', 'json', '10', '2'], stdout=memory,
                                   stderr=errors)
                for report in lines_of(path):
                    check_memory(report, name)
        triage.terminate()
        triage.wait()
    leaked = {}
    for report in lines_of(triage_path):
        check_triage(report, names, leaked)
    missing = sorted({names[pid] for pid in names if names[pid] in GROWS} - {names[pid] for pid in leaked if leaked[pid]})
    print(f"{counts['reports']} reports, {counts['contradictions']} contradictions; "
          f"never called leaking: {', '.join(missing) or 'none'}")
    return 1 if counts['contradictions'] else 0


sys.exit(main())
