#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""leakmon on each version of runtimes and allocators: right, refused by the check that failed, or wrong.

	versions.py [NAME…]   asks about all rows, or those with a NAME in theirs ("CPython", "Go 1.2", "retain")
	versions.py --list    rows, and where they come from

Each cell is a program that knows its own objects, blocks, threads or frames (tests/runtimes, tests/workloads), run
by that version, and one command of leakmon; oracles.py says what must be equal. What is missing is named:
scripts/deps.sh versions fetches what Debian and npm have. Exit code 1: an answer was wrong. Root.

Environment: JOBS rows at once (2). KEEP: file for the table in Markdown."""
import concurrent.futures
import os
import sys
import traceback

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
from oracles import (CPython, DotNet, DotNetTrimmed, GHC, Glibc, Go, Java, Jemalloc, Mimalloc, Musl, Node, OCaml,  # noqa: E402
		     Refused, Tcmalloc, Wrong, messages)
from places import CACHE, PYENV, Missing, Place, remove_folders  # noqa: E402

COLUMNS = ('retain', 'memory', 'threads', 'diagnose', 'frames')
HERE, BULLSEYE, TRIXIE, FORKY, SID = Place(), Place('bullseye'), Place('trixie'), Place('forky'), Place('sid')
# Where leakmon had no time to read the files of a program, it is asked again.
TRIES = 4


def pythons():
	pyenv = [('3.9.18', '3.9'), ('3.10.13', '3.10'), ('3.11.7', '3.11'), ('3.12.1', '3.12'), ('3.13.0', '3.13')]
	yield 'CPython 3.9.2', CPython(BULLSEYE, python='python3.9')
	for version, _ in pyenv:
		yield f'CPython {version}', CPython(HERE, python=f'{PYENV}/{version}/bin/python3')
	yield 'CPython 3.11.2', CPython(HERE, python='/usr/bin/python3.11')
	yield 'CPython 3.13.5', CPython(TRIXIE, python='python3.13')
	yield 'CPython 3.13.18', CPython(SID, python='python3.13')
	yield 'CPython 3.14.8', CPython(FORKY, python='python3.14')
	yield 'CPython 3.14.10', CPython(SID, python='python3.14')
	yield 'CPython 3.15.2', CPython(SID, python='python3.15')
	for version in ('3.13', '3.14', '3.15'):
		yield f'CPython {version} free-threaded', CPython(HERE, python=f'{PYENV}/{version}*t/bin/python3')


def nodes():
	yield 'Node 20 (Debian)', Node(HERE, node='/usr/bin/node')
	for version in range(18, 27):
		yield f'Node {version}', Node(HERE, node=f'{CACHE}/node-{version}/bin/node')


def javas():
	yield 'JDK 17', Java(HERE, java='/usr/lib/jvm/java-17-openjdk-*/bin/java', options=())
	for version in (11, 21, 25, 26, 27, 28):
		yield f'JDK {version}', Java(SID, java=f'/usr/lib/jvm/java-{version}-openjdk-*/bin/java', options=())
		yield f'JDK {version} Z', Java(SID, java=f'/usr/lib/jvm/java-{version}-openjdk-*/bin/java',
						options=('-XX:+UnlockExperimentalVMOptions', '-XX:+UseZGC') if version == 11 else ('-XX:+UseZGC',))


def dotnets():
	yield '.NET 8', DotNet(HERE, dotnet='8')
	yield '.NET 9', DotNet(HERE, dotnet='9')
	yield '.NET 10', DotNetTrimmed(HERE, dotnet='10-trimmed')


def gos():
	for kind, name in (('plain', ''), ('bare', ' without build information')):
		for version in ('1.19', '1.21', '1.22', '1.23', '1.24', '1.25', '1.26', '1.27'):
			yield f'Go {version}{name}', Go(HERE, go=version, kind=kind)


def compiled():
	for version, place in (('4.11', BULLSEYE), ('4.13', HERE), ('5.3', TRIXIE), ('5.4', SID)):
		yield f'OCaml {version}', OCaml(place)
	for version, place in (('8.8', BULLSEYE), ('9.0', HERE), ('9.6', TRIXIE), ('9.10', SID)):
		yield f'GHC {version}', GHC(place)


def allocators():
	for oracle, name, versions in (
			(Glibc, 'glibc', ('2.31', '2.36', '2.41', '2.43')), (Musl, 'musl', ('1.2.2', '1.2.3', '1.2.5', '1.2.6')),
			(Jemalloc, 'jemalloc', ('5.2.1', '5.3.0', '5.3.0 (57 bits)', '5.3.1')),
			(Tcmalloc, 'gperftools', ('2.8.1', '2.10', '2.16', '2.18.1')), (Mimalloc, 'mimalloc', (None, '2.0.9', '3.0.1', '3.6.0'))):
		for version, place in zip(versions, (BULLSEYE, HERE, TRIXIE, SID)):
			if version:
				yield f'{name} {version}', oracle(place)


ROWS = [*pythons(), *nodes(), *javas(), *dotnets(), *gos(), *compiled(), *allocators()]


def cell(oracle, column):
	"""A word and its reason; late: the machine was too busy each time."""
	if column not in oracle.columns:
		return '–', ''
	for _ in range(TRIES):
		messages.begin()
		word, reason = asked(oracle, column)
		if word != 'refused':
			return word, reason
		if not messages.are_late():
			return 'refused', reason
	return 'late', ''


def asked(oracle, column):
	try:
		getattr(oracle, column)()
	except Refused as refused:
		return 'refused', str(refused)
	except Wrong as wrong:
		return 'wrong', str(wrong)
	except Missing as missing:
		return 'missing', str(missing)
	except Exception:  # What breaks a row must not hide the others.
		return 'wrong', traceback.format_exc().strip().splitlines()[-1]
	return 'right', ''


def row(name, oracle, columns):
	cells = {}
	for column in columns:
		cells[column] = cell(oracle, column)
		word, reason = cells[column]
		if word != '–':
			print(f'{name:34} {column:9} {word}{": " + reason if reason else ""}', flush=True)
		if word == 'missing':
			break
	return name, cells


def table(rows, columns):
	"""Markdown; reasons below by number."""
	reasons, lines = [], [f'| | {" | ".join(columns)} |', '|---' * (len(columns) + 1) + '|']
	for name, cells in rows:
		words = []
		for column in columns:
			word, reason = cells.get(column, ('–', ''))
			if reason and reason not in reasons:
				reasons.append(reason)
			words.append(f'{word} ({reasons.index(reason) + 1})' if reason else word)
		lines.append(f'| {name} | {" | ".join(words)} |')
	return '\n'.join([*lines, '', *(f'{number}. {reason}' for number, reason in enumerate(reasons, 1))])


def main():
	words = sys.argv[1:]
	columns = [column for column in COLUMNS if column in words] or list(COLUMNS)
	names = [word for word in words if word not in COLUMNS and word != '--list']
	chosen = [(name, oracle) for name, oracle in ROWS if not names or any(word in name for word in names)]
	if '--list' in words:
		print('\n'.join(f'{name:34} {oracle.place.name}' for name, oracle in chosen))
		return 0
	pool = concurrent.futures.ThreadPoolExecutor(int(os.environ.get('JOBS', 2)))
	try:
		rows = list(pool.map(lambda one: row(*one, columns), chosen))
	finally:
		# Ctrl-C: rows that run end, no other begins.
		pool.shutdown(cancel_futures=True)
		remove_folders()
	there = [(name, cells) for name, cells in rows if 'missing' not in [word for word, _ in cells.values()]]
	text = table(there, columns)
	missing = [name for name, cells in rows if (name, cells) not in there]
	print(f'\n{text}\n\nNot there: {", ".join(missing) or "none"}')
	if os.environ.get('KEEP'):
		with open(os.environ['KEEP'], 'w') as file:
			file.write(text + '\n')
	tried = [word for _, cells in there for word, _ in cells.values() if word != '–']
	print(f'{tried.count("right")} right, {tried.count("refused")} refused, {tried.count("wrong")} wrong, {tried.count("late")} late')
	return not tried or 'wrong' in tried


if __name__ == '__main__':
	sys.exit(main())
