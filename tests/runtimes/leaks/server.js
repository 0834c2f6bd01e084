// SPDX-License-Identifier: GPL-2.0-or-later
// A web server: /work answers; /leak answers, too, and keeps ten sessions: `listener` by listeners of
// an event, `closure` by functions in an array, `timer` by timers that are never cleared.
'use strict';

const EventEmitter = require('events');
const http = require('http');

class Session {
	constructor(number) {
		this.number = number;
		this.items = Array(8).fill(number);
	}
}

const emitter = new EventEmitter();
emitter.setMaxListeners(0);
const callbacks = [];

function keep(session) {
	switch (process.argv[2]) {
	case 'listener':
		emitter.on('data', function onData() {
			return session;
		});
		break;
	case 'closure':
		callbacks.push(function callLater() {
			return session;
		});
		break;
	case 'timer':
		setInterval(function onTick() {
			return session;
		}, 1 << 30);
	}
}

function leak() {
	for (let i = 0; i < 10; i++)
		keep(new Session(i));
	return 'ok';
}

function work() {
	return JSON.stringify(Array.from({length: 100}, (_, i) => new Session(i)));
}

const server = http.createServer((request, response) => {
	response.end(request.url === '/leak' ? leak() : work());
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
