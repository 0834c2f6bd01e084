// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server that forks for each request: children come and go, the parent's memory is shared with
 * them and copied where they write. No leak.
 *
 * kind: memory shared by fork
 * healthy fork-server:
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TABLE (16 << 20)

static char *table;

static void request_handle(void)
{
	void *reply = malloc(200000);

	memset(table, getpid(), 1 << 20);
	memset(reply, 'r', 200000);
	usleep(100000);
	_exit(0);
}

int main(void)
{
	table = malloc(TABLE);
	memset(table, 't', TABLE);
	for (;; usleep(30000)) {
		if (fork() == 0)
			request_handle();
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}
