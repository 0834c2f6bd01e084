# SPDX-License-Identifier: GPL-2.0-or-later
"""A program without a leak: as many sessions as it had a minute ago, between much short-lived work."""
import collections
import time


class Session:
	def __init__(self, number):
		self.user = f'user {number}'
		self.basket = {f'item {i}': [number, i, f'{number}/{i}'] for i in range(20)}


live = collections.deque((Session(number) for number in range(1000)), maxlen=1000)
number = 0
while True:
	for _ in range(10):
		number += 1
		live.append(Session(number))
	time.sleep(0.05)
