#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""managed_census.py java|node LEAKMON RUNS OBJECTS...: the census of a JVM or of Node, beside its own tools.

For each number, a program makes so many objects, and a beat of one millisecond in it notices how long it
stood. Each run asks every tool in turn, so that all meet the same machine: `leakmon retain --census`; for a
JVM `jcmd GC.class_histogram`, `jcmd GC.heap_dump` and `jhsdb jmap --histo`; for Node `v8.writeHeapSnapshot()`.
Measured are the longest pause of the beat, how much more memory the program took at most, and the time to the
answer. Printed are medians, and how many times leakmon's figure that is: the median of the runs' ratios, with
the least and the greatest. `nothing` is the beat alone: pauses below it are the machine's. JAVA, NODE: other
programs than Debian's. As root."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

JAVA_PROGRAM = r'''
import java.util.*;
public class Bench {
    static final class Item { int number; Object[] list; Item(int n) { number = n; list = new Object[]{"x", this}; } }
    static List<Item> kept = new ArrayList<>();
    static volatile long longest;
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]) / 2;
        for (int i = 0; i < count; i++) kept.add(new Item(i));
        Thread beat = new Thread(() -> {
            for (long before = System.nanoTime();;) {
                try { Thread.sleep(1); } catch (InterruptedException e) { return; }
                long now = System.nanoTime();
                longest = Math.max(longest, now - before);
                before = now;
            }
        });
        beat.setDaemon(true);
        beat.start();
        System.out.println("ready");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            in.nextLine();
            System.out.println(longest / 1e9);
            longest = 0;
        }
    }
}
'''
NODE_PROGRAM = r'''
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
'''


class Target:
    def __init__(self, argv):
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.child.pid
        self.line()

    def line(self):
        return self.child.stdout.readline().strip()

    def ask(self, line=''):
        self.child.stdin.write(line + '\n')
        self.child.stdin.flush()
        return self.line()

    def status(self, key):
        with open(f'/proc/{self.pid}/status', encoding='utf-8') as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key + ':'))

    def reset_peak(self):
        with open(f'/proc/{self.pid}/clear_refs', 'w', encoding='utf-8') as file:
            file.write('5')

    def end(self):
        self.child.kill()
        self.child.wait()


def run(argv):
    result = subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        raise SystemExit(f'{argv[0]} failed: {result.stderr[-300:]}')


def java_tools(leakmon, target, directory):
    home = os.path.dirname(os.path.realpath(shutil.which(os.environ.get('JAVA', 'java'))))
    pid, dump = str(target.pid), os.path.join(directory, 'dump')

    def heap_dump():
        run([home + '/jcmd', pid, 'GC.heap_dump', dump])
        os.unlink(dump)

    return {
        'nothing': lambda: time.sleep(1),
        'leakmon retain --census': lambda: run([leakmon, 'retain', '--census', '-p', pid]),
        'jcmd GC.class_histogram': lambda: run([home + '/jcmd', pid, 'GC.class_histogram']),
        'jcmd GC.heap_dump': heap_dump,
        'jhsdb jmap --histo': lambda: run([home + '/jhsdb', 'jmap', '--histo', '--pid', pid]),
    }


def node_tools(leakmon, target, directory):
    return {
        'nothing': lambda: time.sleep(1),
        'leakmon retain --census': lambda: run([leakmon, 'retain', '--census', '-p', str(target.pid)]),
        'v8.writeHeapSnapshot()': lambda: target.ask(os.path.join(directory, 'snapshot')),
    }


def start(kind, directory, count):
    if kind == 'node':
        with open(os.path.join(directory, 'bench.js'), 'w', encoding='utf-8') as file:
            file.write(NODE_PROGRAM)
        return Target([os.environ.get('NODE', '/usr/bin/node'), '--max-old-space-size=8192', file.name,
                       str(count)])
    with open(os.path.join(directory, 'Bench.java'), 'w', encoding='utf-8') as file:
        file.write(JAVA_PROGRAM)
    java = os.environ.get('JAVA', 'java')
    home = os.path.dirname(os.path.realpath(shutil.which(java)))
    run([home + '/javac', '-d', directory, file.name])
    return Target([java, '-cp', directory, 'Bench', str(count)])


def measure(target, tool):
    """Seconds of the longest pause, bytes more at most, seconds to the answer."""
    target.ask()
    before = target.status('VmRSS')
    target.reset_peak()
    began = time.monotonic()
    tool()
    took = time.monotonic() - began
    return {'stop': float(target.ask()), 'memory': max(target.status('VmHWM') - before, 0), 'time': took}


def ratios(rows, base, key):
    found = sorted(row[key] / own[key] for row, own in zip(rows, base) if own[key])
    if not found:
        return ''
    return f'{statistics.median(found):.1f} × ({found[0]:.1f} to {found[-1]:.1f})'


def report(count, rows):
    base = rows['leakmon retain --census']
    print(f'{count} objects, {len(base)} runs; times leakmon\'s: median (least to greatest)')
    for name, looks in rows.items():
        stop, memory, took = (statistics.median(look[key] for look in looks)
                              for key in ('stop', 'memory', 'time'))
        print(f'  {name:<24} stop {1000 * stop:8.1f} ms  {ratios(looks, base, "stop"):<26} '
              f'memory +{memory / 1e6:7.1f} MB  answer {took:6.2f} s  {ratios(looks, base, "time")}', flush=True)


def main():
    kind, leakmon, runs = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3])
    for count in sys.argv[4:]:
        with tempfile.TemporaryDirectory(prefix='leakmon-bench-') as directory:
            target = start(kind, directory, int(count))
            try:
                tools = (node_tools if kind == 'node' else java_tools)(leakmon, target, directory)
                rows = {name: [] for name in tools}
                for _ in range(runs):
                    for name, tool in tools.items():
                        rows[name].append(measure(target, tool))
                report(count, rows)
            finally:
                target.end()


if __name__ == '__main__':
    sys.exit(main())
