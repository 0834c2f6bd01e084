# SPDX-License-Identifier: GPL-2.0-or-later
"""How a file of this folder becomes a running program, by its extension; what is built stays in build/reports."""
import os
import subprocess

from programs import RUNTIMES, Missing, made_by, need

BUILT = os.path.abspath(os.environ.get('REPORTS_BUILD', 'build/reports'))
CACHE = os.environ.get('LEAKMON_RUNTIMES') or \
	f'{os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")}/leakmon/runtimes'
GO = '/usr/lib/go-1.19/bin/go'
# Rust's compiler is often one's own; interpreters are Debian's, and so is Node unless `node:` says otherwise.
TOOLS = f'/usr/sbin:/usr/bin:{os.path.expanduser("~/.cargo/bin")}'


def is_new(made, source):
	return os.path.exists(made) and os.path.getmtime(made) >= os.path.getmtime(source)


def build(truth, command, **more):
	"""The path of the program; OUT in the command stands for it. Again where the source is newer."""
	made = f'{BUILT}/{os.path.basename(truth.path).replace(".", "-")}'
	if not is_new(made, truth.path):
		subprocess.run([word.replace('OUT', made) for word in command], check=True, capture_output=True, **more)
	return made


def flags(truth):
	return (truth.get('flags') or '').split()


def c(truth):
	return [build(truth, [need('gcc'), '-D_GNU_SOURCE', '-O1', '-g', '-pthread', '-o', 'OUT', truth.path, *flags(truth)])]


def cxx(truth):
	return [build(truth, [need('g++'), '-O1', '-g', '-pthread', '-o', 'OUT', truth.path, *flags(truth)])]


def rust(truth):
	return [build(truth, [need('rustc', path=TOOLS), '-g', '-O', '-o', 'OUT', truth.path])]


def go(truth):
	if not os.path.exists(GO):
		raise Missing('golang-1.19-go is not installed')
	more = dict(os.environ, GO111MODULE='off', GOFLAGS='', GOCACHE=f'{BUILT}/go', GOTOOLCHAIN='local')
	return [build(truth, [GO, 'build', '-o', 'OUT', truth.path], env=more)]


def haskell(truth):
	return [build(truth, [need('ghc'), '-O1', '-outputdir', 'OUT.objects', '-o', 'OUT', truth.path])]


def ocaml(truth):
	# Its compiler leaves objects beside its source.
	folder = f'{BUILT}/{os.path.basename(truth.path)}.objects'
	os.makedirs(folder, exist_ok=True)
	source = f'{folder}/{os.path.basename(truth.path)}'
	with open(truth.path) as file, open(source, 'w') as copy:
		copy.write(file.read())
	return [build(truth, [need('ocamlopt'), '-g', *flags(truth), '-o', 'OUT', os.path.basename(source)], cwd=folder)]


def java(truth):
	libraries = [jar for jar in flags(truth) if jar.endswith('.jar')]
	options = [flag for flag in flags(truth) if not flag.endswith('.jar')]
	for jar in libraries:
		if not os.path.exists(jar):
			raise Missing(f'{jar} is not there')
	made = f'{BUILT}/{os.path.basename(truth.path)}.classes'
	name = os.path.basename(truth.path)[:-len('.java')]
	path = ':'.join([made, *libraries])
	if not is_new(f'{made}/{name}.class', truth.path):
		subprocess.run([need('javac'), '-g', '-d', made, '-cp', path, truth.path], check=True, capture_output=True)
	return [need('java'), *options, '-cp', path, name]


def dotnet(truth):
	return [made_by(f'{RUNTIMES}/dotnet.sh', '9', truth.path, *flags(truth))]


def node(truth):
	if not truth.get('node'):
		return [need('node'), truth.path]
	program = f'{CACHE}/node-{truth.get("node")}/bin/node'
	if not os.path.exists(program):
		raise Missing(f'node-{truth.get("node")} is not there: run scripts/deps.sh reports')
	return [program, truth.path]


def script(*interpreter):
	return lambda truth: [need(interpreter[0]), *interpreter[1:], truth.path]


LANGUAGES = {
	'.c': c, '.cc': cxx, '.rs': rust, '.go': go, '.hs': haskell, '.ml': ocaml, '.java': java, '.cs': dotnet,
	'.js': node, '.mjs': node, '.py': script('python3'), '.pl': script('perl'), '.rb': script('ruby'),
	'.php': script('php'), '.lua': script('lua5.4'), '.sh': script('sh'),
}


def npm_packages(truth):
	"""The folder of the packages that it loads, fetched by npm once, without their scripts; None: it loads none."""
	packages = (truth.get('npm') or '').split()
	if not packages:
		return None
	folder = f'{BUILT}/npm/{"+".join(packages).replace("/", "_")}'
	if not os.path.exists(f'{folder}/complete'):
		os.makedirs(folder, exist_ok=True)
		done = subprocess.run([need('npm'), 'install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund',
				       '--no-save', '--force', *packages], capture_output=True, stdin=subprocess.DEVNULL)
		if done.returncode:
			raise Missing(f'npm cannot fetch {" ".join(packages)}')
		with open(f'{folder}/complete', 'w'):
			pass
	return f'{folder}/node_modules'


def command_of(truth):
	"""Its command without arguments, and its environment."""
	environment = dict(os.environ, PYTHONUNBUFFERED='1', PYTHONDONTWRITEBYTECODE='1')
	packages = npm_packages(truth)
	if packages:
		environment['NODE_PATH'] = packages
	return LANGUAGES[os.path.splitext(truth.path)[1]](truth), environment
