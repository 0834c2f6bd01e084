// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usdt [SEED [SHARE [PROGRAM]]]: a program that samples its own allocations and reports them by
 * the probes otel_memory:alloc and otel_memory:free, built with the system's sys/sdt.h. The sampler
 * is a Poisson process over the bytes, of mean SAMPLE_BYTES; a sample's weight is its size divided
 * by the chance of being sampled (sampler.h also has the older contract's). It also keeps the exact
 * account.
 *
 *   go          allocates at several sites, SHARE percent of what a test needs; gives back half
 *   clear       gives everything back
 *   samples     numbers of reported samples and frees, and of frees of its parent's
 *   semaphores  where they are
 *   load, part  loads usdt_part.so, which has probes of its own; uses it
 *   fork        from now on a child answers; at its end the parent prints `done`
 *   exec        becomes PROGRAM, or itself, anew
 *
 * WITHOUT_FREE, BY_HITS: as in sampler.h.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <sys/wait.h>

#include "sampler.h"
#include "workload.h"

#define MAX_BLOCKS (1u << 20)

enum { SMALL, MIDDLE, LARGE, MIXED, SITES };

static struct truth truth = {.sites = {[SMALL] = {.function = "small_block"},
				       [MIDDLE] = {.function = "middle_block"},
				       [LARGE] = {.function = "large_block"},
				       [MIXED] = {.function = "mixed_block"}}};

static struct block {
	void *pointer;
	size_t size;
	uint32_t site;
	bool sampled, inherited;
} blocks[MAX_BLOCKS];
static size_t block_count;

static int share = 100;
static uint64_t told, told_ends, told_inherited;
static char **arguments;
static double until_sample;

static inline void keep(unsigned site, void *pointer, size_t size, bool sampled)
{
	if (block_count == MAX_BLOCKS)
		_exit(112);
	blocks[block_count++] = (struct block){pointer, size, site, sampled, false};
	truth_born(&truth, site, size);
}

/* In the site's own function: each has a place of the probe, and its arguments where they are. */
#define ALLOCATE(site, bytes)                                                                      \
	do {                                                                                       \
		size_t size_ = (bytes);                                                            \
		void *pointer_ = OPAQUE(malloc(size_));                                            \
		uint64_t weight_ = otel_memory_alloc_semaphore ? sample_weight(size_) : 0;         \
                                                                                                   \
		if (weight_) {                                                                     \
			told++;                                                                    \
			STAP_PROBE3(otel_memory, alloc, pointer_, size_, weight_);                 \
		}                                                                                  \
		keep(site, pointer_, size_, weight_ != 0);                                         \
	} while (0)

static SITE void small_block(void)
{
	ALLOCATE(SMALL, 256);
}

static SITE void middle_block(void)
{
	ALLOCATE(MIDDLE, 4096 + random_next() % 16384);
}

static SITE void large_block(void)
{
	ALLOCATE(LARGE, (256 << 10) + random_next() % (2 << 20));
}

static SITE void mixed_block(void)
{
	ALLOCATE(MIXED, random_next() % 16 ? 1024 : 65536);
}

static void give_back(size_t i)
{
	struct block block = blocks[i];

	blocks[i] = blocks[--block_count];
#ifndef WITHOUT_FREE
	if (block.sampled && otel_memory_free_semaphore) {
		told_ends += !block.inherited;
		told_inherited += block.inherited;
		STAP_PROBE1(otel_memory, free, block.pointer);
	}
#endif
	free(block.pointer);
	truth_died(&truth, block.site, block.size);
}

static void go(void)
{
	for (int i = 0; i < 4000 * share; i++)
		small_block();
	for (int i = 0; i < 80 * share; i++)
		middle_block();
	for (int i = 0; i < share; i++)
		large_block();
	for (int i = 0; i < 200 * share; i++)
		mixed_block();
	for (size_t left = block_count / 2; block_count > left;)
		give_back(random_next() % block_count);
}

static void clear(void)
{
	while (block_count)
		give_back(block_count - 1);
}

static void samples(void)
{
	say("{\"pid\":%d,\"allocations\":%lu,\"frees\":%lu,\"outstanding\":%lu,\"inherited\":%lu}"
	    "\n",
	    getpid(), told, told_ends, told - told_ends, told_inherited);
}

static void semaphores(void)
{
#ifdef WITHOUT_FREE
	say("{\"alloc\":%lu}\n", (unsigned long)&otel_memory_alloc_semaphore);
#else
	say("{\"alloc\":%lu,\"free\":%lu}\n", (unsigned long)&otel_memory_alloc_semaphore,
	    (unsigned long)&otel_memory_free_semaphore);
#endif
}

static void *(*part_block)(uint64_t size, int *told);
static void (*part_release)(void *block);

static void load(void)
{
	char path[4096] = "", library[4200];
	void *handle;

	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		_exit(113);
	snprintf(library, sizeof(library), "%s/usdt_part.so", dirname(path));
	handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		_exit(114);
	*(void **)&part_block = dlsym(handle, "part_block");
	*(void **)&part_release = dlsym(handle, "part_release");
}

/* 10 blocks of the sampling interval, of which 4 are given back. */
static void part(void)
{
	for (int i = 0; i < 10; i++) {
		int is_told;
		void *block = part_block(SAMPLE_BYTES, &is_told);

		told += (uint64_t)is_told;
		if (i < 6)
			continue;
		told_ends += (uint64_t)is_told;
		part_release(block);
	}
}

static void fork_off(void)
{
	pid_t child = fork();

	if (child < 0)
		_exit(115);
	if (child) {
		waitpid(child, NULL, 0);
		return;
	}
	told = told_ends = 0;
	for (size_t i = 0; i < block_count; i++)
		blocks[i].inherited = true;
}

static void become(void)
{
	bool has_program = arguments[1] && arguments[2] && arguments[3];

	execv(has_program ? arguments[3] : "/proc/self/exe", arguments);
	_exit(116);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "clear", .run = clear},
		{.name = "samples", .run = samples, .silent = true},
		{.name = "load", .run = load},
		{.name = "part", .run = part},
		{.name = "fork", .run = fork_off},
		{.name = "exec", .run = become, .silent = true},
		{.name = "semaphores", .run = semaphores, .silent = true},
	};

	arguments = argv;
	sampler_start(argument(argc, argv, 1, 1));
	share = (int)argument(argc, argv, 2, 100);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
