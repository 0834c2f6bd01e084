// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: SSSD/sssd#7072. Replies are allocated on the context of a client that stays, instead of
 * the context of the request.
 *
 * kind: pools of a library
 * flags: -ltalloc
 * leak talloc-reply: leak
 *   part: native-blocks
 *   code: reply_build
 * healthy talloc-reply-freed: fixed
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <talloc.h>

struct request {
	char *name;
};
struct client {
	int fd;
	struct request *last;
};
struct server {
	struct client *clients[4];
};

static struct server *server;

static char *reply_build(void *context, size_t size)
{
	return talloc_zero_array(context, char, size);
}

static void request_handle(struct client *client, int fixed)
{
	struct request *request = talloc_zero(client, struct request);

	request->name = talloc_strdup(request, "get-cred-list");
	memset(reply_build(fixed ? (void *)request : (void *)client, 600), 1, 600);
	talloc_free(request);
}

int main(int count, char **arguments)
{
	int fixed = count > 1 && !strcmp(arguments[1], "fixed");

	server = talloc_zero(NULL, struct server);
	for (int i = 0; i < 4; i++)
		server->clients[i] = talloc_zero(server, struct client);
	for (unsigned number = 0;; number++) {
		request_handle(server->clients[number % 4], fixed);
		if (number % 4 == 3)
			usleep(20000);
	}
}
