// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sessions WHAT [PATH]: forgets blocks, descriptors of PATH, or threads; or fills the file PATH.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLED __attribute__((noinline))

static const char *path;

/* A wrapper, as in many programs. */
static CALLED void *xmalloc(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	return block;
}

static CALLED void session_open(void)
{
	memset(xmalloc(6000), 'x', 6000);
}

static CALLED void file_open(void)
{
	if (open(path, O_RDONLY) < 0)
		sleep(60);
}

static void *wait_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

static CALLED void worker_start(void)
{
	pthread_t thread;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	if (pthread_create(&thread, &attributes, wait_for_ever, NULL))
		sleep(60);
	pthread_attr_destroy(&attributes);
}

static CALLED void file_fill(void)
{
	static char data[16 << 10];
	FILE *file = fopen(path, "a");

	if (file) {
		fwrite(data, sizeof(data), 1, file);
		fclose(file);
	}
}

static const struct {
	const char *name;
	void (*step)(void);
	unsigned step_ms;
} kinds[] = {
	{"blocks", session_open, 25},
	{"descriptors", file_open, 200},
	{"threads", worker_start, 900},
	{"tmpfs", file_fill, 50},
};

int main(int count, char **arguments)
{
	path = count > 2 ? arguments[2] : "/dev/null";
	for (size_t i = 0; count > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, arguments[1]))
			for (;; usleep(kinds[i].step_ms * 1000))
				kinds[i].step();
	return 2;
}
