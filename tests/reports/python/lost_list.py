# SPDX-License-Identifier: GPL-2.0-or-later
# Linked lists of malloc blocks that nothing holds, in Debian's python3, which is no PIE: its heap lies below 4 GiB,
# and bytecode and line tables have words that look like its addresses. `freed`: each list is freed.
#
# kind: native blocks that are lost
# leak lost-list:
#   part: native-blocks
#   code: ffi|ctypes|lose_list|callproc
# healthy lost-list-freed: freed
import ast, asyncio, ctypes, dis, http.server, inspect, ssl, sys, time, tokenize  # noqa: E401, F401

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
freed = sys.argv[1:] == ['freed']


def lose_list(count, size):
    last = None
    for _ in range(count):
        block = libc.malloc(size)
        ctypes.memset(block, 0, size)
        ctypes.c_void_p.from_address(block).value = last
        last = block
    while freed and last:
        following = ctypes.c_void_p.from_address(last).value
        libc.free(last)
        last = following


while True:
    lose_list(100, 500)
    time.sleep(0.05)
