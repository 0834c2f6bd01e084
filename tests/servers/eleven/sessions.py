# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions that a cache never drops, between much short-lived work."""
import time


class Session:
	def __init__(self, number):
		self.user = f'user {number}'
		self.basket = {f'item {i}': [number, i, f'{number}/{i}'] for i in range(20)}


CACHE = {}


def login(number):
	session = Session(number)
	if number % 4 == 0:
		CACHE[number] = session
	return session


def render(session):
	return ','.join(sorted(f'{key}={value}' for key, value in session.basket.items()))


number = 0
while True:
	for _ in range(10):
		number += 1
		render(login(number))
	time.sleep(0.05)
