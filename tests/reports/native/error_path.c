// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The usual leak of C: an early return on an error forgets what was allocated before it, in one of
 * twenty requests. `fixed`: it is freed. The process is otherwise busy with short-lived blocks.
 *
 * kind: native blocks that are lost
 * leak error-path: leak
 *   part: native-blocks
 *   code: request_parse
 * healthy error-path-freed: fixed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fixed;

static char *__attribute__((noinline)) request_parse(int number)
{
	char *body = malloc(4096);

	snprintf(body, 4096, "request %d", number);
	memset(body + 100, number, 3000);
	if (number % 20 == 0) {
		if (fixed)
			free(body);
		return NULL;
	}
	return body;
}

static void __attribute__((noinline)) reply_send(const char *body)
{
	char *reply = malloc(200);

	snprintf(reply, 200, "reply to %s", body);
	free(reply);
}

int main(int count, char **arguments)
{
	fixed = count > 1 && !strcmp(arguments[1], "fixed");
	for (int number = 0;; number++) {
		char *body = request_parse(number);

		if (body)
			reply_send(body);
		free(body);
		if (number % 50 == 0)
			usleep(5000);
	}
}
