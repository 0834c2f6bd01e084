// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A server whose state is a local of main(): a table in it grows. A long chain from a global
 * reaches one entry, too, and has nothing to do with the growth. `server` holds it.
 *
 * kind: native blocks that are held
 * leak server-on-stack:
 *   part: native-blocks
 *   code: entry_add
 *   holder: ^(stack|local|.*\bserver\b)
 * healthy server-expires: expires
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 1000

struct link {
	struct link *next;
	void *note;
};
struct entry {
	struct entry *next, *previous;
	char body[400];
};
struct server {
	struct entry *first, *last;
	int count;
};

static struct link *last_error;

static void entry_add(struct server *server, int number)
{
	struct entry *entry = malloc(sizeof(*entry));

	memset(entry->body, number, sizeof(entry->body));
	memcpy(entry->body, &number, sizeof(number));
	entry->previous = NULL;
	entry->next = server->first;
	if (entry->next)
		entry->next->previous = entry;
	else
		server->last = entry;
	server->first = entry;
	server->count++;
}

static void entry_expire(struct server *server)
{
	struct entry *entry = server->last;

	if (server->count <= ENTRIES_MAX)
		return;
	server->last = entry->previous;
	server->last->next = NULL;
	server->count--;
	free(entry);
}

static void errors_make(void)
{
	for (size_t i = 0; i < 12; i++) {
		struct link *link = malloc(sizeof(*link) + i * 16);

		link->next = last_error;
		link->note = NULL;
		last_error = link;
	}
}

int main(int count, char **arguments)
{
	struct server *server = calloc(1, sizeof(*server));

	(void)arguments;
	errors_make();
	for (int number = 0;; number++) {
		entry_add(server, number);
		if (count > 1)
			entry_expire(server);
		if (number == 3 && count == 1) {
			struct link *link = last_error;

			while (link->next)
				link = link->next;
			link->note = server->first;
		}
		usleep(5000);
	}
}
