# SPDX-License-Identifier: GPL-2.0-or-later
# No leak. `log`: a log that is rotated at 100 kB. `sqlite`: a database in memory with the latest 2,000 rows.
#
# kind: files in memory
# healthy rotating-log: log HOME
# healthy sqlite-bounded: sqlite HOME
#   warm: 25
import logging.handlers
import sqlite3
import sys
import time

mode, home = (sys.argv[1:] + ['log', '/tmp'])[:2]
log = logging.getLogger('service')
handler = logging.handlers.RotatingFileHandler(f'{home}/service.log', maxBytes=100_000, backupCount=2)
log.addHandler(handler)
database = sqlite3.connect(':memory:')
database.execute('CREATE TABLE events (id INTEGER PRIMARY KEY, text TEXT)')
number = 0
while True:
    for _ in range(10):
        number += 1
        if mode == 'log':
            log.warning('request %d of a client that asks for much', number)
            continue
        database.execute('INSERT INTO events VALUES (?, ?)', (number, 'event %d ' % number * 20))
        database.execute('DELETE FROM events WHERE id <= ?', (number - 2000,))
    time.sleep(0.05)
