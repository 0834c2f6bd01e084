#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cpython_edges.py GRAPH PYTHON...: references between objects, against gc.get_referents().

Runs a program with many kinds of objects under each PYTHON (a program, or ROOT:PROGRAM in a tree of
another system), which lists what each object that its collector knows refers to, and compares that with
the graph that GRAPH (tests/runtimes/graph.c) reads from outside. As root. Exit code 1: less than 99.9 %
of the references were found, or more than 0.1 % are false."""
import collections
import os
import subprocess
import sys
import tempfile

PROGRAM = r'''
import array, asyncio, collections, contextvars, csv, ctypes, dataclasses, datetime, decimal, email.parser
import enum, fractions, functools, gc, heapq, http.client, inspect, io, itertools, json, logging, operator
import os, pickle, queue, random, re, socket, sqlite3, ssl, string, struct, sys, threading, types, typing
import unittest, urllib.request, uuid, weakref, xml.etree.ElementTree, zipfile

class Plain:
    def __init__(self, number):
        self.number = number; self.name = "name %d" % number; self.items = [self.name, (number, self.name)]
        self.method = self.show
    def show(self, *more): return more
    @property
    def value(self): return self.number
    @classmethod
    def make(cls): return cls(1)
    @staticmethod
    def free(): return 1
class Derived(Plain): extra = {"a": [1]}
class Slots:
    __slots__ = ("one", "two", "__weakref__")
class MySlots(Slots):
    def __init__(self, i): self.one = [i]; self.three = {i: self}
class MyDict(dict): pass
class MyList(list): pass
class MyTuple(tuple): pass
class MySet(set): pass
class MyStr(str): pass
class MyInt(int): pass
class MyError(Exception): pass
class Colour(enum.Enum): RED = 1; BLUE = [2]
@dataclasses.dataclass
class Data: left: object; right: object = None
Named = collections.namedtuple("Named", "first second third")

def attributes(made, i):
    made.where = [i]; made.other = {i: i}
    return made
def generator(i):
    local = [i]
    yield local
    yield i
async def coroutine(i):
    local = {i}
    await asyncio.sleep(1)
def closure(i):
    held = [i]
    def inner(other=held, *, key={i}): return held, other, inner
    return inner
def failed(i):
    local = [i]
    try: raise MyError(local)
    except MyError as error: return error
def started(i):
    made = generator(i); next(made); return made
def deque_of(i):
    made = collections.deque([[j] for j in range(i % 200)], maxlen=None if i % 2 else 150)
    for j in range(i % 70): made.rotate(1); made.append([j]); made.popleft()
    return made
def removed(i):
    made = {j: [j] for j in range(i % 50)}
    for j in range(0, i % 50, 3): del made[j]
    return made
def shrunk(i):
    made = [[j] for j in range(i % 60)]
    del made[i % 20:]
    return made
def set_of(i):
    made = {(j, i) for j in range(i % 40)}
    for j in range(0, i % 40, 2): made.discard((j, i))
    return made
makers = [
    Plain, Derived, MySlots, lambda i: attributes(Derived(i), i), lambda i: attributes(MyDict({i: [i]}), i),
    lambda i: attributes(MyList([[i]]), i), lambda i: attributes(MyTuple([[i], i]), i),
    lambda i: attributes(MySet({(i, "x")}), i), lambda i: attributes(MyStr("s%d" % i), i),
    lambda i: attributes(MyInt(10 ** 20 + i), i), lambda i: MyError([i], i), failed, closure, generator, started,
    coroutine, deque_of, removed, shrunk, set_of, lambda i: frozenset({(i,), ("f", i)}),
    lambda i: Data([i], {i}), lambda i: Named([i], (i, [i]), None), lambda i: functools.partial(closure, [i], k={i}),
    lambda i: Plain(i).show, lambda i: [].append, lambda i: iter([[i]]), lambda i: iter({i: [i]}.items()),
    lambda i: itertools.chain([[i]], {i}), lambda i: map(closure, [[i]]), lambda i: zip([[i]], ([i],)),
    lambda i: enumerate([[i]]), lambda i: reversed([[i]]), lambda i: types.SimpleNamespace(a=[i], b={i}),
    lambda i: types.MappingProxyType({i: [i]}), lambda i: weakref.ref(kept[0]), lambda i: weakref.proxy(kept[0]),
    lambda i: weakref.WeakValueDictionary({i: kept[0]}), lambda i: collections.OrderedDict({i: [i], "b": {i}}),
    lambda i: collections.defaultdict(list, {i: [i]}), lambda i: collections.Counter("hello%d" % i),
    lambda i: collections.ChainMap({i: [i]}, {}), lambda i: io.StringIO("x" * i), lambda i: io.BytesIO(b"x" * i),
    lambda i: threading.Lock(), lambda i: threading.Condition(), lambda i: queue.Queue(), lambda i: re.compile("a{%d}" % (i % 100)),
    lambda i: decimal.Decimal(i), lambda i: fractions.Fraction(i, 7), lambda i: datetime.datetime.now(datetime.timezone.utc),
    lambda i: uuid.uuid4(), lambda i: array.array("d", [i]), lambda i: memoryview(bytearray(100)), lambda i: slice([i], None),
    lambda i: property(closure(i)), lambda i: classmethod(closure(i)), lambda i: operator.itemgetter([i], 1),
    lambda i: operator.attrgetter("a.b"), lambda i: super(Derived, Derived(i)), lambda i: contextvars.ContextVar("c%d" % i),
    lambda i: contextvars.copy_context(), lambda i: typing.List[int], lambda i: list[int], lambda i: type("New%d" % i, (Plain,), {"a": [i]}),
    lambda i: compile("def f%d(a): return lambda: a" % i, "x.py", "exec"), lambda i: functools.lru_cache(closure(i)),
    lambda i: json.loads('{"a": [1, {"b": [%d]}], "c": "d"}' % i), lambda i: xml.etree.ElementTree.fromstring("<a><b c='%d'>t</b></a>" % i),
    lambda i: struct.Struct("%dsI" % (i % 90 + 1)), lambda i: random.Random(i), lambda i: itertools.tee([[i]])[0], lambda i: ctypes.c_int(i),
    lambda i: (ctypes.c_void_p * 3)(), lambda i: logging.getLogger("l%d" % (i % 10)), lambda i: inspect.signature(closure),
    lambda i: sys._getframe(), lambda i: (lambda: i).__closure__[0], lambda i: asyncio.Queue(),
    lambda i: itertools.islice(itertools.cycle([[i]]), 3), lambda i: string.Template("$a%d" % i), lambda i: csv.reader([["a"]])]
kept = [Plain(0)]
for i in range(int(sys.argv[2])):
    for make in makers:
        try: kept.append(make(i))
        except Exception as error: error.__traceback__ = None
del i, make
for one in kept:
    try: getattr(one, "cr_frame", None) and one.send(None)
    except Exception: pass
for c in [one for one in kept if isinstance(one, collections.deque)][::7]: c.clear()
del c, one
parked = threading.Event()
def wait_here(argument):
    local = [argument]
    def deeper(inner):
        parked.set(); threading.Event().wait()
    deeper([local])
threading.Thread(target=wait_here, args=([1],), daemon=True).start()
parked.wait()

def answer(path):
    gc.collect(); gc.disable()
    spaces = {id(one.__dict__) for one in sys.modules.values() if isinstance(one, types.ModuleType)}
    with open(path, "w") as file:
        for one in gc.get_objects():
            referents = gc.get_referents(one)
            file.write("%x %s %s.%s %s\n" % (id(one), "variables" if id(one) in spaces else "type" if isinstance(one, type) else "-", type(one).__module__.replace(" ", "_"), type(one).__qualname__.replace(" ", "_"),
                " ".join("%x" % id(two) for two in referents)))
            one = referents = None
    spaces = None
answer(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
'''
ROUNDS = 60
DICTS = ('builtins.dict', 'builtins.StgDict', '_ctypes.StgDict')


def truth_of(path):
    """id -> (class, ids that it refers to, what it is)"""
    objects = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            words = line.split()
            objects[int(words[0], 16)] = (words[2], {int(word, 16) for word in words[3:]},
                                          words[1])
    return objects


def graph_of(program, pid):
    """address -> (class, addresses, how many nodes refer to it)"""
    out = subprocess.run([program, str(pid)], capture_output=True, text=True, check=True).stdout
    nodes = {}
    for line in out.splitlines():
        words = line.split(' ')
        # The name of a class may have spaces: the addresses stand at the end of the line.
        at = len(words)
        while at > 2 and words[at - 1].strip('0123456789abcdef') == '' and len(words[at - 1]) >= 6:
            at -= 1
        nodes[int(words[0], 16)] = (' '.join(words[1:at]), [int(word, 16) for word in words[at:]])
    referrers = collections.Counter(to for _, targets in nodes.values() for to in set(targets))
    return {at: (*node, referrers[at]) for at, node in nodes.items()}


def node_at(nodes, address):
    """The node of an object: with what stands before it."""
    for prefix in (0, 16, 32):
        node = nodes.get(address - prefix)
        if node and node[0] != '+':
            return address - prefix
    return None


def reached(nodes, start, listed=None):
    """Objects that a node leads to, through memory that is no object and its own; with `listed`, also
    through other memory, and what is not listed."""
    found, seen, stack = set(), {start}, list(nodes[start][1])
    while stack:
        at = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        is_object = nodes[at][0] not in ('-', '+')
        if is_object:
            found.add(at)
        if listed is not None and (not is_object or at not in listed) or \
                not is_object and nodes[at][2] == 1:
            stack += nodes[at][1]
    return found


def compare(truth, nodes):
    expected = missing = false = objects = unknown = 0
    kinds = collections.Counter()
    listed = {node_at(nodes, address): address for address in truth}
    referred = {one for _, referents, _ in truth.values() for one in referents}
    names = {node: truth[address][0] for node, address in listed.items()}
    for address, (name, referents, what) in truth.items():
        # Of a module's variables leakmon makes roots.
        if what == 'variables':
            continue
        node = node_at(nodes, address)
        if node is None or nodes[node][0] == '-':
            unknown += 1
            kinds['object not found: ' + name] += 1
            continue
        objects += 1
        wanted = {node_at(nodes, one) for one in referents} - {None, node}
        wanted = {one for one in wanted if nodes[one][0] != '-'}
        got = reached(nodes, node)
        expected += len(wanted)
        lost = wanted - got and wanted - reached(nodes, node, listed)
        missing += len(lost)
        for one in lost:
            kinds[f'missing: {name} -> {nodes[one][0]}'] += 1
        # Of what the collector does not list, objects need not say that they refer to it.
        # An object refers to what its own dictionary has, too.
        own = {node_at(nodes, two) for one in referents
               if truth.get(one, ('', (), False))[0] in DICTS for two in truth[one][1]}
        for one in got - wanted - own:
            # The collector need not know that a type has a table of its subclasses.
            if what == 'type' and names.get(one) in DICTS and listed[one] not in referred:
                continue
            if one in listed:
                false += 1
                kinds[f'false: {name} -> {names[one]}'] += 1
    return objects, unknown, expected, missing, false, kinds


def check(program, python):
    path = tempfile.mktemp(prefix='edges')
    command, shown = [python], path
    if ':' in python:
        root, inside = python.split(':')
        command, path = ['chroot', root, inside], root + path
    child = subprocess.Popen(command + ['-c', PROGRAM, shown, str(ROUNDS)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        if child.stdout.readline() != 'ready\n':
            raise SystemExit(f'{python}: it does not run')
        truth = truth_of(path)
        objects, unknown, expected, missing, false, kinds = compare(truth, graph_of(program, child.pid))
    finally:
        child.kill()
        child.wait()
        if os.path.exists(path):
            os.unlink(path)
    print(f'{python}: {objects} objects, {unknown} not found; {expected} references, {missing} missing '
          f'({100 * missing / expected:.3f} %), {false} false ({100 * false / expected:.3f} %)', flush=True)
    for kind, count in kinds.most_common(int(os.environ.get('SHOW', '12'))):
        print(f'    {count:7} {kind}')
    # What the list itself took is gone.
    return unknown < 10 and missing <= expected / 1000 and false <= expected / 1000


def main():
    return not all([check(sys.argv[1], python) for python in sys.argv[2:]])


if __name__ == '__main__':
    sys.exit(main())
