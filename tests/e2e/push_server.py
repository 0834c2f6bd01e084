#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A server to push to, good or bad: writes what it accepted to a directory, one file a request.

push_server.py DIRECTORY MODE [CERTIFICATE KEY]: prints "port N", then a line for each request.
ok: takes all. slow: after 1.5 s. half: answers 500 to the first request and every other one after it.
busy: likewise 503, as an OTLP server does. silent: never answers. refuse: answers 403. partial: an
OTLP server that rejects three items of each request.
"""
import email
import http.server
import json
import pathlib
import ssl
import sys
import threading
import time
import urllib.parse

DIRECTORY = pathlib.Path(sys.argv[1])
MODE = sys.argv[2]
LOCK = threading.Lock()
COUNTS = {"requests": 0, "accepted": 0}


def parts_of(headers, body):
    """Of a multipart form: name -> bytes."""
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    form = email.message_from_bytes(head + body)
    return {part.get_param("name", header="Content-Disposition"): part.get_payload(decode=True)
            for part in form.get_payload()}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def keep(self, body):
        """What a good server makes of it."""
        url = urllib.parse.urlsplit(self.path)
        kept = {"path": url.path, "query": dict(urllib.parse.parse_qsl(url.query)),
                "headers": {name.lower(): value for name, value in self.headers.items()}}
        name = DIRECTORY / f"{COUNTS['accepted']:04d}"
        if url.path.endswith("/ingest"):
            parts = parts_of(self.headers, body)
            kept["types"] = json.loads(parts["sample_type_config"])
            name.with_suffix(".pprof").write_bytes(parts["profile"])
        elif self.headers["Content-Type"] == "application/x-protobuf":
            name.with_suffix("." + url.path.rsplit("/", 1)[1]).write_bytes(body)
        else:
            kept["event"] = json.loads(body)
            name.with_suffix(".event").write_bytes(body)
        COUNTS["accepted"] += 1
        name.with_suffix(".tmp").write_text(json.dumps(kept))
        name.with_suffix(".tmp").rename(name.with_suffix(".json"))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with LOCK:
            COUNTS["requests"] += 1
            fails = MODE in ("half", "busy") and COUNTS["requests"] % 2 == 1
        if MODE == "silent":
            time.sleep(3600)
        if MODE == "slow":
            time.sleep(1.5)
        if fails:
            self.answer(503 if MODE == "busy" else 500, "try again\n")
        elif MODE == "refuse":
            self.answer(403, "not \x1b[31myou\n")
        else:
            with LOCK:
                self.keep(body)
            # partial_success {rejected: 3, error_message: "too old"}
            self.answer(200, "\x0a\x0b\x08\x03\x12\x07too old" if MODE == "partial" else "")
        with LOCK:
            print(f"request {COUNTS['requests']} accepted {COUNTS['accepted']}", flush=True)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(f"port {server.server_port}", flush=True)
server.serve_forever()
