# SPDX-License-Identifier: GPL-2.0-or-later
# One list of 100,000 blocks that nothing holds, as in lost_list.py: a census counts all of them.
#
# kind: other commands
# command lost-once: LEAKMON retain --census -p PID
#   exit: 0
#   says: lost: 100000 blocks
import ast, asyncio, ctypes, dis, http.server, inspect, ssl, time, tokenize  # noqa: E401, F401

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]


def lose_list(count, size):
    last = None
    for _ in range(count):
        block = libc.malloc(size)
        ctypes.memset(block, 0, size)
        ctypes.c_void_p.from_address(block).value = last
        last = block


lose_list(100_000, 100)
time.sleep(3600)
