#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_cri.py PROGRAMS IMAGE: leakmon as a pod beside other pods, in containerd, which is driven as the
kubelet drives it; its containers are those of the overlays in scripts/deploy/kubernetes. PROGRAMS has
containerd and promtool, IMAGE is the archive of `make image`. Needs root, and BPF.

Intervals are shorter than the manifests' (with a budget for that), and the directories of the host are
the test's own; nothing else of the containers is changed.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import cri
import manifest

PROGRAMS = IMAGE = None
PARENT = f"/leakmon-test-{os.getpid()}"
LIMIT = 300  # seconds, for whatever has to come about
LEAKER = "build/workloads/dripper"


def cgroupfs(uid):
    return f"{PARENT}/kubepods/burstable/pod{uid}"


def systemd(uid):
    name = f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"
    return f"/kubepods.slice/kubepods-burstable.slice/{name}"


def uid_of(number):
    return f"5e0c4a52-9f3b-4c0e-8d7a-{number:012d}"


def eventually(what, condition):
    """The first true value of it."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"not within {LIMIT} s: {what}")


def series_of(path):
    """[(metric, labels)] of a text file of metrics; none while there is no file."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
        if match:
            found.append((match[1], dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or ""))))
    return found


def pods_of(series, metric):
    """namespace/pod/container of every series of a metric that has them."""
    return {"/".join(labels.get(key, "") for key in ("namespace", "pod", "container"))
            for name, labels in series if name == metric and "pod" in labels}


def changed_code(pid):
    """How many bytes of code in its memory are not those of the files: the breakpoints of probes."""
    changed = 0
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            where, rights, offset, _, inode, *path = line.split(maxsplit=5)
            if "x" not in rights or inode == "0":
                continue
            begin, end = (int(word, 16) for word in where.split("-"))
            memory.seek(begin)
            now = memory.read(end - begin)
            with open(f"/proc/{pid}/root{path[0]}", "rb") as file:
                file.seek(int(offset, 16))
                then = file.read(len(now))
            changed += sum(a != b for a, b in zip(now, then)) if now != then else 0
    return changed


