#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
`leakmon profile` for long, at its default of 1 % (--overhead).

    profile_steady.py programs [--seconds S]              five programs that do not leak (1800 s)
    profile_steady.py crowd [--seconds S] [--count N]     many processes; what leakmon uses (3600 s)

programs: redis-server with keys that expire, an LRU cache, batches, sqlite3 and python3, beside each
other under one profile, each with all sites in every report. It fails if a site is called leaking in
any of them, or a program had no window.

crowd: leakmon's own CPU time, with that of the processes it starts, and its memory, by tenths of the
run. It fails beyond 1 % of a core or 64 MB (RSS), after the first tenth.
"""
import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

LEAKMON = os.environ.get("LEAKMON_PROGRAM", "build/leakmon")
WORKLOADS = os.environ.get("LEAKMON_WORKLOADS", "build/workloads")
CPU_MOST = 0.01
MEMORY_MOST = 64e6
READINGS = 30
REDIS = "/usr/bin/redis-check-rdb"  # redis-tools carries the server: it chooses by its name
INTERVAL_LEAST_S = 30  # reports cost leakmon time that windows could have
stopping = threading.Event()

PYTHON_WORK = """
import json, time
while True:
    for i in range(10):
        text = json.dumps([{'id': i + j, 'name': 'n%d' % (i * j), 'tags': ['a' * (j % 90)] * 3}
                           for j in range(40)])
        rows = [dict(row, total=len(row['tags'])) for row in json.loads(text)]
    time.sleep(0.004)
"""
SQL = open(os.path.join(os.path.dirname(__file__), "sqlite.sql")).read() + "DROP TABLE orders;\n"


class Programs:
    """What is started, and ended with it."""

    def __init__(self):
        self.children, self.feeders = [], []
        self.directory = tempfile.mkdtemp(prefix="leakmon-steady-")

    def start(self, *argv, **more):
        child = subprocess.Popen(argv, stdout=subprocess.DEVNULL, **more)
        self.children.append(child)
        return child

    def feed(self, function, *arguments):
        feeder = threading.Thread(target=function, args=arguments, daemon=True)
        feeder.start()
        self.feeders.append(feeder)

    def end(self):
        stopping.set()
        for child in self.children:
            child.kill()
            child.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def redis_command(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word)
                                              for word in words)


def redis_batch():
    """Keys of 1 to 60 s of life, and reads."""
    commands = []
    for _ in range(500):
        key = b"key:%d" % random.randrange(200000)
        if random.random() < 0.5:
            commands.append(redis_command(b"SET", key, os.urandom(random.randrange(20, 400)),
                                          b"EX", b"%d" % random.randrange(1, 60)))
        else:
            commands.append(redis_command(b"GET", key))
    return b"".join(commands)


def feed_redis(path):
    """Some 25,000 commands a second, most of them more than once."""
    while not os.path.exists(path) and not stopping.is_set():
        time.sleep(0.05)
    batches, last = [redis_batch() for _ in range(200)], 0
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        while not stopping.is_set():
            last = (last + 1) % len(batches)
            if last % 10 == 0:
                batches[last] = redis_batch()
            try:
                server.sendall(batches[last])
                server.recv(1 << 20)
            except OSError:
                return
            time.sleep(0.02)


def feed_sqlite(child):
    while not stopping.is_set():
        try:
            child.stdin.write(SQL.encode())
            child.stdin.flush()
        except OSError:
            return
        time.sleep(0.3)


def start_programs(programs):
    """Names by PID."""
    names = {}
    path = os.path.join(programs.directory, "redis")
    server = programs.start("redis-server", "--port", "0", "--unixsocket", path, "--save", "",
                            "--dir", programs.directory, executable=REDIS)
    programs.feed(feed_redis, path)
    names[server.pid] = "redis, keys that expire"
    for mode, name in (("lru", "LRU cache"), ("batches", "batches")):
        child = programs.start(os.path.join(WORKLOADS, "steady"), mode, "100")
        names[child.pid] = name
    child = programs.start("sqlite3", "-batch", "-init", "/dev/null", ":memory:",
                           stdin=subprocess.PIPE)
    programs.feed(feed_sqlite, child)
    names[child.pid] = "sqlite3"
    child = programs.start(sys.executable, "-c", PYTHON_WORK,
                           env=dict(os.environ, PYTHONMALLOC="malloc"))
    names[child.pid] = "python3"
    return names


def start_monitor(pids, interval, options):
    return subprocess.Popen([LEAKMON, "profile", "-p", ",".join(map(str, pids)), "--format", "json",
                             "--overhead", options.overhead, "-T", "0", "%g" % interval],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def end_monitor(monitor):
    """Whether it went well."""
    monitor.send_signal(signal.SIGINT)
    monitor.stdout.read()
    monitor.wait()
    if monitor.returncode:
        print("leakmon ended with %d" % monitor.returncode)
    return monitor.returncode == 0


def reports(monitor, seconds):
    begin = time.monotonic()
    for line in monitor.stdout:
        yield time.monotonic() - begin, json.loads(line)
        if time.monotonic() - begin >= seconds or stopping.is_set():
            return


def run_programs(programs, options):
    names = start_programs(programs)
    time.sleep(2)  # until each has become what it is
    monitor = start_monitor(names, max(options.seconds / READINGS, INTERVAL_LEAST_S), options)
    leaking, processes = {}, {}
    for passed, report in reports(monitor, options.seconds):
        for process in report["processes"]:
            processes[process["pid"]] = process
            for site in process["sites"]:
                if site["verdict"] == "leaking":
                    leaking.setdefault((process["pid"], site["id"]), (passed, site))
        print("%5.0f s: %d windows, %.2f s tracked, %d called leaking" %
              (passed, report["windows"], report["tracked_s"], len(leaking)), flush=True)
    good = end_monitor(monitor)
    verdicts = ("churning", "retained", "too-early", "leaking")
    print("\n%-24s %8s %9s %7s %6s" % ("", "windows", "tracked", "spent", "sites") +
          "".join("%10s" % verdict for verdict in verdicts))
    for pid, name in names.items():
        process = processes.get(pid)
        if not process or not process["windows"]:
            print("%-24s no windows: %s" % (name, process and process["missed_why"]))
            good = False
            continue
        found = [site["verdict"] for site in process["sites"]]
        if process["missed_windows"]:
            print("%-24s %d windows came to nothing: %s" % (name, process["missed_windows"],
                                                            process["missed_why"]))
        print("%-24s %8d %7.2f s %5.2f %% %6d" % (name, process["windows"], process["tracked_s"],
                                                  100 * process["spent"], len(found)) +
              "".join("%10d" % found.count(verdict) for verdict in verdicts))
    for (pid, _), (passed, site) in leaking.items():
        print("called leaking after %.0f s: %s, %.0f to %.0f B/s: %s" %
              (passed, names[pid], site["low"], site["high"],
               " < ".join(str(frame["function"]) for frame in site["frames"][:6])))
    print("%d sites called leaking in %.0f s" % (len(leaking), options.seconds))
    return good and not leaking


def usage(pid):
    """CPU time, with that of its children which have ended, in seconds; RSS in bytes."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    ticks = sum(map(int, fields[11:15]))
    return (ticks / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))


