#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""leakmon's monitors for hours on a machine that does everything else, too.

	soak.py LEAKMON HOURS [--seed N] [--report FILE] [--load SHARE] [--keep DIRECTORY]

Monitors: triage with call stacks, triage that writes a text file, `profile` and `record --profile` of what
comes and goes, a watch with --listen and --push (two clients; a server that fails half of the requests), and a
watch under a clock that jumps by days (preloaded: the machine's clock is left alone). Every minute `retain`,
`memory`, `threads` or `diagnose` visits a random process. Meanwhile about 200 × SHARE processes come and go,
programs of every runtime and servers are asked for work, and every few minutes there is an OOM kill, a
container, a fork storm, a full disk, a suspended monitor.

Each minute is a line, and one of JSON in FILE. Exit code 1 with the reasons: a monitor that died, that grows
(memory, descriptors, links, maps), a ledger that does not balance, a process left stopped or harmed, one of the
clean ones called leaking, one of the two leaky ones not. As root.
"""
import argparse
import ctypes
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import checks
import churn
import monitors

PR_SET_CHILD_SUBREAPER = 36
PROCESSES = 200
SETTLE_S, WARM_UP_S, VERDICT_S, PROFILE_S = 120, 600, 300, 1500
# Monitors take room for each program that they meet for the first time, until they have met most.
MEETING_S = 1500


def evidence_of(entry):
	"""What triage knows of a process or a group, without its call stacks."""
	kept = {key: value for key, value in entry.items() if key not in ('sites', 'exe', 'cgroup', 'comm')}
	if kept.get('sampled'):
		kept['sampled'] = {key: value for key, value in kept['sampled'].items() if key != 'stacks'}
	return json.dumps(kept)


class Soak:
	def __init__(self, options, directory):
		self.options, self.directory = options, directory
		self.leakmon = os.path.abspath(options.leakmon)
		self.build = os.path.dirname(self.leakmon)
		self.workloads = f'{self.build}/workloads'
		self.seconds = options.hours * 3600
		self.ended = threading.Event()
		self.findings = checks.Findings()
		self.halted = checks.Halted(self.findings)
		self.alarms = checks.Alarms(self.findings, self.kind_of)
		self.names, self.stopped_by_us, self.processes = {}, set(), {}
		self.monitors, self.ledgers, self.threads = [], {}, []
		self.victims, self.oom_noticed, self.events = {}, set(), {}
		self.programs, self.servers, self.disks = [], [], []
		self.begun = time.monotonic()

	# Names

	def register(self, pid, name):
		self.names[pid] = name

	def kind_of(self, pid):
		"""(clean, leaky, driver or other; name): by the program of ours that it belongs to."""
		if pid == os.getpid():
			return 'driver', 'the driver'
		at, name = pid, None
		for _ in range(20):
			if at in self.names:
				name = self.names[at]
				break
			stat = checks.stat_of(at) or self.processes.get(at)
			if not stat or at <= 1:
				break
			if stat[2] == os.getpid():
				name = f'churn: {stat[0]}'
				break
			at = stat[2]
		if not name:
			return 'other', None
		return ('leaky' if name.startswith('leaky') else 'clean'), name

	# What monitors report

	def see_triage(self, report):
		for process in report['processes']:
			growth = process['growth']
			if growth['verdict'] in ('leaking', 'growing'):
				if self.is_meeting(process['pid']):
					self.count('monitors called suspects while they met programs')
					continue
				self.alarms.see('triage', growth['verdict'], process['pid'], process['comm'], growth['kind'],
						evidence_of(process))
		for kill in report.get('oom_kills') or []:
			self.oom_noticed.add(kill['pid'])
		for group in report.get('groups') or []:
			self.see_group(group)

	def count(self, event):
		self.events[event] = self.events.get(event, 0) + 1

	def is_meeting(self, pid):
		_, name = self.kind_of(pid)
		return bool(name) and name.startswith('monitor') and time.monotonic() < self.begun + MEETING_S

	def see_group(self, group):
		path, verdict = group.get('cgroup') or '', group['growth']['verdict']
		if verdict != 'leaking' or self.groups.path not in path:
			return
		# The sum over programs that have just begun grows in earnest.
		if time.monotonic() < self.begun + (MEETING_S if path.endswith('/monitors') else WARM_UP_S):
			self.count('groups called leaking in the warm-up')
			return
		# The sum of all has the leaky ones in it, that of the monitors a recording that fills its tmpfs; of
		# the driver nothing is promised.
		charged = group['growth']['kind'] == 'charged' and path.endswith('/monitors')
		if not charged and not path.endswith(('/leaky', '/driver', self.groups.path)):
			self.findings.add(f'triage: control group {path.rpartition("/")[2][:12]} is called leaking',
					  evidence_of(group))

	def see_sites(self, name):
		def see(report):
			if name in self.ledgers:
				self.ledgers[name].see(report)
			for process in report['processes']:
				for site in process.get('sites') or []:
					trend = site.get('trend') or {}
					verdict = trend.get('verdict') or site.get('verdict')
					if verdict in ('leaking', 'growing'):
						frames = [frame['function'] or '?' for frame in site['frames'][:4]]
						self.alarms.see(name, verdict, process['pid'], process['comm'], ' < '.join(frames),
								trend.get('evidence') or site.get('why') or '')
		return see

	# Start

	def monitor(self, name, words, **more):
		made = monitors.Monitor(name, [self.leakmon, *words], self.directory, self.findings, **more)
		self.groups.join('monitors', made.child.pid)
		self.register(made.child.pid, f'monitor {name}')
		self.monitors.append(made)
		return made

	def start_programs(self):
		self.programs = churn.runtime_programs(self.directory, self.workloads) + churn.leaky_programs(self.workloads)
		for program in self.programs:
			self.register(program.pid, program.name)
			self.groups.join('leaky' if program.leaky else 'clean', program.pid)
		self.servers = churn.server_programs(self.directory, f'{self.build}/consumers')
		for server in self.servers:
			self.register(server.child.pid, server.name)
			self.groups.join('clean', server.child.pid)

	def start_monitors(self):
		self.disks = [churn.Disk(f'{self.directory}/text', '1m'), churn.Disk(f'{self.directory}/recording', '64m')]
		watched = [program.pid for program in self.programs if program.name in ('leaky-c', 'leaky-python', 'steady-lru')]
		watched += [server.child.pid for server in self.servers]
		jumped = [program.pid for program in self.programs if program.name in ('steady-batches', 'jemalloc')]
		port, self.push = churn.servers.free_port(), monitors.PushServer()
		for name in ('watch', 'clock'):
			self.ledgers[name] = checks.Ledgers(name, self.findings)
		self.monitor('triage', ['triage', '--format', 'json', '--escalate', '10'], see=self.see_triage)
		self.monitor('textfile', ['triage', '--format', 'prom', '--textfile-dir', self.disks[0].path, '10'],
			     excuses=['No space left'])
		self.monitor('profile', ['profile', '--format', 'json', '-T', '50', '30'], see=self.see_sites('profile'))
		self.monitor('record', ['record', '--profile', '--cgroup', f'{self.groups.path}/clean', '-o',
					f'{self.disks[1].path}/soak.lkm', '--keep', '16M', '30'], excuses=['could not be recorded'])
		self.monitor('watch', ['-p', ','.join(map(str, watched)), '-f', '--format', 'json', '-T', '100', '--listen',
				       f'127.0.0.1:{port}', '--push', self.push.url, '5'],
			     see=self.see_sites('watch'), excuses=['did not reach'])
		self.monitor('clock', ['-p', ','.join(map(str, jumped)), '--format', 'json', '-T', '100', '5'], see=self.see_sites('clock'),
			     environment={'LD_PRELOAD': f'{self.workloads}/jumpy.so'})
		self.scrapers = [monitors.Scraper(port, self.findings, self.ended) for _ in range(2)]
		for scraper in self.scrapers:
			scraper.start()

	def begin(self):
		ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		self.groups = churn.Groups()
		self.groups.join('driver', os.getpid())
		self.start_programs()
		source = f'{churn.TESTS}/workloads/demo_server.c'
		self.churn = churn.Churn(churn.short_lived(self.workloads, source), round(PROCESSES * self.options.load),
					 self.count_now, self.groups, self.findings, self.ended)
		self.machine_before = checks.bpf_of_machine()
		self.churn.start()
		self.settle()
		self.begun = self.findings.begun = self.alarms.begun = time.monotonic()
		self.start_monitors()
		self.visits = [monitors.Visits(self.leakmon, self.choose, self.alarms, self.findings, self.ended, 60 / rate)
			       for rate in (2, 1)]
		for thread in self.visits:
			thread.start()
		for action in (self.ask_programs, self.look_for_halted):
			self.spawn(action)
		for every_s, action in ((100, self.oom_kill), (70, self.make_group), (110, self.make_container),
					(170, self.storm), (150, self.fill_disk), (130, self.suspend), (600, self.restart)):
			self.spawn(self.repeat, every_s, action)

	def settle(self):
		"""A machine that has just been started grows in earnest."""
		until = time.monotonic() + min(SETTLE_S, self.seconds / 4)
		while time.monotonic() < until and not self.interrupted:
			for program in self.programs:
				program.turn(time.monotonic())
			time.sleep(0.05)

	def spawn(self, action, *arguments):
		def guarded():
			try:
				action(*arguments)
			except Exception as error: # pylint: disable=broad-except
				self.findings.add(f'the driver: {action.__name__} {error!r}')
		self.threads.append(threading.Thread(target=guarded, daemon=True))
		self.threads[-1].start()

	# Events

	def repeat(self, every_s, action):
		number = 0
		while not self.ended.wait(every_s / self.options.load * random.uniform(0.5, 1.2)):
			number += 1
			action(number)
			self.events[action.__name__] = self.events.get(action.__name__, 0) + 1

	def ask_programs(self):
		while not self.ended.wait(0.05):
			for program in list(self.programs):
				program.turn(time.monotonic())

	def look_for_halted(self):
		while not self.ended.wait(5):
			self.processes = checks.all_processes()
			own = checks.descendants(os.getpid(), self.processes)
			excused = set(self.stopped_by_us)
			for visit in self.visits:
				excused |= visit.running
			self.halted.look(own, excused)
			self.reap_orphans(own)

	def reap_orphans(self, own):
		for pid in own:
			stat = self.processes.get(pid)
			if stat and stat[1] == 'Z' and stat[2] == os.getpid() and not self.is_known(pid):
				try:
					os.waitpid(pid, os.WNOHANG)
				except ChildProcessError:
					pass

	def is_known(self, pid):
		known = set(self.names) | {pid for pid, _ in self.churn.pids()}
		for visit in self.visits:
			known |= visit.running
		return pid in known or pid in self.stopped_by_us

	def oom_kill(self, number):
		pid = churn.kill_by_oom(self.groups, self.workloads, self.directory, number, self.register)
		if pid:
			self.victims[pid] = time.monotonic()

	def make_group(self, number):
		if not churn.group_like_a_container(self.groups, 2 + number % 8, self.ended) and not self.ended.is_set():
			self.findings.add('a control group could not be removed')

	def make_container(self, number):
		status, said = churn.container(self.groups, self.directory, number, 15)
		if status:
			self.findings.add(f'a container ended with {status}', said[-300:])

	def storm(self, _):
		status = churn.fork_storm(self.workloads, round(600 * self.options.load))
		if status:
			self.findings.add(f'a fork storm ended with {status}')

	def fill_disk(self, number):
		self.disks[number % 2].fill(20, self.ended)

	def suspend(self, _):
		monitor = random.choice(self.monitors)
		if not monitor.is_alive():
			return
		self.stopped_by_us.add(monitor.child.pid)
		monitor.suspend(random.uniform(3, 15), self.ended)
		self.ended.wait(6)
		self.stopped_by_us.discard(monitor.child.pid)

	def restart(self, number):
		"""Another process takes the place of a program that no watch has chosen."""
		fixed = ('leaky-c', 'leaky-python', 'steady-lru', 'steady-batches', 'jemalloc')
		ours = [program for program in self.programs if program.name not in fixed]
		program = ours[number % len(ours)]
		self.programs.remove(program)
		program.end()
		program.start()
		self.groups.join('clean', program.pid)
		self.register(program.pid, program.name)
		self.programs.append(program)

	def choose(self):
		"""A process for a visit: mostly of a program that stays, of each as often."""
		if random.random() < 0.75:
			rows = [(program.pid, program.name) for program in self.programs]
			rows += [(server.child.pid, server.name) for server in self.servers]
		else:
			rows = self.churn.pids()
		return random.choice(rows) if rows else None

	# Checks

	def count_now(self):
		return len(checks.descendants(os.getpid(), checks.all_processes()))

	def check_programs(self):
		for program in list(self.programs):
			if not program.is_alive():
				self.findings.add(f'{program.name} ended with {program.child.returncode}', f'PID {program.pid}')
		for server in self.servers:
			if server.child.poll() is not None:
				self.findings.add(f'{server.name} ended with {server.child.returncode}')

	def check_text_file(self):
		"""Fresh, unless its disk was full or it was suspended."""
		path, monitor = f'{self.disks[0].path}/leakmon.prom', self.monitors[1]
		if self.disks[0].filled or monitor.is_suspended(-30):
			self.text_excused = time.monotonic()
			return None
		try:
			age = time.time() - os.stat(path).st_mtime
			with open(path, 'rb') as file:
				complete = file.read().endswith(b'\n')
		except OSError:
			age, complete = None, False
		if time.monotonic() - self.text_excused > 90 and (not complete or age > 90):
			self.findings.add('textfile: the file is missing, old or cut', f'age {age}')
		return age

	text_excused = float('inf')

	def minute(self):
		elapsed = time.monotonic() - self.begun
		if elapsed > 90 and self.text_excused == float('inf'):
			self.text_excused = time.monotonic()
		processes = checks.all_processes()
		samples = {monitor.name: monitor.sample(elapsed / 3600, processes) for monitor in self.monitors}
		self.check_programs()
		row = {
			'minute': round(elapsed / 60, 1), 'monitors': samples, 'machine': checks.bpf_of_machine(),
			'load': os.getloadavg()[0], 'processes': len(processes), 'text_file_age_s': self.check_text_file(),
			'ledgers': {name: {'checked': ledger.checked, 'allocations': ledger.allocations,
					   'dropped': ledger.dropped, 'inexact': ledger.causes}
				    for name, ledger in self.ledgers.items()},
			'churn': {'started': self.churn.started, 'ended': self.churn.over}, 'events': dict(self.events),
			'oom': {'killed': len(self.victims), 'noticed': len(self.oom_noticed & set(self.victims))},
			'visits': self.visits_sum('done'),
			'alarms': {'true': self.alarms.count('leaky', True), 'false': self.alarms.count('clean', True),
				   'growing_clean': self.alarms.count('clean', False),
				   'of_others': self.alarms.count('other', True)},
			'findings': len(self.findings.known)}
		self.report.write(json.dumps(row) + '\n')
		self.report.flush()
		self.print_row(row)

	def print_row(self, row):
		print(f'[{row["minute"]:6.1f} min] load {row["load"]:.1f}, {row["processes"]} processes, '
		      f'{row["churn"]["ended"]} gone, {sum(row["visits"].values())} visits, OOM {row["oom"]["noticed"]}/{row["oom"]["killed"]}, '
		      f'ledgers {sum(one["checked"] for one in row["ledgers"].values())}, alarms {row["alarms"]["true"]} true '
		      f'{row["alarms"]["false"]} false, findings {row["findings"]}', flush=True)
		print('    ' + '; '.join(
			f'{name} {one["rss"] / 1048576:.0f}M {one["descriptors"]}d {one["links"]}l {one["maps"]}m' if one
			else f'{name} -' for name, one in row['monitors'].items()), flush=True)

	def visits_sum(self, what):
		total = {}
		for visit in self.visits:
			for key, count in getattr(visit, what).items():
				total[key] = total.get(key, 0) + count
		return total

	# End

	def run(self):
		next_at = self.begun + min(60, self.seconds / 5)
		while time.monotonic() < self.begun + self.seconds and not self.interrupted:
			time.sleep(0.5)
			if time.monotonic() >= next_at:
				self.minute()
				next_at += min(60, self.seconds / 5)

	interrupted = False

	def end(self):
		"""Monitors first, with everything else still there."""
		self.lasted = time.monotonic() - self.begun
		self.ended.set()
		for thread in self.threads:
			thread.join(30)
		for monitor in self.monitors:
			monitor.end()
		recording = f'{self.disks[1].path}/soak.lkm' if self.disks else ''
		for words in (['report', recording, '--format', 'json'], ['diff', recording]):
			done = subprocess.run([self.leakmon, *words], capture_output=True, check=False, cwd=self.directory)
			if recording and (done.returncode or not done.stdout):
				self.findings.add(f'{words[0]} of the recording: exit code {done.returncode}', repr(done.stderr[-300:]))
		for visit in getattr(self, 'visits', []):
			visit.join(60)
		time.sleep(1)
		for pid in checks.descendants(os.getpid(), checks.all_processes()):
			stat = checks.stat_of(pid)
			if stat and stat[0].startswith('leakmon') and stat[1] != 'Z':
				self.findings.add(f'left running: {stat[0]}', f'PID {pid}')
		self.machine_after = checks.bpf_of_machine()
		self.check_programs()

	def clean_up(self):
		self.ended.set()
		for one in [self.churn] if hasattr(self, 'churn') else []:
			one.join(10)
			one.end()
		for one in self.programs + self.servers:
			one.end()
		for pid in checks.descendants(os.getpid(), checks.all_processes()):
			try:
				os.kill(pid, signal.SIGCONT)
				os.kill(pid, signal.SIGKILL)
			except ProcessLookupError:
				pass
		while True:
			try:
				os.waitpid(-1, 0)
			except ChildProcessError:
				break
		for disk in self.disks:
			disk.remove()
		if hasattr(self, 'groups'):
			self.groups.remove()

	def judge(self):
		"""The figures of the whole run; what is missed is added to the findings."""
		result = {'seconds': round(self.lasted), 'monitors': {}}
		warm_h = min(WARM_UP_S, self.lasted / 4) / 3600
		for monitor in self.monitors:
			points = [point for point in monitor.points if point[0] >= warm_h]
			if not points:
				continue
			rows = {key: checks.course([(hour, one[key]) for hour, one in points], key) for key in checks.FLAT}
			result['monitors'][monitor.name] = rows
			for key, row in rows.items():
				if not row['flat']:
					self.findings.add(f'{monitor.name}: {key} not flat',
							  f'{row["start"]:.0f} to {row["end"]:.0f}, {row["per_hour"]:+.0f} an hour')
		missed = [self.names[pid] for pid, at in self.victims.items()
			  if pid not in self.oom_noticed and at < self.begun + self.lasted - 30]
		if missed:
			self.findings.add(f'triage: {len(missed)} of {len(self.victims)} OOM kills not reported', ', '.join(missed))
		self.judge_leaky()
		result.update(alarms=self.alarms.rows(), refusals=self.visits_sum('messages'), visits=self.visits_sum('done'),
			      visited=self.visits_sum('programs'), lost_on_visits={},
			      longest_stop_ms=max(visit.longest_stop_ms for visit in self.visits),
			      bpf={'before': self.machine_before, 'after': self.machine_after}, events=self.events,
			      pushed={'accepted': self.push.accepted, 'refused': self.push.refused},
			      scraped={'answered': sum(one.answered for one in self.scrapers),
				       'failed': sum(one.failed for one in self.scrapers)})
		for visit in self.visits:
			for name, lost in visit.lost.items():
				result['lost_on_visits'][name] = max(lost, result['lost_on_visits'].get(name, 0))
		result['findings'] = self.findings.known
		return result

	def judge_leaky(self):
		# Python takes its heap in steps of a MiB: that is growing, for long.
		for monitor, name, surely, after_s in (
				('triage', 'leaky-c', True, VERDICT_S), ('triage', 'leaky-python', False, VERDICT_S * 2),
				('watch', 'leaky-c', True, VERDICT_S), ('profile', 'leaky-c', True, PROFILE_S)):
			if self.lasted > after_s and not self.alarms.found(monitor, name, surely):
				self.findings.add(f'{monitor}: {name} was never called {"leaking" if surely else "growing"}')


def print_table(result):
	print(f'\n{result["seconds"] / 3600:.2f} hours')
	print(f'{"monitor":9} {"figure":12} {"start":>9} {"end":>9} {"most":>9} {"an hour":>10}')
	for name, rows in result['monitors'].items():
		for key, row in rows.items():
			scale = 1048576 if key in ('rss', 'anonymous', 'map_bytes') else 1
			print(f'{name:9} {key:12} {row["start"] / scale:9.1f} {row["end"] / scale:9.1f} {row["most"] / scale:9.1f} '
			      f'{row["per_hour"] / scale:+10.2f}{"" if row["flat"] else "  NOT FLAT"}')
	for row in result['alarms']:
		print(f'{row["monitor"]}: {row["process"]} ({row["kind"]}) {row["verdict"]}, {row["what"]}: {row["times"]} reports, '
		      f'first after {row["minute"]} min; {row["evidence"]}')
	for key in ('visits', 'visited', 'refusals', 'lost_on_visits', 'longest_stop_ms', 'events', 'pushed', 'scraped', 'bpf'):
		print(f'{key}: {json.dumps(result[key])}')
	for text, entry in result['findings'].items():
		print(f'WRONG: {text}: {entry["times"]} times, first after {entry["minute"]} min {entry["detail"]}')


def main():
	parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
	parser.add_argument('leakmon')
	parser.add_argument('hours', type=float)
	parser.add_argument('--seed', type=int, default=None)
	parser.add_argument('--report')
	parser.add_argument('--load', type=float, default=1.0)
	parser.add_argument('--keep')
	options = parser.parse_args()
	random.seed(options.seed)
	directory = options.keep or tempfile.mkdtemp(prefix='leakmon-soak-')
	os.makedirs(directory, exist_ok=True)
	os.chmod(directory, 0o755)
	soak = Soak(options, directory)

	def interrupt(*_):
		soak.interrupted = True
	signal.signal(signal.SIGTERM, interrupt)
	signal.signal(signal.SIGINT, interrupt)
	with open(options.report or f'{directory}/report.jsonl', 'w', encoding='ascii') as soak.report:
		try:
			soak.begin()
			soak.run()
			soak.end()
		finally:
			soak.clean_up()
		result = soak.judge()
		soak.report.write(json.dumps(result) + '\n')
	print_table(result)
	if result['findings'] or options.keep:
		print(f'kept: {directory}')
	else:
		shutil.rmtree(directory)
	return bool(result['findings'])


if __name__ == '__main__':
	sys.exit(main())
