# SPDX-License-Identifier: GPL-2.0-or-later
"""A workload (tests/workloads/workload.h) that knows its own objects, for any CPython from 3.9 on.

Says of chosen classes how many objects they have and of what size (sys.getsizeof), as the
interpreter itself sees it: those that its collector lists, and those that it does not list as the
program counts them.
"""
import abc
import collections
import gc
import json
import os
import re
import sys
import tempfile
import threading
import weakref


class Session:
    def __init__(self, number):
        self.key = "session-%d" % number
        self.items = [Item(number, i) for i in range(10)]


class Item:
    def __init__(self, session, number):
        self.session = session
        self.number = number


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


class Outer:
    class Inner:
        __slots__ = ("value", "__weakref__")

        def __init__(self, value):
            self.value = value


class Registry(dict):
    pass


class Queue(list):
    pass


class Money(int):
    pass


class Count(int):
    """No dictionary: the collector does not list its objects."""
    __slots__ = ()


class Point(tuple):
    __slots__ = ()


class Label(str):
    pass


class Wide:
    """More than 512 bytes: malloc's, not the interpreter's own blocks."""
    __slots__ = tuple("field%d" % i for i in range(100))


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side


class Failure(Exception):
    pass


class Sparse:
    """Its attributes do not fit the keys that its class shares."""

    def __init__(self, number):
        setattr(self, "own%d" % number, number)
        if number % 2:
            self.__dict__["other"] = number


class Paused:
    """Held by a variable of a generator, which one of a function that waits holds."""


class Gone:
    pass


Pair = collections.namedtuple("Pair", "first second")


def local_class():
    class Local:
        pass
    return Local


Local = local_class()

sessions = {i: Session(i) for i in range(300)}
kept = {
    "items": [Item(-1, i) for i in range(22000 - 3000)],
    "slotted": [Slotted(i, None) for i in range(123)],
    "inner": tuple(Outer.Inner(i) for i in range(456)),
    "registries": [Registry({j: j for j in range(i)}) for i in range(45)],
    "queues": [Queue(range(i)) for i in range(67)],
    "money": {Money(10 ** i) for i in range(89)},
    "counts": [Count(10 ** i) for i in range(78)],
    "points": [Point(range(i)) for i in range(77)] + [Point(range(100000))],
    "labels": [Label("label %d" % i) for i in range(33)],
    "wide": [Wide() for i in range(55)],
    "squares": {i: Square(i) for i in range(11)},
    "failures": [Failure("failure %d" % i) for i in range(21)],
    "sparse": [Sparse(i) for i in range(64)],
    "pairs": frozenset(Pair(i, str(i)) for i in range(99)),
    "local": [Local() for i in range(13)],
}
references = [weakref.ref(inner) for inner in kept["inner"]]
gone = [Gone() for i in range(5000)]
del gone

parked = threading.Event()
leave = threading.Event()


def paused():
    item = Paused()
    yield 1
    yield item


class Keeper:
    def park(self):
        resting = paused()
        next(resting)

        def wait_here():
            parked.set()
            leave.wait(
                timeout=None)
            return resting
        return wait_here()


keeper = threading.Thread(target=Keeper().park, daemon=True)
keeper.start()
parked.wait()

CLASSES = (Session, Item, Slotted, Outer.Inner, Registry, Queue, Money, Count, Point, Label, Wide,
           Square, Failure, Sparse, Pair, Local, Gone)
UNLISTED = {Count: "counts"}


def truth():
    counts = {"%s.%s" % (one.__module__, one.__qualname__): {"count": 0, "bytes": 0}
              for one in CLASSES}
    found = [one for one in gc.get_objects() if type(one) in CLASSES]
    listed = {id(one) for one in found}
    # A tuple of numbers alone is taken off the collector's lists.
    for one in [one for many in kept.values() for one in many]:
        if type(one) in CLASSES and id(one) not in listed:
            found.append(one)
    for one in found:
        kind = type(one)
        row = counts["%s.%s" % (kind.__module__, kind.__qualname__)]
        row["count"] += 1
        row["bytes"] += sys.getsizeof(one)
    return {"version": "%d.%d.%d" % sys.version_info[:3], "classes": counts}


def frames(frame):
    """Innermost first: function and line."""
    found = []
    while frame:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), frame.f_lineno])
        frame = frame.f_back
    return {"frames": found}


grown = []


def by(number):
    grown.append((bytearray(500000), frames(sys._getframe())))
    return number


class Grower:
    def grow(self):
        return sorted([1], key=by)


def churn():
    """Frames of more than one call from C: what allocates, and where it was called."""
    return Grower().grow() and grown[-1][1]


class Pin:
    """As large as a tuple of three."""
    __slots__ = tuple("slot%d" % i for i in range(tuple.__basicsize__ // 8 + 3 - 2))


pins = []


def spread():
    """Of each arena that was filled with tuples an object of another class stays."""
    many = []
    for i in range(400000):
        many.append((i, i, i))
        if i % 4000 == 0:
            pins.append(Pin())
    del many
    gc.collect()
    return arenas()


class Ring:
    def __init__(self):
        self.other = None


class Final(Ring):
    def __del__(self):
        pass


def rings():
    """Objects that only the collector can free, which is off."""
    gc.collect()
    gc.disable()
    for _ in range(1000):
        ring = Ring()
        ring.other = Ring()
        ring.other.other = ring
        final = Final()
        final.other = final
    return {"off": not gc.isenabled()}


def frozen():
    """3.12 freezes some when it begins."""
    return {"frozen": gc.get_freeze_count()}


def freeze():
    gc.freeze()
    return frozen()


def arenas():
    """As the interpreter itself counts them."""
    with tempfile.TemporaryFile() as file:
        stderr = os.dup(2)
        os.dup2(file.fileno(), 2)
        sys._debugmallocstats()
        os.dup2(stderr, 2)
        os.close(stderr)
        file.seek(0)
        text = file.read().decode()
    figures = {"arenas": "arenas allocated current", "used": "bytes in allocated blocks"}
    return {key: int(re.search(r"# %s *= *([0-9,]+)" % words, text).group(1).replace(",", ""))
            for key, words in figures.items()}


def main():
    gc.collect()
    answer = json.dumps(truth())
    print("ready %d" % os.getpid(), flush=True)
    for line in sys.stdin:
        if line.strip() == "truth":
            print(answer, flush=True)
        elif line.strip() == "frames":
            print(json.dumps(frames(sys._current_frames()[keeper.ident])), flush=True)
        elif line.strip() == "churn":
            print(json.dumps(churn()), flush=True)
        elif line.strip() == "spread":
            print(json.dumps(spread()), flush=True)
        elif line.strip() == "rings":
            print(json.dumps(rings()), flush=True)
        elif line.strip() == "collect":
            print(json.dumps({"collected": gc.collect()}), flush=True)
        elif line.strip() == "frozen":
            print(json.dumps(frozen()), flush=True)
        elif line.strip() == "freeze":
            print(json.dumps(freeze()), flush=True)
        elif line.strip() == "quit":
            return


main()
