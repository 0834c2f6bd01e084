#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""leakmon's verdicts on servers of Debian's that nobody here wrote, under a steady load.

	servers.py leak [SECONDS] [NAME…]   each forgets blocks at a known rate (forget.c, preloaded):
	                                    is the call that forgets them first, and called leaking, within
	                                    SECONDS (30)? how many of them does the census find?
	servers.py clean [SECONDS] [NAME…]  all of them, at once, lose nothing that we know of: who is accused
	                                    within SECONDS (1800), by the triage or by its call stacks,
	                                    and did it grow on?

What is not installed is left out, and said. Root. One line a server, the sums last; data files and what
leakmon said are in a temporary directory, which $SERVERS_KEEP keeps.
"""
import json
import mmap
import os
import pwd
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

LEAKMON = os.path.abspath(os.environ.get('LEAKMON_PROGRAM', 'build/leakmon'))
FORGET = os.path.abspath(os.environ.get('LEAKMON_FORGET', 'build/servers/forget.so'))
REQUESTS_PER_S = 40
READY_S = 60
BLOCK_BYTES = 1900
PROCESSES = 64


def free_port(kind=socket.SOCK_STREAM):
	with socket.socket(socket.AF_INET, kind) as found:
		found.bind(('127.0.0.1', 0))
		return found.getsockname()[1]


def which(*names):
	for name in names:
		found = shutil.which(name, path='/usr/sbin:/usr/bin:/usr/lib/postgresql/15/bin')
		if found:
			return found
	return None


# What clients say

def receive_http(client):
	data = b''
	while b'\r\n\r\n' not in data:
		data += more(client)
	head, _, body = data.partition(b'\r\n\r\n')
	length = re.search(rb'(?i)content-length: *(\d+)', head)
	if length:
		while len(body) < int(length.group(1)):
			body += more(client)
	elif b'chunked' in head.lower():
		while not body.endswith(b'0\r\n\r\n'):
			body += more(client)
	else:
		raise OSError('the server closes the connection')


def more(client):
	data = client.recv(65536)
	if not data:
		raise OSError('the server has closed the connection')
	return data


class Tcp:
	"""A connection that stays, and is made anew when the server ends it."""

	def __init__(self, port, request, receive=more, hello=b''):
		self.port, self.request, self.receive, self.hello = port, request, receive, hello
		self.client = None

	def ask(self):
		try:
			if not self.client:
				self.client = socket.create_connection(('127.0.0.1', self.port), 10)
				if self.hello:
					self.client.sendall(self.hello)
					self.receive(self.client)
			self.client.sendall(self.request)
			self.receive(self.client)
		except OSError:
			self.close()
			raise

	def close(self):
		if self.client:
			self.client.close()
		self.client = None


def http(port, path='/'):
	return Tcp(port, f'GET {path} HTTP/1.1\r\nHost: a\r\n\r\n'.encode(), receive_http)


class Dns:
	def __init__(self, port):
		self.client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		self.client.settimeout(5)
		self.client.connect(('127.0.0.1', port))

	def ask(self):
		self.client.send(struct.pack('>6H', 7, 0x100, 1, 0, 0, 0) + b'\x04host\x04test\0' + struct.pack('>2H', 1, 1))
		self.client.recv(1024)

	def close(self):
		self.client.close()


class Shell:
	"""A client of the server's own, which is asked line by line."""

	def __init__(self, command, line, **more):
		self.line = line
		self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
					      stderr=subprocess.DEVNULL, **more)

	def ask(self):
		self.child.stdin.write(self.line)
		self.child.stdin.flush()
		if not self.child.stdout.readline():
			raise OSError('the client has ended')

	def close(self):
		self.child.kill()
		self.child.wait()
		self.child.stdin.close()
		self.child.stdout.close()


# Servers: each function returns (command, client, more of Popen), or None where it is not installed

def write(path, text, mode=0o644):
	with open(path, 'w') as out:
		out.write(text)
	os.chmod(path, mode)
	return path


def page(home):
	os.makedirs(f'{home}/www', exist_ok=True)
	write(f'{home}/www/index.html', '<p>' + 'a page ' * 100)
	return f'{home}/www'


