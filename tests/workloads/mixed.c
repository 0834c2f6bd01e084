// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mixed [THREADS [CALLS [SEED]]]: every glibc allocation function, in random order, from several
 * threads (4 × 1,250,000 calls), with blocks that change hands and calls that fail. Each thread
 * also starts with blocks from before `ready`, which a monitor cannot know.
 */
#include <malloc.h>
#include <pthread.h>

#include "workload.h"

#define MAX_THREADS 64
#define LIVE 2048 /* slots of a thread */
#define EARLY 64  /* of these, filled before `ready` */
#define SHARED 256

enum site {
	MALLOC,
	CALLOC,
	REALLOC_NULL,
	REALLOCARRAY_NULL,
	MEMALIGN,
	ALIGNED_ALLOC,
	POSIX_MEMALIGN,
	VALLOC,
	PVALLOC,
	ALLOCATORS_, /* the following need no block */
	REALLOC = ALLOCATORS_,
	REALLOCARRAY,
	SITES_,
	BEFORE = SITES_, /* allocated before `ready` */
};
_Static_assert(SITES_ <= MAX_SITES, "truth has room");

struct block {
	void *address; /* NULL: empty */
	size_t size;
	enum site site;
};

struct worker {
	struct truth truth;
	uint64_t random;
	struct block blocks[LIVE];
};

struct shared {
	pthread_mutex_t lock;
	struct block block;
};

static struct worker workers[MAX_THREADS];
static struct shared shared[SHARED];
static struct truth truth;
static pthread_barrier_t start, finish;
static uint64_t threads, calls;

/* xorshift64: Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t random_next(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

/* Mostly small, sometimes zero, rarely above the threshold where glibc maps pages. */
static size_t random_size(struct worker *worker)
{
	uint64_t random = random_next(worker);

	if (random % 1024 == 0)
		return 200000 + (random >> 20) % 100000;
	if (random % 16 == 0)
		return (random >> 20) % 8192;
	return (random >> 20) % 512;
}

static SITE void *call_malloc(size_t size)
{
	return OPAQUE(malloc(size));
}

static SITE void *call_calloc(size_t size)
{
	return OPAQUE(size % 4 ? calloc(1, size) : calloc(size / 4, 4));
}

static SITE void *call_realloc_null(size_t size)
{
	return OPAQUE(realloc(OPAQUE((void *)NULL), size));
}

static SITE void *call_reallocarray_null(size_t size)
{
	return OPAQUE(reallocarray(OPAQUE((void *)NULL), 1, size));
}

static SITE void *call_memalign(size_t size)
{
	return OPAQUE(memalign(64, size));
}

static SITE void *call_aligned_alloc(size_t size)
{
	return OPAQUE(aligned_alloc(32, size));
}

static SITE void *call_posix_memalign(size_t size)
{
	void *block = NULL;

	return OPAQUE(posix_memalign(&block, 128, size)) ? NULL : block;
}

static SITE void *call_valloc(size_t size)
{
	return OPAQUE(valloc(size));
}

static SITE void *call_pvalloc(size_t size)
{
	return OPAQUE(pvalloc(size));
}

static SITE void *call_realloc(void *block, size_t size)
{
	return OPAQUE(realloc(block, size));
}

static SITE void *call_reallocarray(void *block, size_t size)
{
	return OPAQUE(reallocarray(block, size, 2));
}

typedef void *allocate(size_t size);

static allocate *const allocators[] = {
	[MALLOC] = call_malloc,
	[CALLOC] = call_calloc,
	[REALLOC_NULL] = call_realloc_null,
	[REALLOCARRAY_NULL] = call_reallocarray_null,
	[MEMALIGN] = call_memalign,
	[ALIGNED_ALLOC] = call_aligned_alloc,
	[POSIX_MEMALIGN] = call_posix_memalign,
	[VALLOC] = call_valloc,
	[PVALLOC] = call_pvalloc,
};
_Static_assert(ARRAY_SIZE(allocators) == ALLOCATORS_, "a row for every allocator");

static const char *const functions[] = {
	[MALLOC] = "call_malloc",
	[CALLOC] = "call_calloc",
	[REALLOC_NULL] = "call_realloc_null",
	[REALLOCARRAY_NULL] = "call_reallocarray_null",
	[MEMALIGN] = "call_memalign",
	[ALIGNED_ALLOC] = "call_aligned_alloc",
	[POSIX_MEMALIGN] = "call_posix_memalign",
	[VALLOC] = "call_valloc",
	[PVALLOC] = "call_pvalloc",
	[REALLOC] = "call_realloc",
	[REALLOCARRAY] = "call_reallocarray",
};
_Static_assert(ARRAY_SIZE(functions) == SITES_, "a name for every site");

