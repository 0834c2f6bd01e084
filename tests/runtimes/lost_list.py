# SPDX-License-Identifier: GPL-2.0-or-later
"""lost_list.py LOST KEPT: loses a list of LOST blocks of malloc's, 200 bytes each, that lead to each
other, and keeps a list of KEPT of 312 bytes in the variable `kept`. The modules bring code, line tables,
hashes, flags and names along, as any program has them."""
import ctypes
import sys
import time

import argparse, ast, calendar, csv, dataclasses, datetime, decimal, dis, email.message, fractions
import html.parser, inspect, json, logging, pickle, pprint, string, tarfile, tokenize, typing, zipfile

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]


def plant(count, size):
    last = None
    for _ in range(count):
        block = libc.malloc(size)
        ctypes.memset(block, 0, size)
        ctypes.c_void_p.from_address(block).value = last
        last = block
    return last


def bury(depth):
    """Overwrites what calls have left on the stack."""
    return bury(depth - 1) + 1 if depth else len(str(list(range(100))))


plant(int(sys.argv[1]), 200)
kept = ctypes.c_void_p(plant(int(sys.argv[2]), 312))
bury(200)
print("ready", flush=True)
time.sleep(600)
