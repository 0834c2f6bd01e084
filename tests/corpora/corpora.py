#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""leakmon's census on programs of other projects' test suites, beside those projects' own verdicts.

	corpora.py lsan DIRECTORY      LeakSanitizer's TestCases (compiler-rt/test/lsan/TestCases)
	corpora.py memcheck DIRECTORY  valgrind's memcheck/tests
	corpora.py clean RUNS          programs of this machine that lose nothing: nobody may be accused

Each program is stopped where a leak detector looks: when main() has returned, or where it asks for a
check itself. Nothing is fetched: the sources are given. What does not build or run here is left out,
and counted. One line a case, the sums last.
"""
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile

LEAKMON = os.environ.get('LEAKMON_PROGRAM', 'build/leakmon')
PRELOAD = os.path.abspath(os.environ.get('LEAKMON_STOP_AT_EXIT', 'build/corpora/stop_at_exit.so'))
SAYS, WAITS = 198, 199
LIMIT_S = 20


class Case:
	"""What is to be run, and what is known of it: lost, held, or None."""

	def __init__(self, name, program, arguments=(), expected=None, stdin=None):
		self.name, self.program, self.arguments = name, program, list(arguments)
		self.expected, self.stdin = expected, stdin


def run(command, limit=LIMIT_S, **more):
	try:
		return subprocess.run(command, capture_output=True, timeout=limit, **more)
	except (subprocess.TimeoutExpired, OSError):
		return None


def census_of(pid):
	"""Blocks and bytes that nothing leads to, and blocks that only dead words lead to."""
	got = run([LEAKMON, 'retain', '--census', '-p', str(pid), '--max-pause', '10000', '--format', 'json'], 60)
	if not got or got.returncode:
		return None
	totals = json.loads(got.stdout)['totals']
	return {'blocks': totals['unreachable']['blocks'], 'bytes': totals['unreachable']['bytes'],
		'stale': totals['stale']['blocks'], 'passing': totals['passing']['blocks']}


def census_at_exit(case):
	"""The census when the program has come to where it stops; None: it never did."""
	said, says = os.pipe()
	waits, go = os.pipe()

	def prepare():
		os.dup2(says, SAYS)
		os.dup2(waits, WAITS)

	environment = dict(os.environ, LD_PRELOAD=PRELOAD)
	with open(case.stdin or os.devnull) as stdin:
		child = subprocess.Popen([case.program] + case.arguments, stdin=stdin,
					 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
					 env=environment, preexec_fn=prepare,
					 close_fds=False, start_new_session=True)
	os.close(says)
	os.close(waits)
	result = None
	try:
		ready, _, _ = select.select([said], [], [], LIMIT_S)
		if ready:
			stopped = int.from_bytes(os.read(said, 4), sys.byteorder)
			result = census_of(stopped) if stopped else None
	finally:
		os.close(go)
		os.close(said)
		try:
			os.killpg(child.pid, signal.SIGKILL)
		except ProcessLookupError:
			pass
		child.wait()
	return result


# LeakSanitizer's cases

# Tests where LeakSanitizer's own expectation reflects its limits, not the program's lost blocks:
# Child() loses 666 ints, whatever stack it runs on.
LSAN_TRUTH = {'swapcontext.cpp': 'lost'}
# Tests of LeakSanitizer's behaviour rather than its findings, and tests for another sanitizer.
LSAN_UNFIT = r'max_allocation_size_mb|REQUIRES: asan|__lsan::GetCurrentThread|__lsan_do_recoverable'
# Programs that silence LeakSanitizer nevertheless lose their blocks.
SILENCED = (r'__lsan_is_turned_off|__lsan_disable|ScopedDisabler|__lsan_default_suppressions|'
	    r'__lsan_ignore|suppressions=')
# Except for tests that need registers.
WITHOUT_STACKS = r'use_stacks=0(?!.*use_registers=1)'


def lsan_lines(path):
	"""(arguments, whether it must fail, options) of the RUN lines that run the program."""
	base = ''
	for line in re.findall(r'//+ *RUN:\s*(.*)', open(path, errors='replace').read()):
		named = re.match(r'LSAN_BASE="([^"]*)"', line)
		base = named.group(1) if named else base
		found = re.search(r'(not\s+)?%run\s+%t\b([^|&>2]*)', line)
		if found:
			yield tuple(found.group(2).split()), bool(found.group(1)), line.replace('$LSAN_BASE', base)


def lsan_expected(lines, arguments, name, silenced):
	"""Lost if every run fails, held if one passes; not by runs that look at no roots, or are told
	to keep silent. None: not known."""
	words = set()
	for mine, fails, options in lines:
		if mine != arguments or re.search(r'leak_check_at_exit=0|detect_leaks=0|exitcode=0', options):
			continue
		if (silenced and not fails) or (fails and re.search(r'use_(globals|tls)=0', options)):
			continue
		words.add('lost' if fails else 'held')
	return LSAN_TRUTH.get(name, None if not words else 'held' if 'held' in words else 'lost')


def lsan_build(source, work, include, sanitized):
	"""As the test's own lines build it."""
	program = os.path.join(work, os.path.basename(source) + ('.lsan' if sanitized else ''))
	flags = ['-g', '-O0', '-w', '-pthread', '-I' + os.path.dirname(source)] + ['-I' + d for d in include]
	built = set()
	for line in re.findall(r'RUN:\s*(%clang.*)', open(source, errors='replace').read()):
		command = shlex.split(re.split(r'&&|\|', line.replace('%t', program).replace('%s', source))[0])
		if program in command and program in built:
			continue
		built.update(command)
		with_leaks = '_lsan' in command[0]
		whole = '-c' not in command and '-shared' not in command
		command = ['clang++' if 'xx' in command[0] else 'clang'] + flags + command[1:] + \
			(['-fsanitize=leak'] if sanitized and with_leaks else [PRELOAD] if whole else []) + \
			(['-ldl'] if whole else [])
		got = run(command, 60)
		if not got or got.returncode:
			return None
	return program if os.path.exists(program) else None


