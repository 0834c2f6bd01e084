# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the soak test: findings, processes of the machine, ledgers, alarms, and slopes."""
import json
import os
import statistics
import subprocess
import threading
import time

# Growth after the warm-up that is still flat: this much, or this share. A watch keeps histories of
# its call stacks for twenty minutes (user/doc/benchmarks.md, "Memory of a watch").
FLAT = {
	'rss': (12 << 20, 0.12), 'anonymous': (12 << 20, 0.2), 'descriptors': (8, 0.1), 'links': (6, 0.1),
	'maps': (6, 0.1), 'map_bytes': (4 << 20, 0.1), 'mappings': (40, 0.1), 'processes': (2, 0.1),
}
RISING_Z = 2.6 # one-sided 0.5 %


class Findings:
	"""What is wrong; one that comes again is counted."""

	def __init__(self):
		self.lock, self.begun = threading.Lock(), time.monotonic()
		self.known = {}

	def add(self, text, detail=''):
		with self.lock:
			entry = self.known.get(text)
			if entry:
				entry['times'] += 1
				return
			minute = (time.monotonic() - self.begun) / 60
			self.known[text] = {'minute': round(minute, 1), 'times': 1, 'detail': detail}
		print(f'FINDING after {minute:.1f} min: {text} {detail}'.rstrip(), flush=True)


# Processes

def stat_of(pid):
	"""(name, state, parent, start) of a process, or None."""
	try:
		with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
			head, _, tail = file.read().rpartition(')')
	except OSError:
		return None
	words = tail.split()
	return head.partition('(')[2], words[0], int(words[1]), int(words[19])


def all_processes():
	found = {}
	for name in os.listdir('/proc'):
		stat = stat_of(name) if name.isdigit() else None
		if stat:
			found[int(name)] = stat
	return found


def descendants(root, processes):
	children = {}
	for pid, stat in processes.items():
		children.setdefault(stat[2], []).append(pid)
	found, next_ones = [], [root]
	while next_ones:
		pid = next_ones.pop()
		own = children.get(pid, [])
		found += own
		next_ones += own
	return found


def status_of(pid):
	try:
		with open(f'/proc/{pid}/status', encoding='utf-8', errors='replace') as file:
			return dict(line.split(':', 1) for line in file if ':' in line)
	except OSError:
		return {}


def status_number(status, key):
	return int(status.get(key, '0').split()[0])


class Halted:
	"""Processes that are stopped or traced, by nothing that the driver does, in two looks in a row."""

	def __init__(self, findings):
		self.findings, self.before = findings, {}

	def look(self, pids, excused):
		now = {}
		for pid in pids:
			status = status_of(pid)
			stopped = status.get('State', ' ').split()[:1] in (['T'], ['t'])
			tracer = status_number(status, 'TracerPid')
			if pid in excused or tracer in excused or not (stopped or tracer):
				continue
			now[pid] = (stat_of(pid) or (0,) * 4)[3], tracer
			if self.before.get(pid) == now[pid]:
				self.findings.add(f'left {"stopped" if stopped else "traced"}: {status.get("Name", "?").strip()}',
						  f'PID {pid}, tracer {tracer}')
		self.before = now


# Monitors

def identities_of(pid):
	"""Descriptors of a process, and the links and maps of BPF among them: {id: bytes}."""
	count, links, maps = 0, {}, {}
	try:
		for name in os.listdir(f'/proc/{pid}/fd'):
			count += 1
			try:
				target = os.readlink(f'/proc/{pid}/fd/{name}')
				if 'bpf' not in target:
					continue
				with open(f'/proc/{pid}/fdinfo/{name}', encoding='ascii', errors='replace') as file:
					rows = dict(line.split(':', 1) for line in file if ':' in line)
			except OSError:
				continue
			if 'link_id' in rows:
				links[rows['link_id'].strip()] = 0
			elif 'map_id' in rows:
				maps[rows['map_id'].strip()] = int(rows.get('memlock', '0'))
	except OSError:
		pass
	return count, links, maps


def sample(pids):
	"""The sums over the processes of a monitor."""
	total = dict.fromkeys(FLAT, 0)
	links, maps = {}, {}
	for pid in pids:
		status = status_of(pid)
		total['processes'] += bool(status)
		if status.get('Name', '').strip() == 'leakmon-reader':
			continue # its memory and descriptors are its monitor's (user/process/proc/aside.h)
		total['rss'] += status_number(status, 'VmRSS') << 10
		total['anonymous'] += status_number(status, 'RssAnon') << 10
		count, own_links, own_maps = identities_of(pid)
		total['descriptors'] += count
		links.update(own_links)
		maps.update(own_maps)
		try:
			with open(f'/proc/{pid}/maps', 'rb') as file:
				total['mappings'] += file.read().count(b'\n')
		except OSError:
			pass
	total['links'], total['maps'], total['map_bytes'] = len(links), len(maps), sum(maps.values())
	return total