def redis(home, port):
	return [which('redis-server'), '--port', str(port), '--save', '', '--dir', home], \
		lambda: Tcp(port, b'*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\nvalue\r\n')


def nginx(home, port):
	write(f'{home}/nginx.conf', f'''daemon off; worker_processes 1; user root; pid {home}/pid;
		error_log {home}/error; events {{ worker_connections 64; }}
		http {{ access_log {home}/access; client_body_temp_path {home}/b; proxy_temp_path {home}/p;
		fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s; keepalive_requests 100;
		server {{ listen 127.0.0.1:{port}; root {page(home)}; }} }}''')
	return [which('nginx'), '-c', f'{home}/nginx.conf'], lambda: http(port)


def mariadb(home, port):
	data = f'{home}/data'
	subprocess.run([which('mariadb-install-db', 'mysql_install_db'), f'--datadir={data}', '--user=root',
			'--auth-root-authentication-method=normal', '--skip-test-db'],
		       check=True, capture_output=True)
	return [which('mariadbd'), '--no-defaults', f'--datadir={data}', f'--socket={home}/socket', '--user=root',
		f'--port={port}', '--bind-address=127.0.0.1', '--innodb-buffer-pool-size=16M',
		f'--pid-file={home}/pid'], \
		lambda: Shell([which('mariadb'), '--no-defaults', '-u', 'root', f'--socket={home}/socket', '-N',
			       '-n'], b'select table_name from information_schema.tables limit 1;\n')


def postgres(home, port):
	user = pwd.getpwnam('postgres')
	os.chown(home, user.pw_uid, user.pw_gid)
	own = {'user': user.pw_uid, 'group': user.pw_gid, 'cwd': home}
	subprocess.run([which('initdb'), '-D', f'{home}/data', '-A', 'trust'], check=True, capture_output=True, **own)
	return [which('postgres'), '-D', f'{home}/data', '-p', str(port), '-k', home, '-c', 'shared_buffers=16MB'], \
		lambda: Shell([which('psql'), '-h', home, '-p', str(port), '-U', 'postgres', '-t', '-A', 'postgres'],
			      b'select relname from pg_class limit 1;\n', **own), own


def haproxy(home, port):
	write(f'{home}/haproxy.cfg', f'''global
  nbthread 2
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
frontend f
  bind 127.0.0.1:{port}
  http-request return status 200 content-type text/plain string "a page"
''')
	return [which('haproxy'), '-db', '-f', f'{home}/haproxy.cfg'], lambda: http(port)


def memcached(home, port):
	return [which('memcached'), '-u', 'root', '-l', '127.0.0.1', '-p', str(port), '-t', '2'], \
		lambda: Tcp(port, b'set k 0 0 5\r\nhello\r\n')


def lighttpd(home, port):
	write(f'{home}/conf', f'server.document-root = "{page(home)}"\nserver.port = {port}\n'
	      'server.bind = "127.0.0.1"\nindex-file.names = ( "index.html" )\n')
	return [which('lighttpd'), '-D', '-f', f'{home}/conf'], lambda: http(port)


def apache2(home, port):
	modules = '/usr/lib/apache2/modules'
	write(f'{home}/conf', f'''ServerRoot {home}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule dir_module {modules}/mod_dir.so
ServerName a
Listen 127.0.0.1:{port}
PidFile {home}/pid
ErrorLog {home}/error
DocumentRoot {page(home)}
StartServers 1
ServerLimit 1
ThreadsPerChild 8
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
''')
	return [which('apache2'), '-X', '-f', f'{home}/conf'], lambda: http(port)


def mosquitto(home, port):
	write(f'{home}/conf', f'listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n')
	hello = b'\x10\x10\0\4MQTT\4\2\0\x3c\0\4load'
	return [which('mosquitto'), '-c', f'{home}/conf'], lambda: Tcp(port, b'\xc0\0', hello=hello)


def unbound(home, port):
	write(f'{home}/conf', f'''server:
  port: {port}
  interface: 127.0.0.1
  username: ""
  chroot: ""
  directory: "{home}"
  pidfile: "{home}/pid"
  use-syslog: no
  num-threads: 1
  local-data: "host.test. A 127.0.0.9"
remote-control:
  control-enable: no
''')
	return [which('unbound'), '-d', '-c', f'{home}/conf'], lambda: Dns(port)


