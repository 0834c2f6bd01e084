// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Takes memory until the kernel kills it, and keeps counts in a file that others can read
 * afterwards: four 64-bit numbers (argument 1), mapped shared: the leaked blocks, the first and the
 * latest time (CLOCK_MONOTONIC, ns), and a flag that others set to make it take the rest at once,
 * without malloc. `go` never answers; `stroll` is the same at 3 MB a second at most, with distinct
 * contents in each block.
 *
 * leak() keeps every block; cache() keeps 64 of them; churn() keeps none. Blocks are counted before
 * they are written to: no page fault comes between a block and its count, except in malloc itself,
 * and then it has not returned yet.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "workload.h"

#define BLOCK 5000
#define CACHED 64
#define CACHE_BLOCK 3000
#define STROLL_NS 1600000u
#define STOOD_STILL_NS 1000000000u
#define FILL (1 << 20)

static volatile struct account {
	uint64_t leaked, first_ns, latest_ns, fill;
} * account;
static void *cached[CACHED];

static SITE void leak(void)
{
	char *block = OPAQUE(malloc(BLOCK));
	uint64_t number = ++account->leaked;

	memset(block, 1, BLOCK);
	memcpy(block, &number, sizeof(number));
}

static SITE void cache(unsigned round)
{
	void **slot = &cached[round % CACHED];

	free(*slot);
	*slot = OPAQUE(malloc(CACHE_BLOCK));
	memset(*slot, 2, CACHE_BLOCK);
}

static SITE void churn(void)
{
	free(OPAQUE(malloc(700)));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void go(void)
{
	for (unsigned round = 0;; round++) {
		leak();
		cache(round);
		churn();
	}
}

/* Work between leaks: an idle process is hardly profiled. */
static void compute(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static void fill(void)
{
	for (;;) {
		void *memory = mmap(NULL, FILL, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (memory == MAP_FAILED)
			usleep(1000);
	}
}

/* Follows the clock: catches up after delays by others, but not after a halt of the machine. */
static void stroll(void)
{
	uint64_t due_ns = now_ns();

	account->first_ns = due_ns;
	for (unsigned round = 0;; round++, due_ns += STROLL_NS) {
		uint64_t now = now_ns();

		if (now < due_ns) {
			usleep((useconds_t)((due_ns - now) / 1000));
		} else if (now - due_ns > STOOD_STILL_NS) {
			account->first_ns += now - due_ns;
			due_ns = now;
		}
		leak();
		account->latest_ns = now_ns();
		cache(round);
		churn();
		compute(200000);
		if (account->fill)
			fill();
	}
}

static void *wait_for_ever(void *argument)
{
	(void)argument;
	pause();
	return NULL;
}

static void start_threads(uint64_t count)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	while (count--)
		pthread_create(&thread, &small, wait_for_ever, NULL);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go},
						  {.name = "stroll", .run = stroll}};
	static struct truth truth;
	int fd = open(argc > 1 ? argv[1] : "", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*account)))
		return 1;
	account = mmap(NULL, sizeof(*account), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (account == MAP_FAILED)
		return 1;
	*account = (struct account){0};
	start_threads(argument(argc, argv, 2, 0));
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
