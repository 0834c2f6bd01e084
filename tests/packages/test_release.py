#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_release.py: what `make release` does once all packages are made, on files that stand for them:
the list of components, checksums, and their signature.
"""
import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

PACKAGE = pathlib.Path("scripts/package/package.sh").resolve()
VERSION = "9.8.7"
MACHINE = os.uname().machine
STATIC = f"leakmon-{VERSION}-linux-{MACHINE}"
FILES = [f"leakmon-{VERSION}.tar.gz", f"leakmon-chart-{VERSION}.tgz", f"leakmon_{VERSION}_amd64.deb",
         f"leakmon-{VERSION}-1.x86_64.rpm", f"leakmon-{VERSION}-image.tar"]


class Release(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="leakmon-release-"))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.out = self.work / "build/dist"
        self.out.mkdir(parents=True)
        for name in FILES:
            (self.out / name).write_text(name)
        with tarfile.open(self.out / f"{STATIC}.tar.gz", "w:gz") as archive:
            member = tarfile.TarInfo(f"{STATIC}/leakmon.spdx.json")
            member.size = 2
            archive.addfile(member, io.BytesIO(b"{}"))
        self.gnupg = self.work / "gnupg"
        self.gnupg.mkdir(mode=0o700)

    def run_in(self, directory, *words, **more):
        environment = {"PATH": os.environ["PATH"], "GNUPGHOME": str(self.gnupg),
                       "SOURCE_DATE_EPOCH": "0", **more}
        return subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True)

    def release(self, **more):
        return self.run_in(self.work, PACKAGE, "release", VERSION, **more)

    def test_checksums_are_of_all_files_of_this_version(self):
        (self.out / "leakmon_1.0_amd64.deb").write_text("of another version")
        result = self.release()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("not signed", result.stderr)
        self.assertFalse((self.out / "SHA256SUMS.asc").exists())
        listed = {line.split()[1] for line in (self.out / "SHA256SUMS").read_text().splitlines()}
        self.assertEqual(listed, {*FILES, f"{STATIC}.tar.gz", f"leakmon-{VERSION}.spdx.json"})
        self.assertEqual(self.run_in(self.out, "sha256sum", "-c", "SHA256SUMS").returncode, 0)

    def test_a_missing_package_is_no_release(self):
        for name in FILES:
            (self.out / name).rename(self.out / "aside")
            self.assertNotEqual(self.release().returncode, 0, name)
            self.assertFalse((self.out / "SHA256SUMS").exists())
            (self.out / "aside").rename(self.out / name)

    @unittest.skipUnless(shutil.which("gpg"), "no gpg")
    def test_the_checksums_are_signed_by_the_given_key(self):
        made = self.run_in(self.work, "gpg", "--batch", "--passphrase", "", "--quick-gen-key",
                           "release@leakmon.invalid", "ed25519", "sign")
        self.assertEqual(made.returncode, 0, made.stderr)
        result = self.release(SIGN="release@leakmon.invalid")
        self.assertEqual(result.returncode, 0, result.stderr)
        check = ("gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS")
        self.assertEqual(self.run_in(self.out, *check).returncode, 0)
        with (self.out / "SHA256SUMS").open("a") as sums:
            sums.write("\n")
        self.assertNotEqual(self.run_in(self.out, *check).returncode, 0)
        self.assertNotEqual(self.release(SIGN="nobody@leakmon.invalid").returncode, 0)


unittest.main(verbosity=2)
