# SPDX-License-Identifier: GPL-2.0-or-later
# asyncio tasks that wait for a reply that never comes, and that a set keeps (as the documentation says to).
# `fixed`: wait_for() ends them after a second.
#
# kind: Python objects
# leak tasks-waiting: leak
#   part: managed-objects
#   code: Task|Future|coroutine|Request
#   holder: pending|all_tasks|tasks
# healthy tasks-time-out: fixed
import asyncio
import sys

fixed = sys.argv[1:] == ['fixed']
pending = set()


class Request:
    def __init__(self, n):
        self.n, self.body = n, 'x' * 1000 + str(n)


async def handle(request):
    reply = asyncio.get_running_loop().create_future()
    try:
        await (asyncio.wait_for(reply, 1) if fixed else reply)
    except asyncio.TimeoutError:
        pass
    return request.n


async def main():
    number = 0
    while True:
        for _ in range(3):
            task = asyncio.create_task(handle(Request(number)))
            pending.add(task)
            task.add_done_callback(pending.discard)
            number += 1
        await asyncio.sleep(0.05)


asyncio.run(main())
