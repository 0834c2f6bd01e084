# SPDX-License-Identifier: GPL-2.0-or-later
"""What leakmon says of a program against what the program knows of itself, a class for each runtime and
allocator. A method for each column of the table returns if all is right, and raises Wrong or Refused if not."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

from places import HERE, PATIENCE_S, RUNTIMES, TESTS, Missing, Place, Program, made_by

sys.path[:0] = [f'{TESTS}/diagnose']
from answers import GROWING, LEAKMON, code_of, holder_of  # noqa: E402

ELEVEN, WORKLOADS = f'{TESTS}/servers/eleven', f'{TESTS}/workloads'
JAVAC = ('-nowarn', '-Xlint:-options', '-source', '11', '-target', '11')
HERE_PLACE = Place()
# Growth that may be chance is asked about again, for longer.
DIAGNOSE_S = (40, 100)
# What a program allocates itself to answer.
ANSWER_BYTES = 256 << 10


class Wrong(Exception):
	"""An answer that is not the truth, and not marked."""


class Refused(Exception):
	"""No answer, and the check that failed."""


class Messages(threading.local):
	"""What leakmon has written beside its answers since `begin`, in this thread."""

	def begin(self):
		self.text = ''

	def add(self, text):
		self.text += text
		return text

	def are_late(self):
		"""Files were not read in time: on a busy machine, no answer says nothing of a version."""
		return 'took too long' in self.text


messages = Messages()


def expect_equal(what, found, truth, slack=0):
	if found is None or abs(found - truth) > slack:
		raise Wrong(f'{what}: {found}, not {truth}')


def expect_same(what, found, truth):
	if found != truth:
		raise Wrong(f'{what}: {str(found)[:200]}, not {str(truth)[:200]}')


def ask_leakmon(command, pid, *arguments):
	done = subprocess.run([LEAKMON, command, '-p', str(pid), '--format', 'json', *arguments], capture_output=True,
			      text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S)
	messages.add(done.stderr)
	if not done.stdout.strip():
		raise Refused(f'exit code {done.returncode}: {done.stderr.strip()[-400:]}')
	return json.loads(done.stdout.splitlines()[0])


def census(program, *arguments):
	return ask_leakmon('retain', program.pid, '--census', '--top', '0', '--max-pause', '5000', *arguments)


def memory_of(program, part):
	process = ask_leakmon('memory', program.pid)['processes'][0]
	found = process.get(part)
	if found is None:
		raise Refused(process.get('not_known') or f'no figures of {part}')
	if found.get('cannot_tell'):
		raise Refused(found['cannot_tell'])
	return found


def walked(report, key):
	"""The runtime's part of a census, which was read whole."""
	runtime = next((one for one in report['runtimes'] if one['runtime'] == key), None)
	if not runtime:
		raise Refused(f'no {key} is found in it')
	if runtime['why_not_walked']:
		raise Refused(runtime['why_not_walked'])
	return runtime


def counts_of(report, module):
	counts = {}
	for one in report['classes']:
		if one['module'] == module:
			counts[one['name']] = counts.get(one['name'], 0) + one['count']
	return counts


def held_of(report, module):
	counts = {}
	for one in report['classes']:
		if one['module'] == module:
			counts[one['name']] = counts.get(one['name'], 0) + one['held']['blocks']
	return counts


def expect_counts(runtime, counts, truth):
	wrong = [f'{name}: {counts.get(name, 0)}, not {count}' for name, count in truth.items() if counts.get(name, 0) != count]
	if wrong and not runtime['nonsense']:
		raise Wrong('; '.join(wrong))
	if wrong:
		raise Refused(f'{runtime["nonsense"]} contradictions')


def text_of(frame):
	return f'{frame["function"]} {os.path.basename(frame.get("file") or "")}:{frame.get("line")}'


