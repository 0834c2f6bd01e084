#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""managed_census.py java|node|dotnet|ocaml|ghc LEAKMON RUNS OBJECTS...: the census of a managed heap, beside
the runtime's own tools.

For each number, a program (tests/bench/census) makes so many objects, and a beat of one millisecond in it
notices how long it stood. Each run asks every tool in turn, so that all meet the same machine: `leakmon retain
--census`, and for
  java    `jcmd GC.class_histogram`, `jcmd GC.heap_dump`, `jhsdb jmap --histo`
  node    `v8.writeHeapSnapshot()`
  dotnet  EventPipe's graph of the heap; its answer includes two seconds of waiting for the end
  ocaml   `Gc.stat ()`, which counts the words only
  ghc     a census by closure type (`-hT`), with the collection that it needs
Measured are the longest pause of the beat, how much more memory the program took at most, and the time to the
answer. Printed are medians, and how many times leakmon's figure that is: the median of the runs' ratios, with
the least and the greatest. `nothing` is the beat alone: pauses below it are the machine's. JAVA, NODE: other
programs than Debian's; DOTNET: 8, 9. As root."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIMES = os.path.join(HERE, '../runtimes')
os.environ['DOTNET_SYSTEM_GLOBALIZATION_INVARIANT'] = '1'


class Target:
    def __init__(self, argv, directory):
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=directory)
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


def java_home():
    return os.path.dirname(os.path.realpath(shutil.which(os.environ.get('JAVA', 'java'))))


def java_tools(target, directory):
    home, pid, dump = java_home(), str(target.pid), os.path.join(directory, 'dump')

    def heap_dump():
        run([home + '/jcmd', pid, 'GC.heap_dump', dump])
        os.unlink(dump)

    return {
        'jcmd GC.class_histogram': lambda: run([home + '/jcmd', pid, 'GC.class_histogram']),
        'jcmd GC.heap_dump': heap_dump,
        'jhsdb jmap --histo': lambda: run([home + '/jhsdb', 'jmap', '--histo', '--pid', pid]),
    }


def dotnet_tools(target, _):
    return {'EventPipe': lambda: run([sys.executable, os.path.join(RUNTIMES, 'dotnet_graph.py'),
                                       str(target.pid)])}


def asked(name):
    """The program itself, at a line that is not empty."""
    return lambda target, directory: {name: lambda: target.ask(os.path.join(directory, 'asked'))}


def java_command(directory):
    run([java_home() + '/javac', '-d', directory, os.path.join(HERE, 'census/Bench.java')])
    return [os.environ.get('JAVA', 'java'), '-cp', directory, 'Bench']


def node_command(_):
    return [os.environ.get('NODE', '/usr/bin/node'), '--max-old-space-size=8192',
            os.path.join(HERE, 'census/bench.js')]


def dotnet_command(_):
    made = subprocess.run([os.path.join(RUNTIMES, 'dotnet.sh'), os.environ.get('DOTNET', '9'),
                           os.path.join(HERE, 'census/Bench.cs')], stdout=subprocess.PIPE, text=True, check=True)
    return [made.stdout.strip()]


def compiled(source, *command):
    def make(directory):
        shutil.copy(os.path.join(HERE, 'census', source), directory)
        run([*command, os.path.join(directory, source), '-o', directory + '/bench'])
        return [directory + '/bench']
    return make


# For each runtime: the command, the arguments after the number of objects, and its own tools.
KINDS = {
    'java': (java_command, [], java_tools),
    'node': (node_command, [], asked('v8.writeHeapSnapshot()')),
    'dotnet': (dotnet_command, [], dotnet_tools),
    'ocaml': (compiled('bench.ml', 'ocamlopt', '-I', '+unix', 'unix.cmxa'), [], asked('Gc.stat ()')),
    'ghc': (compiled('Bench.hs', 'ghc', '-O', '-v0', '-rtsopts'), ['+RTS', '-hT', '-i0'], asked('+RTS -hT')),
}


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


def report(count, resident, rows):
    base = rows['leakmon retain --census']
    print(f'{count} objects, {resident / 1e6:.0f} MB resident, {len(base)} runs; times leakmon\'s: median (least to '
          'greatest)')
    for name, looks in rows.items():
        stop, memory, took = (statistics.median(look[key] for look in looks)
                              for key in ('stop', 'memory', 'time'))
        print(f'  {name:<24} stop {1000 * stop:8.1f} ms  {ratios(looks, base, "stop"):<26} '
              f'memory +{memory / 1e6:7.1f} MB  answer {took:6.2f} s  {ratios(looks, base, "time")}', flush=True)


def main():
    kind, leakmon, runs = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3])
    command, options, own_tools = KINDS[kind]
    for count in sys.argv[4:]:
        with tempfile.TemporaryDirectory(prefix='leakmon-bench-') as directory:
            target = Target([*command(directory), count, *options], directory)
            try:
                tools = {
                    'nothing': lambda: time.sleep(1),
                    'leakmon retain --census': lambda: run([leakmon, 'retain', '--census', '-p',
                                                            str(target.pid)]),
                    **own_tools(target, directory),
                }
                rows = {name: [] for name in tools}
                for _ in range(runs):
                    for name, tool in tools.items():
                        rows[name].append(measure(target, tool))
                report(count, target.status('VmRSS'), rows)
            finally:
                target.end()


if __name__ == '__main__':
    sys.exit(main())
