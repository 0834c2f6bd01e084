// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * keeper: grows, for one known cause at a time.
 *
 *   leak      20 MiB of blocks that stay
 *   besides   3 MiB of such blocks
 *   retain    frees 20 MiB, but not the last block of it: the rest is one hole below it
 *   fragment  frees blocks by threes, and keeps a small one between them
 *   arenas    32 threads, each of which frees 512 KiB in an arena of its own
 *   caches    64 threads, each with a full cache
 *   stacks    16 threads, each of which has used 1 MiB of its stack
 *   file      reads every page of a mapped file of 16 MiB
 *   huge      requests huge pages, 64 MiB, and uses a tenth of each
 *   shared    fills 16 MiB of shared memory
 *   tables    touches one page in each 2 MiB of 10 GiB, and gives it back
 *   fork      has 32 MiB of pages, which a child shares from then on
 *   copy      writes to 24 MiB of them
 *   map       has a mapping of 64 MiB that is shared, and 24 MiB of it in use
 *   map-own   the same of one that is private
 *   fill      uses 24 MiB more of the mapping
 *   orphan    a child leaves a segment of System V shared memory of 2 MiB
 *   remove    removes that
 */
#include "workload.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MIB (1u << 20)
#define HUGE_PAGE (2 * MIB)
#define HUGE_PAGES 32
#define BLOCKS 40000

static void *kept[BLOCKS], *more[BLOCKS];
static pthread_barrier_t done;

static SITE void *make(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	memset(block, 1, size);
	return OPAQUE(block);
}

static void leak(void)
{
	for (size_t i = 0; i < 20000; i++)
		kept[i] = make(1040);
}

static void besides(void)
{
	for (size_t i = 0; i < 3000; i++)
		more[i] = make(1040);
}

static void retain(void)
{
	for (size_t i = 0; i < 20000; i++)
		kept[i] = make(1040);
	for (size_t i = 0; i + 1 < 20000; i++)
		free(kept[i]);
}

static void fragment(void)
{
	for (size_t i = 0; i < BLOCKS; i++)
		kept[i] = make(i % 4 ? 1040 : 24);
	for (size_t i = 0; i < BLOCKS; i++) {
		if (i % 4)
			free(kept[i]);
	}
}

/* Threads that do something, and then live on. */
static void start(size_t count, void *(*run)(void *))
{
	mallopt(M_ARENA_MAX, 128);
	pthread_barrier_init(&done, NULL, (unsigned)count + 1);
	for (size_t i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, run, NULL))
			abort();
	}
	pthread_barrier_wait(&done);
}

static void live_on(void)
{
	pthread_barrier_wait(&done);
	for (;;)
		pause();
}

static void *fill_arena(void *context)
{
	static __thread void *own[256];

	for (size_t i = 0; i < 256; i++)
		own[i] = make(2048);
	for (size_t i = 0; i + 1 < 256; i++)
		free(own[i]);
	live_on();
	return context;
}

static void *fill_cache(void *context)
{
	static __thread void *own[7 * 64];

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		own[i] = make(i % 64 * 16 + 24);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		free(own[i]);
	live_on();
	return context;
}

static void *fill_stack(void *context)
{
	volatile char used[MIB];

	for (size_t i = 0; i < sizeof(used); i += 4096)
		used[i] = 1;
	live_on();
	return context;
}

static void arenas(void)
{
	start(32, fill_arena);
}

static void caches(void)
{
	start(64, fill_cache);
}

static void stacks(void)
{
	start(16, fill_stack);
}

static volatile char sink;

