#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_unit.py PROGRAM: the systemd unit as `make install` puts it, judged by systemd-analyze, and started
by a systemd that is PID 1 of namespaces of its own, over a copy-on-write image of this system. Needs root.
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = None
DEPLOY = pathlib.Path("scripts/deploy/systemd")
EXPOSURE_MAX = 3.0
TEXTFILE = "var/lib/prometheus/node-exporter/leakmon.prom"

# /proc/sys is not a namespace's own: what would set it is masked, and it is read-only.
BOOT = r"""
set -e
mount -t tmpfs tmpfs "$1"
cd "$1"
mkdir upper work root
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay root
cd root
rm -rf var/lib/prometheus etc/systemd/system/leakmon.service.d
install -D -m 0755 "$2" usr/local/sbin/leakmon
install -D -m 0644 "$3/leakmon.service" etc/systemd/system/leakmon.service
for unit in systemd-sysctl systemd-modules-load systemd-logind systemd-remount-fs systemd-update-utmp \
	systemd-udevd systemd-udev-trigger systemd-random-seed dbus; do
	ln -sfn /dev/null "etc/systemd/system/$unit.service"
done
ln -sfn /dev/null etc/systemd/system/dbus.socket
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs sysfs sys
if [ -d /sys/fs/cgroup/systemd ]; then
	mount -t tmpfs tmpfs sys/fs/cgroup
	mkdir sys/fs/cgroup/systemd sys/fs/cgroup/memory
	mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
	mount -t cgroup -o memory cgroup sys/fs/cgroup/memory
else
	mount -t cgroup2 cgroup2 sys/fs/cgroup
fi
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs dev
for node in null zero random urandom full tty; do
	touch "dev/$node"
	mount --bind "/dev/$node" "dev/$node"
done
mkdir dev/pts dev/shm old
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm
pivot_root . old
umount -l old
export container=lxc
exec /lib/systemd/systemd --unit=sysinit.target --log-target=null
"""


def run(*words, **more):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, **more)


class Unit(unittest.TestCase):
    def exposure(self, *drop_ins):
        """systemd-analyze's figure for the unit with these drop-ins."""
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work) / "leakmon.service"
            path.write_text("".join((DEPLOY / name).read_text()
                                    for name in ("leakmon.service", *drop_ins)))
            done = run("systemd-analyze", "security", "--offline=yes", path)
        found = re.search(r"Overall exposure level for leakmon.service: ([0-9.]+)", done.stdout)
        self.assertTrue(found, done.stdout + done.stderr)
        return float(found[1])

    def test_it_is_exposed_to_little(self):
        self.assertLessEqual(self.exposure(), EXPOSURE_MAX)
        self.assertLessEqual(self.exposure("old-kernel.conf"), EXPOSURE_MAX)
        self.assertGreater(self.exposure("network.conf"), self.exposure())

    def test_sys_admin_is_for_old_kernels_only(self):
        self.assertNotIn("SYS_ADMIN", re.sub(r"#.*", "", (DEPLOY / "leakmon.service").read_text()))
        self.assertIn("CAP_SYS_ADMIN", (DEPLOY / "old-kernel.conf").read_text())

    def boot(self):
        """Namespaces in which systemd is PID 1; returns what enters them."""
        work = tempfile.mkdtemp(prefix="leakmon-systemd-")
        self.addCleanup(self.take_away, work)
        boot = subprocess.Popen(
            ["unshare", "--pid", "--mount", "--ipc", "--uts", "--net", "--cgroup", "--fork",
             "--kill-child", "sh", "-c", BOOT, "sh", work, os.path.abspath(PROGRAM), DEPLOY.resolve()],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(boot.wait)
        self.addCleanup(boot.send_signal, signal.SIGKILL)
        for _ in range(200):
            children = run("ps", "-o", "pid=,comm=", "--ppid", boot.pid).stdout.split()
            if children[1:] == ["systemd"]:
                def inside(*words):
                    return run("nsenter", "-t", children[0], "-a", *words)
                if inside("systemctl", "is-active", "sysinit.target").stdout == "active\n":
                    return inside, pathlib.Path(f"/proc/{children[0]}/root")
            time.sleep(0.1)
        self.fail("systemd did not start")

    @staticmethod
    def take_away(work):
        """When the last process of those namespaces is gone."""
        for _ in range(100):
            try:
                os.rmdir(work)
                return
            except OSError:
                time.sleep(0.1)

    def expect_report(self, inside, root):
        started = inside("systemctl", "restart", "leakmon")
        self.assertEqual(started.returncode, 0, started.stderr)
        time.sleep(1)  # it reports when asked to from then on
        for _ in range(100):
            inside("systemctl", "reload", "leakmon")
            if (root / TEXTFILE).exists():
                break
            time.sleep(0.1)
        status = inside("systemctl", "--no-pager", "status", "leakmon")
        self.assertEqual(inside("systemctl", "is-active", "leakmon").stdout, "active\n", status.stdout)
        self.assertIn("leakmon_build_info", (root / TEXTFILE).read_text())
        self.assertEqual((root / TEXTFILE).stat().st_mode & 0o777, 0o644)
        for directory in (root / TEXTFILE).relative_to(root).parents[:2]:
            self.assertEqual((root / directory).stat().st_mode & 0o777, 0o755)

    @unittest.skipUnless(os.path.exists("/lib/systemd/systemd"), "no systemd here")
    def test_it_starts_without_and_with_a_network(self):
        inside, root = self.boot()
        self.expect_report(inside, root)
        inside("ip", "link", "set", "lo", "up")
        (root / "etc/default/leakmon").write_text("OPTIONS=--listen 127.0.0.1:9464\n")
        inside("mkdir", "-p", "/etc/systemd/system/leakmon.service.d")
        (root / "etc/systemd/system/leakmon.service.d/network.conf").write_text(
            (DEPLOY / "network.conf").read_text())
        inside("systemctl", "daemon-reload")
        self.expect_report(inside, root)
        served = inside("python3", "-c", "import urllib.request; print(urllib.request.urlopen("
                        "'http://127.0.0.1:9464/metrics').read().decode())")
        self.assertIn("leakmon_build_info", served.stdout, served.stderr)
        # A clean end takes the file away.
        inside("systemctl", "stop", "leakmon")
        self.assertFalse((root / TEXTFILE).exists())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
