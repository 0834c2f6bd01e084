#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
Whether `leakmon profile` at its default of 1 % has a leak of 10 blocks of 100 bytes a second, among
100,000 allocations a second, as its first site within five minutes; for five allocators.

    profile_first.py [--runs N] [--seconds S] [--only ALLOCATOR] [--json FILE]

Each run takes those five minutes: 20 runs of five allocators take a night. One line a run, then a
table. The exit code is 1 if some allocator has fewer than 19 of 20 (95 %).
"""
import argparse
import json
import os
import signal
import subprocess
import sys
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


def start_workload(program, preload):
    environment = dict(os.environ)
    if preload:
        environment["LD_PRELOAD"] = preload
    child = subprocess.Popen([os.path.join(WORKLOADS, program), "10", "20"],
                             stdout=subprocess.PIPE, env=environment)
    child.stdout.readline()
    return child


def function_of(site):
    return site["frames"][0]["function"] if site["frames"] else None


def follow(monitor, seconds):
    """The last report, and since when `drip` has been first in each of them (None: it is not)."""
    begin, since, report = time.monotonic(), None, None
    for line in monitor.stdout:
        report = json.loads(line)
        passed = time.monotonic() - begin
        sites = report["processes"][0]["sites"] if report["processes"] else []
        if sites and function_of(sites[0]) == "drip" and sites[0]["low"] > 0:
            since = passed if since is None else since
        else:
            since = None
        if passed >= seconds:
            break
    return report, since


def run(allocator, seconds):
    workload = start_workload(*ALLOCATORS[allocator])
    monitor = subprocess.Popen([LEAKMON, "profile", "-p", str(workload.pid), "--format", "json",
                                "10"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        report, since = follow(monitor, seconds)
        sites = report["processes"][0]["sites"] if report and report["processes"] else []
        drip = next((site for site in sites if function_of(site) == "drip"), None)
        return {
            "allocator": allocator,
            "first": since is not None,
            "since_s": since,
            "rank": sites.index(drip) + 1 if drip else None,
            "low": drip["low"] if drip else None,
            "high": drip["high"] if drip else None,
            "allocations_per_s": sum(site["births_per_s"] or 0 for site in sites),
            "windows": report["windows"] if report else 0,
            "tracked_s": report["tracked_s"] if report else 0,
            "spent": report["overhead"]["spent"] if report else None,
            "load": os.getloadavg()[0],
        }
    finally:
        monitor.send_signal(signal.SIGINT)
        monitor.stdout.read()
        monitor.wait()
        workload.terminate()
        workload.wait()


def say(number, result):
    since = "first after %.0f s" % result["since_s"] if result["first"] else "not first"
    print("%3d %-9s %-18s rank %s, %s to %s B/s; %.0f allocations/s, %d windows, %.2f s tracked, "
          "%.2f %% spent; load %.1f" %
          (number, result["allocator"], since, result["rank"],
           *("?" if result[key] is None else "%.0f" % result[key] for key in ("low", "high")),
           result["allocations_per_s"], result["windows"], result["tracked_s"],
           100 * (result["spent"] or 0), result["load"]), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--only", choices=ALLOCATORS)
    parser.add_argument("--json")
    options = parser.parse_args()
    chosen = [options.only] if options.only else list(ALLOCATORS)
    results, failed = [], False

    for number in range(1, options.runs + 1):
        for allocator in chosen:
            results.append(run(allocator, options.seconds))
            say(number, results[-1])
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(results, file, indent=1)
    for allocator in chosen:
        ran = [result for result in results if result["allocator"] == allocator]
        first = [result["since_s"] for result in ran if result["first"]]
        median = "%.0f s" % sorted(first)[len(first) // 2] if first else "-"
        print("%-9s first in %d of %d runs; median after %s" %
              (allocator, len(first), len(ran), median))
        failed |= len(first) < 0.95 * len(ran)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
