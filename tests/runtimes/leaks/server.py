# SPDX-License-Identifier: GPL-2.0-or-later
"""A web server: /work answers; /leak answers, too, and keeps ten sessions. Flask, if it is there."""
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Session:
    def __init__(self, number):
        self.number = number
        self.items = [number] * 8


sessions = []


def leak():
    sessions.extend(Session(i) for i in range(10))
    return 'ok'


def work():
    return json.dumps([Session(i).items for i in range(100)])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = (leak() if self.path == '/leak' else work()).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def plain():
    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def with_flask():
    import logging

    import flask
    import werkzeug.serving
    logging.getLogger('werkzeug').setLevel(logging.ERROR)
    app = flask.Flask(__name__)
    app.add_url_rule('/leak', 'leak', leak)
    app.add_url_rule('/work', 'work', work)
    server = werkzeug.serving.make_server('127.0.0.1', 0, app, threaded=True)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == '__main__':
    with_flask() if sys.argv[1:] == ['flask'] else plain()
