# SPDX-License-Identifier: GPL-2.0-or-later
# No leak: caches that are full after some seconds. `ordered`: an OrderedDict of 8,000 pages. `deque`: the
# latest 2,000 events. `ttl`: entries that live 5 s. `weak`: a WeakValueDictionary of sessions that end.
#
# kind: Python objects
# healthy ordered-cache: ordered
#   warm: 35
# healthy deque-maxlen: deque
#   warm: 15
# healthy ttl-cache: ttl
# healthy weak-sessions: weak
import collections
import sys
import time
import weakref

mode = (sys.argv[1:] or ['ordered'])[0]
cache, events = collections.OrderedDict(), collections.deque(maxlen=2000)
sessions, recent = weakref.WeakValueDictionary(), []


class Session:
    def __init__(self, n):
        self.n, self.basket = n, [str(n + i) for i in range(20)]


def step(n):
    if mode == 'ordered':
        cache[n] = 'x' * 500 + str(n)
        if len(cache) > 8000:
            cache.popitem(last=False)
    elif mode == 'deque':
        events.append(Session(n))
    elif mode == 'ttl':
        now = time.monotonic()
        cache[n] = (now, Session(n))
        while next(iter(cache.values()))[0] + 5 < now:
            cache.popitem(last=False)
    else:
        session = sessions[n] = Session(n)
        recent.append(session)
        del recent[:-100]


number = 0
while True:
    for _ in range(20):
        step(number)
        number += 1
    time.sleep(0.05)