class Pods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="leakmon-cri-"))
        cls.addClassCleanup(shutil.rmtree, cls.work, True)
        cls.textfiles, cls.logs = cls.work / "textfiles", cls.work / "pods"
        cls.textfiles.mkdir()
        runtime_directory = cls.work / "runtime"
        runtime_directory.mkdir()
        cls.runtime = cri.Runtime(runtime_directory, PROGRAMS, PARENT)
        cls.addClassCleanup(cls.runtime.close)
        root = cls.work / "rootfs"
        (root / "bin").mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), root / "bin/busybox")
        cri.write_image(cls.work / "pause.tar", "localhost/pause:1", root,
                        ["/bin/busybox", "sleep", "1000000"])
        cri.copy_program(root, LEAKER)
        cri.write_image(cls.work / "app.tar", "localhost/app:1", root, ["/bin/dripper"])
        for archive in (cls.work / "pause.tar", cls.work / "app.tar", IMAGE):
            cls.runtime.import_image(archive)
        cls.leakmon = "localhost/leakmon:" + re.search(r"leakmon-([^/]*)-image", IMAGE)[1]
        cls.numbers = iter(range(1, 1000))

    def setUp(self):
        self.addCleanup(self.remove_pods)

    def remove_pods(self):
        for pod in list(self.runtime.pods):
            pod.remove()

    def pod(self, namespace, name, cgroup_of, **more):
        uid = uid_of(next(self.numbers))
        return cri.Pod(self.runtime, namespace, name, uid, cgroup_of(uid), self.logs, **more)

    def shop(self, name="web-0", cgroup_of=cgroupfs):
        """Two containers, of which one leaks half a megabyte a second."""
        pod = self.pod("shop", name, cgroup_of)
        pod.web = pod.start("web", "localhost/app:1", args=["5000", "1000"])
        pod.sidecar = pod.start("sidecar", "localhost/app:1", args=["0", "100000"])
        return pod

    def monitor(self, overlay, arguments):
        """leakmon's pod, of an overlay; its arguments may be others."""
        spec = manifest.pod_of(manifest.overlay(overlay))
        container = spec["containers"][0]
        volumes = {"textfiles": self.textfiles, "cgroup": "/sys/fs/cgroup", "pod-logs": self.logs}
        self.assertEqual(set(volumes), {volume["name"] for volume in spec["volumes"]})
        begin = time.monotonic()
        pod = self.pod("leakmon", "leakmon-" + overlay, cgroupfs, host_pid=spec["hostPID"])
        pod.container = pod.start("leakmon", **cri.container_of_manifest(
            container, self.leakmon, volumes, arguments(container["args"])))
        running = time.monotonic()
        code, text, error = pod.run(pod.container, container["startupProbe"]["exec"]["command"])
        print(f"{overlay}: running after {running - begin:.2f} s, checked after "
              f"{time.monotonic() - begin:.2f} s", file=sys.stderr)
        self.assertEqual(code, 0, text + error)
        return pod

    def metrics(self):
        return series_of(self.textfiles / "leakmon.prom")

    def expect_valid_metrics(self):
        promtool = pathlib.Path(PROGRAMS, "promtool")
        if promtool.exists():
            with open(self.textfiles / "leakmon.prom") as text:
                result = subprocess.run([promtool, "check", "metrics"], stdin=text,
                                        capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    def containers_by_pid(self, monitor, arguments):
        code, text, error = monitor.run(monitor.container, ["/usr/sbin/leakmon", *arguments])
        self.assertEqual(code, 0, error)
        return {process["pid"]: process["container"]
                for process in json.loads(text.splitlines()[-1])["processes"]}

    def expect_names(self, found, pod, name, container):
        self.assertEqual(found[pod.process(container)],
                         {"id": container, "namespace": pod.namespace, "pod": pod.name,
                          "name": name})

    def test_triage_names_pods_and_forgets_those_that_end(self):
        web, data = self.shop(), self.shop("db-0", systemd)
        monitor = self.monitor("triage", lambda given: [
            "20%" if word == "1%" else word for word in given[:-1]] + ["1"])
        eventually("metrics", self.metrics)

        # Each output, in both ways of naming cgroups.
        found = self.containers_by_pid(monitor, ["--no-stacks", "-T", "0", "--format", "json",
                                                 "0.5", "2"])
        for pod in web, data:
            self.expect_names(found, pod, "web", pod.web)
            self.expect_names(found, pod, "sidecar", pod.sidecar)
        code, text, error = monitor.run(monitor.container, [
            "/usr/sbin/leakmon", "--no-stacks", "-T", "0", "0.5", "2"])
        self.assertEqual(code, 0, error)
        for pod in web, data:
            for name, container in ("web", pod.web), ("sidecar", pod.sidecar):
                line = next(line for line in text.splitlines()
                            if line.split()[:1] == [str(pod.process(container))])
                self.assertIn(f"{pod.name}/{name}", line)
        metric = "leakmon_suspect_memory_growth_bytes_per_second"
        leaks = {"shop/web-0/web", "shop/db-0/web"}
        eventually("both leaks are suspects",
                   lambda: pods_of(self.metrics(), metric) >= leaks)
        self.assertEqual(pods_of(self.metrics(), metric), leaks)
        self.expect_valid_metrics()

        # A pod that is gone has no series left; the other one stays; reborn, it has one again.
        web.remove()
        eventually("the series of the removed pod are gone",
                   lambda: self.metrics() and pods_of(self.metrics(), metric) == leaks -
                   {"shop/web-0/web"})
        self.assertNotIn("web-0", (self.textfiles / "leakmon.prom").read_text())
        again = self.shop()
        eventually("the new pod is a suspect", lambda: pods_of(self.metrics(), metric) == leaks)
        found = self.containers_by_pid(monitor, ["--no-stacks", "-T", "0", "--format", "json",
                                                 "0.5", "2"])
        self.expect_names(found, again, "web", again.web)

        monitor.stop(monitor.container)
        self.assertEqual(list(self.textfiles.iterdir()), [])

    def test_metrics_come_over_http(self):
        self.shop()
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        monitor = self.monitor("triage-http", lambda given: [
            {"0.0.0.0:9464": address, "30": "1"}.get(word, word) for word in given])
        eventually("metrics", self.metrics)

        def fetch(path):
            with urllib.request.urlopen(f"http://{address}{path}", timeout=30) as answer:
                return answer.status, answer.read().decode()

        status, text = eventually("an answer", lambda: fetch("/metrics"))
        self.assertEqual(status, 200)
        self.assertIn("leakmon_triage_processes", text)
        self.assertEqual(fetch("/healthz")[0], 200)
        # Who answers is nobody.
        first = monitor.process(monitor.container)
        children = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()
        servers = [pathlib.Path(f"/proc/{child}/status").read_text() for child in children]
        servers = [status for status in servers if "leakmon-http" in status]
        self.assertEqual(len(servers), 1)
        self.assertRegex(servers[0], r"(?m)^Uid:\t65534\t65534\t65534\t65534$")
        self.assertRegex(servers[0], r"(?m)^CapEff:\t0000000000000000$")
        monitor.stop(monitor.container)

    def test_a_profile_runs_with_what_its_overlay_gives(self):
        self.shop()
        monitor = self.monitor("profile", lambda given: given[:-1] + ["2"])
        eventually("metrics", self.metrics)
        self.expect_valid_metrics()
        log = (monitor.log_directory / "leakmon/0.log").read_text()
        self.assertNotIn("not permitted", log)
        monitor.stop(monitor.container)
        self.assertEqual(list(self.textfiles.iterdir()), [])

    def test_a_watched_pod_may_restart_and_end(self):
        web, other = self.shop("web-0", systemd), self.shop("web-1")
        monitor = self.monitor("profile", lambda given: [
            "--pod", "shop/web-0", "-o", "0", "--format", "prom", "--textfile-dir", "/textfiles",
            "1"])
        both = {"shop/web-0/web", "shop/web-0/sidecar"}
        metric = "leakmon_outstanding_bytes"
        eventually("both containers are watched", lambda: pods_of(self.metrics(), metric) == both)
        self.expect_valid_metrics()
        self.assertGreater(changed_code(web.process(web.web)), 0)
        self.assertEqual(changed_code(other.process(other.web)), 0)

        # Other outputs of the same, by the pod's and by the container's name.
        found = self.containers_by_pid(monitor, ["--pod", "shop/web-1", "-o", "0", "--format",
                                                 "json", "0.5", "2"])
        self.assertEqual(len(found), 2)
        self.expect_names(found, other, "web", other.web)
        self.expect_names(found, other, "sidecar", other.sidecar)
        found = self.containers_by_pid(monitor, ["--container", other.web[:12], "-o", "0",
                                                 "--format", "json", "0.5", "2"])
        self.assertEqual(len(found), 1)
        self.expect_names(found, other, "web", other.web)
        code, text, error = monitor.run(monitor.container, [
            "/usr/sbin/leakmon", "--pod", "shop/web-1", "-o", "0", "0.5", "2"])
        self.assertEqual(code, 0, error)
        self.assertIn(f"container web (pod shop/web-1) {other.web[:12]}", text)
        self.assertIn(f"container sidecar (pod shop/web-1) {other.sidecar[:12]}", text)
        self.assertIn("drip", text)

        # A container that crashes and is started again is followed.
        first = web.process(web.web)
        os.kill(first, 9)
        eventually("the process is gone", lambda: not os.path.exists(f"/proc/{first}"))
        eventually("the container has no series",
                   lambda: pods_of(self.metrics(), metric) == both - {"shop/web-0/web"})
        web.web = web.start("web", "localhost/app:1", args=["5000", "1000"], attempt=1)
        eventually("the new one is watched", lambda: pods_of(self.metrics(), metric) == both)
        self.assertGreater(changed_code(web.process(web.web)), 0)

        # So is the pod; it leaves nothing behind.
        web.remove()
        eventually("no series of the pod are left",
                   lambda: self.metrics() and not pods_of(self.metrics(), metric))
        web = self.shop("web-0", systemd)
        eventually("the new pod is watched", lambda: pods_of(self.metrics(), metric) == both)

        # However leakmon ends, no probe is left in a pod that goes on.
        monitor.stop(monitor.container)
        self.assertEqual(list(self.textfiles.iterdir()), [])
        eventually("no probe is left", lambda: not changed_code(web.process(web.web)))
        monitor.remove()
        monitor = self.monitor("profile", lambda given: ["--pod", "shop/web-0", "3600"])
        eventually("probes again", lambda: changed_code(web.process(web.web)))
        monitor.stop(monitor.container, 0)
        eventually("no probe is left", lambda: not changed_code(web.process(web.web)))
        time.sleep(0.5)
        self.assertTrue(os.path.exists(f"/proc/{web.process(web.web)}"))


if __name__ == "__main__":
    IMAGE = sys.argv.pop()
    PROGRAMS = sys.argv.pop()
    unittest.main(verbosity=2)
