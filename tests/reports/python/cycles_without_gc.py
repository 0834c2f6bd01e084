# SPDX-License-Identifier: GPL-2.0-or-later
# Cycles in a program that has switched the collector off, as some do for speed: garbage that is never collected.
# `collected`: gc.collect() runs every two seconds: a sawtooth.
#
# kind: garbage that is not collected
# leak cycles-without-gc: leak
#   part: managed.*|native-blocks|other|live
#   code: Node|document_open|new_values|dict|Py
# healthy gc-sawtooth: collected
import gc
import sys
import time

collected = sys.argv[1:] == ['collected']
gc.disable()


class Node:
    def __init__(self, n):
        self.text, self.self = 'node %d ' % n * 40, self


def document_open(n):
    return Node(n).text


number = 0
while True:
    for _ in range(20):
        document_open(number)
        number += 1
    if collected and number % 800 == 0:
        gc.collect()
    time.sleep(0.05)
