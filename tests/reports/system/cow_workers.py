# SPDX-License-Identifier: GPL-2.0-or-later
# Report: pytorch/pytorch#13246. Forked workers that only read the parent's objects write their reference
# counts: shared pages become private ones. The resident memory of each worker is level. A worker is asked
# about. `arrays`: numbers without objects, which stay shared.
#
# kind: memory shared by fork
# leak cow-workers: objects
#   part: .*(copy|copies|cow|private|fork|unshared).*
#   ask: child
#   warm: 20
# healthy cow-workers-arrays: arrays
#   ask: child
#   warm: 20
import array
import os
import sys
import time

if sys.argv[1:] == ['arrays']:
    data = array.array('q', range(15_000_000))
else:
    data = [{'name': 'sample-%d' % i, 'label': i} for i in range(1_500_000)]
for worker in range(4):
    if os.fork() == 0:
        while True:
            for i in range(0, len(data), 100):
                for sample in data[i:i + 100]:
                    if isinstance(sample, dict):
                        name = sample['name']
                time.sleep(0.01)
os.wait()
