#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""image_index.py OUT NAME EPOCH ARCHIVE...: one OCI archive of several, each of one image for one
machine (package.sh image). A registry that gets it gives every machine its own image.

The same archives give the same bytes. EPOCH: the time of the files in it.

Source: the OCI image format 1.1, image-layout.md and image-index.md.
"""
import hashlib
import io
import json
import sys
import tarfile

INDEX = "application/vnd.oci.image.index.v1+json"


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def members_of(path):
    """Name and contents of its files."""
    with tarfile.open(path) as archive:
        return {member.name.removeprefix("./"): archive.extractfile(member).read()
                for member in archive if member.isfile()}


def blob_of(members, digest):
    data = members.get("blobs/" + digest.replace(":", "/"))
    if data is None or digest_of(data) != digest:
        sys.exit(f"image_index.py: {digest} is missing or damaged")
    return data


def entry_of(members):
    """The descriptor of its one image, with the machine that its configuration names."""
    [entry] = json.loads(members["index.json"])["manifests"]
    image = json.loads(blob_of(members, entry["digest"]))
    config = json.loads(blob_of(members, image["config"]["digest"]))
    platform = {key: config[key] for key in ("architecture", "os", "variant") if key in config}
    return {"mediaType": entry["mediaType"], "digest": entry["digest"], "size": entry["size"],
            "platform": platform}


def merged(archives, name):
    files, entries = {}, []
    for path in archives:
        members = members_of(path)
        entries.append(entry_of(members))
        files.update((key, data) for key, data in members.items() if key.startswith("blobs/"))
        files["oci-layout"] = members["oci-layout"]
    machines = [entry["platform"]["architecture"] for entry in entries]
    if len(set(machines)) != len(machines):
        sys.exit("image_index.py: two images for one machine: " + ", ".join(machines))
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()
    files["blobs/" + digest_of(index).replace(":", "/")] = index
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [{
        "mediaType": INDEX, "digest": digest_of(index), "size": len(index),
        "annotations": {"org.opencontainers.image.ref.name": name}}]}).encode()
    return files


def main(out, name, epoch, *archives):
    files = merged(archives, name)
    with tarfile.open(out, "w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(files):
            member = tarfile.TarInfo("./" + path)
            member.size, member.mtime, member.mode = len(files[path]), int(epoch), 0o644
            archive.addfile(member, io.BytesIO(files[path]))


if __name__ == "__main__":
    main(*sys.argv[1:])
