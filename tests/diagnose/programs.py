# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that `leakmon diagnose` is asked about: compiling, starting, feeding, and ending them."""
import os
import shutil
import signal
import subprocess
import threading

RUNTIMES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'runtimes')
SEARCHED = '/usr/sbin:/usr/bin:/usr/lib/postgresql/15/bin'

compiling = threading.Lock()


class Missing(Exception):
	"""What a program needs is not installed."""


def need(*names, path=SEARCHED):
	found = next((found for found in (shutil.which(name, path=path) for name in names) if found), None)
	if not found:
		raise Missing(f'{names[0]} is not installed')
	return found


def compile_once(directory, name, *command, **more):
	"""The path of the program that `command` makes, in which OUT stands for that path."""
	made = f'{directory}/{name}'
	if not os.path.exists(made):
		subprocess.run([word.replace('OUT', made) for word in command], check=True, capture_output=True, **more)
	return made


def made_by(script, *arguments):
	done = subprocess.run([script, *arguments], stdout=subprocess.PIPE, text=True)
	if done.returncode == 77:
		raise Missing(f'{os.path.basename(script)} {" ".join(arguments)} is not there')
	done.check_returncode()
	return done.stdout.strip()


class Process:
	"""A program, and what feeds it until it ends."""

	def __init__(self, command, feed=None, every_s=1.0, **more):
		self.stop = threading.Event()
		more.setdefault('stdin', subprocess.PIPE if isinstance(feed, str) else subprocess.DEVNULL)
		self.child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
					      start_new_session=True, **more)
		self.pid = self.child.pid
		self.feeder = threading.Thread(target=self.feed, args=(feed, every_s), daemon=True)
		self.after = []
		if feed:
			self.feeder.start()

	def feed(self, feed, every_s):
		while not self.stop.wait(every_s):
			try:
				if isinstance(feed, str):
					self.child.stdin.write(feed.encode())
					self.child.stdin.flush()
				else:
					feed()
			except OSError:
				pass

	def end(self):
		self.stop.set()
		os.killpg(self.child.pid, signal.SIGKILL)
		self.child.wait()
		for action in self.after:
			action()


class Burners:
	"""Busy loops on all cores, in a `with` block, if BURN is in the environment."""

	def __enter__(self):
		count = os.cpu_count() if os.environ.get('BURN') else 0
		self.started = [subprocess.Popen(['sh', '-c', 'while :; do :; done']) for _ in range(count)]

	def __exit__(self, *_):
		for burner in self.started:
			burner.kill()
			burner.wait()
