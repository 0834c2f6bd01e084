#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""dotnet_graph.py PID: what a .NET program says itself of its heap, as JSON.

Asks it over its diagnostic socket (docs/design/features/../mono/diagnostics of the runtime:
ipc-protocol.md) for a collection with all objects that live (EventPipe, nettrace of version 4), as
`dotnet-gcdump` does. {"objects", "references", "declared", "pause_ms", "types": {name: objects}}
"""
import glob
import json
import socket
import struct
import sys
import threading

KEYWORDS = 0x1980001  # GC, GCHeapDump, Type, GCHeapCollect, GCHeapAndTypeNames
BUFFER_MB = 512
PROVIDER = "Microsoft-Windows-DotNETRuntime"
SUSPEND, RESTARTED, GC_END, BULK_TYPE, BULK_NODE, BULK_EDGE = 9, 3, 2, 15, 18, 19


def string(text):
    return struct.pack("<I", len(text) + 1) + (text + "\0").encode("utf-16le")


def connect(pid):
    (path,) = glob.glob(f"/proc/{pid}/root/tmp/dotnet-diagnostic-{pid}-*-socket")
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def ask(connection, kind, number, payload):
    connection.sendall(
        b"DOTNET_IPC_V1\0" + struct.pack("<HBBH", 20 + len(payload), kind, number, 0) + payload)
    answer = receive(connection, 20)
    return receive(connection, struct.unpack_from("<H", answer, 14)[0] - 20)


def receive(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def collect(pid):
    """The stream of one collection."""
    connection = connect(pid)
    session = ask(connection, 2, 3, struct.pack("<IIBI", BUFFER_MB, 1, 0, 1) +
                  struct.pack("<QI", KEYWORDS, 5) + string(PROVIDER) + string(""))
    stream = bytearray()
    ended = threading.Event()

    def stop():
        ended.wait(60)
        ask(connect(pid), 2, 1, session)

    stopper = threading.Thread(target=stop)
    stopper.start()
    connection.settimeout(2)
    while True:
        try:
            piece = connection.recv(1 << 20)
        except socket.timeout:
            # The collection that the session begins with is over.
            ended.set()
            connection.settimeout(60)
            continue
        if not piece:
            break
        stream += piece
    ended.set()
    stopper.join()
    return bytes(stream)


def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def text(data, at):
    end = at
    while data[end : end + 2] != b"\0\0":
        end += 2
    return data[at:end].decode("utf-16le"), end + 2


def events(block):
    """(metadata, timestamp, payload) of each event of a block with compressed heads."""
    at = struct.unpack_from("<H", block, 0)[0]
    metadata = size = time = 0
    while at < len(block):
        flags = block[at]
        at += 1
        if flags & 1:
            metadata, at = number(block, at)
        if flags & 2:
            for _ in range(3):
                _, at = number(block, at)
        for bit in (4, 8):
            if flags & bit:
                _, at = number(block, at)
        delta, at = number(block, at)
        time += delta
        at += 16 * (bool(flags & 16) + bool(flags & 32))
        if flags & 128:
            size, at = number(block, at)
        yield metadata, time, block[at : at + size]
        at += size


def blocks(stream):
    """(name, contents) of each object of the stream."""
    assert stream[:8] == b"Nettrace"
    at = 12 + struct.unpack_from("<I", stream, 8)[0]
    while stream[at] == 5:
        length = struct.unpack_from("<I", stream, at + 11)[0]
        name = stream[at + 15 : at + 15 + length].decode()
        at += 16 + length
        size = 48 if name == "Trace" else struct.unpack_from("<I", stream, at)[0]
        if name != "Trace":
            at = (at + 4 + 3) // 4 * 4
        yield name, stream[at : at + size]
        at += size + 1


class Graph:
    def __init__(self, stream):
        self.kinds, self.names, self.count = {}, {}, {}
        self.references = self.declared = self.objects = 0
        self.suspended = self.pause = 0
        self.ids = {}
        for name, block in blocks(stream):
            if name == "Trace":
                self.frequency = struct.unpack_from("<Q", block, 24)[0]
            elif name == "MetadataBlock":
                for _, _, payload in events(block):
                    self.add_kind(payload)
            elif name == "EventBlock":
                for metadata, time, payload in events(block):
                    self.add(self.kinds.get(metadata), time, payload)
        self.types = {}
        for kind, count in self.count.items():
            name = self.names.get(kind, "?")
            self.types[name] = self.types.get(name, 0) + count

    def add_kind(self, payload):
        provider, at = text(payload, 4)
        if provider == PROVIDER:
            self.kinds[struct.unpack_from("<I", payload)[0]] = struct.unpack_from(
                "<I", payload, at)[0]

    def add(self, kind, time, payload):
        if kind == SUSPEND:
            self.suspended = time
        elif kind == RESTARTED:
            self.pause = max(self.pause, time - self.suspended)
        elif kind == BULK_TYPE:
            self.add_types(payload)
        elif kind == BULK_NODE:
            for _, _, type_, edges in struct.iter_unpack("<QQQQ", payload[10:]):
                self.count[type_] = self.count.get(type_, 0) + 1
                self.declared += edges
                self.objects += 1
        elif kind == BULK_EDGE:
            self.references += struct.unpack_from("<I", payload, 4)[0]

    def add_types(self, payload):
        (count,), at = struct.unpack_from("<I", payload), 6
        for _ in range(count):
            (type_,) = struct.unpack_from("<Q", payload, at)
            element = payload[at + 24]
            name, at = text(payload, at + 25)
            (parameters,) = struct.unpack_from("<I", payload, at)
            at += 4 + 8 * parameters
            self.names[type_] = name or f"type {element}"


def main():
    graph = Graph(collect(int(sys.argv[1])))
    json.dump({
        "objects": graph.objects, "references": graph.references, "declared": graph.declared,
        "pause_ms": round(graph.pause * 1000 / graph.frequency, 1), "types": graph.types,
    }, sys.stdout)


if __name__ == "__main__":
    main()
