# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers of `leakmon diagnose --format json`: asking for one, and what it calls the code and the holder."""
import json
import os
import subprocess
import time

LEAKMON = os.path.abspath(os.environ.get('LEAKMON_PROGRAM', 'build/leakmon'))
GROWING, HEALTHY = ('leaks', 'grows'), ('no-leak',)
TIMEOUT_S = 300


class Asked:
	"""Asks about process `pid`: answer (None: there is none), seconds, exit code, output, and messages."""

	def __init__(self, pid):
		begin = time.time()
		try:
			done = subprocess.run([LEAKMON, 'diagnose', '-p', str(pid), '--format', 'json'], capture_output=True,
					      text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
		except subprocess.TimeoutExpired as error:
			done = subprocess.CompletedProcess(error.cmd, None, '', f'no answer in {TIMEOUT_S} s')
		self.elapsed_s = time.time() - begin
		self.exit_code, self.output, self.messages = done.returncode, done.stdout, done.stderr
		self.answer = json.loads(done.stdout)['processes'][0] if done.stdout.strip() else None
		cost = self.answer['cost'] if self.answer else {}
		self.spent, self.core = cost.get('spent', 0), cost.get('core', 0)
		self.stops, self.stop_ms = cost.get('stops', 0), cost.get('longest_stop_ns', 0) / 1e6


def names_of(frames):
	return [frame.get('function') or '' for frame in frames or []]


def code_of(answer):
	"""What the answer calls the code: names, the first of them first."""
	part = answer['part']
	if part == 'native-blocks' and answer['code']:
		return [answer['code']['function'] or '']
	if part == 'native-blocks':
		return [(answer.get('lost_class') or {}).get('name') or '']
	if part == 'managed-objects':
		classes = [found['name'] or '' for found in answer['classes']]
		return classes[:1] or names_of((answer.get('sampled') or {}).get('frames'))
	if part == 'goroutines':
		return names_of((answer['goroutines'] or {}).get('creator', {}).get('frames'))
	if part == 'threads':
		return [(answer.get('creator') or {}).get('function') or '']
	if part == 'descriptors':
		return [(answer.get('opener') or {}).get('function') or '']
	return []


def holder_of(answer):
	if answer['part'] == 'goroutines':
		return names_of((answer['goroutines'] or {}).get('frames'))
	if answer['part'] == 'descriptors':
		return [(answer.get('opener') or {}).get('patterns') or '']
	if answer.get('file'):
		return [answer['file']['path']]
	holder = answer['holder']
	if not holder:
		return []
	return [json.dumps(holder['root'])] + [json.dumps(step) for step in holder['steps']]
