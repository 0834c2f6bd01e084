// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No leak, though something grows for a while, or comes and goes. `ring`: the last 5,000 records.
 * `ttl`: entries live 5 s. `warm`: a table that is full after 30 s. `churn`: requests of many
 * sizes, nothing kept.
 *
 * kind: native blocks that are held
 * healthy ring-buffer: ring
 *   warm: 15
 * healthy entries-expire: ttl
 * healthy warmed-up: warm
 *   warm: 40
 * healthy request-churn: churn
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORDS 5000
#define TTL_S 5

struct record {
	time_t made;
	char body[600];
};

static struct record *ring[RECORDS];
static unsigned at;

static struct record *__attribute__((noinline)) record_make(void)
{
	struct record *record = malloc(sizeof(*record));

	memset(record->body, 'r', sizeof(record->body));
	record->made = time(NULL);
	return record;
}

static void ring_step(void)
{
	for (unsigned i = 0; i < 10; i++, at = (at + 1) % RECORDS) {
		free(ring[at]);
		ring[at] = record_make();
	}
}

static void ttl_step(void)
{
	time_t now = time(NULL);

	for (unsigned i = 0; i < RECORDS; i++)
		if (ring[i] && ring[i]->made + TTL_S < now) {
			free(ring[i]);
			ring[i] = NULL;
		}
	for (unsigned i = 0; i < 5; i++, at = (at + 1) % RECORDS)
		if (!ring[at])
			ring[at] = record_make();
}

static void warm_step(void)
{
	for (unsigned i = 0; i < 5 && at < RECORDS; i++)
		ring[at++] = record_make();
	free(record_make());
}

static void churn_step(void)
{
	void *blocks[50];

	for (unsigned i = 0; i < 50; i++)
		memset(blocks[i] = malloc(20 + i * 97), 'c', 20 + i * 97);
	for (unsigned i = 0; i < 50; i++)
		free(blocks[i]);
}

static const struct {
	const char *name;
	void (*step)(void);
} modes[] = {
	{"ring", ring_step},
	{"ttl", ttl_step},
	{"warm", warm_step},
	{"churn", churn_step},
};

int main(int count, char **arguments)
{
	for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		while (!strcmp(modes[i].name, arguments[1])) {
			modes[i].step();
			usleep(20000);
		}
	return 2;
}
