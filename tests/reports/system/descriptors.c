// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Descriptors. `files`: a configuration is opened for each request, and stays open. `sockets`:
 * connections that the peer has closed stay in CLOSE_WAIT. `timers`: a timerfd for each request.
 * `closed`: all are closed. `pool`: 20 connections that are closed and opened again in turn.
 * `batch`: batches of 60 files are open for some seconds.
 *
 * kind: descriptors
 * leak descriptors-files: files
 *   part: descriptors
 *   code: config_read
 *   holder: /etc/
 * leak descriptors-sockets: sockets
 *   part: descriptors
 *   code: client_accept
 * leak descriptors-timers: timers
 *   part: descriptors
 *   code: timer_start
 * healthy descriptors-closed: closed
 * healthy connection-pool: pool
 * healthy descriptors-batch: batch
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CALLED __attribute__((noinline))

static int listening = -1;
static struct sockaddr_in address = {.sin_family = AF_INET};

static void server_listen(void)
{
	socklen_t length = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listening = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listening, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listening, 64) || getsockname(listening, (struct sockaddr *)&address, &length))
		exit(1);
}

static CALLED int config_read(void)
{
	char text[100];
	int file = open("/etc/hostname", O_RDONLY);

	return read(file, text, sizeof(text)) < 0 ? -1 : file;
}

static CALLED int client_accept(void)
{
	int client = socket(AF_INET, SOCK_STREAM, 0);
	int accepted;

	if (connect(client, (struct sockaddr *)&address, sizeof(address)))
		exit(1);
	accepted = accept(listening, NULL, NULL);
	close(client);
	return accepted;
}

static CALLED int timer_start(void)
{
	return timerfd_create(CLOCK_MONOTONIC, 0);
}

static void pool_step(void)
{
	static int pool[20], at;

	if (pool[at])
		close(pool[at]);
	pool[at] = client_accept();
	at = (at + 1) % 20;
}

static void batch_step(void)
{
	static int batch[60], number;

	if (number < 60)
		batch[number] = config_read();
	else if (number >= 100 && number < 160)
		close(batch[number - 100]);
	number = (number + 1) % 200;
}

static void request(const char *mode)
{
	if (!strcmp(mode, "files"))
		config_read();
	else if (!strcmp(mode, "sockets"))
		client_accept();
	else if (!strcmp(mode, "timers"))
		timer_start();
	else if (!strcmp(mode, "pool"))
		pool_step();
	else if (!strcmp(mode, "batch"))
		batch_step();
	else
		close(config_read());
}

int main(int count, char **arguments)
{
	struct rlimit limit = {100000, 100000};

	setrlimit(RLIMIT_NOFILE, &limit);
	server_listen();
	for (;; usleep(50000))
		request(count > 1 ? arguments[1] : "closed");
}
