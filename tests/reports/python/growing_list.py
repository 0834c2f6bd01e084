# SPDX-License-Identifier: GPL-2.0-or-later
# A list of a module that only grows, by 100 kB at a time: as a process that was asked about once it was found.
# `bytearrays`: few large objects. `rows`: many small ones, read from a file.
#
# kind: Python objects
# leak bytearrays: bytearrays
#   part: managed-objects|native-blocks
#   code: bytearray|PyByteArray|keep_buffer
# leak rows: rows
#   part: managed-objects
#   holder: ROWS
import sys
import time

mode = (sys.argv[1:] or ['rows'])[0]
BUFFERS, ROWS = [], []


def keep_buffer():
    BUFFERS.append(bytearray(100_000))


def keep_rows(first):
    ROWS.extend({'id': n, 'name': f'row {n}', 'price': n * 1.25} for n in range(first, first + 50))


number = 0
while True:
    if mode == 'bytearrays':
        keep_buffer()
    else:
        keep_rows(number)
    number += 50
    time.sleep(0.1)
