// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 1,500 bytes a second, 130 MB a day: a list that only grows, or replies that nothing points to.
 *
 * kind: slow leaks
 * leak slow-held: held
 *   part: native-blocks
 *   code: log_event
 * leak slow-lost: lost
 *   part: native-blocks
 *   code: reply_make
 * healthy slow-freed: freed
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct event {
	struct event *next;
	char text[142];
};
static struct event *events;
static char *volatile sent;

static void log_event(void)
{
	struct event *event = malloc(sizeof(*event));

	memset(event->text, 'x', sizeof(event->text));
	event->next = events;
	events = event;
}

static void reply_make(void)
{
	sent = malloc(150);
	memset(sent, 'x', 150);
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "held";

	for (;; usleep(100000)) {
		if (!strcmp(mode, "held")) {
			log_event();
			continue;
		}
		reply_make();
		if (!strcmp(mode, "freed"))
			free(sent);
	}
}
