#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dotnet_bundle.py PROGRAM ASSEMBLY: a single-file .NET program runs another assembly.
dotnet_bundle.py --extract PROGRAM DIRECTORY NAME...: copies assemblies of its bundle.

PROGRAM (changed in place) has its own assembly NAME.dll in its bundle (docs/design/features/
bundler.md of the .NET SDK); ASSEMBLY, which has the same name, is appended and takes its place.
"""
import os
import struct
import sys

# The SHA-256 of ".net core bundle": after the offset of the bundle's header.
MARK = bytes.fromhex("8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae")


def read_name(data, at):
    length = shift = 0
    while True:
        byte = data[at]
        at += 1
        length |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            return data[at : at + length].decode(), at + length


def entries(data, program):
    """Where the entry of each file is, and its name."""
    (at,) = struct.unpack_from("<q", data, data.index(MARK) - 8)
    major, _, count = struct.unpack_from("<III", data, at)
    if major != 6:
        sys.exit(f"{program}: a bundle of version {major}, not 6")
    _, at = read_name(data, at + 12)
    at += 40
    for _ in range(count):
        entry = at
        name, at = read_name(data, at + 25)
        yield entry, name


def extract(program, directory, *names):
    with open(program, "rb") as file:
        data = file.read()
    for entry, name in entries(data, program):
        offset, size, packed = struct.unpack_from("<qqq", data, entry)
        if name in names and not packed:
            with open(os.path.join(directory, name), "wb") as file:
                file.write(data[offset : offset + size])


def replace(program, assembly):
    wanted = os.path.basename(assembly)
    with open(program, "rb") as file:
        data = bytearray(file.read())
    with open(assembly, "rb") as file:
        added = file.read()
    entry = next((entry for entry, name in entries(data, program) if name == wanted), None)
    if entry is None:
        sys.exit(f"{program}: there is no {wanted} in its bundle")
    data.extend(bytes(-len(data) % 4096))
    # Offset, size, and that it is not compressed.
    struct.pack_into("<qqq", data, entry, len(data), len(added), 0)
    data.extend(added)
    with open(program, "wb") as file:
        file.write(data)


if sys.argv[1] == "--extract":
    extract(*sys.argv[2:])
else:
    replace(*sys.argv[1:])
