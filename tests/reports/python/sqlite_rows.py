# SPDX-License-Identifier: GPL-2.0-or-later
# A database in memory whose table nobody prunes: memory of a library, held by its connection.
#
# kind: native memory of a Python module
# leak sqlite-rows:
#   part: native-blocks
#   code: store_event
#   near: sqlite|pysqlite|pcache|fetchPayload|Fetch
import sqlite3
import time

database = sqlite3.connect(':memory:')
database.execute('CREATE TABLE events (id INTEGER PRIMARY KEY, text TEXT)')


def store_event(n):
    database.execute('INSERT INTO events VALUES (?, ?)', (n, 'event %d ' % n * 100))


number = 0
while True:
    for _ in range(10):
        number += 1
        store_event(number)
    time.sleep(0.05)
