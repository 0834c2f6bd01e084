# SPDX-License-Identifier: GPL-2.0-or-later
# Grows by 1 MB a second for so many seconds, then ends. One process of several that are asked about is gone, or ends
# meanwhile: the others are answered.
#
# kind: other commands
# command one-target-gone: LEAKMON diagnose --for 20 -p PID,4194300
#   with: 3600
#   exit: 3
#   says: PID \d+ \(python3\): grows
# command one-target-ends: LEAKMON diagnose --for 20 -p PID,ENDING
#   with: 3600
#   ending: 15
#   exit: 3
#   says: PID \d+ \(python3\): grows
import sys
import time

kept, end = [], time.time() + float(sys.argv[1])
while time.time() < end:
    kept.append(bytearray(b'b' * 100_000))
    time.sleep(0.1)