def dnsmasq(home, port):
	return [which('dnsmasq'), '-k', '-C', '/dev/null', '-u', 'root', '-p', str(port), '-i', 'lo', '-R', '-h',
		'-x', f'{home}/pid', '--bind-interfaces', '--address=/host.test/127.0.0.9'], lambda: Dns(port)


def node(home, port):
	write(f'{home}/server.js', f'''require('http').createServer((request, answer) =>
		answer.end(JSON.stringify({{path: request.url, list: Array(20).fill('a page')}}))).listen({port}, '127.0.0.1');''')
	return [which('node'), f'{home}/server.js'], lambda: http(port)


def java(home, port):
	write(f'{home}/Server.java', f'''import com.sun.net.httpserver.*; import java.net.*;
public class Server {{ public static void main(String[] a) throws Exception {{
	HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", {port}), 0);
	s.createContext("/", e -> {{ byte[] b = "a page ".repeat(50).getBytes();
		e.getRequestBody().readAllBytes(); e.sendResponseHeaders(200, b.length);
		e.getResponseBody().write(b); e.close(); }}); s.start(); }} }}''')
	return [which('java'), '-Xmx64m', f'{home}/Server.java'], lambda: http(port)


def python(home, port):
	write(f'{home}/server.py', f'''import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
	protocol_version = 'HTTP/1.1'
	def do_GET(self):
		body = json.dumps({{'path': self.path, 'list': ['a page'] * 20}}).encode()
		self.send_response(200); self.send_header('Content-Length', len(body)); self.end_headers()
		self.wfile.write(body)
	def log_message(self, *words):
		pass
http.server.ThreadingHTTPServer(('127.0.0.1', {port}), Handler).serve_forever()
''')
	return ['/usr/bin/python3', f'{home}/server.py'], lambda: http(port)


def script_server(program, text):
	def make(home, port):
		return [which(program), write(f'{home}/server', text), str(port)], lambda: http(port)
	return make


PERL = r'''use IO::Socket::INET; use threads;
my $s = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], Listen => 8, ReuseAddr => 1);
while (my $c = $s->accept) { my $d = ''; my $b; while (sysread($c, $b, 4096)) { $d .= $b;
	while ($d =~ s/^(.*?)\r\n\r\n//s) { my %h = map { $_ => 1 } split /\r\n/, $1; my $t = join ' ', ('a page') x (20 + keys %h);
	syswrite $c, "HTTP/1.1 200 OK\r\nContent-Length: " . length($t) . "\r\n\r\n" . $t } } }
'''.replace('use threads;\n', '\n')
RUBY = r'''require 'socket'
s = TCPServer.new('127.0.0.1', ARGV[0].to_i)
loop { Thread.new(s.accept) { |c| begin
	while (l = c.gets); h = [l]; while (l = c.gets) && l != "\r\n"; h << l; end
	t = (['a page'] * (20 + h.size)).join(' '); c.write "HTTP/1.1 200 OK\r\nContent-Length: #{t.size}\r\n\r\n#{t}"; end
	rescue SystemCallError; end; c.close } }
'''

SERVERS = {
	'redis': redis, 'nginx': nginx, 'mariadb': mariadb, 'postgres': postgres, 'haproxy': haproxy,
	'memcached': memcached, 'lighttpd': lighttpd, 'apache2': apache2, 'mosquitto': mosquitto,
	'unbound': unbound, 'dnsmasq': dnsmasq, 'node': node, 'java': java, 'python': python,
	'perl': script_server('perl', PERL), 'ruby': script_server('ruby', RUBY),
}