/* A call that fails or that does nothing. */
static void call_in_vain(struct worker *worker, struct block *block)
{
	size_t huge = OPAQUE((size_t)1 << 63);
	void *untouched = NULL;
	bool refused;

	switch (random_next(worker) % 6) {
	case 0:
		free(OPAQUE((void *)NULL));
		return;
	case 1:
		refused = !call_malloc(huge);
		break;
	case 2:
		refused = !OPAQUE(calloc(huge, 4));
		break;
	case 3:
		refused = OPAQUE(posix_memalign(&untouched, 3, 8)) == EINVAL;
		break;
	case 4:
		refused = !call_reallocarray(block->address, huge);
		break;
	default:
		refused = !call_realloc(block->address, huge);
	}
	if (!refused)
		_exit(112);
	worker->truth.failed++;
}

static void block_born(struct worker *worker, struct block *block, void *address, size_t size,
		       enum site site)
{
	if (!address)
		_exit(113);
	*block = (struct block){.address = address, .size = size, .site = site};
	truth_born(&worker->truth, site, size);
}

static void block_died(struct worker *worker, struct block *block)
{
	if (block->site == BEFORE)
		worker->truth.untracked_frees++;
	else
		truth_died(&worker->truth, block->site, block->size);
	block->address = NULL;
}

static void block_change(struct worker *worker, struct block *block)
{
	size_t size = random_size(worker) + 1;
	unsigned way = random_next(worker) % 8;
	void *address;

	if (way < 4) {
		free(block->address);
		block_died(worker, block);
	} else if (way == 4) {
		if (call_realloc(block->address, 0))
			_exit(114);
		block_died(worker, block);
	} else if (way == 5) {
		address = call_reallocarray(block->address, size);
		block_died(worker, block);
		block_born(worker, block, address, size * 2, REALLOCARRAY);
	} else {
		address = call_realloc(block->address, size);
		block_died(worker, block);
		block_born(worker, block, address, size, REALLOC);
	}
}

static void block_swap(struct worker *worker, struct block *block)
{
	struct shared *slot = &shared[random_next(worker) % SHARED];
	struct block mine = *block;

	pthread_mutex_lock(&slot->lock);
	*block = slot->block;
	slot->block = mine;
	pthread_mutex_unlock(&slot->lock);
}

static SITE void step(struct worker *worker)
{
	uint64_t random = random_next(worker);
	struct block *block = &worker->blocks[(random >> 32) % LIVE];
	enum site site = random % ALLOCATORS_;
	size_t size;

	if (random >> 8 & 1)
		block_swap(worker, block);
	if ((random >> 16) % 32 == 0)
		return call_in_vain(worker, block);
	if (block->address)
		return block_change(worker, block);
	size = random_size(worker);
	block_born(worker, block, allocators[site](size), size, site);
}

static void *work(void *argument)
{
	for (;;) {
		pthread_barrier_wait(&start);
		for (uint64_t i = 0; i < calls; i++)
			step(argument);
		pthread_barrier_wait(&finish);
	}
	return NULL;
}

static void go(void)
{
	pthread_barrier_wait(&start);
	pthread_barrier_wait(&finish);
	memset(&truth, 0, sizeof(truth));
	for (size_t i = 0; i < SITES_; i++)
		truth.sites[i].function = functions[i];
	for (size_t i = 0; i < threads; i++)
		truth_add(&truth, &workers[i].truth);
}

static int worker_start(struct worker *worker, uint64_t seed)
{
	pthread_t thread;

	worker->random = seed;
	for (int i = 0; i < EARLY; i++)
		worker->blocks[i] = (struct block){OPAQUE(malloc(40)), 40, BEFORE};
	return pthread_create(&thread, NULL, work, worker);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go}};
	uint64_t seed = argument(argc, argv, 3, 1);

	threads = argument(argc, argv, 1, 4);
	calls = argument(argc, argv, 2, 1250000);
	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	for (size_t i = 0; i < SHARED; i++)
		pthread_mutex_init(&shared[i].lock, NULL);
	pthread_barrier_init(&start, NULL, threads + 1);
	pthread_barrier_init(&finish, NULL, threads + 1);
	for (size_t i = 0; i < threads; i++)
		if (worker_start(&workers[i], seed + (i + 1) * 0x9E3779B97F4A7C15ull))
			return 1;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
