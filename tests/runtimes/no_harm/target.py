# SPDX-License-Identifier: GPL-2.0-or-later
"""A program under load that checks itself; what it reads and writes: see ../no_harm.py."""
import collections
import ctypes
import errno
import gc
import json
import os
import select
import signal
import socket
import sys
import threading
import time
import weakref

libc = ctypes.CDLL(None, use_errno=True)
counts, wrong = collections.Counter(), collections.Counter()
latencies = {'alone': collections.Counter(), 'looked': collections.Counter()}
kept = {f'key {i}': (i, [i, str(i)]) for i in range(1000)}


class Node:
    def __init__(self, number, following):
        self.number, self.following, self.ring = number, following, self


def expect(name, right):
    if not right:
        wrong[name] += 1


def check_kept():
    expect('planted objects', all(kept[f'key {i}'] == (i, [i, str(i)]) for i in range(1000)))
    counts['checks'] += 1


def allocate():
    """Cycles, which only the collector frees; code compiled again and again."""
    while True:
        head = None
        for i in range(2000):
            head = Node(i, head)
        expect('new objects', sum(node.number for node in walk(head)) == 1999000)
        names = {'ended': 0}
        exec(compile(f'def made(n): return n * {counts["rounds"]}\nended = made(3)', 'made', 'exec'), names)
        expect('new code', names['ended'] == 3 * counts['rounds'])
        seen = weakref.ref(head)
        head = None
        gc.collect()
        expect('garbage that stays', seen() is None)
        counts['rounds'] += 1
        counts['collections'] = sum(one['collections'] for one in gc.get_stats())
        if counts['rounds'] % 10 == 0:
            check_kept()
        time.sleep(0.002)


def walk(node):
    while node:
        yield node
        node = node.following


def call(name, wanted, function, *arguments):
    """A call of the C library on a thread that no signal reaches: nothing may interrupt it."""
    ctypes.set_errno(0)
    result = function(*arguments)
    if result != wanted:
        wrong[f'{name}: {result}, {errno.errorcode.get(ctypes.get_errno(), 0)}'] += 1
    return result


def exchange(writer):
    data = bytes(range(256)) * 16
    for number in range(1 << 62):
        size = number * 37 % 4000 + 1
        call('write', size, libc.write, writer, data[:size], size)
        if number % 50 == 49:
            time.sleep(0.01)


def receive(reader):
    poll = libc.epoll_create1(0)
    call('epoll_ctl', 0, libc.epoll_ctl, poll, 1, reader, (ctypes.c_uint32 * 3)(1))
    buffer = ctypes.create_string_buffer(4096)
    data = bytes(range(256)) * 16
    for number in range(1 << 62):
        size = number * 37 % 4000 + 1
        call('epoll_wait', 1, libc.epoll_wait, poll, (ctypes.c_uint32 * 3)(), 1, 60000)
        call('recv', size, libc.recv, reader, buffer, size, 0x100)  # MSG_WAITALL
        expect('received bytes', buffer.raw[:size] == data[:size])
        counts['received'] += 1


def wait():
    """Limits of time are kept, and are what ends a call."""
    quiet, semaphore = libc.epoll_create1(0), (ctypes.c_uint64 * 4)()
    libc.sem_init(semaphore, 0, 0)
    while True:
        began = time.monotonic()
        call('epoll_wait in vain', 0, libc.epoll_wait, quiet, (ctypes.c_uint32 * 3)(), 1, 7)
        call('poll in vain', 0, libc.poll, None, 0, 7)
        call('usleep', 0, libc.usleep, 7000)
        expect('waited too short', time.monotonic() - began >= 0.021)
        until = time.time() + 0.005
        limit = (ctypes.c_long * 2)(int(until), int(until % 1 * 1e9))
        call('sem_timedwait', -1, libc.sem_timedwait, semaphore, limit)
        expect('sem_timedwait: another error', ctypes.get_errno() == errno.ETIMEDOUT)
        counts['waits'] += 1


def hand(condition, items):
    for number in range(1 << 62):
        with condition:
            items.append(number)
            condition.notify()
        time.sleep(0.001)


def take(condition, items):
    wanted = 0
    while True:
        with condition:
            if not condition.wait_for(lambda: items, 60):
                wrong['a condition that is never met'] += 1
            while items:
                expect('items in order', items.popleft() == wanted)
                wanted += 1
                counts['handed'] += 1


def start(function, *arguments):
    def run():
        try:
            function(*arguments)
        except BaseException as error:  # pylint: disable=broad-except
            wrong[f'{function.__name__}: {error!r}'] += 1

    threading.Thread(target=run, daemon=True).start()


def say(line):
    """All of it: a signal may end a write to a pipe that is full."""
    left = (line + '\n').encode()
    while left:
        left = left[os.write(1, left):]


def on_signal(*_):
    counts['signals'] += 1
    os.write(1, b's\n')


def on_alarm(*_):
    counts['ticks'] += 1


def beat():
    poll, phase, before = select.epoll(), 'alone', time.monotonic()
    poll.register(0, select.EPOLLIN)
    while True:
        for _ in poll.poll(0.001):
            command = os.read(0, 100).decode().strip()
            if not command:
                return
            if command == 'truth':
                say(json.dumps({'counts': counts, 'wrong': wrong, **latencies}))
            else:
                phase, before = command, time.monotonic()
        now = time.monotonic()
        latencies[phase][int((now - before) * 1e5)] += 1
        before = now
        counts['beats'] += 1


def main():
    sys.setswitchinterval(0.0005)
    left, right = socket.socketpair()
    condition, items = threading.Condition(), collections.deque()
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    for arguments in ((allocate,), (exchange, left.fileno()), (receive, right.fileno()), (wait,),
                      (hand, condition, items), (take, condition, items)):
        start(*arguments)
    signal.signal(signal.SIGUSR1, on_signal)
    signal.signal(signal.SIGALRM, on_alarm)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    os.write(1, b'ready\n')
    beat()


main()
