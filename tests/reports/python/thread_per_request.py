# SPDX-License-Identifier: GPL-2.0-or-later
# A thread for each request, and each waits for a queue that nobody fills. `fixed`: a pool of four.
#
# kind: threads
# leak python-threads: leak
#   part: threads
#   code: start_request|thread_PyThread_start_new_thread
#   near: [Tt]hread
# healthy python-pool: fixed
import concurrent.futures
import queue
import sys
import threading
import time

fixed = sys.argv[1:] == ['fixed']
pool = concurrent.futures.ThreadPoolExecutor(4)


def wait_for_reply(replies):
    replies.get()


def start_request():
    replies = queue.Queue()
    if fixed:
        replies.put(1)
        pool.submit(wait_for_reply, replies).result()
    else:
        threading.Thread(target=wait_for_reply, args=(replies,), daemon=True).start()


while True:
    start_request()
    time.sleep(0.3)
