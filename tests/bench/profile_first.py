#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Whether `leakmon profile` at its default of 1 % has a leak of 10 blocks of 100 bytes a second, among
100,000 allocations a second or more, as its first site within five minutes; for five allocators.

    profile_first.py [--runs N] [--jobs N] [--seconds S] [--readings N] [--only ALLOCATOR]
                     [--nothing-else] [--results FILE]

The program has other work besides, for most of a core. With --nothing-else it has none, and
allocates a million times a second and more: windows slow it tenfold, and see so much less of it.

A run is over when the leak has been first in so many readings in a row, one every five seconds (or
when time is up): what counts is when the first of them was. --jobs runs are made beside each other,
each with a program and a profile of its own. One line a run, then a table. --results keeps one JSON
object a line; runs that are there are not made again, so what was interrupted goes on. The exit
code is 1 if some allocator has fewer than 19 of 20 (95 %), or fewer allocations a second.
"""
import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
ALLOCATORS = {
    "glibc": ("dripper", None),
    "musl": ("dripper_musl", None),
    "jemalloc": ("dripper", LIBRARIES + "libjemalloc.so.2"),
    "tcmalloc": ("dripper", LIBRARIES + "libtcmalloc_minimal.so.4"),
    "mimalloc": ("dripper", LIBRARIES + "libmimalloc.so.2.0"),
}
LEAKMON = os.environ.get("LEAKMON_PROGRAM", "build/leakmon")
WORKLOADS = os.environ.get("LEAKMON_WORKLOADS", "build/workloads")
INTERVAL_S = 5
ALLOCATIONS_PER_S = 100000
# Blocks a second, microseconds of sleep in each round, contents, work: see dripper.c.
USUAL = ("10", "400", "noise", "650")
NOTHING_ELSE = ("10", "20")
stopping = threading.Event()


def start_workload(program, preload, arguments):
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = preload
    child = subprocess.Popen([os.path.join(WORKLOADS, program), *arguments],
                             stdout=subprocess.PIPE, env=environment)
    child.stdout.readline()
    return child


def end_workload(workload):
    """What it says of itself."""
    workload.terminate()
    truth = json.loads(workload.stdout.readline() or "{}")
    workload.wait()
    return truth


def function_of(site):
    return site["frames"][0]["function"] if site["frames"] else None


def sites_of(report):
    return report["processes"][0]["sites"] if report and report["processes"] else []


def follow(monitor, options):
    """The last report, and since when `drip` has been first in each of them (None: it is not)."""
    begin, since, first, report = time.monotonic(), None, 0, None
    for line in monitor.stdout:
        report = json.loads(line)
        passed = time.monotonic() - begin
        sites = sites_of(report)
        if sites and function_of(sites[0]) == "drip" and sites[0]["low"] > 0:
            since = passed if since is None else since
            first += 1
        else:
            since, first = None, 0
        # What came first in time is given its readings.
        if stopping.is_set() or first >= options.readings or (passed >= options.seconds
                                                              and not first):
            break
    if since is not None and since > options.seconds:
        since = None
    return report, since


def run(allocator, number, options, errors):
    workload = start_workload(*ALLOCATORS[allocator],
                              NOTHING_ELSE if options.nothing_else else USUAL)
    monitor = subprocess.Popen([LEAKMON, "profile", "-p", str(workload.pid), "--format", "json",
                                str(INTERVAL_S)],
                               stdout=subprocess.PIPE, stderr=errors)
    try:
        report, since = follow(monitor, options)
    finally:
        alive = workload.poll() is None and monitor.poll() is None
        monitor.send_signal(signal.SIGINT)
        monitor.stdout.read()
        monitor.wait()
        truth = end_workload(workload)
    if not alive or monitor.returncode:
        errors.seek(0)
        raise RuntimeError("%s, run %d: the workload ended with %d, leakmon with %d: %s" %
                           (allocator, number, workload.returncode, monitor.returncode,
                            errors.read().decode(errors="replace").strip()))
    sites = sites_of(report)
    drip = next((site for site in sites if function_of(site) == "drip"), None)
    return {
        "allocator": allocator,
        "number": number,
        "settings": settings(options),
        "first": since is not None,
        "since_s": since,
        "rank": sites.index(drip) + 1 if drip else None,
        "low": drip["low"] if drip else None,
        "high": drip["high"] if drip else None,
        "allocations_per_s": 1e9 * truth.get("allocated", 0) / max(truth.get("ns", 0), 1),
        "windows": report["windows"] if report else 0,
        "tracked_s": report["tracked_s"] if report else 0,
        "spent": report["overhead"]["spent"] if report else None,
        "missed": report["processes"][0]["missed_windows"] if sites else None,
        "monitor": report["monitor"] if report else None,
        "load": os.getloadavg()[0],
    }


def settings(options):
    """Results of other settings are not of this series."""
    return [options.seconds, options.readings, options.jobs, options.nothing_else]


def say(result):
    since = "first after %.0f s" % result["since_s"] if result["first"] else "not first"
    print("%3d %-9s %-18s rank %s, %s to %s B/s; %.0f allocations/s, %d windows, %.2f s tracked, "
          "%.2f %% spent; load %.1f" %
          (result["number"], result["allocator"], since, result["rank"],
           *("?" if result[key] is None else "%.0f" % result[key] for key in ("low", "high")),
           result["allocations_per_s"], result["windows"], result["tracked_s"],
           100 * (result["spent"] or 0), result["load"]), flush=True)


def read_results(options):
    """Those that were made before."""
    results = []
    if options.results and os.path.exists(options.results):
        with open(options.results) as file:
            for line in file:
                try:
                    results.append(json.loads(line))
                except ValueError:  # cut off in the middle
                    continue
    return [result for result in results if result["settings"] == settings(options)]


def work(todo, results, options, lock):
    while not stopping.is_set():
        try:
            number, allocator = todo.get_nowait()
        except queue.Empty:
            return
        try:
            with tempfile.TemporaryFile() as errors:
                result = run(allocator, number, options, errors)
        except RuntimeError as error:  # no result: the next call makes this run again
            print(error, flush=True)
            continue
        if stopping.is_set():
            return
        with lock:
            results.append(result)
            say(result)
            if options.results:
                with open(options.results, "a") as file:
                    file.write(json.dumps(result) + "\n")


def run_all(chosen, results, options):
    todo, lock = queue.Queue(), threading.Lock()
    made = {(result["number"], result["allocator"]) for result in results}
    for number in range(1, options.runs + 1):
        for allocator in chosen:
            if (number, allocator) not in made:
                todo.put((number, allocator))
    workers = [threading.Thread(target=work, args=(todo, results, options, lock))
               for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def table(chosen, results, options):
    """Whether each allocator has what it should."""
    good = True
    for allocator in chosen:
        ran = [result for result in results
               if result["allocator"] == allocator and result["number"] <= options.runs]
        first = sorted(result["since_s"] for result in ran if result["first"])
        rates = sorted(result["allocations_per_s"] for result in ran)
        when = "median after %.0f s, the last after %.0f s" % (
            first[len(first) // 2], first[-1]) if first else "-"
        print("%-9s first in %d of %d runs; %s; %.0f allocations/s or more" %
              (allocator, len(first), len(ran), when, rates[0] if rates else 0))
        good &= len(first) >= 0.95 * options.runs and bool(rates) and rates[0] >= ALLOCATIONS_PER_S
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--readings", type=int, default=3)
    parser.add_argument("--only", choices=ALLOCATORS)
    parser.add_argument("--nothing-else", action="store_true")
    parser.add_argument("--results")
    options = parser.parse_args()
    chosen = [options.only] if options.only else list(ALLOCATORS)
    results = read_results(options)

    signal.signal(signal.SIGINT, lambda *_: stopping.set())
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    run_all(chosen, results, options)
    return 0 if table(chosen, results, options) else 1


if __name__ == "__main__":
    sys.exit(main())
