// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages of 10,000 bytes that all look the same, as zeroed tables and repeated frames do, beside
 * records of 32 bytes that differ. The messages are the growth.
 *
 * kind: native blocks that are held
 * leak equal-messages: equal
 *   part: native-blocks
 *   code: payload_make
 * leak differing-messages: differ
 *   part: native-blocks
 *   code: payload_make
 * healthy last-messages: last
 *   warm: 15
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct event {
	struct event *next;
	unsigned char *payload;
	uint64_t id, time;
};
static struct event *events;
static struct event *last[256];

static unsigned char *payload_make(uint64_t id, int differ)
{
	unsigned char *payload = malloc(10000);

	memset(payload, 7, 10000);
	if (differ)
		memcpy(payload, &id, sizeof(id));
	return payload;
}

static struct event *event_make(uint64_t id)
{
	struct event *event = malloc(sizeof(*event));

	*event = (struct event){.next = events, .id = id, .time = id * 977};
	return event;
}

static void event_replace(struct event *event)
{
	struct event **place = &last[event->id % 256];

	event->next = NULL;
	if (*place)
		free((*place)->payload);
	free(*place);
	*place = event;
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "equal";

	for (uint64_t id = 1;; id++) {
		struct event *event = event_make(id);

		event->payload = payload_make(id, !strcmp(mode, "differ"));
		if (!strcmp(mode, "last"))
			event_replace(event);
		else
			events = event;
		usleep(20000);
	}
}
