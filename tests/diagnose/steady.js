// SPDX-License-Identifier: GPL-2.0-or-later
// A program without a leak: the latest 1,000 sessions, between much short-lived work.
'use strict';

class Session {
	constructor(number) {
		this.user = `user ${number}`;
		this.basket = Array.from({ length: 20 }, (_, i) => ({ item: `${number}/${i}`, count: i }));
	}
}

const live = new Map();
let number = 0;

setInterval(() => {
	for (let i = 0; i < 10; i++) {
		live.set(++number, new Session(number));
		live.delete(number - 1000);
	}
}, 50);
