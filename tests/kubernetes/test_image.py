#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_image.py ARCHIVE: the image of `make image`, looked at and run, by runc, with the capabilities of
the manifests and no others. Needs root.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import manifest

MOST = 15 << 20
ARCHIVE = None


def blob(archive, digest):
    data = archive.extractfile("./blobs/" + digest.replace(":", "/")).read()
    if "sha256:" + hashlib.sha256(data).hexdigest() != digest:
        raise AssertionError(f"{digest}: the contents are others")
    return data


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="leakmon-image-"))
        with tarfile.open(ARCHIVE) as archive:
            index = json.load(archive.extractfile("./index.json"))
            [entry] = index["manifests"]
            cls.manifest = json.loads(blob(archive, entry["digest"]))
            cls.config = json.loads(blob(archive, cls.manifest["config"]["digest"]))
            cls.root = cls.work / "rootfs"
            for layer in cls.manifest["layers"]:
                data = cls.work / "layer"
                data.write_bytes(blob(archive, layer["digest"]))
                with tarfile.open(data) as files:
                    files.extractall(cls.root)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.work)
        for group in pathlib.Path("/sys/fs/cgroup").glob("**/leakmon-test"):
            if not any(path.is_dir() for path in group.iterdir()):
                group.rmdir()

    def run_with(self, container, arguments):
        """A run of the image as the container of a manifest has it: its capabilities, the host's
        processes, a root file system that nobody may write to, no new privileges."""
        security = container["securityContext"]
        self.assertEqual(security["capabilities"]["drop"], ["ALL"])
        capabilities = ["CAP_" + name for name in security["capabilities"]["add"]]
        bundle = self.work / "bundle"
        shutil.rmtree(bundle, ignore_errors=True)
        bundle.mkdir()
        subprocess.run(["runc", "spec"], cwd=bundle, check=True)
        spec = json.loads((bundle / "config.json").read_text())
        spec["process"].update({
            "terminal": False, "args": self.config["config"]["Entrypoint"] + arguments,
            "noNewPrivileges": not security["allowPrivilegeEscalation"],
            "capabilities": {kind: capabilities for kind in ("bounding", "effective", "permitted")}})
        spec["root"] = {"path": str(self.root), "readonly": security["readOnlyRootFilesystem"]}
        spec["linux"]["namespaces"] = [{"type": "mount"}, {"type": "ipc"}, {"type": "uts"}]
        spec["linux"]["cgroupsPath"] = "/leakmon-test/image"
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["type"] in ("proc", "tmpfs")] + [
            {"destination": "/sys", "type": "none", "source": "/sys", "options": ["rbind", "ro"]}]
        (bundle / "config.json").write_text(json.dumps(spec))
        return subprocess.run(["runc", "--root", str(self.work / "runc"), "run", "leakmon-image"],
                              cwd=bundle, capture_output=True, text=True, timeout=300)

    def test_it_is_small_and_holds_what_the_licences_ask_for(self):
        size = os.path.getsize(ARCHIVE)
        self.assertLess(size, MOST)
        files = [path for path in self.root.rglob("*") if path.is_file()]
        unpacked = sum(path.stat().st_size for path in files)
        self.assertLess(unpacked, MOST)
        print(f"image: {size / 1e6:.2f} MB, unpacked {unpacked / 1e6:.2f} MB", file=sys.stderr)
        executable = [path for path in files if os.access(path, os.X_OK)
                      and path.stat().st_mode & 0o111]
        self.assertEqual(executable, [self.root / "usr/sbin/leakmon"])
        papers = self.root / "usr/share/doc/leakmon"
        sbom = json.loads((papers / "leakmon.spdx.json").read_text())
        program = hashlib.sha256(executable[0].read_bytes()).hexdigest()
        self.assertEqual(sbom["packages"][0]["checksums"][0]["checksumValue"], program)
        linked = {related["relatedSpdxElement"] for related in sbom["relationships"]
                  if related["relationshipType"] == "STATIC_LINK"}
        self.assertLessEqual({f"SPDXRef-{name}" for name in (
            "libc6-dev", "libbpf-dev", "libdw-dev", "libelf-dev", "libcapstone-dev",
            "libsqlite3-dev", "libgcc-12-dev")}, linked)
        for package in linked:
            self.assertGreater(
                (papers / "licenses" / package.removeprefix("SPDXRef-")).stat().st_size, 0)
        self.assertIn("GNU GENERAL PUBLIC LICENSE", (papers / "LICENSE").read_text())

    def test_it_says_what_it_is(self):
        config = self.config["config"]
        self.assertEqual(config["Entrypoint"], ["/usr/sbin/leakmon"])
        labels = {key.rpartition(".")[2]: value for key, value in config["Labels"].items()
                  if key.startswith("org.opencontainers.image.")}
        version = self.run_with(manifest.pod_of(manifest.overlay("triage"))["containers"][0],
                                ["--version"])
        self.assertEqual(version.stdout.split()[1], labels["version"])
        self.assertEqual(labels["licenses"], "GPL-2.0-or-later")
        self.assertEqual(labels["created"], self.config["created"])
        self.assertTrue(labels["title"] and labels["description"])

    def check_overlay(self, overlay, purpose, run):
        container = manifest.pod_of(manifest.overlay(overlay))["containers"][0]
        check = container["startupProbe"]["exec"]["command"][1:]
        self.assertEqual(check[:1], ["doctor"])
        result = self.run_with(container, check + ["--quiet"])
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        # Without any one of the necessary capabilities, it fails and names that one.
        capabilities = container["securityContext"]["capabilities"]["add"]
        for missing in purpose:
            capabilities.remove(missing)
            result = self.run_with(container, check)
            self.assertEqual(result.returncode, 1, missing)
            self.assertRegex(result.stdout, f"CAP_{missing} +MISSING")
            capabilities.append(missing)
        result = self.run_with(container, run)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("not permitted", result.stderr)
        return result

    def test_triage_needs_two_capabilities(self):
        result = self.check_overlay("triage", ["SYS_PTRACE", "DAC_READ_SEARCH"],
                                    ["--no-stacks", "--format", "json", "1", "1"])
        report = json.loads(result.stdout.splitlines()[0])
        self.assertIn(os.getpid(), [process["pid"] for process in report["processes"]])

    def test_a_profile_needs_those_that_load_programs(self):
        target = subprocess.Popen(["/usr/bin/python3", "-c", "while True: x = [0] * 1000"],
                                  env={**os.environ, "PYTHONMALLOC": "malloc"})
        try:
            result = self.check_overlay(
                "profile", ["SYS_PTRACE", "BPF", "PERFMON"],
                ["-p", str(target.pid), "--format", "json", "-o", "0", "2", "1"])
        finally:
            target.kill()
            target.wait()
        report = json.loads(result.stdout.splitlines()[0])
        self.assertGreater(report["ledger"]["allocations"], 1000)


if __name__ == "__main__":
    ARCHIVE = sys.argv.pop(1)
    unittest.main(verbosity=2)
