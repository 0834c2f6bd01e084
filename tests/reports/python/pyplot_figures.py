# SPDX-License-Identifier: GPL-2.0-or-later
# Report: matplotlib/matplotlib#8519, I2PC/scipion#1610. pyplot keeps each figure until it is closed
# (matplotlib._pylab_helpers.Gcf.figs). `fixed`: it is closed.
#
# kind: Python objects
# leak pyplot-figures: leak
#   part: managed-objects
#   holder: figs|Gcf
# healthy pyplot-closed: fixed
#   warm: 20
import io
import sys
import time

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402

fixed = sys.argv[1:] == ['fixed']


def report():
    figure, axes = plt.subplots(figsize=(2, 1), dpi=50)
    axes.plot([1, 2, 3])
    out = io.BytesIO()
    figure.savefig(out, format='png')
    if fixed:
        plt.close(figure)
    return len(out.getvalue())


while True:
    report()
    time.sleep(0.4)
