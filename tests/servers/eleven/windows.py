#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""windows.py DIRECTORY [ROUNDS [LEAKMON]]: after `start.sh DIRECTORY`, as root. ROUNDS (3) times, for each
program: `profile -p` for two minutes, Enter in `top` (tmux) for two minutes, and for all of them together
`triage --escalate` for six minutes. Prints what each report says that the windows have cost so far: the
number of reports, those with windows, the worst cost, and those over the limit. A program that cannot be
profiled has no reports. Exit code 1: one is over the limit."""
import collections
import json
import os
import re
import subprocess
import sys
import time

WORKS = ('cycle', 'blocks', 'descriptors', 'threads', 'python', 'node', 'java', 'go', 'tmpfs', 'crun', 'redis', 'nginx',
         'postgres')
INTERVAL_S, REPORTS, ESCALATED_S, SUSPECTS = 3, 40, 360, 6
SCREEN = re.compile(r'Profile: (\d+) windows.*?([\d.]+)% of .*? spent, of ([\d.]+)%')

at = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
leakmon = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else os.path.abspath('build/leakmon')
reports = os.path.join(at, 'windows')
tmux = ['tmux', '-L', f'leakmon-windows-{os.getpid()}']


class Row:
    def __init__(self):
        self.reports = self.shown = self.over = self.windows = 0
        self.worst = 0.0


rows = collections.defaultdict(Row)


def add(way, name, windows, spent, limit, rounding=0.0):
    row = rows[way, name]
    row.reports += 1
    row.shown += windows > 0
    row.windows = max(row.windows, windows)
    row.worst = max(row.worst, spent)
    if spent > limit + rounding:
        row.over += 1
        print(f'{way} {name}: {100 * spent:.3f} % of {100 * limit:.3g} % after {windows} windows', flush=True)


def lines_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith('\n')]


def children_of(pid):
    return [int(child) for child in subprocess.run(['pgrep', '-P', str(pid)], capture_output=True, text=True).stdout.split()]


def programs():
    """(name, pid): of servers that start others, those that work."""
    found = []
    for line in open(os.path.join(at, 'pids')):
        name, pid = line.split()
        if name in ('crun', 'nginx'):
            found += [(name, child) for child in children_of(pid)[:1]]
        elif name in WORKS:
            found.append((name, int(pid)))
    return found


def profile_all(targets, number):
    runs = []
    for name, pid in targets:
        path = os.path.join(reports, f'profile-{name}-{number}.json')
        command = [leakmon, 'profile', '-p', str(pid), '--format', 'json', str(INTERVAL_S), str(REPORTS)]
        with open(path, 'w') as out, open(path + '.err', 'w') as errors:
            runs.append((name, path, subprocess.Popen(command, stdout=out, stderr=errors)))
    for name, path, run in runs:
        run.wait()
        for report in lines_of(path):
            for process in report['processes']:
                add('profile', name, process['windows'], max(process['spent'], report['overhead']['spent']),
                    report['overhead']['limit'])


def escalate(targets, number):
    path = os.path.join(reports, f'escalate-{number}.json')
    names = {pid: name for name, pid in targets}
    command = [leakmon, 'triage', f'--escalate={SUSPECTS}', '-T', '40', '--format', 'json', str(INTERVAL_S),
               str(ESCALATED_S // INTERVAL_S)]
    with open(path, 'w') as out, open(path + '.err', 'w') as errors:
        subprocess.run(command, stdout=out, stderr=errors)
    for report in lines_of(path):
        for process in report['processes']:
            if 'profile' in process:
                add('escalate', names.get(process['pid'], process['comm']), process['profile']['windows'],
                    process['profile']['spent'], report['budget']['limit'])


def screen_of(name):
    return subprocess.run(tmux + ['capture-pane', '-p', '-t', name], capture_output=True, text=True).stdout


def is_shown(name, pattern, seconds=60):
    end = time.monotonic() + seconds
    while not re.search(pattern, screen_of(name)):
        if time.monotonic() >= end:
            return False
        time.sleep(0.3)
    return True


def screens(targets):
    for name, pid in targets:
        command = f'cd {reports} && exec {leakmon} top {INTERVAL_S}'
        subprocess.run(tmux + ['new-session', '-d', '-s', name, '-x', '120', '-y', '40', command], check=True)
    entered = []
    for name, pid in targets:
        keys = tmux + ['send-keys', '-t', name]
        if not is_shown(name, 'processes for'):
            continue
        subprocess.run(keys + ['\\', str(pid), 'Enter'], check=True)
        if not is_shown(name, rf'(?m)^\s*{pid} '):
            continue
        subprocess.run(keys + ['Enter'], check=True)
        if is_shown(name, SCREEN, 20):
            entered.append(name)
    last, end = {}, time.monotonic() + INTERVAL_S * REPORTS
    while time.monotonic() < end:
        for name in entered:
            screen = screen_of(name)
            found = SCREEN.search(screen)
            if found and (found.group(0), screen.split('\n')[0]) != last.get(name):
                last[name] = found.group(0), screen.split('\n')[0]
                # The screen rounds to 0.01 %.
                add('top', name, int(found.group(1)), float(found.group(2)) / 100, float(found.group(3)) / 100, 5e-5)
        time.sleep(0.5)
    for name, _ in targets:
        subprocess.run(tmux + ['send-keys', '-t', name, 'q'])
    time.sleep(2)
    subprocess.run(tmux + ['kill-server'], stderr=subprocess.DEVNULL)


def main():
    os.makedirs(reports, exist_ok=True)
    targets = programs()
    for name, _ in targets:
        rows['profile', name].reports = rows['top', name].reports = 0
    for number in range(rounds):
        for part in (lambda: profile_all(targets, number), lambda: screens(targets), lambda: escalate(targets, number)):
            print(f'round {number + 1}, load {os.getloadavg()[0]:.1f}', flush=True)
            part()
    print(f"{'':9}{'program':14}{'reports':>9}{'with windows':>14}{'most windows':>14}{'worst':>9}{'over':>6}")
    for (way, name), row in sorted(rows.items()):
        print(f'{way:9}{name:14}{row.reports:9}{row.shown:14}{row.windows:14}{100 * row.worst:8.3f}%{row.over:6}')
    return 1 if any(row.over for row in rows.values()) else 0


sys.exit(main())