def run_crowd(programs, options):
    pids = [programs.start(os.path.join(WORKLOADS, "steady"), "batches" if i % 2 else "lru",
                           str(2000 * (1 + i % 5))).pid for i in range(options.count)]
    time.sleep(1)
    monitor = start_monitor(pids, 60, options)
    reader = threading.Thread(target=monitor.stdout.read, daemon=True)
    reader.start()
    begin, last_cpu, last_s, most, good = time.monotonic(), 0, 0, 0, True
    print("%8s %16s %10s" % ("", "of a core", "RSS, most"))
    for tenth in range(1, 11):
        while time.monotonic() - begin < options.seconds * tenth / 10 and not stopping.is_set():
            time.sleep(min(1, options.seconds / 100))
            cpu_s, resident = usage(monitor.pid)
            most = max(most, resident)
        passed = time.monotonic() - begin
        share = (cpu_s - last_cpu) / (passed - last_s)
        print("%6.0f s %14.2f %% %7.1f MB" % (passed, 100 * share, most / 1e6), flush=True)
        if tenth == 1:
            first_cpu, first_s = cpu_s, passed
        good &= most <= MEMORY_MOST
        last_cpu, last_s, most = cpu_s, passed, 0
        if stopping.is_set():
            break
    monitor.send_signal(signal.SIGINT)
    reader.join()
    good &= monitor.wait() == 0
    if last_s <= first_s:
        return False
    share = (last_cpu - first_cpu) / (last_s - first_s)
    print("%d processes: %.2f %% of a core after the first tenth, %.2f %% with it" %
          (options.count, 100 * share, 100 * last_cpu / last_s))
    return good and share <= CPU_MOST


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("programs", "crowd"))
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--overhead", default="1%")
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    options.seconds = options.seconds or (1800 if options.what == "programs" else 3600)
    programs = Programs()

    signal.signal(signal.SIGINT, lambda *_: stopping.set())
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    try:
        good = (run_programs if options.what == "programs" else run_crowd)(programs, options)
    finally:
        programs.end()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