class Server:
	def __init__(self, name, home, forget):
		self.name, self.stop, self.asked, self.failed = name, threading.Event(), 0, 0
		os.makedirs(home, mode=0o755)
		port = free_port(socket.SOCK_DGRAM if name in ('unbound', 'dnsmasq') else socket.SOCK_STREAM)
		command, self.client, *more = SERVERS[name](home, port)
		more = dict(more[0] if more else {})
		environment = dict(os.environ, **forget)
		self.log = open(f'{home}/log', 'w')
		self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
					      env=environment, start_new_session=True, **more)
		self.thread = threading.Thread(target=self.load, daemon=True)

	def begin(self):
		"""Waits until it answers, and goes on asking."""
		until = time.time() + READY_S
		while time.time() < until and self.child.poll() is None:
			client = None
			try:
				client = self.client()
				client.ask()
				self.thread.start()
				return True
			except OSError:
				time.sleep(0.3)
			finally:
				if client:
					client.close()
		return False

	def load(self):
		client = None
		while not self.stop.wait(1 / REQUESTS_PER_S):
			try:
				client = client or self.client()
				client.ask()
				self.asked += 1
			except OSError:
				self.failed += 1
				if client:
					client.close()
				client = None
		if client:
			client.close()

	def end(self):
		self.stop.set()
		if self.thread.is_alive():
			self.thread.join(15)
		try:
			os.killpg(self.child.pid, signal.SIGKILL)
		except ProcessLookupError:
			pass
		self.child.wait()
		self.log.close()


def session_of(pid):
	"""All processes that a server is made of."""
	found = []
	for name in os.listdir('/proc'):
		if name.isdigit():
			try:
				if os.getsid(int(name)) == pid:
					found.append(int(name))
			except OSError:
				pass
	return sorted(found)


# Servers that forget

class Forgotten:
	"""struct forget of forget.c"""

	def __init__(self, path):
		with open(path, 'wb') as out:
			out.truncate(8 + 8 * PROCESSES)
		os.chmod(path, 0o666)
		with open(path, 'r+b') as back:
			self.words = mmap.mmap(back.fileno(), 8 + 8 * PROCESSES)
		self.environment = {'LD_PRELOAD': FORGET, 'FORGET_FILE': path}

	def switch(self, on):
		self.words[0:4] = struct.pack('=I', on)

	def most(self):
		"""(PID, blocks) of the process that has forgotten most."""
		counts = struct.unpack(f'={2 * PROCESSES}I', self.words[8:])
		return max(zip(counts[0::2], counts[1::2]), key=lambda pair: pair[1])


def census(pid):
	got = subprocess.run([LEAKMON, 'retain', '--census', '-p', str(pid), '--max-pause', '5000', '--format', 'json'],
			     capture_output=True, timeout=300)
	return json.loads(got.stdout) if got.stdout.strip() else None


def lost_blocks(found):
	return found['totals']['unreachable']['blocks'] if found else 0


def where_else(found):
	"""Who weakly holds what was not found."""
	totals = found['totals']
	parts = [f'{totals[kind]["blocks"]} {words}' for kind, words in (
		('stale', 'by stale words'), ('passing', 'by stacks alone'), ('untracked', 'through untracked memory'))
		if kind in totals and totals[kind]['blocks']]
	return ', '.join(parts) or found.get('why_not_walked') or 'nothing weak'


