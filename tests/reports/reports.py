#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""leakmon diagnose against programs that show the fault of a public bug report each, and healthy variants.

	reports.py [RUNS] [NAME…]   asks about each program, RUNS times (1); NAME: a program, or the part of
	                            a path (`python/`, `lru_method.py`)
	reports.py --list           programs, kinds and truths
	reports.py --build          builds all, and asks about none

The truth of each program is at its head (truths.py). Missing compilers and packages are named at the end.
Exit code 1 unless, over all runs, 90 % of the leaks are right, none is wrong, and at most 2 % of the healthy
programs are accused. Root.

Environment: JOBS programs at once (2). BURN=1: busy loops on all cores. KEEP: folder for all answers, as JSON
and in words. Compiled programs and packages stay in build/reports.
"""
import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, f'{os.path.dirname(HERE)}/diagnose']
from answers import LEAKMON, TIMEOUT_S, Asked  # noqa: E402
from build import BUILT, command_of  # noqa: E402
from programs import Burners, Missing, Process, compiling  # noqa: E402
from truths import all_truths, judge, judge_command, named_by, share_of  # noqa: E402

WARM_S = 10
RIGHT_MIN, ACCUSED_MAX = 0.9, 0.02
WORDS_LEAK, WORDS_HEALTHY = ('right', 'partly', 'wrong', 'unknown'), ('quiet', 'accused', 'unknown')
WORDS_COMMAND = ('right', 'wrong')


class Folders:
	"""For one run of one program: on disk, and in memory."""

	def __init__(self, name):
		self.home = tempfile.mkdtemp(prefix=f'leakmon-{name}-')
		self.shm = tempfile.mkdtemp(prefix=f'leakmon-{name}-', dir='/dev/shm')

	def fill_in(self, words):
		return [word.replace('HOME', self.home).replace('SHM', self.shm) for word in words]

	def remove(self):
		for folder in (self.home, self.shm):
			shutil.rmtree(folder, ignore_errors=True)


def child_of(pid):
	for _ in range(100):
		found = subprocess.run(['pgrep', '-P', str(pid)], capture_output=True, text=True).stdout.split()
		if found:
			return int(found[0])
		time.sleep(0.1)
	raise Missing('it starts no child')


def remove_segments(pid):
	"""Those of shm_orphans.c, whose keys begin with the process id, and that nobody has attached."""
	with open('/proc/sysvipc/shm') as file:
		rows = [line.split() for line in file.read().split('\n')[1:] if line]
	for key, segment, _, size, *_, attached in (row[:7] for row in rows):
		if (int(key) >> 16) & 0xffff == pid & 0xffff and int(size) == 1 << 20 and attached == '0':
			subprocess.run(['ipcrm', '-m', segment], capture_output=True)


class Size:
	"""What the kernel says of a process, beside leakmon: resident bytes, descriptors and threads."""

	def __init__(self, pid):
		with open(f'/proc/{pid}/statm') as file:
			self.bytes = int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
		self.descriptors = len(os.listdir(f'/proc/{pid}/fd'))
		self.threads = len(os.listdir(f'/proc/{pid}/task'))

	def growth_since(self, before):
		words = [f'{(self.bytes - before.bytes) / 2**20:+.1f}M']
		words += [f'{now - then:+d}{letter}' for now, then, letter in
			  ((self.descriptors, before.descriptors, 'd'), (self.threads, before.threads, 't'))
			  if abs(now - then) > 2]
		return ' '.join(words)


class Result:
	def __init__(self, truth, run, asked, growth):
		self.truth, self.run, self.asked, self.growth, answer = truth, run, asked, growth, asked.answer
		if answer:
			self.word, self.reason = judge(truth, answer)
		elif truth.what == 'command':
			return
		else:
			self.word, self.reason = 'unknown', f'no answer, exit code {asked.exit_code}: {asked.messages[-150:]!r}'
		expected = 3 if truth.leaks else 0
		if self.word in ('right', 'partly', 'quiet') and asked.exit_code != expected:
			self.reason += f' exit code {asked.exit_code}'


class Said:
	"""What another command of leakmon says, and how it ends."""

	def __init__(self, words):
		begin = time.time()
		try:
			done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
		except subprocess.TimeoutExpired as error:
			done = subprocess.CompletedProcess(error.cmd, None, '', f'no answer in {TIMEOUT_S} s')
		self.elapsed_s, self.exit_code, self.output = time.time() - begin, done.returncode, done.stdout + done.stderr
		self.answer, self.core, self.stops, self.stop_ms = None, 0, 0, 0


def run_command(truth, run, command, environment):
	"""Starts the processes that it asks about, and runs it."""
	named, started, words = {'LEAKMON': [LEAKMON], 'PROGRAM': command}, [], []
	try:
		for name, key in (('PID', 'with'), ('ENDING', 'ending')):
			if any(name in word for word in truth.arguments):
				started.append(Process(command + (truth.get(key) or '').split(), env=environment))
				named[name] = [str(started[-1].pid)]
		time.sleep(float(truth.get('warm', WARM_S)) if started else 0)
		for word in truth.arguments:
			for name, value in named.items():
				word = word.replace(name, ' '.join(value))
			words += word.split()
		result = Result(truth, run, Said(words), '')
	finally:
		for process in started:
			process.end()
	result.word, result.reason = judge_command(truth, result.asked.exit_code, result.asked.output)
	return result


def ask(truth, run):
	with compiling:
		command, environment = command_of(truth)
	if truth.what == 'command':
		return run_command(truth, run, command, environment)
	folders = Folders(truth.name)
	more = folders.fill_in((truth.get('env') or '').split())
	environment.update(word.split('=', 1) for word in more)
	process = Process(command + folders.fill_in(truth.arguments), env=environment, cwd=folders.home)
	try:
		time.sleep(float(truth.get('warm', WARM_S)))
		pid = child_of(process.pid) if truth.get('ask') == 'child' else process.pid
		if process.child.poll() is not None:
			raise Missing(f'it ended with {process.child.returncode}')
		before = Size(pid)
		asked = Asked(pid)
		if process.child.poll() is not None:
			raise Missing(f'it ended with {process.child.returncode} while asked about')
		growth = Size(pid).growth_since(before)
	finally:
		process.end()
		folders.remove()
		remove_segments(process.pid)
	return Result(truth, run, asked, growth)


# What is printed

ROW = '{:26} {:8} {:13} {:44} {:8} {:>6} {:>5} {:>7} {:>3} {:>5}  {}'


def row_of(result):
	answer, asked, truth = result.asked.answer or {}, result.asked, result.truth
	names = ' '.join(name for name in named_by(answer)[:1]) if answer else ''
	said = f'{answer["verdict"]}, {answer["part"]} {names}' if answer else f'exit code {asked.exit_code}'
	share = share_of(answer)
	return ROW.format(truth.name, truth.what, result.growth, said[:44], result.word,
			  '-' if share is None else f'{share:.0%}', f'{asked.elapsed_s:.0f}', f'{asked.core:.2%}',
			  asked.stops, f'{asked.stop_ms:.0f}', result.reason[:120])


def counts(results, words):
	found = collections.Counter(result.word for result in results)
	return ', '.join(f'{found[word]} {word}' for word in words)


def table(results, order):
	heads = ('program', 'truth', 'grew', 'answer', 'judged', 'share', 's', 'core', 'stops', 'ms', '')
	print('\n' + ROW.format(*heads).rstrip())
	for result in sorted(results, key=lambda result: (order.index(result.truth.name), result.run)):
		print(row_of(result))
	print('\nkinds of leaks')
	for kind in dict.fromkeys(result.truth.kind for result in results if result.truth.leaks):
		print(f'  {kind:30} {counts([r for r in results if r.truth.leaks and r.truth.kind == kind], WORDS_LEAK)}')


def sums(results, missing):
	"""Prints the sums; whether they keep the limits."""
	leaks, healthy, commands = ([r for r in results if r.truth.what == what] for what in ('leak', 'healthy', 'command'))
	found = collections.Counter(result.word for result in leaks)
	accused = sum(result.word == 'accused' for result in healthy)
	answered = found['right'] + found['partly'] + found['wrong']
	print(f'\n{len(leaks)} answers on leaks: {counts(leaks, WORDS_LEAK)}')
	print(f'{len(healthy)} answers on healthy programs: {counts(healthy, WORDS_HEALTHY)}')
	print(f'{len(commands)} answers of other commands: {counts(commands, WORDS_COMMAND)}')
	print(f'precision {found["right"] / max(1, answered):.0%}, recall {found["right"] / max(1, len(leaks)):.0%}')
	if results:
		print(f'longest answer {max(r.asked.elapsed_s for r in results):.0f} s, '
		      f'largest cost {max(r.asked.core for r in results):.2%} of a core, '
		      f'longest stop {max(r.asked.stop_ms for r in results):.0f} ms, load {os.getloadavg()[0]:.0f}')
	for name, reason in missing.items():
		print(f'not run: {name}: {reason}')
	return found['right'] >= RIGHT_MIN * len(leaks) and not found['wrong'] and accused <= ACCUSED_MAX * len(healthy)


def keep(result, folder):
	path = f'{folder}/{result.truth.name}-{result.run}'
	with open(f'{path}.json', 'w') as out:
		out.write(result.asked.output)
	with open(f'{path}.txt', 'w') as out:
		words = (result.asked.answer or {}).get('text', [result.asked.output])
		out.write('\n'.join([f'{result.word} {result.reason}', *words, '']))


def build_all(truths):
	os.makedirs(BUILT, exist_ok=True)
	failed = 0
	for truth in truths:
		try:
			command_of(truth)
		except (Missing, subprocess.CalledProcessError) as error:
			failed += 1
			print(f'{truth.name}: {error} {(getattr(error, "stderr", b"") or b"")[-600:].decode(errors="replace")}')
	return 1 if failed else 0


def run_all(truths, runs):
	folder, lock = os.environ.get('KEEP'), threading.Lock()
	results, missing = [], {}
	if folder:
		os.makedirs(folder, exist_ok=True)

	def one(job):
		truth, run = job
		if truth.name in missing:
			return
		try:
			result = ask(truth, run)
		except (Missing, subprocess.SubprocessError, OSError, json.JSONDecodeError) as error:
			missing[truth.name] = f'{error} {(getattr(error, "stderr", b"") or b"")[-300:]!r}'
			print(f'{truth.name}: not run: {missing[truth.name]}', flush=True)
			return
		with lock:
			results.append(result)
			print(row_of(result), flush=True)
			if folder:
				keep(result, folder)

	with Burners(), concurrent.futures.ThreadPoolExecutor(int(os.environ.get('JOBS') or 2)) as pool:
		list(pool.map(one, [(truth, run) for run in range(1, runs + 1) for truth in truths]))
	return results, missing


def main():
	words, known = sys.argv[1:], all_truths()
	if words[:1] == ['--list']:
		for truth in known.values():
			print(f'{truth.name:26} {truth.what:8} {truth.kind:30} '
			      f'{truth.get("part", "") if truth.leaks else ""}')
		return 0
	if words[:1] == ['--build']:
		return build_all(known.values())
	runs = int(words.pop(0)) if words and words[0].isdigit() else 1
	chosen = [truth for truth in known.values()
		  if not words or any(word == truth.name or '/' in word and word in truth.path or
				      '.' in word and truth.path.endswith(f'/{word}') for word in words)]
	if not chosen:
		print(f'no program is called {" ".join(words)}', file=sys.stderr)
		return 2
	os.makedirs(BUILT, exist_ok=True)
	results, missing = run_all(chosen, runs)
	table(results, list(known))
	return 0 if sums(results, missing) and results else 1


if __name__ == '__main__':
	sys.exit(main())
