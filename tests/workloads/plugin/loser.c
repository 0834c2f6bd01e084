// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * To be preloaded: with every 1,000th block of a program it allocates one more of the same size and
 * forgets it. How many, and how many bytes of usable size, it keeps in the file $LOSER_FILE.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EVERY 1000

struct told {
	atomic_ulong blocks, bytes;
};

static struct told *told;
static atomic_ulong calls;
static void *(*real_malloc)(size_t);

static void open_told(void)
{
	const char *path = getenv("LOSER_FILE");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *mapped;

	if (fd < 0 || ftruncate(fd, sizeof(struct told)))
		return;
	mapped = mmap(NULL, sizeof(struct told), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped != MAP_FAILED)
		told = mapped;
}

__attribute__((constructor)) static void start(void)
{
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	open_told();
}

/* Removes all copies of its address, from registers and from the stack. */
__attribute__((noinline)) static void lose(size_t size)
{
	volatile void *block = real_malloc(size);

	if (!block)
		return;
	memset((void *)block, 0, size);
	atomic_fetch_add(&told->blocks, 1);
	atomic_fetch_add(&told->bytes, malloc_usable_size((void *)block));
	block = NULL;
}

__attribute__((noinline)) static void wipe(void)
{
	volatile char stack[2048];

	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = 0;
	for (size_t i = 0; i < sizeof(stack); i++)
		(void)stack[i];
}

void *malloc(size_t size)
{
	if (!real_malloc)
		real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	if (told && atomic_fetch_add(&calls, 1) % EVERY == EVERY - 1) {
		lose(size);
		wipe();
	}
	return real_malloc(size);
}