class Watch:
	"""What `leakmon watch` has of a program when the block ends."""

	def __init__(self, program):
		self.program = program

	def __enter__(self):
		self.child = subprocess.Popen([LEAKMON, '-p', str(self.program.pid), '-o', '0', '--top', '0', '--format', 'json', '3600'],
					      stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
		lines = []
		for line in self.child.stderr:
			lines.append(messages.add(line))
			if f'attached to PID {self.program.pid}:' in line:
				return self
		raise Refused(''.join(lines).strip()[-400:])

	def __exit__(self, *_):
		self.child.send_signal(signal.SIGINT)
		output, text = self.child.communicate(timeout=PATIENCE_S)
		messages.add(text)
		self.sites = json.loads(output.splitlines()[-1])['processes'][0]['sites']


class Oracle:
	"""COLUMNS are those that a row of this kind has; `version` is what the row says of itself."""

	columns = ('retain', 'memory', 'threads', 'diagnose', 'frames')
	part, code, holder = 'managed-objects', None, None

	def __init__(self, place=HERE_PLACE, **version):
		self.place = place
		self.__dict__.update(version)

	def start(self):
		raise NotImplementedError

	def threads(self):
		"""As many as the kernel has."""
		with self.start() as program:
			threads = ask_leakmon('threads', program.pid, '1', '1')['processes'][0]['threads']
			if threads['cannot_tell']:
				raise Refused(threads['cannot_tell'])
			expect_equal('threads', threads['alive'], len(os.listdir(f'/proc/{program.pid}/task')))

	def diagnose(self):
		for seconds in DIAGNOSE_S:
			answer = self.answer(seconds, *self.leaking())
			if answer['verdict'] != 'unknown':
				break
		self.judge(answer)

	def answer(self, seconds, command, feed, every_s):
		child = subprocess.Popen(self.place.inside(command), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
					 stderr=subprocess.DEVNULL, start_new_session=True)
		try:
			asked = self.asked(child, seconds, feed, every_s)
		finally:
			child.kill()
			child.wait()
		if not asked.stdout.strip():
			raise Refused(f'exit code {asked.returncode}: {asked.stderr.strip()[-200:]}')
		return json.loads(asked.stdout)['processes'][0]

	@staticmethod
	def asked(child, seconds, feed, every_s):
		asking, begin = None, time.time()
		while time.time() - begin < PATIENCE_S + seconds and child.poll() is None:
			if feed:
				child.stdin.write(f'{feed}\n'.encode())
				child.stdin.flush()
			time.sleep(every_s)
			if not asking and time.time() - begin > 5:
				asking = subprocess.Popen([LEAKMON, 'diagnose', '-p', str(child.pid), '--for', str(seconds), '--format', 'json'],
							  stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
			if asking and asking.poll() is not None:
				break
		if not asking:
			raise Missing('the leaking program ended')
		if asking.poll() is None:
			asking.kill()
		output, text = asking.communicate()
		return subprocess.CompletedProcess(asking.args, asking.returncode, output, text)

	def judge(self, answer):
		text = f'{answer["verdict"]}, {answer["part"]}, {" ".join(code_of(answer))[:60]}, {" ".join(holder_of(answer))[:60]}'
		if answer['verdict'] == 'unknown':
			why = [line.split(None, 1)[1] for line in answer['text'] if line.startswith('  why ')]
			raise Refused(''.join(why) or text)
		if answer['verdict'] in GROWING and not any(code_of(answer)):
			raise Refused(f'{answer["verdict"]}, {answer["part"]}, but no code is named')
		right = answer['verdict'] in GROWING and answer['part'] == self.part and \
			any(re.search(self.code, name) for name in code_of(answer)) and \
			(not self.holder or any(re.search(self.holder, name) for name in holder_of(answer)))
		if not right:
			raise Wrong(text)


class CPython(Oracle):
	code, holder = r'__main__\.Session', r'CACHE'

	def start(self):
		return Program(self.place, [self.program(), self.place.copy(f'{RUNTIMES}/cpython_census.py')])

	def program(self):
		return self.place.need(self.python, self.python)

	def leaking(self):
		return [self.program(), self.place.copy(f'{ELEVEN}/sessions.py')], None, 1

	def retain(self):
		with self.start() as program:
			truth = program.ask('truth')['classes']
			report = census(program)
			expect_counts(walked(report, 'cpython'), counts_of(report, 'cpython'),
				      {name: row['count'] for name, row in truth.items()})

	def memory(self):
		with self.start() as program:
			truth = program.ask('spread')
			python = memory_of(program, 'python')
			expect_equal('used_bytes', python['used_bytes'], truth['used'], ANSWER_BYTES // 4)
			expect_equal('arenas', python['arenas'], truth['arenas'], 1)
			expect_same('class', [pin['class'] for pin in python['pins']][:1], ['__main__.Pin'])

	def threads(self):
		with self.start() as program:
			truth = program.ask('frames')['frames']
			python = ask_leakmon('threads', program.pid, '1', '1')['processes'][0].get('python')
			if not python or python['cannot_tell']:
				raise Refused(python['cannot_tell'] if python else 'no Python is found in it')
			stacks = [[[frame['function'], frame['line']] for frame in group['frames']] for group in python['groups']]
			if truth not in stacks:
				raise Wrong(f'{stacks}, not {truth}')

	def frames(self):
		with self.start() as program:
			with Watch(program) as watch:
				truth = program.ask('churn')['frames']
			site = next((site for site in watch.sites if site['bytes'] >= 500000), None)
			own = [[frame['function'], frame['line']] for frame in site['frames'] if frame['module'] == 'python'] if site else []
			if not own:
				raise Refused('native frames only')
			expect_same('frames', own, truth)


class Node(Oracle):
	code, holder = r'Session', r'cache'
	WHOLE = ('--no-opt', '--no-sparkplug', '--no-memory-reducer')

	def program(self):
		return self.place.need(self.node, self.node)

	def start(self):
		return Program(self.place, [self.program(), '--expose-gc', f'{RUNTIMES}/v8_census.js'])

	def leaking(self):
		return [self.program(), f'{ELEVEN}/sessions.js'], None, 1

	def retain(self):
		with self.start() as program:
			truth = program.ask('truth')
			report = census(program)
			expect_counts(walked(report, 'v8'), counts_of(report, 'v8'), truth)

	def memory(self):
		with self.start() as program:
			truth = program.ask('external')
			v8 = memory_of(program, 'v8')
			expect_equal('external_bytes', v8['external_bytes'], truth['external'])
			expect_equal('array_buffer_bytes', v8['array_buffer_bytes'], truth['arrayBuffers'])

	def frames(self):
		script = f'{RUNTIMES}/js_frames.js'
		maglev = ['--no-maglev'] if '--maglev' in subprocess.run([self.program(), '--v8-options'], capture_output=True,
									 text=True).stdout else []
		with Program(self.place, [self.program(), *self.WHOLE, *maglev, script]) as program:
			with Watch(program) as watch:
				truth = program.ask('allocate 2000')['frames']
		own = lambda site: [[frame['function'], frame['file'], frame['line']] for frame in site['frames']  # noqa: E731
				    if frame['module'] == 'javascript' and (frame['file'] or '').endswith('js_frames.js')]
		count = sum(site['count'] for site in watch.sites if site['bytes'] == site['count'] * 1000 and own(site) == truth)
		if not any(frame['module'] == 'javascript' for site in watch.sites for frame in site['frames']):
			raise Refused('native frames only')
		expect_equal('buffers', count, 2000)


class Java(Oracle):
	code, holder = r'Sessions\$Session', r'Sessions static cache'

	def program(self):
		return self.place.need(self.java, f'JDK {self.java}')

	def command(self, source, *arguments):
		"""Compiled by this system's javac for all of them."""
		if not shutil.which('javac'):
			raise Missing('javac is not installed')
		classes = HERE_PLACE.compile(os.path.basename(source), ['javac', '-g', *JAVAC, '-d', 'OUT', source])
		inside = classes if not self.place.root else os.path.dirname(self.place.copy(*(
			f'{classes}/{name}' for name in sorted(os.listdir(classes)))))
		return [self.program(), '-Xmx256m', *self.options, '-cp', inside, os.path.basename(source)[:-len('.java')], *arguments]

	def start(self):
		return Program(self.place, self.command(f'{RUNTIMES}/HotspotCensus.java', '300'))

	def leaking(self):
		return self.command(f'{ELEVEN}/Sessions.java'), None, 1

	def retain(self):
		with self.start() as program:
			truth = program.ask('truth')['classes']
			program.tell('collect')
			report = census(program)
			expect_counts(walked(report, 'hotspot'), held_of(report, 'hotspot'), truth)

	def memory(self):
		with self.start() as program:
			program.tell('map')
			truth = program.ask('buffers')
			java = memory_of(program, 'java')
			for pool in ('direct', 'mapped'):
				if not java[f'{pool}_buffers']:
					raise Refused(f'no figures of {pool} buffers')
				for figure in ('count', 'bytes'):
					expect_equal(f'{pool} {figure}', java[f'{pool}_buffers'][figure], truth[pool][figure])

	def threads(self):
		with self.start() as program:
			threads = ask_leakmon('threads', program.pid, '1', '1')['processes'][0].get('java_threads')
			if not threads or threads.get('cannot_tell'):
				raise Refused(threads['cannot_tell'] if threads else 'no JVM is found in it')
			groups = [group for group in threads['groups'] if group['name'] == 'holder of stack']
			expect_same('states', [group['state'] for group in groups], ['sleeping'])
			functions = [frame['function'] for frame in groups[0]['frames']]
			if 'java.lang.Thread.run' not in functions or not any('HotspotCensus.lambda$hold$' in name for name in functions):
				raise Wrong(f'frames {functions}')
			if threads['ended'] < 300:
				raise Wrong(f'{threads["ended"]} ended threads')

	def frames(self):
		with Program(self.place, self.command(f'{RUNTIMES}/JavaFrames.java')) as program:
			with Watch(program) as watch:
				truth = program.ask('allocate 20000')['frames']
		own = lambda site: [[frame['function'], frame['file'], frame['line']] for frame in site['frames']  # noqa: E731
				    if frame['module'] == 'java' and frame['file'] and frame['function'].startswith('JavaFrames')]
		sites = [site for site in watch.sites if site['bytes'] == site['count'] * 40 and own(site)]
		if not any(frame['module'] == 'java' for site in watch.sites for frame in site['frames']):
			raise Refused('native frames only')
		for site in sites:
			expect_same('frames', own(site), truth)
		expect_equal('blocks', sum(site['count'] for site in sites), 20000)


class DotNet(Oracle):
	code, holder = r'MemoryLeak\.Entry', r'_memoryCache'
	INVARIANT = {'DOTNET_SYSTEM_GLOBALIZATION_INVARIANT': '1'}

	def program(self, source='dotnet_stories'):
		return made_by(f'{RUNTIMES}/dotnet.sh', self.dotnet, f'{RUNTIMES}/{source}.cs')

	def start(self, story='census'):
		return Program(self.place, [self.program(), story, '300'], **self.INVARIANT)

	def leaking(self):
		return [self.program(), 'cache', '300'], 'more', 1

	def retain(self):
		with self.start() as program:
			truth = program.ask('truth')['classes']
			report = census(program)
			expect_counts(walked(report, 'dotnet'), counts_of(report, 'dotnet'), truth)

	def memory(self):
		with self.start() as program:
			dotnet = memory_of(program, 'dotnet')
			truth = program.ask('collections')['counts']
			found = [dotnet['collections'], dotnet['generation_1_collections'], dotnet['full_collections']]
			expect_same('collections', found, truth)

	def threads(self):
		with self.start('threads') as program:
			truth = program.ask('truth')['ended']
			process = ask_leakmon('threads', program.pid, '--holders', '--max-pause', '5000', '1', '1')['processes'][0]
			managed = process['threads'].get('managed')
			if not managed or managed['cannot_tell']:
				raise Refused(managed['cannot_tell'] if managed else 'no .NET is found in it')
			expect_equal('ended', managed['ended'][0]['held'], truth)

	def frames(self):
		with Program(self.place, [self.program('dotnet_frames'), 'census'], **self.INVARIANT) as program:
			with Watch(program) as watch:
				truth = program.ask('leak 400')['frames']
		own = lambda site: [frame['function'] for frame in site['frames'] if frame['module'] == 'dotnet' and  # noqa: E731
				    not re.match(r'System\.Runtime\.InteropServices\.|Interop\.|IL_STUB_', frame['function'] or '')]
		sites = [site for site in watch.sites if site['bytes'] == site['count'] * 10007 and site['end'] == 'root']
		if not any(map(own, sites)):
			raise Refused('native frames only')
		for site in sites:
			expect_same('frames', own(site), truth)
		expect_equal('blocks', sum(site['count'] for site in sites), 400)


class DotNetTrimmed(DotNet):
	"""What a trimmed program has left: classes and frames."""
	columns = ('retain', 'memory', 'frames')

	def program(self, source='dotnet_trimmed'):
		return made_by(f'{RUNTIMES}/dotnet.sh', self.dotnet)

	def retain(self):
		with self.start() as program:
			report = census(program)
			expect_counts(walked(report, 'dotnet'), counts_of(report, 'dotnet'), {'Planted.Subscriber': 300, 'Planted.Pair[]': 1})

	def frames(self):
		with self.start() as program:
			with Watch(program) as watch:
				truth = program.ask('leak')['frames']
		sites = [site for site in watch.sites if site['bytes'] == site['count'] * 10007 and site['end'] == 'root']
		own = [[frame['function'] for frame in site['frames'] if frame['module'] == 'dotnet' and
			not re.match(r'System\.Runtime\.InteropServices\.|Interop\.|IL_STUB_', frame['function'] or '')] for site in sites]
		if not any(own):
			raise Refused('native frames only')
		for found in own:
			expect_same('frames', found, truth)
		expect_equal('blocks', sum(site['count'] for site in sites), 400)


class Go(Oracle):
	part, code, holder = 'goroutines', r'main\.spawn', r'main\.worker'
	KEPT, BLOCK = 400, 64 << 10

	def start(self):
		return Program(self.place, [made_by(f'{RUNTIMES}/go.sh', self.go, self.kind)])

	def leaking(self):
		return [made_by(f'{RUNTIMES}/go.sh', self.go, self.kind)], 'spawn 2', 1

	def kept(self):
		program = self.start()
		program.tell(f'keep {self.KEPT}')
		program.tell('gc')
		return program

	def retain(self):
		with self.kept() as program:
			truth = program.ask('stats')
			report = census(program)
			expect_equal('heap_bytes', walked(report, 'go')['heap_bytes'], truth['heap_in_use'], ANSWER_BYTES)
			expect_equal('blocks held', sum(one['held']['blocks'] for one in report['classes'] if re.match(
				rf'{self.BLOCK}-byte object without pointers|main\.block stories\.go:', one['name'])), self.KEPT)

	def memory(self):
		with self.kept() as program:
			for _ in range(5):
				program.ask('stats')
				truth = program.ask('stats')
				go = memory_of(program, 'go')
				if program.ask('stats')['stack_in_use'] == truth['stack_in_use']:
					break
			for figure, name in (('stack_bytes', 'stack_in_use'), ('goal_bytes', 'next_gc'), ('collections', 'collections')):
				expect_equal(figure, go[figure], truth[name])
			for figure, name in (('in_use_bytes', 'heap_in_use'), ('released_bytes', 'heap_released')):
				expect_equal(figure, go[figure], truth[name], ANSWER_BYTES)

	def threads(self):
		with self.start() as program:
			program.tell('spawn 300')
			program.tell('gc')
			truth = program.ask('truth')
			found = ask_leakmon('threads', program.pid, '1', '1')['processes'][0].get('goroutines')
			if not found or found['cannot_tell']:
				raise Refused(found['cannot_tell'] if found else 'no Go is found in it')
			expect_equal('goroutines', found['count'], truth['count'])
			for one in truth['goroutines']:
				if one['state'] == 'running':
					continue
				expect_equal(f'{one["state"]} at {one["where"]}', sum(
					group['count'] for group in found['groups'] if group['state'] == one['state'] and
					[text_of(frame) for frame in group['created_by']['frames'][:1]] == [one['creator']][:len(one['creator'])] and
					one['where'] in map(text_of, group['waits_at']['frames'])), one['count'])

	def frames(self):
		"""Call stacks of the program's own heap profile."""
		with self.kept() as program:
			truth = program.ask('truth')['records']
			profile = ask_leakmon('retain', program.pid, '--top', '0').get('heap_profile')
			if not profile or profile['cannot_tell']:
				raise Refused(profile['cannot_tell'] if profile else 'no heap profile')
			sites = [[text_of(frame) for frame in site['frames']] for site in profile['sites']]
			in_use = [record for record in truth if record['allocated_objects'] != record['freed_objects']]
			expect_equal('records', len(sites), len(in_use))
			for record in in_use:
				if not any(site == record['frames'][-len(site):] for site in sites):
					raise Wrong(f'no site {record["frames"]}')


class OCaml(Oracle):
	columns = ('retain', 'threads', 'diagnose')
	code, holder = r'Feeds', r'finaliser Feeds'

	def compiled(self):
		compiler = self.place.need('ocamlopt', 'ocamlopt')
		self.place.copy(*(f'{RUNTIMES}/ocaml/{name}' for name in ('feeds.ml', 'census.ml')))
		return self.place.compile('census-ocaml', [compiler, '-g', 'feeds.ml', 'census.ml', '-o', 'OUT'])

	def start(self):
		return Program(self.place, [self.compiled(), 'leaking'])

	def leaking(self):
		return [self.compiled(), 'leaking'], 'more', 1

	def retain(self):
		with self.start() as program:
			truth = program.ask('truth')
			report = census(program)
			runtime = walked(report, 'ocaml')
			expect_counts(runtime, counts_of(report, 'ocaml'), {'exception Feeds.Broken': 21, 'custom _j': 123,
									    'float array': 1001 + 30 + 1})
			expect_equal('blocks', runtime['objects'], truth['live_blocks'] + 100, 100)


class GHC(Oracle):
	columns = ('retain', 'threads', 'diagnose')
	code, holder = r'Main\.grow|modifyIORef', r'Main\.total'

	def compiled(self):
		compiler = self.place.need('ghc', 'ghc')
		self.place.copy(f'{RUNTIMES}/ghc/Census.hs')
		return self.place.compile('census-ghc', [compiler, '-v0', '-O1', 'Census.hs', '-o', 'OUT'])

	def start(self):
		return Program(self.place, [self.compiled(), 'leaking'])

	def leaking(self):
		return [self.compiled(), 'leaking'], 'more', 3

	def retain(self):
		with self.start() as program:
			report = census(program)
			expect_counts(walked(report, 'ghc'), counts_of(report, 'ghc'),
				      {'Main.Session': 3000, 'Main.Item': 21000, 'Main.Pinned': 7})


class Malloc(Oracle):
	"""An allocator: the program (tests/workloads) and its library are compiled where they are; `figures` of
	`leakmon memory` are equal to those of the truth."""

	part, code = 'native-blocks', r'^session_open$'
	figures, own_blocks = (), 0

	def compiled(self, name, source, *libraries):
		compiler = self.place.need(self.compiler, self.compiler)
		headers = [path for path in os.listdir(WORKLOADS) if path.endswith('.h')]
		self.place.copy(source, *(f'{WORKLOADS}/{path}' for path in headers))
		return self.place.compile(f'{name}-{"".join(libraries)}{os.path.basename(compiler)}', [
			compiler, '-O2', '-g', '-fno-omit-frame-pointer', '-fno-builtin', '-pthread', '-D_GNU_SOURCE',
			os.path.basename(source), '-o', 'OUT', *libraries])

	compiler = 'gcc'

	def start(self):
		return Program(self.place, [self.compiled(self.workload, f'{WORKLOADS}/{self.workload}.c', *self.libraries)])

	def leaking(self):
		# Linked as needed or not, the library is there.
		libraries = ['-Wl,--no-as-needed', *self.libraries] if self.libraries else []
		return [self.compiled('sessions', f'{ELEVEN}/sessions.c', *libraries), 'blocks'], None, 1

	def filled(self, *steps):
		program = self.start()
		for step in steps:
			program.tell(step)
		return program

	def heap(self, report):
		heap = report['heap']
		if heap['why_not_walked']:
			raise Refused(heap['why_not_walked'])
		if heap['walked'] != heap['blocks']:
			raise Wrong(f'{heap["walked"]} of {heap["blocks"]} walked')
		self.said = heap['allocator']
		return report['totals']

	def retain(self):
		with self.filled('mixed', 'threads', 'cross', 'drop') as program:
			before = self.heap(census(program))
			program.tell('lose')
			after = self.heap(census(program))
			if before['unreachable']['blocks'] > self.own_blocks:
				raise Wrong(f'{before["unreachable"]["blocks"]} unreachable before any is lost')
			expect_equal('lost blocks', after['unreachable']['blocks'] - before['unreachable']['blocks'], 100 + 20 + 1)

	def memory(self):
		with self.filled('mixed', 'large', 'threads', 'cross', 'drop') as program:
			truth = program.ask('truth')
			allocator = memory_of(program, self.place_in_report)
			for figure, name in self.figures:
				expect_equal(figure, allocator[figure], truth[name])

	place_in_report = 'other_allocator'

	def threads(self):
		with self.filled('threads') as program:
			threads = ask_leakmon('threads', program.pid, '1', '1')['processes'][0]['threads']
			if threads['cannot_tell']:
				raise Refused(threads['cannot_tell'])
			expect_equal('threads', threads['alive'], 17)
			starts = {group['start_routine'].get('label'): group['count'] for group in threads['live']}
			if 'run' not in starts:
				raise Refused('start routines of threads from before the attach')
			expect_equal('threads of run()', starts['run'], 16)

	def frames(self):
		with self.start() as program:
			with Watch(program) as watch:
				program.tell('mixed')
		count = sum(site['count'] for site in watch.sites if any(frame['function'] in ('mixed', 'mixed_make')
									 for frame in site['frames']))
		expect_equal('blocks', count, 40000)


class Glibc(Malloc):
	"""musl_stats.c counts its own blocks, whichever malloc it has."""
	workload, libraries, place_in_report = 'musl_stats', (), 'allocator'
	columns = ('retain', 'memory', 'threads', 'diagnose', 'frames')

	def memory(self):
		"""The C library's own blocks, of standard output and of threads, are beside those of the program."""
		with self.filled('mixed', 'drop') as program:
			truth = program.ask('truth')
			expect_equal('live_blocks', memory_of(program, 'allocator')['live_blocks'], truth['blocks'], 20)


class Musl(Malloc):
	workload, libraries, compiler = 'musl_stats', (), 'musl-gcc'
	figures = (('live_blocks', 'blocks'),)


class Jemalloc(Malloc):
	workload, libraries = 'jemalloc_stats', ('-ljemalloc',)
	figures = tuple((f'{name}_bytes', name) for name in ('allocated', 'active', 'metadata', 'mapped', 'retained', 'cached',
							     'dirty', 'muzzy'))


class Tcmalloc(Malloc):
	workload, libraries, own_blocks = 'tcmalloc_stats', ('-ltcmalloc_minimal',), 1
	figures = (('live_bytes', 'allocated'), ('cached_bytes', 'threads'), ('transfer_bytes', 'transfer'),
		   ('dirty_bytes', 'free'), ('retained_bytes', 'unmapped'))


class Mimalloc(Malloc):
	workload, libraries = 'mimalloc_stats', ('-lmimalloc',)
	figures = (('live_blocks', 'blocks'), ('live_bytes', 'live'))
