// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts every allocation of a process; preloaded above any allocator, as a check of leakmon's
 * numbers. It passes each call on, keeps the sizes in a private table outside all allocators, and
 * allocates nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counts.h"

#define PUBLIC __attribute__((visibility("default")))
#define TABLE_SIZE (1u << 22) /* a power of two; never full */

struct entry {
	uintptr_t address; /* 0: free */
	size_t size;
};

/* The state of a preloaded library has nowhere else to live. */
static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void (*free)(void *);
	size_t (*usable_size)(void *);
} next;
static struct entry *table;
static struct counts *counts;
static bool ready, lock;

/* The whole environment is inherited, also by the program's launcher. */
static bool is_wanted(void)
{
	const char *wanted = getenv(COUNTS_PROGRAM_VARIABLE);
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	char name[32] = "";
	ssize_t size = read(fd, name, sizeof(name) - 1);

	close(fd);
	return wanted && size > 0 && !strncmp(name, wanted, (size_t)size - 1);
}

static void open_counts(void)
{
	const char *path = getenv(COUNTS_VARIABLE);
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0 || ftruncate(fd, sizeof(*counts)))
		_exit(121);
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	table = mmap(NULL, TABLE_SIZE * sizeof(*table), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	close(fd);
	if (counts == MAP_FAILED || table == MAP_FAILED)
		_exit(122);
}

/* The process has one thread when it first allocates: the loader's. */
static void prepare(void)
{
	if (is_wanted())
		open_counts();
	next.malloc = dlsym(RTLD_NEXT, "malloc");
	next.calloc = dlsym(RTLD_NEXT, "calloc");
	next.realloc = dlsym(RTLD_NEXT, "realloc");
	next.memalign = dlsym(RTLD_NEXT, "memalign");
	next.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	next.valloc = dlsym(RTLD_NEXT, "valloc");
	next.free = dlsym(RTLD_NEXT, "free");
	next.usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
	ready = true;
}

static void take_lock(void)
{
	while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void release_lock(void)
{
	__atomic_clear(&lock, __ATOMIC_RELEASE);
}

static size_t slot_of(uintptr_t address)
{
	return (address * 0x9e3779b97f4a7c15ull) >> 42;
}
_Static_assert(TABLE_SIZE == 1u << (64 - 42), "slots of the whole table");

/* The slot of the address, present or not. */
static struct entry *find(uintptr_t address)
{
	size_t slot = slot_of(address);

	while (table[slot].address && table[slot].address != address)
		slot = (slot + 1) % TABLE_SIZE;
	return &table[slot];
}

/* Entries displaced by the removed one move back (Knuth 6.4, algorithm R). */
static void take_out(struct entry *gone)
{
	size_t hole = gone - table, at = hole;

	for (;;) {
		size_t home;

		at = (at + 1) % TABLE_SIZE;
		if (!table[at].address)
			break;
		home = slot_of(table[at].address);
		if ((at - home) % TABLE_SIZE < (at - hole) % TABLE_SIZE)
			continue;
		table[hole] = table[at];
		hole = at;
	}
	table[hole].address = 0;
}

static void born(void *block, size_t size)
{
	struct entry *entry;

	if (!block || !counts)
		return;
	take_lock();
	entry = find((uintptr_t)block);
	counts->lost += entry->address != 0;
	*entry = (struct entry){(uintptr_t)block, size};
	counts->allocations++;
	counts->bytes += size;
	counts->usable += next.usable_size(block);
	release_lock();
}

/* Before the allocator gets it, and may give it to another thread. */
static struct entry died(void *block)
{
	struct entry *entry, gone = {0};

	if (!block || !counts)
		return gone;
	take_lock();
	entry = find((uintptr_t)block);
	gone = *entry;
	if (entry->address) {
		take_out(entry);
		counts->frees++;
		counts->bytes -= gone.size;
		counts->usable -= next.usable_size(block);
	} else {
		counts->lost++;
	}
	release_lock();
	return gone;
}

/* A resize failed: the block never went. */
static void kept(const struct entry *entry)
{
	if (!entry->address)
		return;
	born((void *)entry->address, entry->size);
	take_lock();
	counts->allocations--;
	counts->frees--;
	release_lock();
}

PUBLIC void *malloc(size_t size)
{
	void *block;

	if (!ready)
		prepare();
	block = next.malloc(size);
	born(block, size);
	return block;
}

PUBLIC void *calloc(size_t count, size_t size)
{
	void *block;

	if (!ready)
		prepare();
	block = next.calloc(count, size);
	born(block, count * size);
	return block;
}

PUBLIC void *realloc(void *old, size_t size)
{
	struct entry gone;
	void *block;

	if (!ready)
		prepare();
	gone = died(old);
	block = next.realloc(old, size);
	if (!block && size)
		kept(&gone);
	born(block, size);
	return block;
}

PUBLIC void *memalign(size_t align, size_t size)
{
	void *block;

	if (!ready)
		prepare();
	block = next.memalign(align, size);
	born(block, size);
	return block;
}

PUBLIC void *aligned_alloc(size_t align, size_t size)
{
	void *block;

	if (!ready)
		prepare();
	block = next.aligned_alloc(align, size);
	born(block, size);
	return block;
}

PUBLIC int posix_memalign(void **block, size_t align, size_t size)
{
	int error;

	if (!ready)
		prepare();
	error = next.posix_memalign(block, align, size);
	if (!error)
		born(*block, size);
	return error;
}

PUBLIC void *valloc(size_t size)
{
	void *block;

	if (!ready)
		prepare();
	block = next.valloc(size);
	born(block, size);
	return block;
}

PUBLIC void free(void *block)
{
	if (!ready)
		prepare();
	died(block);
	next.free(block);
}
