// SPDX-License-Identifier: GPL-2.0-or-later
// Sessions that a cache never drops, between much short-lived work.
'use strict';

class Session {
	constructor(number) {
		this.user = `user ${number}`;
		this.basket = Array.from({ length: 20 }, (_, i) => ({ item: `${number}/${i}`, count: i }));
	}
}

const cache = new Map();
let number = 0;

function login() {
	const session = new Session(++number);
	if (number % 4 === 0)
		cache.set(number, session);
	return JSON.stringify(session).length;
}

setInterval(() => {
	for (let i = 0; i < 10; i++)
		login();
}, 50);
