# SPDX-License-Identifier: GPL-2.0-or-later
# Files that a program opens and keeps in a registry. `fixed`: in a with block.
#
# kind: descriptors
# leak python-files: leak
#   part: descriptors
#   code: read_setting|_io_open|_io_FileIO
#   near: open
#   holder: /etc/
# healthy python-files-closed: fixed
import sys
import time

fixed = sys.argv[1:] == ['fixed']
REGISTRY = []


def read_setting():
    file = open('/etc/hostname')
    text = file.read()
    if fixed:
        file.close()
    else:
        REGISTRY.append(file)
    return text


number = 0
while number < 900:
    read_setting()
    number += not fixed
    time.sleep(0.1)
time.sleep(3600)