def lsan_verdict(program, arguments, options=''):
	"""Objects that LeakSanitizer reports; None: it did not run."""
	got = run([program] + list(arguments), env=dict(os.environ, LSAN_OPTIONS='exitcode=23:' + options))
	if not got:
		return None
	text = (got.stderr + got.stdout).decode(errors='replace')
	return sum(int(n) for n in re.findall(r'leak of \d+ byte\(s\) in (\d+) object', text))


def lsan_case(name, lines, arguments, programs, silenced):
	"""Whether leakmon and LeakSanitizer are right; and as the test asks for it. None: left out."""
	plain, sanitized = programs
	case = Case(' '.join((name,) + arguments), plain, arguments)
	case.expected = lsan_expected(lines, arguments, case.name, silenced)
	ours = census_at_exit(case) if plain and case.expected else None
	if ours is None:
		why = 'of no leak, or does not build or stop here' if case.expected else 'truth not known'
		print(f'{case.name:42} left out: {why}')
		return None
	their = lsan_verdict(sanitized, arguments) if sanitized else None
	ours_right = bool(ours['blocks']) == (case.expected == 'lost')
	their_right = bool(their) == (case.expected == 'lost')
	asked_right, asked_their_right = ours_right, their_right

	# Many tests exclude stacks and registers, because left-over words there hide lost blocks.
	inner = [line for line in lines if re.search(WITHOUT_STACKS, line[2])]
	expected = lsan_expected(inner, arguments, case.name, silenced)
	if expected:
		outer = [line for line in lines if not re.search(WITHOUT_STACKS, line[2])]
		with_stacks = lsan_expected(outer, arguments, case.name, silenced)
		blocks = ours['blocks'] + ours['stale'] + ours['passing']
		objects = lsan_verdict(sanitized, arguments, 'use_stacks=0:use_registers=0') if sanitized else 0
		asked_right = bool(blocks) == (expected == 'lost') and (ours_right or not with_stacks)
		asked_their_right = bool(objects) == (expected == 'lost') and (their_right or not with_stacks)
	print(f'{case.name:42} {case.expected:5} leakmon {ours["blocks"]:5} blocks '
	      f'(+{ours["stale"]} by dead words only, {ours["passing"]} by stacks only), '
	      f'LeakSanitizer {their} objects{"" if ours_right else "  WRONG"}'
	      f'{"" if asked_right else "  WRONG AS ASKED"}', flush=True)
	return ours_right, their_right, asked_right, asked_their_right


def lsan(directory, work):
	above = os.path.abspath(os.path.join(directory, '..', '..', '..', 'include'))
	include = [above, os.path.abspath(os.path.join(directory, '..', '..'))]
	results = []

	for folder in ('', 'Linux'):
		for name in sorted(os.listdir(os.path.join(directory, folder))):
			source = os.path.join(os.path.abspath(directory), folder, name)
			if not name.endswith(('.c', '.cpp')):
				continue
			text = open(source, errors='replace').read()
			lines = list(lsan_lines(source))
			programs = (None, None) if re.search(LSAN_UNFIT, text) else \
				[lsan_build(source, work, include, sanitized) for sanitized in (False, True)]
			for arguments in dict.fromkeys(mine for mine, _, _ in lines):
				results.append(lsan_case(name, lines, arguments, programs,
							 re.search(SILENCED, text)))
	known = [result for result in results if result]
	ours, theirs, asked, theirs_asked = (sum(column) for column in zip(*known))
	print(f'{len(known)} cases, {len(results) - len(known)} left out: leakmon right in {ours}, LeakSanitizer '
	      f'in {theirs}; as the tests ask for it (most without stacks and registers), '
	      f'leakmon in {asked}, LeakSanitizer in {theirs_asked}')


