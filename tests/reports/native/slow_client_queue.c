// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: the shape of bus1/dbus-broker#346. The links of all lists come from one pool, and a
 * client that does not read has a queue that grows: connections[2].outgoing.
 *
 * kind: native blocks that are held
 * leak slow-client-queue:
 *   part: native-blocks
 *   code: queue_message
 *   holder: outgoing|connections|global bus
 * healthy slow-client-read: read
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct link {
	struct link *next, *previous;
	void *data;
};
struct connection {
	int fd;
	struct link *outgoing;
};
struct bus {
	struct connection *connections[4];
};

static struct {
	struct link *chunk;
	size_t used, size;
} link_pool;
static struct bus *bus;

static struct link *link_new(void *data)
{
	if (link_pool.used == link_pool.size)
		exit(1);
	link_pool.chunk[link_pool.used].data = data;
	return &link_pool.chunk[link_pool.used++];
}

static void queue_message(struct connection *connection, int number)
{
	char *message = malloc(1500);
	struct link *link;

	for (int i = 0; i < 1500; i += 4)
		memcpy(message + i, &number, 4);
	link = link_new(message);
	link->next = connection->outgoing;
	if (connection->outgoing)
		connection->outgoing->previous = link;
	connection->outgoing = link;
}

static void read_all(struct connection *connection)
{
	for (; connection->outgoing; connection->outgoing = connection->outgoing->next)
		free(connection->outgoing->data);
	link_pool.used = 0;
}

int main(int count, char **arguments)
{
	(void)arguments;
	link_pool.size = 100000;
	link_pool.chunk = calloc(link_pool.size, sizeof(struct link));
	bus = calloc(1, sizeof(*bus));
	for (int i = 0; i < 4; i++)
		bus->connections[i] = calloc(1, sizeof(struct connection));
	for (int number = 0;; number++) {
		queue_message(bus->connections[2], number);
		if (count > 1 && number % 100 == 99)
			read_all(bus->connections[2]);
		usleep(5000);
	}
}
