// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks with a plain and a misleading path. plain_paths local|pool|obstack|talloc
 *
 * local: a server's state is a local of main(), 100 entries of 416 bytes in a list. A chain of 12
 * other blocks from the global last_error ends at an entry, too.
 * pool: the links of all queues come from one block, link_pool.chunk. 200 messages of 1500 bytes
 * wait in bus->connections[2]->outgoing.
 * obstack: 2,000 symbols with a payload of 312 bytes each are in obstack chunks; the program has
 * them in table->buckets.
 * talloc: 200 messages of 1500 bytes are children of the connection that allocated them, and wait
 * in served->waiting; ends with "no talloc" if that library is not installed.
 */
#include "workload.h"

#include <dlfcn.h>
#include <obstack.h>

#define ENTRIES 100
#define ERRORS 12
#define MESSAGES 200
#define LINKS 1000

struct error {
	struct error *next;
	void *note;
};

struct entry {
	struct entry *next, *previous;
	char body[400];
};

struct server {
	struct entry *first;
};

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

struct symbol {
	struct symbol *next;
	void *payload;
	char name[40];
};

struct table {
	struct symbol *buckets[64];
};

struct served {
	int fd;
	char **waiting;
};

#define SYMBOLS 2000
#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

static struct obstack names;
static struct table *table;
static struct served *served;
static void *allocated_for;
static struct error *last_error;
static struct {
	struct link *chunk;
	size_t used;
} link_pool;
static struct bus *bus;

static SITE void entry_add(struct server *server)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	entry->next = server->first;
	if (entry->next)
		entry->next->previous = entry;
	server->first = entry;
}

static SITE void errors_add(struct server *server)
{
	struct error *oldest = NULL;

	for (size_t i = 0; i < ERRORS; i++) {
		struct error *error = calloc(1, sizeof(*error) + i * 16);

		oldest = oldest ? oldest : error;
		error->next = last_error;
		last_error = error;
	}
	oldest->note = server->first;
}

static SITE void message_queue(struct connection *connection)
{
	struct link *link = &link_pool.chunk[link_pool.used++];

	link->data = calloc(1, 1500);
	link->next = connection->outgoing;
	if (link->next)
		link->next->previous = link;
	connection->outgoing = link;
}

static SITE void pool_make(void)
{
	link_pool.chunk = calloc(LINKS, sizeof(struct link));
	bus = calloc(1, sizeof(*bus));
	for (size_t i = 0; i < ARRAY_SIZE(bus->connections); i++)
		bus->connections[i] = calloc(1, sizeof(struct connection));
	for (size_t i = 0; i < MESSAGES; i++)
		message_queue(bus->connections[2]);
}

static SITE void table_make(void)
{
	obstack_init(&names);
	table = calloc(1, sizeof(*table));
	for (size_t i = 0; i < SYMBOLS; i++) {
		struct symbol **bucket = &table->buckets[i % ARRAY_SIZE(table->buckets)];
		struct symbol *symbol = obstack_alloc(&names, sizeof(*symbol));

		*symbol = (struct symbol){.next = *bucket, .payload = calloc(1, 312)};
		*bucket = symbol;
	}
}

static SITE void talloc_make(void)
{
	void *library = dlopen("libtalloc.so.2", RTLD_NOW);
	void *(*allocate)(const void *, size_t, const char *) =
		library ? (void *(*)(const void *, size_t, const char *))dlsym(library,
									       "talloc_named_const")
			: NULL;

	if (!allocate) {
		printf("no talloc\n");
		exit(0);
	}
	served = allocate(NULL, sizeof(*served), "served");
	allocated_for = allocate(NULL, 16, "connection");
	served->waiting = allocate(served, MESSAGES * sizeof(char *), "waiting");
	for (size_t i = 0; i < MESSAGES; i++) {
		served->waiting[i] = allocate(allocated_for, 1500, "message");
		memset(served->waiting[i], 0, 1500);
	}
}

static SITE struct server *server_make(void)
{
	struct server *server = calloc(1, sizeof(*server));

	for (size_t i = 0; i < ENTRIES; i++) {
		entry_add(server);
		if (i == ENTRIES / 2)
			errors_add(server);
	}
	return server;
}

/* Clears the remains of earlier calls. */
static SITE void stack_clear(void)
{
	volatile char left[8192];

	for (size_t i = 0; i < sizeof(left); i++)
		left[i] = 0;
}

static SITE void say_ready(void)
{
	char line[32];

	if (write(1, line, (size_t)snprintf(line, sizeof(line), "ready %d\n", getpid())) < 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} makers[] = {{"pool", pool_make}, {"obstack", table_make}, {"talloc", talloc_make}};
	struct server *server = argc > 1 && !strcmp(argv[1], "local") ? server_make() : NULL;
	char byte;

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(makers); i++) {
		if (!strcmp(argv[1], makers[i].name))
			makers[i].make();
	}
	stack_clear();
	say_ready();
	while (read(0, &byte, 1) > 0) {
		if (server && !server->first)
			return 1;
	}
	return 0;
}
