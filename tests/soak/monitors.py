# SPDX-License-Identifier: GPL-2.0-or-later
"""leakmon's monitors in the soak test: those that run all the time, with scrapers and a server to push to,
and commands that are run on one process each."""
import collections
import http.client
import http.server
import json
import os
import random
import re
import resource
import signal
import subprocess
import threading
import time

import checks

END_S = 120


class Monitor:
	"""One that runs until the end. `see`: is given every report in JSON."""

	def __init__(self, name, command, directory, findings, see=None, environment=None, excuses=()):
		self.name, self.findings, self.see, self.excuses = name, findings, see, excuses
		self.home = os.path.join(directory, name)
		os.makedirs(self.home, exist_ok=True)
		self.errors = open(os.path.join(self.home, 'stderr'), 'wb')
		self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL,
					      stdout=subprocess.PIPE if see else self.errors, stderr=self.errors,
					      cwd=self.home, env=dict(os.environ, **(environment or {})),
					      start_new_session=True)
		resource.prlimit(self.child.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
		self.reports, self.continued, self.ended = 0, 0.0, False
		self.recent = collections.deque(maxlen=3)
		self.points = []
		self.reader = threading.Thread(target=self.read, daemon=True)
		if see:
			self.reader.start()

	def read(self):
		for line in self.child.stdout:
			self.recent.append(line)
			try:
				report = json.loads(line)
			except ValueError as error:
				self.findings.add(f'{self.name}: a report is no JSON', f'{error}: {line[:200]!r}')
				continue
			self.reports += 1
			try:
				self.see(report)
			except (KeyError, TypeError, IndexError) as error:
				self.findings.add(f'{self.name}: a report lacks {error!r}', line[:200].decode(errors='replace'))

	def text(self):
		with open(os.path.join(self.home, 'stderr'), encoding='utf-8', errors='replace') as file:
			return file.read()

	def cores(self):
		return [name for name in os.listdir(self.home) if name.startswith('core')]

	def is_alive(self):
		status = self.child.poll()
		if status is None:
			return True
		if not self.ended:
			self.ended = True
			self.findings.add(f'{self.name}: ended with {status}', f'cores {self.cores()}: {self.text()[-500:]!r}')
		return False

	def sample(self, hour, processes):
		"""None while it is suspended or gone."""
		if not self.is_alive() or self.is_suspended(-10):
			return None
		got = checks.sample([self.child.pid] + checks.descendants(self.child.pid, processes))
		self.points.append((hour, got))
		return got

	def is_suspended(self, since_s):
		"""Now, or `since_s` (negative) seconds ago or later."""
		return time.monotonic() + since_s < self.continued

	def suspend(self, seconds, ended):
		self.continued = float('inf')
		os.kill(self.child.pid, signal.SIGSTOP)
		ended.wait(seconds)
		os.kill(self.child.pid, signal.SIGCONT)
		self.continued = time.monotonic()

	def end(self):
		"""Ctrl-C, after which it reports, and ends with 0 or for a reason that is allowed."""
		if not self.is_alive():
			return
		self.child.send_signal(signal.SIGINT)
		try:
			status = self.child.wait(END_S)
		except subprocess.TimeoutExpired:
			self.findings.add(f'{self.name}: does not end within {END_S} s of SIGINT', self.text()[-300:])
			self.child.kill()
			self.child.wait()
			return
		if self.see:
			self.reader.join(10)
		text = self.text()
		if status and not (status == 1 and any(excuse in text for excuse in self.excuses)):
			self.findings.add(f'{self.name}: ended with {status} after SIGINT', repr(text[-500:]))
		if self.cores():
			self.findings.add(f'{self.name}: left a core', str(self.cores()))


# Clients and servers of the one that listens and pushes

class Scraper(threading.Thread):
	"""Asks once a second, also while the monitor is suspended: another process answers."""

	def __init__(self, port, findings, ended):
		super().__init__(daemon=True)
		self.port, self.findings, self.ended = port, findings, ended
		self.answered, self.failed, self.in_a_row = 0, 0, 0

	def run(self):
		paths = ['/metrics', '/metrics', '/metrics', '/profile', '/', '/healthz']
		while not self.ended.wait(1):
			path = random.choice(paths)
			try:
				client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=10)
				client.request('GET', path)
				answer = client.getresponse()
				body = answer.read()
				client.close()
				good = answer.status == 200 and (path != '/metrics' or body.endswith(b'\n'))
			except (OSError, http.client.HTTPException):
				good = False
			self.answered += good
			self.failed += not good
			self.in_a_row = 0 if good else self.in_a_row + 1
			# Before the first report there is nothing to answer with.
			if self.in_a_row == 60:
				self.findings.add('watch: 60 requests in a row had no good answer', path)


