#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_packages.py VERSION [FORMAT...]: every package is built twice, to the same bytes; installed below
an empty directory, tried, and taken away again, so that nothing is left. Formats: dist, deb, rpm, image.
Needs root.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

OUT = pathlib.Path("build/dist")
VERSION = None
FILES = {
    "dist": ["leakmon-{}.tar.gz", "leakmon-{}-linux-x86_64.tar.gz", "leakmon-chart-{}.tgz"],
    "deb": ["leakmon_{}_amd64.deb"],
    "rpm": ["leakmon-{}-1.x86_64.rpm"],
    "image": ["leakmon-{}-image.tar"]}


def run(*words, **more):
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True, **more)
    if result.returncode:
        raise AssertionError(f"{words}: {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_below(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


class Packages(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="leakmon-package-"))
        self.addCleanup(shutil.rmtree, self.work)
        self.root = self.work / "root"
        self.root.mkdir()

    def build_twice(self, what):
        """The files, the same both times."""
        paths = [OUT / name.format(VERSION) for name in FILES[what]]
        digests = []
        for _ in range(2):
            for path in paths:
                path.unlink(missing_ok=True)
            run("scripts/package/package.sh", what, VERSION)
            digests.append([digest(path) for path in paths])
        self.assertEqual(digests[0], digests[1])
        print(", ".join(f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in paths),
              file=sys.stderr)
        return paths

    def expect_list_of(self, program, papers):
        """The list of what is linked in is this program's, with the licences."""
        listed = json.loads((papers / "leakmon.spdx.json").read_text())["packages"]
        self.assertEqual(listed[0]["checksums"][0]["checksumValue"], digest(program))
        self.assertIn("libc6-dev", [package["name"] for package in listed])
        self.assertTrue((papers / "licenses/libc6-dev").read_text())

    def expect_works(self, program):
        self.assertEqual(run(program, "--version").split()[1], VERSION)
        self.assertIn("CAP_BPF", run(program, "doctor"))

    def test_dist(self):
        sources, static, chart = self.build_twice("dist")
        run("sha256sum", "-c", "SHA256SUMS", cwd=OUT)
        run("tar", "-C", self.work, "-xf", static)
        top = self.work / static.name.removesuffix(".tar.gz")
        self.expect_works(top / "leakmon")
        self.expect_list_of(top / "leakmon", top)
        for beside in ("leakmon.8", "leakmon.bash", "leakmon.fish", "leakmon.zsh",
                       "leakmon.service", "alerts.yml", "grafana.json", "leakmon.apparmor",
                       "quickstart.md"):
            self.assertTrue((top / beside).stat().st_size, beside)
        run("tar", "-C", self.work, "-xf", chart)
        self.assertTrue((self.work / "leakmon/Chart.yaml").exists())
        self.assertFalse((self.work / "leakmon/files/alerts.yml").is_symlink())
        # The sources are whole: the same static program comes of them, elsewhere.
        run("tar", "-C", self.work, "-xf", sources)
        again = self.work / f"leakmon-{VERSION}"
        epoch = int((top / "leakmon").stat().st_mtime)
        run("scripts/package/package.sh", "dist", VERSION, cwd=again,
            env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})
        self.assertEqual(digest(again / "build/dist" / static.name), digest(static))

    def test_deb(self):
        [package] = self.build_twice("deb")
        admin = self.root / "var/lib/dpkg"
        (admin / "info").mkdir(parents=True)
        (admin / "updates").mkdir()
        (admin / "status").touch()
        dpkg = ["dpkg", f"--root={self.root}", "--force-depends", "--force-script-chrootless"]
        run(*dpkg, "-i", package)
        files = files_below(self.root)
        self.assertIn("usr/sbin/leakmon", files)
        self.assertIn("usr/share/man/man8/leakmon.8.gz", files)
        self.assertIn("lib/systemd/system/leakmon.service", files)
        self.assertIn("etc/default/leakmon", files)
        self.assertIn("usr/share/leakmon/systemd/network.conf", files)
        self.assertTrue((self.root / "var/lib/prometheus/node-exporter").is_dir())
        self.assertIn("usr/share/leakmon/alerts.yml", files)
        self.assertIn("usr/share/leakmon/grafana.json", files)
        self.assertIn("usr/share/leakmon/leakmon.apparmor", files)
        self.assertFalse([path for path in files if ".wants/" in path])
        self.expect_works(self.root / "usr/sbin/leakmon")
        run(*dpkg, "-P", "leakmon")
        self.assertEqual([path for path in files_below(self.root)
                          if not path.startswith(("var/lib/dpkg", "var/log"))], [])

    def test_rpm(self):
        [package] = self.build_twice("rpm")
        rpm = ["rpm", "--root", self.root.resolve(), "--dbpath", "/rpm"]
        run(*rpm, "-i", "--nodeps", "--noscripts", package)
        files = files_below(self.root)
        self.assertIn("usr/sbin/leakmon", files)
        self.assertIn("usr/lib/systemd/system/leakmon.service", files)
        self.assertFalse([path for path in files if ".wants/" in path])
        self.expect_works(self.root / "usr/sbin/leakmon")
        self.expect_list_of(self.root / "usr/sbin/leakmon",
                            self.root / "usr/share/licenses/leakmon")
        # One package for all distributions: it asks for no library.
        wanted = run("rpm", "-qp", "--requires", package).split("\n")
        self.assertEqual([line for line in wanted if line and not line.startswith("rpmlib(")],
                         ["/bin/sh"] * 3)
        run(*rpm, "-e", "--nodeps", "--noscripts", "leakmon")
        self.assertEqual([path for path in files_below(self.root) if not path.startswith("rpm/")],
                         [])

    def test_image(self):
        self.build_twice("image")


if __name__ == "__main__":
    VERSION = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + [f"Packages.test_{name}" for name in sys.argv[2:]],
                  verbosity=2)
