# SPDX-License-Identifier: GPL-2.0-or-later
# No leak: 200,000 objects in one dict of a module, made at the start.
#
# kind: Python objects
# healthy static-table:
#   warm: 15
# command static-table-census: LEAKMON retain --census -p PID
#   kind: other commands
#   exit: 0
#   says: alone ([6-9]\d|100)\.?\d*%: module __main__ → KEPT
import time


class Thing:
    def __init__(self, n):
        self.name = 'thing %d' % n
        self.parts = [str(n * 10 + i) for i in range(5)]


KEPT = {n: Thing(n) for n in range(200_000)}
while True:
    time.sleep(0.05)
    sum(len(KEPT[n].parts) for n in range(1000))
