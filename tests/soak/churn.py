# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine of the soak test: programs of every runtime, servers under load, short-lived processes, control
groups, OOM kills, full disks."""
import glob
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, f'{TESTS}/servers')
import servers  # noqa: E402

ELEVEN, RUNTIMES = f'{TESTS}/servers/eleven', f'{TESTS}/runtimes'
GO = os.environ.get('GO', '/usr/lib/go-1.19/bin/go')
OOM_LIMIT = 24 << 20
# The machine's other work comes first; not before the driver and the monitors.
NICE = ['nice', '-n', '10']
servers.REQUESTS_PER_S = 8


# Control groups, of whichever version has the memory controller

class Groups:
	def __init__(self):
		base = '/sys/fs/cgroup/memory'
		self.first = os.path.exists(f'{base}/cgroup.procs')
		if not self.first:
			base = '/sys/fs/cgroup'
		self.path = f'/leakmon-soak-{os.getpid()}'
		self.home = base + self.path
		with open('/proc/self/cgroup', encoding='ascii') as file:
			rows = [line.strip().split(':', 2) for line in file]
		before = next(row[2] for row in rows if row[1] == ('memory' if self.first else ''))
		self.before = base + before
		os.mkdir(self.home)
		if not self.first:
			self.write('', 'cgroup.subtree_control', '+memory')
		for name in ('clean', 'leaky', 'driver', 'monitors', 'oom', 'containers'):
			os.mkdir(f'{self.home}/{name}')
		self.write('oom', 'memory.limit_in_bytes' if self.first else 'memory.max', OOM_LIMIT)

	def write(self, group, name, value):
		with open(os.path.join(self.home, group, name), 'w', encoding='ascii') as file:
			file.write(str(value))

	def join(self, group, pid):
		try:
			self.write(group, 'cgroup.procs', pid)
		except ProcessLookupError:
			pass

	def remove(self):
		with open(f'{self.before}/cgroup.procs', 'w', encoding='ascii') as file:
			file.write(str(os.getpid()))
		# Containers have theirs in every hierarchy.
		homes = [self.home] + glob.glob(f'/sys/fs/cgroup/*{self.path}')
		for _ in range(100):
			for home in homes:
				for group, _, _ in os.walk(home, topdown=False):
					try:
						os.rmdir(group)
					except OSError:
						pass
			if not any(map(os.path.exists, homes)):
				return
			time.sleep(0.1)


# Programs that stay

class Program:
	"""`work`: seconds between two requests to its port; `leak`: the same for requests that leak; `feed`: a line
	for its input every ten seconds."""

	def __init__(self, name, command, work=0.0, leak=0.0, feed=None, leaky=False, environment=None):
		self.name, self.command, self.leaky, self.feed = name, command, leaky, feed
		self.work, self.leak, self.environment = work, leak, environment
		self.next_work = self.next_leak = self.next_feed = 0.0
		self.answered = self.failed = 0
		self.start()

	def start(self):
		self.child = subprocess.Popen(NICE + self.command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
					      stdout=subprocess.PIPE if self.work else subprocess.DEVNULL,
					      start_new_session=True, env=dict(os.environ, **(self.environment or {})))
		self.pid = self.child.pid
		self.port = int(self.child.stdout.readline() or 0) if self.work else 0

	def is_alive(self):
		return self.child.poll() is None

	def ask(self, path):
		try:
			urllib.request.urlopen(f'http://127.0.0.1:{self.port}/{path}', timeout=10).read()
			self.answered += 1
		except (OSError, http.client.HTTPException):
			self.failed += 1

	def turn(self, now):
		if self.work and now >= self.next_work:
			self.next_work = now + self.work
			self.ask('work')
		if self.leak and now >= self.next_leak:
			self.next_leak = now + self.leak
			self.ask('leak')
		if self.feed and now >= self.next_feed:
			self.next_feed = now + 10
			try:
				self.child.stdin.write(self.feed)
				self.child.stdin.flush()
			except OSError:
				self.failed += 1

	def end(self):
		"""The status that it had, or None: it was alive."""
		status = self.child.poll()
		try:
			os.killpg(self.child.pid, signal.SIGKILL)
		except ProcessLookupError:
			pass
		self.child.wait()
		for pipe in (self.child.stdin, self.child.stdout):
			if pipe:
				try:
					pipe.close()
				except OSError:
					pass
		return status


def build(command, **more):
	subprocess.run(NICE + command, check=True, capture_output=True, **more)


def runtime_programs(directory, workloads):
	"""(name, how to start it) of each runtime that is installed; what is not is printed."""
	def java():
		build([servers.which('javac'), '-d', directory, f'{RUNTIMES}/leaks/Server.java'])
		return dict(command=['java', '-Xmx64m', '-cp', directory, 'Server', 'clean'], work=1.0)

	def go():
		build([GO, 'build', '-o', f'{directory}/server-go', f'{RUNTIMES}/leaks/server.go'],
		      env=dict(os.environ, GO111MODULE='off', GOTOOLCHAIN='local', GOCACHE=f'{directory}/go-cache'))
		return dict(command=[f'{directory}/server-go'], work=0.5)

	def dotnet():
		made = subprocess.run([f'{RUNTIMES}/dotnet.sh', '9'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
				      text=True, check=True)
		return dict(command=[made.stdout.strip(), 'fixed', '300'], feed=b'more\n')

	def ocaml():
		shutil.copytree(f'{RUNTIMES}/ocaml', f'{directory}/ocaml')
		build(['ocamlopt', '-g', '-o', f'{directory}/census-ocaml', 'feeds.ml', 'census.ml'], cwd=f'{directory}/ocaml')
		return dict(command=[f'{directory}/census-ocaml', 'fixed'], feed=b'more\n')

	def ghc():
		build(['ghc', '-O1', '-outputdir', f'{directory}/ghc', '-o', f'{directory}/census-ghc', f'{RUNTIMES}/ghc/Census.hs'])
		return dict(command=[f'{directory}/census-ghc', 'fixed'], feed=b'more\n')

	found = {
		'cpython': lambda: dict(command=['/usr/bin/python3', f'{RUNTIMES}/leaks/server.py'], work=0.5),
		'java': java,
		'node': lambda: dict(command=[shutil.which('node') or 'node', f'{RUNTIMES}/leaks/server.js'], work=0.5),
		'go': go, 'dotnet': dotnet, 'ocaml': ocaml, 'ghc': ghc,
		'steady-lru': lambda: dict(command=[f'{workloads}/steady', 'lru', '20000']),
		'steady-batches': lambda: dict(command=[f'{workloads}/steady', 'batches', '20000']),
		'jemalloc': lambda: dict(command=[f'{workloads}/steady', 'lru', '20000'],
					 environment={'LD_PRELOAD': 'libjemalloc.so.2'}),
	}
	started = []
	for name, make in found.items():
		try:
			started.append(Program(name, **make()))
		except (OSError, subprocess.CalledProcessError, TypeError) as error:
			print(f'left out: {name}: {error}', flush=True)
	return started


def leaky_programs(workloads):
	"""Those that must be found."""
	return [Program('leaky-c', [f'{workloads}/grower', 'leak', '24'], leaky=True),
		Program('leaky-python', ['/usr/bin/python3', f'{RUNTIMES}/leaks/server.py'], work=0.5, leak=0.1, leaky=True)]


def server_programs(directory, unpacked):
	"""redis and nginx, from where they are; servers.Server starts and loads them."""
	programs = {}
	if os.path.exists('/usr/bin/redis-check-rdb'): # it chooses by its name
		os.symlink('/usr/bin/redis-check-rdb', f'{directory}/redis-server')
		programs['redis'] = f'{directory}/redis-server'
	nginx = servers.which('nginx') or f'{unpacked}/usr/sbin/nginx'
	if os.path.exists(nginx):
		programs['nginx'] = nginx
	started = []
	for name, path in programs.items():
		original = servers.SERVERS[name]

		def make(home, port, original=original, path=path):
			command, client = original(home, port)
			return NICE + [path] + command[1:], client

		servers.SERVERS[name] = make
		server = servers.Server(name, f'{directory}/{name}', {})
		if server.begin():
			started.append(server)
		else:
			print(f'left out: {name} does not start', flush=True)
			server.end()
	return started


# Processes that come and go: (weight, name, command, statuses with which it may end). SECONDS: its time to live.

def short_lived(workloads, source):
	def piped(program, *lines):
		text = '\\n'.join(lines)
		return ['sh', '-c', f"(printf '{text}\\n'; sleep SECONDS; echo quit) | {workloads}/{program}"]

	timed = ['timeout', '--preserve-status', 'SECONDS']
	script = ('import json,sys,time\n'
		  'for _ in range(20): json.loads(json.dumps([{"a": [i] * 9} for i in range(300)])); time.sleep(SECONDS / 20)')
	return [
		(30, 'sleep', ['sleep', 'SECONDS'], (0,)),
		(30, 'shell', ['sh', '-c', 'ls -l /usr/lib >/dev/null; sleep SECONDS; true'], (0,)),
		(8, 'sort', ['sh', '-c', 'ls -R /usr/include | sort -r | tail -1 >/dev/null; sleep SECONDS; true'], (0,)),
		(8, 'awk', ['sh', '-c', "awk 'BEGIN { for (i = 0; i < 20000; i++) a[i % 500] = i \"x\" }'; sleep SECONDS; true"], (0,)),
		(4, 'compiler', ['gcc', '-O1', '-c', '-o', '/dev/null', source], (0,)),
		(8, 'script', ['/usr/bin/python3', '-c', script], (0,)),
		(4, 'perl', ['perl', '-e', 'my %a; $a{$_ % 900} = "x" x 50 for 1..20000; sleep SECONDS'], (0,)),
		(6, 'cache', ['sh', '-c', f'sleep SECONDS | {workloads}/grower cache 2000 2'], (0,)),
		(6, 'batch', ['sh', '-c', f'sleep SECONDS | {workloads}/grower batch 1000 1000'], (0,)),
		(4, 'lru', timed + [f'{workloads}/steady', 'lru', '50000'], (0,)),
		(8, 'quick', [f'{workloads}/quick', '50', '100'], (0,)),
		(4, 'leak', piped('leak', 'go', 'go'), (0,)),
		(3, 'execer', piped('execer', 'go', 'exec', 'go'), (0,)),
		(3, 'leader_exit', piped('leader_exit', 'go', 'leave', 'go'), (0,)),
		(3, 'sharer', piped('sharer', 'spawn', 'vfork'), (0,)),
		(3, 'threads', piped('threads', 'some'), (0,)),
		(3, 'thrower', piped('thrower', 'go'), (0,)),
		(3, 'crasher', ['sh', '-c', f"(sleep SECONDS; printf 'crash\\n') | {workloads}/crasher >/dev/null 2>&1; test $? = 137"], (0,)),
		(2, 'busy', piped('busy'), (0,)),
	]


class Churn(threading.Thread):
	"""Keeps `wanted` processes running. Those that end in another way than they should have been harmed."""

	def __init__(self, kinds, wanted, count_now, groups, findings, ended):
		super().__init__(daemon=True)
		self.kinds, self.wanted, self.count_now, self.groups = kinds, wanted, count_now, groups
		self.findings, self.ended = findings, ended
		self.running, self.started, self.over = {}, 0, 0
		self.lock, self.count = threading.Lock(), 0

	def run(self):
		at = 0
		while not self.ended.wait(0.2):
			self.reap()
			at += 1
			if at % 10 == 1:
				self.count = self.count_now()
			for _ in range(6):
				if self.count >= self.wanted:
					break
				self.count += self.begin()

	def begin(self):
		"""About how many processes that makes."""
		_, name, command, statuses = random.choices(self.kinds, [row[0] for row in self.kinds])[0]
		seconds = str(round(random.expovariate(1 / 45) + 1, 2))
		try:
			child = subprocess.Popen(NICE + [word.replace('SECONDS', seconds) for word in command], stdin=subprocess.DEVNULL,
						 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
		except OSError as error:
			self.findings.add(f'{name} cannot be started', str(error))
			return 0
		self.groups.join('clean', child.pid)
		with self.lock:
			self.running[child.pid] = child, name, statuses
		self.started += 1
		return 2 if command[0] == 'sh' else 1

	def reap(self):
		with self.lock:
			rows = list(self.running.items())
		for pid, (child, name, statuses) in rows:
			if child.poll() is None:
				continue
			with self.lock:
				del self.running[pid]
			self.over += 1
			if child.returncode not in statuses:
				self.findings.add(f'{name}, short-lived, ended with {child.returncode}', f'PID {pid}')

	def pids(self):
		with self.lock:
			return [(pid, row[1]) for pid, row in self.running.items()]

	def end(self):
		with self.lock:
			rows = list(self.running.values())
			self.running.clear()
		for child, _, _ in rows:
			try:
				os.killpg(child.pid, signal.SIGKILL)
			except ProcessLookupError:
				pass
			child.wait()


# Events

class Disk:
	"""A small tmpfs."""

	def __init__(self, path, size):
		self.path, self.filled = path, False
		os.makedirs(path)
		subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size},mode=0755', 'soak', path], check=True)

	def fill(self, seconds, ended):
		self.filled = True
		with open(f'{self.path}/filler', 'wb', buffering=0) as file:
			for size in (1 << 16, 4096):
				try:
					while True:
						file.write(bytes(size))
				except OSError:
					pass
			# Fill space that is freed meanwhile, too.
			until = time.monotonic() + seconds
			while time.monotonic() < until and not ended.wait(0.5):
				try:
					file.write(bytes(4096))
				except OSError:
					pass
		os.unlink(f'{self.path}/filler')
		self.filled = False

	def remove(self):
		subprocess.run(['umount', '-l', self.path], check=False)


def kill_by_oom(groups, workloads, directory, number, register):
	"""PID of a process that the kernel killed for its memory, or None: something else happened."""
	account = f'{directory}/victim'
	child = subprocess.Popen([f'{workloads}/victim', account, '0'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
				 stderr=subprocess.DEVNULL)
	register(child.pid, f'victim {number}')
	try:
		child.stdout.readline()
		groups.join('oom', child.pid)
		child.stdin.write(b'go\n' if number % 2 else b'stroll\n')
		child.stdin.flush()
		status = child.wait(120)
	except (OSError, subprocess.TimeoutExpired):
		status = None
		child.kill()
		child.wait()
	child.stdin.close()
	child.stdout.close()
	if os.path.exists(account):
		os.unlink(account)
	return child.pid if status == -signal.SIGKILL else None


def group_like_a_container(groups, seconds, ended):
	"""A group with the name of a container's, with processes, made and removed."""
	name = f'containers/{random.getrandbits(256):064x}'
	os.mkdir(f'{groups.home}/{name}')
	child = subprocess.Popen(['sh', '-c', f'sleep {seconds} & sleep {seconds}; wait'], start_new_session=True)
	groups.join(name, child.pid)
	child.wait()
	for _ in range(50):
		try:
			os.rmdir(f'{groups.home}/{name}')
			return True
		except OSError:
			if ended.wait(0.1):
				break
	return False