def watch(pid, seconds):
	"""(seconds until the call that forgets is first, until it is called leaking); None: never."""
	child = subprocess.Popen([LEAKMON, '-p', str(pid), '--format', 'json', '-o', '0', '1', str(seconds)],
				 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
	begun, first, leaking = None, None, None
	for line in child.stdout:
		report = json.loads(line)
		sites = [site for process in report['processes'] for site in process['sites']]
		begun = begun or time.time() - 1
		ours = [i for i, site in enumerate(sites)
			if site['frames'] and site['frames'][0]['function'] == 'forget_session']
		if ours and first is None and ours[0] == 0:
			first = time.time() - begun
		if ours and sites[ours[0]].get('trend', {}).get('verdict') == 'leaking' and leaking is None:
			leaking = time.time() - begun
	child.wait()
	return first, leaking


def seconds_text(seconds):
	return 'never' if seconds is None else f'{seconds:.0f} s'


def leak_one(name, directory, seconds):
	path = os.path.join(directory, name)
	forgotten = Forgotten(path + '.forget')
	server = Server(name, path, forgotten.environment)
	try:
		if not server.begin():
			print(f'{name:10} does not start here: {open(path + "/log").read()[-200:]!r}', flush=True)
			return None
		time.sleep(2)
		forgotten.switch(1)
		time.sleep(1)
		pid, blocks = forgotten.most()
		if not blocks:
			print(f'{name:10} does not read through the C library: nothing was forgotten', flush=True)
			return None
		forgotten.switch(0)
		time.sleep(0.5)
		before = census(pid)
		own = lost_blocks(before) - forgotten.most()[1] if before else 0
		forgotten.switch(1)
		first, leaking = watch(pid, seconds)
		forgotten.switch(0)
		time.sleep(1)
		found = census(pid)
		blocks = forgotten.most()[1]
		lost = lost_blocks(found) - max(own, 0)
		share = min(lost / blocks, 1)
		right = first is not None and leaking is not None and leaking <= seconds and share >= 0.95
		print(f'{name:10} first after {seconds_text(first):>6}, leaking after {seconds_text(leaking):>6}; '
		      f'forgotten {blocks}, found {lost} ({100 * share:.1f} %)'
		      f'{"" if share >= 0.95 or not found else "; not found: " + where_else(found)}'
		      f'{"" if right else "  WRONG"}', flush=True)
		return right
	finally:
		server.end()


def leak(directory, seconds, names):
	results = [leak_one(name, directory, seconds) for name in names]
	known = [right for right in results if right is not None]
	print(f'{len(known)} servers, {len(results) - len(known)} left out: {sum(known)} right')
	return len(known) - sum(known)


# Servers that do not

class Accused:
	"""Everything that was ever called leaking, and what became of it."""

	def __init__(self):
		self.known = {}

	def see(self, key, words, verdict, held, evidence, now):
		entry = self.known.get(key)
		if entry is None:
			if verdict != 'leaking':
				return
			entry = self.known[key] = {'words': words, 'since': now, 'held': held, 'evidence': evidence,
						   'times': 0, 'per_s': None}
		entry['times'] += verdict == 'leaking'
		entry['last'], entry['until'], entry['verdict'] = held, now, verdict
		entry['high'] = max(entry.get('high', held), held)

	def table(self, end):
		"""Growth since it was accused, at the rate at which it had come there, would be `grew on`."""
		wrong = 0
		for entry in sorted(self.known.values(), key=lambda entry: entry['since']):
			grown, left = entry['last'] - entry['held'], end - entry['since']
			before = entry['held'] / max(entry['since'], 1)
			grew_on = left > 60 and grown > 0 and entry['verdict'] in ('leaking', 'growing')
			wrong += not grew_on
			print(f'  {entry["words"]}: leaking first after {entry["since"]:.0f} s, in {entry["times"]} reports; '
			      f'then {entry["held"]:.0f}, at the end {entry["last"]:.0f} ({grown:+.0f} in {left:.0f} s, '
			      f'{entry["verdict"]}): {"grew on" if grew_on else "DID NOT GROW ON"}\n      {entry["evidence"]}')
		return wrong


def follow(child, out, see):
	"""Each report as it comes; all of them are kept beside."""
	begun = time.time()
	with open(out, 'wb') as kept:
		for line in child.stdout:
			kept.write(line)
			see(json.loads(line), time.time() - begun)


def held_of(process, kind):
	if kind == 'threads':
		return process['threads']['alive']
	return process[{'heap': 'memory_bytes', 'files': 'file_count', 'mapping': 'mapping_count'}[kind]]


def top_frames(site):
	names = [frame['function'] or frame['module'] or '?' for frame in site['frames'][:4]]
	return ' < '.join(names) or site.get('lost') or '?'


def census_text(found):
	known = [one for one in found if one and one['totals']['held']['blocks']]
	blocks = sum(lost_blocks(one) for one in known)
	total = sum(one['heap']['blocks'] for one in known)
	return f'{blocks} of {total}' if known else 'not walked'


def clean(directory, seconds, names):
	servers, mine, owner = [], set(), {}
	processes, sites = Accused(), Accused()
	begun = time.time()

	def see_triage(report, now):
		for process in report['processes']:
			if process['pid'] in mine:
				growth = process['growth']
				processes.see((process['pid'], growth['kind']),
					      f'{owner[process["pid"]]} {process["pid"]}, {growth["kind"]}',
					      growth['verdict'], held_of(process, growth['kind']),
					      f'{growth["per_s"]:.0f} a second over {growth["window_s"] or 0:.0f} s', now)

	def see_watch(report, now):
		for process in report['processes']:
			for site in process['sites']:
				trend = site.get('trend', {})
				sites.see((process['pid'], site['id']),
					  f'{owner.get(process["pid"], "?")} {process["pid"]}, {top_frames(site)}',
					  trend.get('verdict'), site['bytes'], trend.get('evidence', ''), now)

	try:
		for name in names:
			server = Server(name, os.path.join(directory, name), {})
			if server.begin():
				servers.append(server)
			else:
				print(f'{name:10} does not start here', flush=True)
				server.end()
		for server in servers:
			for pid in session_of(server.child.pid):
				mine.add(pid)
				owner[pid] = server.name
		print(f'{len(servers)} servers of {len(mine)} processes, {seconds} s', flush=True)
		watchers = [
			([LEAKMON, '--format', 'json', '--no-stacks', '-T', '1000', '5', str(seconds // 5)], 'triage', see_triage),
			([LEAKMON, '-p', ','.join(map(str, sorted(mine))), '--format', 'json', '-T', '200', '5',
			  str(seconds // 5)], 'watch', see_watch)]
		children, threads = [], []
		for command, name, see in watchers:
			with open(os.path.join(directory, name + '.err'), 'w') as errors:
				child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
			children.append(child)
			threads.append(threading.Thread(target=follow, args=(
				child, os.path.join(directory, name + '.json'), see)))
			threads[-1].start()
		for thread in threads:
			thread.join()
		codes = [child.wait() for child in children]
		end = time.time() - begun
		lost = {pid: census(pid) for pid in sorted(mine) if os.path.exists(f'/proc/{pid}')}
	finally:
		for server in servers:
			server.end()
	print(f'{"server":10} {"requests":>9} {"failed":>7} {"processes":>10} {"accused":>8} {"sites accused":>14} '
	      f'{"unreachable (census)":>21}')
	for server in servers:
		accused = [sum(entry['words'].startswith(server.name + ' ') for entry in group.known.values())
			   for group in (processes, sites)]
		print(f'{server.name:10} {server.asked:9} {server.failed:7} '
		      f'{sum(name == server.name for name in owner.values()):10} {accused[0]:8} {accused[1]:14} '
		      f'{census_text([found for pid, found in lost.items() if owner[pid] == server.name]):>21}')
	print('processes that the triage called leaking:')
	wrong = processes.table(end)
	print('call stacks that the watch called leaking:')
	wrong += sites.table(end)
	print(f'{len(processes.known)} processes and {len(sites.known)} call stacks accused; '
	      f'{wrong} of them did not grow on; leakmon ended with {codes}')
	return wrong or any(codes)


def main():
	signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
	if len(sys.argv) < 2 or sys.argv[1] not in ('leak', 'clean'):
		sys.exit(__doc__)
	numbers = [word for word in sys.argv[2:] if word.isdigit()]
	names = [word for word in sys.argv[2:] if not word.isdigit()] or list(SERVERS)
	seconds = int(numbers[0]) if numbers else 30 if sys.argv[1] == 'leak' else 1800
	directory = tempfile.mkdtemp(prefix='servers-')
	os.chmod(directory, 0o755)
	missing = [name for name in names if name in NEEDS and not which(*NEEDS[name])]
	if missing:
		print('not installed: ' + ', '.join(missing))
	try:
		failed = {'leak': leak, 'clean': clean}[sys.argv[1]](
			directory, seconds, [name for name in names if name not in missing])
	finally:
		if os.environ.get('SERVERS_KEEP'):
			print(f'kept: {directory}')
		else:
			shutil.rmtree(directory, ignore_errors=True)
	sys.exit(1 if failed else 0)


NEEDS = {
	'redis': ('redis-server',), 'mariadb': ('mariadbd',), 'python': ('python3',),
	**{name: (name,) for name in SERVERS if name not in ('redis', 'mariadb', 'python')},
}

if __name__ == '__main__':
	main()