static void file(void)
{
	char path[] = "/tmp/leakmon-keeper-XXXXXX";
	int fd = mkstemp(path);
	char *bytes;

	if (fd < 0 || unlink(path) || ftruncate(fd, 16 * MIB))
		abort();
	for (size_t i = 0; i < 16; i++) {
		static char mib[MIB];

		memset(mib, 1, sizeof(mib));
		if (write(fd, mib, sizeof(mib)) != sizeof(mib))
			abort();
	}
	bytes = mmap(NULL, 16 * MIB, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		abort();
	for (size_t i = 0; i < 16 * MIB; i += 4096)
		sink += bytes[i];
}

static void huge(void)
{
	char *bytes = mmap(NULL, (HUGE_PAGES + 1) * HUGE_PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *aligned = (char *)(((uintptr_t)bytes + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE);

	if (bytes == MAP_FAILED)
		abort();
	madvise(aligned, HUGE_PAGES * HUGE_PAGE, MADV_HUGEPAGE);
	for (size_t i = 0; i < HUGE_PAGES; i++) {
		for (size_t j = 0; j < 51; j++)
			aligned[i * HUGE_PAGE + j * 4096] = 1;
	}
}

static void shared(void)
{
	int fd = (int)syscall(SYS_memfd_create, "keeper", 0);
	char *bytes = fd < 0 || ftruncate(fd, 16 * MIB)
			      ? MAP_FAILED
			      : mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (bytes == MAP_FAILED)
		abort();
	memset(bytes, 1, 16 * MIB);
}

static char *map(size_t size, int flags)
{
	char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	if (bytes == MAP_FAILED)
		abort();
	madvise(bytes, size, MADV_NOHUGEPAGE);
	return bytes;
}

static void tables(void)
{
	size_t size = UINT64_C(10) << 30;
	char *bytes = map(size, MAP_PRIVATE);

	for (size_t at = 0; at < size; at += HUGE_PAGE) {
		bytes[at] = 1;
		madvise(bytes + at, 4096, MADV_DONTNEED);
	}
}

/* 32 MiB shared with a child; 64 MiB that fill. */
static char *pages;

static void share(void)
{
	pages = map(32 * MIB, MAP_PRIVATE);
	memset(pages, 1, 32 * MIB);
	switch (fork()) {
	case -1:
		abort();
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

static void copy(void)
{
	memset(pages, 2, 24 * MIB);
}

static void map_shared(void)
{
	pages = map(64 * MIB, MAP_SHARED);
	memset(pages, 1, 24 * MIB);
}

static void map_own(void)
{
	/* An allocator that is not known might own the mapping. */
	free(make(100));
	pages = map(64 * MIB, MAP_PRIVATE);
	memset(pages, 1, 24 * MIB);
}

static void fill(void)
{
	memset(pages + 24 * MIB, 1, 24 * MIB);
}

static volatile int *segment;

static void orphan(void)
{
	pid_t child;

	segment = (volatile int *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (segment == MAP_FAILED)
		abort();
	*segment = -1;
	child = fork();
	if (!child) {
		void *bytes;

		*segment = shmget(IPC_PRIVATE, 2 * MIB, IPC_CREAT | 0600);
		bytes = *segment < 0 ? (void *)-1 : shmat(*segment, NULL, 0);
		if (bytes == (void *)-1)
			_exit(1);
		memset(bytes, 1, 2 * MIB);
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child || *segment < 0)
		abort();
}

static void unmake(void)
{
	shmctl(*segment, IPC_RMID, NULL);
}

int main(void)
{
	static const struct command commands[] = {
		{.name = "leak", .run = leak},	     {.name = "besides", .run = besides},
		{.name = "retain", .run = retain},   {.name = "fragment", .run = fragment},
		{.name = "arenas", .run = arenas},   {.name = "caches", .run = caches},
		{.name = "stacks", .run = stacks},   {.name = "file", .run = file},
		{.name = "huge", .run = huge},	     {.name = "shared", .run = shared},
		{.name = "tables", .run = tables},   {.name = "fork", .run = share},
		{.name = "copy", .run = copy},	     {.name = "map", .run = map_shared},
		{.name = "orphan", .run = orphan},   {.name = "remove", .run = unmake},
		{.name = "map-own", .run = map_own}, {.name = "fill", .run = fill},
	};
	static const struct truth truth = {0};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
