# SPDX-License-Identifier: GPL-2.0-or-later
# Report: cebel/pyuniprot#5, ebmdatalab/clinicaltrials-act-tracker#121, tkuester/taky#40. libxml2's dictionary of
# names, which lxml shares per thread, never shrinks. `fixed`: the same names each time.
#
# kind: native memory of a Python module
# leak lxml-names: leak
#   part: native-blocks
#   code: parse_message
#   near: xmlDict|[Pp]arserDictionary
# healthy lxml-same-names: fixed
import itertools
import sys
import time

from lxml import etree

fixed = sys.argv[1:] == ['fixed']


def parse_message(n):
    body = ''.join("<field%d attr%d='1'/>" % (n + i, n + i) for i in range(100))
    return len(etree.fromstring('<msg>' + body + '</msg>'))


for number in itertools.count(0, 100):
    parse_message(0 if fixed else number)
    time.sleep(0.02)
