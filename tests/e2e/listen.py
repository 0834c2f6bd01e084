#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Treats the server of `leakmon --listen` badly, and sees that it answers others all the same.

listen.py PORT: prints what a scrape took under each attack; ends with 1 where one was not answered.
No time is asserted, but every answer must come before the server's own limits would end an attack.
"""
import random
import socket
import sys
import time
import urllib.request

PORT = int(sys.argv[1])


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=30)


def scrape(what):
    begin = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/metrics", timeout=60) as answer:
        text = answer.read()
    assert answer.status == 200 and text.startswith(b"# HELP leakmon_") and text.endswith(b"\n"), what
    print(f"{what}: {(time.monotonic() - begin) * 1e3:.1f} ms for {len(text)} bytes")
    return text


def answer_to(request):
    with connect() as client:
        answer = b""
        try:
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(65536):
                answer += chunk
        except OSError:
            pass  # it said what is wrong, and left
        return answer


def slow_loris():
    """Each sends a byte of its request now and then, and never all of it."""
    clients = [connect() for _ in range(200)]
    for client in clients:
        try:
            client.sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        except OSError:
            pass
    for i in range(20):
        for client in clients:
            try:
                client.send(b"a")
            except OSError:
                pass  # it was dropped
        if i % 10 == 0:
            scrape(f"slow-loris, scrape {i}")
    return clients


def silent():
    return [connect() for _ in range(200)]


def never_reads():
    """Asks for the page, and takes nothing of it."""
    clients = []
    for _ in range(60):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", PORT))
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        clients.append(client)
    return clients


def garbage():
    random.seed(7)
    for size in [1, 2, 100, 8191, 8192, 8193, 100000]:
        answer_to(bytes(random.randrange(256) for _ in range(size)))
    for request, status in [
        (b"\r\n\r\n", b"400"), (b"GET\r\n\r\n", b"400"), (b"GET /\r\n\r\n", b"400"),
        (b"GET / HTTP/9.9\r\n\r\n", b"505"), (b"POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", b"405"),
        (b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", b"404"), (b"GET //metrics HTTP/1.1\r\n\r\n", b"404"),
        (b"GET /metrics%00 HTTP/1.1\r\n\r\n", b"404"), (b"GET /metrics\0 HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /healthz?x=" + b"y" * 4000 + b" HTTP/1.0\n\n", b"200"), (b"G" * 9000, b"431"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200"), (b"GET http://x/ HTTP/1.1\r\n\r\n", b"404"),
    ]:
        answer = answer_to(request)
        assert answer.startswith(b"HTTP/1.1 " + status), (request[:40], answer[:60])
        head, _, body = answer.partition(b"\r\n\r\n")
        assert not request.startswith(b"HEAD") or (not body and b"Content-Length: 0" not in head)
    for _ in range(200):
        connect().close()


scrape("nobody else")
garbage()
scrape("after garbage")
for attack in (silent, slow_loris, never_reads):
    held = attack()
    scrape(f"{attack.__name__}, {len(held)} connections")
    for client in held:
        client.close()
scrape("at the end")
