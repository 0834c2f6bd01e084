// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * own_samples: blocks for an allocator that samples itself, of known sizes by function and thread.
 * `keep` keeps 300 blocks of 1024 bytes, and as many of an ended thread; 20 of 81,920 bytes; and
 * makes and frees 1,000 of 2,048. `more` keeps 100 blocks of 1024 bytes.
 */
#include <pthread.h>

#include "workload.h"

static void *kept[1024];
static size_t count;

static void keep(size_t blocks, size_t size)
{
	for (size_t i = 0; i < blocks; i++)
		kept[count++ % ARRAY_SIZE(kept)] = OPAQUE(malloc(size));
}

static SITE void keep_small(void)
{
	keep(300, 1024);
	__asm__ volatile("# small");
}

static SITE void keep_large(void)
{
	keep(20, 81920);
	__asm__ volatile("# large");
}

static SITE void make_and_free(void)
{
	for (int i = 0; i < 1000; i++)
		free(OPAQUE(malloc(2048)));
}

static SITE void *keep_in_thread(void *unused)
{
	keep(300, 1024);
	__asm__ volatile("# thread");
	return unused;
}

static void keep_all(void)
{
	pthread_t thread;

	keep_small();
	keep_large();
	make_and_free();
	if (pthread_create(&thread, NULL, keep_in_thread, NULL) || pthread_join(thread, NULL))
		abort();
}

static SITE void keep_more(void)
{
	keep(100, 1024);
	__asm__ volatile("# more");
}

int main(void)
{
	static const struct command commands[] = {{.name = "keep", .run = keep_all},
						  {.name = "more", .run = keep_more}};

	return workload_serve(commands, ARRAY_SIZE(commands), NULL);
}
