# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a version comes from: this system, a tree of another release of Debian's, a package in a folder of its
own (scripts/deps.sh versions), or pyenv. A program is compiled and runs where its version is."""
import glob
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [f'{TESTS}/diagnose']
from programs import RUNTIMES, Missing, made_by  # noqa: E402,F401

CACHE = os.environ.get('LEAKMON_RUNTIMES') or \
	f'{os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")}/leakmon/runtimes'
PYENV = f'{os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")}/versions'
PATIENCE_S = 120

folders = []


class Place:
	"""A root folder, '' for this system, and what is copied or compiled in it for one run."""

	def __init__(self, tree=''):
		self.root = f'{CACHE}/{tree}' if tree else ''
		self.name = tree or 'here'
		self.folder = None
		self.made = {}
		self.lock = threading.RLock()

	def need(self, path, what):
		"""The program's path; Missing unless one of those that match the pattern is there. NAME alone: in /usr/bin."""
		path = path if '/' in path else f'/usr/bin/{path}'
		found = sorted(glob.glob(f'{self.root}{path}'))
		if not found:
			raise Missing(f'{what} is not in {self.name}')
		return found[-1][len(self.root):]

	def inside(self, command):
		"""The command in its root, with a /proc, by which Java and GHC find their libraries."""
		if not self.root:
			return command
		return ['unshare', '-m', 'sh', '-c', 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', self.root, *command]

	def directory(self):
		with self.lock:
			if not self.folder:
				self.folder = tempfile.mkdtemp(prefix='leakmon-versions-', dir=f'{self.root}/tmp')
				os.chmod(self.folder, 0o755)
				folders.append(self.folder)
			return self.folder[len(self.root):]

	def copy(self, *paths):
		"""Where the copy of the first one is, as programs of this place see it."""
		with self.lock:
			for path in paths:
				copied = f'{self.root}{self.directory()}/{os.path.basename(path)}'
				if not os.path.exists(copied):
					shutil.copy(path, copied)
			return f'{self.directory()}/{os.path.basename(paths[0])}'

	def compile(self, name, command):
		"""Runs `command` once, which writes a program to OUT; returns the program's path."""
		with self.lock:
			if name not in self.made:
				made = f'{self.directory()}/{name}'
				done = subprocess.run(self.inside(['sh', '-c', f'cd {self.directory()} && exec "$@"', 'sh',
								   *[word.replace('OUT', made) for word in command]]),
						      capture_output=True, text=True)
				if done.returncode:
					raise Missing(f'{name} does not compile in {self.name}: {done.stderr.strip()[-200:]}')
				self.made[name] = made
			return self.made[name]


def remove_folders():
	for folder in folders:
		shutil.rmtree(folder, ignore_errors=True)


class Program:
	"""A program that says "ready", and answers each line with one."""

	def __init__(self, place, command, **environment):
		self.child = subprocess.Popen(place.inside(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
					      stderr=subprocess.DEVNULL, start_new_session=True,
					      env=dict(os.environ, **environment))
		self.pid, self.rest = self.child.pid, b''
		if not self.line().startswith('ready'):
			self.end()
			raise Missing(f'{os.path.basename(command[0])} does not begin')

	def line(self):
		end = time.time() + PATIENCE_S
		while b'\n' not in self.rest:
			if not select.select([self.child.stdout], [], [], max(0, end - time.time()))[0]:
				return ''
			got = os.read(self.child.stdout.fileno(), 1 << 16)
			if not got:
				return ''
			self.rest += got
		line, self.rest = self.rest.split(b'\n', 1)
		return line.decode()

	def tell(self, text):
		self.child.stdin.write(f'{text}\n'.encode())
		self.child.stdin.flush()
		return self.line()

	def ask(self, text):
		return json.loads(self.tell(text))

	def end(self):
		self.child.kill()
		self.child.wait()
		self.child.stdin.close()
		self.child.stdout.close()

	def __enter__(self):
		return self

	def __exit__(self, *_):
		self.end()
