#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_images.py [ARCHIVE]: one archive for several machines (scripts/package/image_index.py): buildah finds each
machine's image in it, and no other. Of made-up images; of ARCHIVE, too: the programs are the machines' own.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "scripts/package/image_index.py"
ARCHIVE = None
# ELF's e_machine (elf.h).
MACHINES = {"amd64": 62, "arm64": 183}


def put(folder, data):
    digest = hashlib.sha256(data).hexdigest()
    (folder / "blobs/sha256").mkdir(parents=True, exist_ok=True)
    (folder / "blobs/sha256" / digest).write_bytes(data)
    return {"digest": "sha256:" + digest, "size": len(data)}


def make_image(work, architecture):
    """An archive of one image with one file, machine, that has the name of the machine."""
    folder = work / architecture
    (folder / "root").mkdir(parents=True)
    (folder / "root/machine").write_text(architecture)
    with tarfile.open(folder / "layer", "w") as layer:
        layer.add(folder / "root/machine", "machine")
    data = (folder / "layer").read_bytes()
    layer = put(folder, data) | {"mediaType": "application/vnd.oci.image.layer.v1.tar"}
    config = put(folder, json.dumps({
        "architecture": architecture, "os": "linux", "config": {},
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]}}).encode())
    config["mediaType"] = "application/vnd.oci.image.config.v1+json"
    manifest = put(folder, json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [layer]}).encode())
    manifest["mediaType"] = "application/vnd.oci.image.manifest.v1+json"
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    with tarfile.open(work / f"{architecture}.tar", "w") as archive:
        for name in ("blobs", "index.json", "oci-layout"):
            archive.add(folder / name, "./" + name)
    return work / f"{architecture}.tar"


class Images(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="leakmon-images-")
        self.work = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def buildah(self, *arguments):
        storage = ["--root", self.work / "storage", "--runroot", self.work / "run", "--storage-driver", "vfs"]
        return subprocess.run(["buildah", *storage, *arguments], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def root_of(self, archive, architecture):
        """Where the files of the image for that machine are."""
        container = self.buildah("from", "--pull-always", "--arch", architecture, f"oci-archive:{archive}")
        return pathlib.Path(self.buildah("mount", container))

    def test_every_machine_gets_its_own_image(self):
        archives = [make_image(self.work, architecture) for architecture in MACHINES]
        for number in range(2):
            subprocess.run([TOOL, self.work / f"{number}.tar", "localhost/name:1", "86400", *archives],
                           check=True)
        first = self.work / "0.tar"
        self.assertEqual(first.read_bytes(), (self.work / "1.tar").read_bytes())
        for architecture in MACHINES:
            root = self.root_of(first, architecture)
            self.assertEqual((root / "machine").read_text(), architecture)

    def test_two_images_for_one_machine_are_refused(self):
        archive = make_image(self.work, "arm64")
        run = subprocess.run([TOOL, self.work / "out.tar", "localhost/name:1", "0", archive, archive],
                             text=True, stderr=subprocess.PIPE, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("two images for one machine: arm64, arm64", run.stderr)

    def test_the_programs_are_the_machines_own(self):
        if not ARCHIVE:
            self.skipTest("no archive was given")
        for architecture, machine in MACHINES.items():
            program = self.root_of(ARCHIVE, architecture) / "usr/sbin/leakmon"
            header = program.read_bytes()[:20]
            self.assertEqual(int.from_bytes(header[18:20], "little"), machine)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ARCHIVE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