def bpf_of_machine():
	"""All links and maps that the kernel has, of whichever monitor."""
	counts = {}
	for kind in ('link', 'map'):
		got = subprocess.run(['bpftool', '-j', kind, 'show'], capture_output=True, check=False)
		try:
			counts[kind + 's'] = len(json.loads(got.stdout))
		except ValueError:
			counts[kind + 's'] = None
	return counts


def slope(points):
	"""Theil and Sen's, of (hour, value)."""
	slopes = [(b[1] - a[1]) / (b[0] - a[0]) for i, a in enumerate(points) for b in points[i + 1:] if b[0] > a[0]]
	return statistics.median(slopes) if slopes else 0.0


def rising_z(values):
	"""Mann and Kendall's."""
	n = len(values)
	if n < 4:
		return 0.0
	score = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1:])
	ties = [values.count(value) for value in set(values)]
	variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
	return (score - (score > 0)) / variance ** 0.5 if variance > 0 else 0.0


def course(points, key):
	"""Start, end and slope of a figure, and whether it is flat."""
	values = [value for _, value in points]
	third = max(len(values) // 3, 1)
	first, last = statistics.median(values[:third]), statistics.median(values[-third:])
	limit, share = FLAT[key]
	grown = last - first > max(limit, share * first)
	return {'start': first, 'end': last, 'most': max(values), 'per_hour': slope(points),
		'flat': not (grown and rising_z(values) > RISING_Z)}


# Reports

class Ledgers:
	"""allocations = frees + outstanding + purged + dropped, in every report with a ledger."""

	def __init__(self, name, findings):
		self.name, self.findings = name, findings
		self.checked, self.dropped, self.causes, self.allocations = 0, {}, {}, 0

	def see(self, report):
		ledger = report.get('ledger')
		if not ledger:
			return
		self.checked += 1
		self.allocations = ledger['allocations']
		self.dropped = {cause: count for cause, count in ledger['dropped'].items() if count}
		sums = ledger['frees'] + ledger['outstanding'] + ledger['purged'] + sum(ledger['dropped'].values())
		if ledger['allocations'] != sums:
			self.findings.add(f'{self.name}: the ledger does not balance', json.dumps(ledger))
		for process in report.get('processes', []):
			for cause in process.get('inexact') or []:
				self.causes[cause] = self.causes.get(cause, 0) + 1
				if cause == 'ledger':
					self.findings.add(f'{self.name}: the ledger and the count of blocks differ',
							  f'{process["comm"]} PID {process["pid"]}')


class Alarms:
	"""Everything that a monitor called leaking or growing, and whether it leaks."""

	def __init__(self, findings, kind_of):
		self.findings, self.kind_of = findings, kind_of
		self.lock, self.begun = threading.Lock(), time.monotonic()
		self.known = {}

	def see(self, monitor, verdict, pid, comm, what, evidence):
		"""`what`: the kind of growth, or the call stack. Processes of others on this machine may leak."""
		if verdict not in ('leaking', 'leaks', 'growing', 'grows'):
			return
		leaking = verdict in ('leaking', 'leaks')
		kind, name = self.kind_of(pid)
		key = (monitor, leaking, name or comm, kind, what)
		with self.lock:
			entry = self.known.setdefault(key, {'times': 0, 'minute': round((time.monotonic() - self.begun) / 60, 1),
							    'pid': pid, 'evidence': evidence})
			entry['times'] += 1
			first = entry['times'] == 1
		if first and leaking and kind == 'clean':
			self.findings.add(f'{monitor}: {name} is called leaking ({what})', f'PID {pid} {comm}: {evidence}')

	def count(self, kind, leaking, monitor=None):
		with self.lock:
			return sum(key[1] == leaking and key[3] == kind and monitor in (None, key[0]) for key in self.known)

	def found(self, monitor, name, surely):
		"""Whether that monitor called the program of that name leaking; or, less surely, growing."""
		with self.lock:
			return any(key[0] == monitor and key[1] >= surely and key[2] == name for key in self.known)

	def rows(self):
		with self.lock:
			return [{'monitor': key[0], 'verdict': 'leaking' if key[1] else 'growing', 'process': key[2],
				 'kind': key[3], 'what': key[4], **entry} for key, entry in self.known.items()]