# memcheck's cases

def memcheck_cases(directory):
	for name in sorted(os.listdir(directory)):
		if not name.endswith('.vgtest'):
			continue
		lines = dict(re.findall(r'^\s*([a-z]+):\s*(.*?)\s*$', open(os.path.join(directory, name)).read(), re.M))
		if 'prog' in lines:
			yield name[:-7], lines['prog'], shlex.split(lines.get('args', ''))


def memcheck_build(directory, program, work):
	include = ['-I' + directory, '-I' + os.path.join(directory, '..'), '-I' + os.path.join(directory, '..', '..'),
		   '-I' + os.path.join(directory, '..', '..', 'include'), '-I/usr/include/valgrind', '-I/usr/include']
	for ending, compiler in (('.c', 'gcc'), ('.cpp', 'g++'), ('.cc', 'g++')):
		source = os.path.join(directory, program + ending)
		if os.path.exists(source):
			built = run([compiler, '-g', '-O0', '-w', '-fno-builtin', '-pthread', source, '-o',
				     os.path.join(work, program), '-lm', '-ldl'] + include, 60)
			return os.path.join(work, program) if built and built.returncode == 0 else None
	return None


def memcheck_verdict(program, arguments):
	"""Blocks and bytes lost, directly or not, and possibly; None: it did not run to its end."""
	got = run(['valgrind', '--leak-check=full', program] + arguments, 60)
	text = got.stderr.decode(errors='replace') if got else ''
	# A program may ask for several checks, which say what has changed as well: the last one counts.
	if text.rfind('All heap blocks were freed') > text.rfind('definitely lost'):
		return (0, 0)
	sums = [re.findall(word + r' lost: ([\d,]+)[^b]*bytes in ([\d,]+)[^b]*blocks', text)[-1:]
		for word in ('definitely', 'indirectly')]
	if not all(sums):
		return None
	return (sum(int(found[0][1].replace(',', '')) for found in sums),
		sum(int(found[0][0].replace(',', '')) for found in sums))


def memcheck(directory, work):
	same = word = known = left_out = 0
	seen = set()

	for name, program, arguments in memcheck_cases(directory):
		if (program, tuple(arguments)) in seen:
			continue
		seen.add((program, tuple(arguments)))
		built = memcheck_build(directory, program, work)
		their = memcheck_verdict(built, arguments) if built else None
		ours = census_at_exit(Case(name, built, arguments)) if their else None
		if ours is None:
			left_out += 1
			continue
		known += 1
		same += ours['blocks'] == their[0]
		word += bool(ours['blocks']) == bool(their[0])
		print(f'{name:32} memcheck {their[0]:6} blocks lost, leakmon {ours["blocks"]:6} '
		      f'(+{ours["stale"]} by dead words only, {ours["passing"]} by stacks only)'
		      f'{"" if bool(ours["blocks"]) == bool(their[0]) else "  DIFFERS"}', flush=True)
	print(f'{known} cases, {left_out} left out (do not build, or do not end, here): the same word in '
	      f'{word}, the same number of blocks in {same}')


# Programs that lose nothing

CLEAN = (
	('sleep', '60'), ('cat',), ('tail', '-f', '/dev/null'), ('sh', '-c', 'read line'),
	('bash', '-c', 'read line'), ('python3', '-c', 'input()'), ('perl', '-e', '<STDIN>'),
	('sqlite3',), ('awk', '{print}'), ('sort',), ('grep', '-E', 'x+'), ('gdb', '-q'), ('bc',), ('dd',),
)


def clean(runs):
	"""Each is looked at while it waits, for what it says or for time to pass."""
	accused = looked = 0

	for i in range(runs):
		command = CLEAN[i % len(CLEAN)]
		try:
			child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
						 stderr=subprocess.DEVNULL)
		except OSError:
			continue
		try:
			child.wait(0.3)
		except subprocess.TimeoutExpired:
			pass
		ours = census_of(child.pid)
		child.kill()
		child.wait()
		if ours is None:
			continue
		looked += 1
		if ours['blocks']:
			accused += 1
			print(f'run {i}: {" ".join(command)}: {ours["blocks"]} blocks, {ours["bytes"]} bytes',
			      flush=True)
	print(f'{looked} runs of {len(CLEAN)} programs: {accused} accused')
	return accused


def main():
	if len(sys.argv) != 3 or sys.argv[1] not in ('lsan', 'memcheck', 'clean'):
		sys.exit(__doc__)
	if sys.argv[1] == 'clean':
		sys.exit(1 if clean(int(sys.argv[2])) else 0)
	with tempfile.TemporaryDirectory() as work:
		{'lsan': lsan, 'memcheck': memcheck}[sys.argv[1]](sys.argv[2], work)


main()
