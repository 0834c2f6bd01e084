#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""leakmon diagnose against sixteen programs with one known cause of growth each, or none.

	sixteen.py [RUNS] [NAME…]   starts each program RUNS times (1), asks `leakmon diagnose -p PID`
	                            after a while, and compares part, code and holder with the truth

Limits: an answer in 90 s, 1 % of the program's CPU time, no stop above 100 ms; 15 of 16 right in each run,
no program without a leak accused. Exit code 1 if one is missed. Root. Programs whose compiler or server is
not installed are skipped, and listed. The other programs without a leak (steady-…) count as accused or not.

Environment: JOBS programs at once (2). BURN=1: busy loops on all cores. DIAGNOSE_KEEP: directory for the
programs and all answers.
"""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, f'{TESTS}/servers']
from answers import GROWING, HEALTHY, Asked, code_of, holder_of  # noqa: E402
from programs import RUNTIMES, Burners, Missing, Process, compile_once, compiling, made_by, need  # noqa: E402
import servers  # noqa: E402

WORKLOADS = os.path.abspath(os.environ.get('LEAKMON_WORKLOADS', 'build/workloads'))
ELEVEN = f'{TESTS}/servers/eleven'
WARM_S = 10
ELAPSED_MAX_S, SPENT_MAX, STOP_MAX_MS = 90, 0.01, 100


# Running programs

def sessions(kind, *path):
	def start(directory, _):
		return Process([compile_once(directory, 'sessions', 'gcc', '-O1', '-g', '-o', 'OUT', '-pthread',
					     f'{ELEVEN}/sessions.c'), kind, *path])
	return start


def cycle(directory, _):
	return Process([compile_once(directory, 'cycle', 'g++', '-O1', '-g', '-o', 'OUT', f'{ELEVEN}/cycle.cc')])


def tmpfs(_, home):
	path = f'/dev/shm/leakmon-diagnose-{os.path.basename(home)}'
	process = sessions('tmpfs', path)(os.path.dirname(home), home)
	process.after.append(lambda: os.unlink(path))
	return process


def grower(*arguments):
	def start(*_):
		process = Process([f'{WORKLOADS}/grower', *arguments], stdin=subprocess.PIPE)
		return process
	return start


def redis(new_keys):
	def start(_, home):
		need('redis-server')
		port = servers.free_port()
		command, _ = servers.redis(home, port)
		numbers, client = iter(range(10 ** 9)), []

		def ask():
			if not client:
				client.append(socket.create_connection(('127.0.0.1', port), 10))
			for _ in range(20):
				number = next(numbers)
				client[0].sendall(b'*3\r\n$3\r\nSET\r\n$9\r\n%09d\r\n$400\r\n%s\r\n' %
						  (number if new_keys else number % 2000, b'x' * 400))
				servers.more(client[0])
		return Process(command, ask, 0.05)
	return start


def nginx(forgets):
	def start(_, home):
		need('nginx')
		port = servers.free_port()
		command, client = servers.nginx(home, port)
		environment, asking = dict(os.environ), client()
		if forgets:
			forgotten = servers.Forgotten(f'{home}/forget')
			forgotten.switch(1)
			environment.update(forgotten.environment)
		process = Process(command, asking.ask, 1 / servers.REQUESTS_PER_S, env=environment)
		for _ in range(100):
			workers = subprocess.run(['pgrep', '-P', str(process.pid)], capture_output=True, text=True).stdout.split()
			if workers:
				process.pid = int(workers[0])
				break
			time.sleep(0.1)
		return process
	return start


def python(path):
	return lambda *_: Process(['/usr/bin/python3', path])


def node(path):
	return lambda *_: Process([need('node'), path])


def java(directory, _):
	need('java')
	classes = f'{directory}/java'
	if not os.path.isdir(classes):
		subprocess.run([need('javac'), '-g', '-d', classes, f'{ELEVEN}/Sessions.java'], check=True, capture_output=True)
	return Process([need('java'), '-Xmx1g', '-cp', classes, 'Sessions'])


def go(*_):
	return Process([made_by(f'{RUNTIMES}/go.sh', '1.19', 'plain')], 'spawn 2\n')


def dotnet(story):
	return lambda *_: Process([made_by(f'{RUNTIMES}/dotnet.sh', '9'), story, '300'], 'more\n')


def ocaml(directory, _):
	folder = f'{directory}/ocaml'
	if not os.path.isdir(folder):
		need('ocamlopt')
		shutil.copytree(f'{RUNTIMES}/ocaml', folder)
	return Process([compile_once(directory, 'census-ocaml', 'ocamlopt', '-g', '-o', 'OUT', 'feeds.ml', 'census.ml', cwd=folder),
			'leaking'], 'more\n')


def ghc(directory, _):
	need('ghc')
	return Process([compile_once(directory, 'census-ghc', 'ghc', '-O1', '-outputdir', f'{directory}/ghc', '-o', 'OUT',
				     f'{RUNTIMES}/ghc/Census.hs'), 'leaking'], 'more\n', 3)


# Truths. code: text that the function (native) or the class, creator or opener must contain; holder: text
# that the path's root or a step of it must contain. None: no expectation.

class Truth:
	def __init__(self, start, verdicts, parts, code=None, holder=None, scored=True):
		self.start, self.verdicts, self.parts, self.scored = start, verdicts, parts, scored
		self.code, self.holder = code, holder


PROGRAMS = {
	'c': Truth(sessions('blocks'), GROWING, ('native-blocks',), r'^session_open$'),
	'c++': Truth(cycle, GROWING, ('native-blocks',), r'place_order|Order'),
	'redis': Truth(redis(True), GROWING, ('native-blocks',),
		       r'sds|create\w*Object|dict|db|tryObjectEncoding|processMultibulk', r'"name": "server"'),
	'nginx': Truth(nginx(True), GROWING, ('native-blocks',), r'^forget_session$'),
	'threads': Truth(sessions('threads'), GROWING, ('threads',), r'worker_start'),
	'descriptors': Truth(sessions('descriptors', '/etc/hostname'), GROWING, ('descriptors',), r'file_open', r'/etc/'),
	'tmpfs': Truth(tmpfs, GROWING, ('tmpfs',), None, r'/dev/shm/leakmon-diagnose'),
	'malloc-kept': Truth(grower('peaks', '512'), HEALTHY, ('free',)),
	'cpython': Truth(python(f'{ELEVEN}/sessions.py'), GROWING, ('managed-objects',), r'__main__\.Session', r'CACHE'),
	'go': Truth(go, GROWING, ('goroutines',), r'main\.spawn', r'main\.worker'),
	'dotnet': Truth(dotnet('cache'), GROWING, ('managed-objects',), r'MemoryLeak\.Entry', r'_memoryCache'),
	'ocaml': Truth(ocaml, GROWING, ('managed-objects',), r'Feeds', r'finaliser Feeds'),
	'ghc': Truth(ghc, GROWING, ('managed-objects',), r'Main\.grow', r'Main\.total'),
	'hotspot': Truth(java, GROWING, ('managed-objects',), r'Sessions\$Session', r'Sessions static cache'),
	'node': Truth(node(f'{ELEVEN}/sessions.js'), GROWING, ('managed-objects',), r'Session', r'cache'),
	'steady-redis': Truth(redis(False), HEALTHY, None),
	'steady-nginx': Truth(nginx(False), HEALTHY, None, scored=False),
	'steady-python': Truth(python(f'{HERE}/steady.py'), HEALTHY, None, scored=False),
	'steady-node': Truth(node(f'{HERE}/steady.js'), HEALTHY, None, scored=False),
	'steady-dotnet': Truth(dotnet('fixed'), HEALTHY, None, scored=False),
	'steady-cache': Truth(grower('cache', '4096', '1'), HEALTHY, None, scored=False),
}


# Answers

def wrong_in(truth, answer):
	"""What is wrong in an answer; '': nothing."""
	if answer['verdict'] not in truth.verdicts:
		return f'verdict {answer["verdict"]}'
	if truth.parts and answer['part'] not in truth.parts:
		return f'part {answer["part"]}'
	code, holder = code_of(answer), holder_of(answer)
	if truth.code and not any(re.search(truth.code, name) for name in code):
		return f'code {code[:3]}'
	if truth.holder and not any(re.search(truth.holder, name) for name in holder):
		return f'holder {[name[:60] for name in holder[:2]]}'
	if truth.verdicts == GROWING and truth.parts == ('native-blocks',) and not truth.holder and answer['blocks']['held']:
		return f'{answer["blocks"]["held"]} of its lost blocks held'
	return ''


def accused(truth, answer):
	return truth.verdicts == HEALTHY and answer['verdict'] in GROWING


class Result:
	def __init__(self, name, asked):
		self.name, self.answer, self.elapsed_s = name, asked.answer, asked.elapsed_s
		self.spent, self.core, self.stops, self.stop_ms = asked.spent, asked.core, asked.stops, asked.stop_ms
		truth, code = PROGRAMS[name], asked.exit_code
		self.wrong = wrong_in(truth, self.answer) if self.answer else \
			f'no answer, exit code {code}: {asked.messages[-100:]!r}'
		if not self.wrong and code != (3 if truth.verdicts == GROWING else 0):
			self.wrong = f'exit code {code}'
		self.accused = bool(self.answer) and accused(truth, self.answer)
		if not self.wrong and self.elapsed_s > ELAPSED_MAX_S:
			self.wrong = f'{self.elapsed_s:.0f} s'


def diagnose(name, directory, run):
	home = tempfile.mkdtemp(prefix=f'{name}-', dir=directory)
	os.chmod(home, 0o755)
	with compiling:
		process = PROGRAMS[name].start(directory, home)
	try:
		time.sleep(WARM_S)
		if process.child.poll() is not None:
			raise Missing(f'{name} ended with {process.child.returncode}')
		asked = Asked(process.pid)
	finally:
		process.end()
	with open(f'{directory}/{name}-{run}.json', 'w') as out:
		out.write(asked.output)
	return Result(name, asked)


def say(result, run):
	answer = result.answer
	if not answer:
		print(f'{result.name:14} run {run}: {result.wrong}', flush=True)
		return
	print(f'{result.name:14} run {run}: {"right" if not result.wrong else "WRONG (" + result.wrong + ")"}: '
	      f'{answer["verdict"]}, {answer["part"]}, {" ".join(code_of(answer))[:50] or "-"}, '
	      f'{"; ".join(holder_of(answer)[:1])[:70] or "-"}; {result.elapsed_s:.0f} s, '
	      f'{result.spent:.2%} of its CPU ({result.core:.2%} of a core), {result.stops} stops of {result.stop_ms:.0f} ms', flush=True)


def table(results, runs):
	print(f'\n{"program":14} {"right":>6} {"longest":>8} {"CPU":>7} {"core":>7} {"stop":>7}  answer')
	for name in dict.fromkeys(result.name for result in results):
		own = [result for result in results if result.name == name]
		last = own[-1].answer or {}
		print(f'{name:14} {sum(not result.wrong for result in own):>2} of {len(own)} '
		      f'{max(result.elapsed_s for result in own):>6.0f} s {max(result.spent for result in own):>7.2%} '
		      f'{max(result.core for result in own):>7.2%} {max(result.stop_ms for result in own):>4.0f} ms  '
		      f'{last.get("verdict", "none")}, {last.get("part", "")}')


def judge(results, runs):
	"""What misses the limits, a line each."""
	missed = []
	for run in range(1, runs + 1):
		own = [result for result in results if result.run == run and PROGRAMS[result.name].scored]
		right = sum(not result.wrong for result in own)
		print(f'run {run}: {right} of {len(own)} right, load {[result.load for result in own][-1:]}')
		if right < len(own) - 1:
			missed.append(f'run {run}: {len(own) - right} wrong')
	missed += [f'{result.name} is accused' for result in results if result.accused]
	missed += [f'{result.name}: {result.spent:.2%} of its CPU' for result in results if result.spent > SPENT_MAX]
	missed += [f'{result.name}: a stop of {result.stop_ms:.0f} ms' for result in results if result.stop_ms > STOP_MAX_MS]
	return missed


def main():
	words = sys.argv[1:]
	runs = int(words.pop(0)) if words and words[0].isdigit() else 1
	names = words or list(PROGRAMS)
	directory = os.environ.get('DIAGNOSE_KEEP') or tempfile.mkdtemp(prefix='leakmon-diagnose-')
	os.makedirs(directory, exist_ok=True)
	os.chmod(directory, 0o755)
	results, missing = [], {}

	def one(job):
		name, run = job
		if name in missing:
			return
		try:
			result = diagnose(name, directory, run)
		except Missing as error:
			missing[name] = error
			print(f'{name:14} skipped: {error}', flush=True)
			return
		result.run, result.load = run, os.getloadavg()[0]
		results.append(result)
		say(result, run)

	try:
		with Burners(), concurrent.futures.ThreadPoolExecutor(int(os.environ.get('JOBS', 2))) as pool:
			list(pool.map(one, [(name, run) for run in range(1, runs + 1) for name in names]))
	finally:
		for left in glob.glob('/dev/shm/leakmon-diagnose-*'):
			os.unlink(left)
		if not os.environ.get('DIAGNOSE_KEEP'):
			shutil.rmtree(directory)
	if not results:
		print('no program is there')
		return 1
	results.sort(key=lambda result: (list(PROGRAMS).index(result.name), result.run))
	table(results, runs)
	missed = judge(results, runs)
	for line in missed:
		print(f'MISSED {line}')
	return 1 if missed else 0


if __name__ == '__main__':
	sys.exit(main())