class PushServer:
	"""Answers 500 to half of the requests."""

	def __init__(self):
		outer = self
		self.accepted = self.refused = 0

		class Handler(http.server.BaseHTTPRequestHandler):
			protocol_version = 'HTTP/1.1'

			def do_POST(self):
				self.rfile.read(int(self.headers.get('Content-Length', 0)))
				good = random.random() < 0.5
				outer.accepted += good
				outer.refused += not good
				self.send_response(200 if good else 500)
				self.send_header('Content-Length', '0')
				self.end_headers()

			def log_message(self, *_):
				pass

		self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
		self.server.daemon_threads = True
		self.url = f'http://127.0.0.1:{self.server.server_port}'
		threading.Thread(target=self.server.serve_forever, daemon=True).start()


# Commands on one process

COMMANDS = [
	(12, 'retain', ['retain', '--census']),
	(3, 'retain-probed', ['retain', '1']),
	(3, 'retain-no-stop', ['retain', '--census', '--no-stop']),
	(2, 'memory', ['memory']),
	(2, 'threads', ['threads', '--holders']),
	(1, 'diagnose', ['diagnose', '--for', '30']),
]


class Visits(threading.Thread):
	"""Runs a command on a process that `choose` names, again and again. One in eight is suspended, and one in
	eight is killed, both at a random moment: its target must go on."""

	def __init__(self, leakmon, choose, alarms, findings, ended, every_s):
		super().__init__(daemon=True)
		self.leakmon, self.choose, self.alarms, self.findings = leakmon, choose, alarms, findings
		self.ended, self.every_s = ended, every_s
		self.done, self.messages, self.running, self.programs = {}, {}, set(), {}
		self.longest_stop_ms, self.lost = 0.0, {}

	def run(self):
		while not self.ended.wait(self.every_s * random.uniform(0.7, 1.3)):
			target = self.choose()
			if target:
				self.visit(*target)

	def visit(self, pid, name):
		_, command, words = random.choices(COMMANDS, [row[0] for row in COMMANDS])[0]
		tail = ['1', '1'] if command in ('memory', 'threads') else []
		if command == 'retain-probed':
			words, tail = ['retain'], ['2', '1']
		child = subprocess.Popen([self.leakmon, *words, '-p', str(pid), '--format', 'json', *tail],
					 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
		self.running.add(child.pid)
		harm = random.choice(['suspend', 'kill'] + [None] * 6)
		harmer = threading.Thread(target=self.harm, args=(child, harm), daemon=True)
		harmer.start()
		try:
			out, said = child.communicate(timeout=300)
		except subprocess.TimeoutExpired:
			child.send_signal(signal.SIGABRT)
			out, said = child.communicate()
			self.findings.add(f'{command} on {name} takes longer than 300 s', said[-300:].decode(errors='replace'))
			return
		finally:
			harmer.join()
			self.running.discard(child.pid)
		self.judge(command, name, pid, child.returncode, harm, out, said.decode(errors='replace'))

	@staticmethod
	def harm(child, harm):
		if not harm:
			return
		time.sleep(random.uniform(0, 0.6))
		try:
			child.send_signal(signal.SIGKILL if harm == 'kill' else signal.SIGSTOP)
			if harm == 'suspend':
				time.sleep(3)
				child.send_signal(signal.SIGCONT)
		except ProcessLookupError:
			pass

	def judge(self, command, name, pid, status, harm, out, said):
		key = f'{command} {"harmed" if harm else "done" if status in (0, 3) else "refused"}'
		self.done[key] = self.done.get(key, 0) + 1
		self.programs[name] = self.programs.get(name, 0) + 1
		if harm == 'kill' and status == -signal.SIGKILL:
			return
		if status < 0 or status not in ((0, 1, 3) if command == 'diagnose' else (0, 1)):
			self.findings.add(f'{command}: ended with {status} on {name}', repr(said[-500:]))
			return
		if status == 1:
			last = said.strip().splitlines()[-1] if said.strip() else ''
			if not last:
				self.findings.add(f'{command}: fails on {name} without a message', f'PID {pid}')
			message = f'{command}: ' + re.sub(r'\d+', 'N', last)
			self.messages[message] = self.messages.get(message, 0) + 1
			return
		for line in out.splitlines():
			self.read(command, name, json.loads(line))

	def read(self, command, name, report):
		image = report.get('picture') or report.get('image') or {}
		if image.get('stopped'):
			self.longest_stop_ms = max(self.longest_stop_ms, image.get('pause_ns', 0) / 1e6)
		if command.startswith('retain') and 'totals' in report:
			lost = report['totals'].get('lost', {}).get('blocks', 0)
			self.lost[name] = max(self.lost.get(name, 0), lost)
		if command == 'diagnose':
			for process in report['processes']:
				self.alarms.see('diagnose', process['verdict'], process['pid'], process['comm'],
						process.get('part') or '', process.get('text', ''))