def container(groups, directory, number, seconds):
	"""One of runc's, of busybox: its exit status, and what runc said. 0 if it is not installed."""
	runc, busybox = servers.which('runc'), shutil.which('busybox')
	if not runc or not busybox:
		return 0, ''
	bundle = f'{directory}/bundle-{number}'
	for name in ('bin', 'proc'):
		os.makedirs(f'{bundle}/rootfs/{name}')
	shutil.copy(busybox, f'{bundle}/rootfs/bin/busybox')
	work = f'i=0; while [ $i -lt {seconds} ]; do busybox sleep 1; busybox ls /bin >/dev/null; i=$((i+1)); done'
	config = {
		'ociVersion': '1.0.0', 'root': {'path': 'rootfs'}, 'hostname': 'soak',
		'process': {'terminal': False, 'user': {'uid': 0, 'gid': 0}, 'cwd': '/', 'env': ['PATH=/bin'],
			    'args': ['/bin/busybox', 'sh', '-c', work]},
		'mounts': [{'destination': '/proc', 'type': 'proc', 'source': 'proc'}],
		'linux': {'cgroupsPath': f'{groups.path}/containers/{random.getrandbits(256):064x}',
			  'namespaces': [{'type': kind} for kind in ('pid', 'mount', 'ipc', 'uts')]},
	}
	with open(f'{bundle}/config.json', 'w', encoding='ascii') as file:
		json.dump(config, file)
	name = f'leakmon-soak-{os.getpid()}-{number}'
	try:
		done = subprocess.run([runc, 'run', '-b', bundle, name], stdin=subprocess.DEVNULL,
				      capture_output=True, timeout=seconds + 60, check=False)
		status, said = done.returncode, done.stderr.decode(errors='replace')
	except subprocess.TimeoutExpired:
		status, said = 'late', ''
	subprocess.run([runc, 'delete', '--force', name], capture_output=True, check=False)
	shutil.rmtree(bundle, ignore_errors=True)
	return status, said


def fork_storm(workloads, children):
	"""The exit status of a program that forks so many children, which allocate and end."""
	done = subprocess.run(NICE + [f'{workloads}/brood', str(children)], input=b'storm\nquit\n', stdout=subprocess.DEVNULL,
			      stderr=subprocess.DEVNULL, timeout=300, check=False)
	return done.returncode
