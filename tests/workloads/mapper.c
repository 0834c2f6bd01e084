// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mapper [THREADS [CALLS [SEED]]]: random mmap, munmap, mremap, MAP_FIXED and brk by several
 * threads at once, with an exact ledger by page: "mappings" prints it.
 *
 * Each thread has slots, where the kernel chose the address (and gives freed ones to other
 * threads), and a separate field in a zone that the kernel never chooses, for MAP_FIXED. A page
 * records the call that made it (birth) and its function. Rules: pages moved by mremap stay with
 * the call that made them; added pages belong to mremap's caller; with MREMAP_DONTUNMAP the old
 * pages stay and the new ones belong to mremap's caller.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "workload.h"

#define PAGE 4096ul
#define MAX_THREADS 16
#define SLOTS 48
#define SLOT_PAGES 64
#define FIELD_PAGES 256
#define FIELD_ZONE 0x100000000000ul /* mmap is top-down: it does not come here */

enum site { NONE, ANONYMOUS, SHARED, FIXED, REMAP, REMAP_FIXED, BREAK, SITES_ };

static const char *const functions[] = {
	[NONE] = NULL,		[ANONYMOUS] = "call_anonymous", [SHARED] = "call_shared",
	[FIXED] = "call_fixed", [REMAP] = "call_remap",		[REMAP_FIXED] = "call_remap_fixed",
	[BREAK] = "call_brk",
};
_Static_assert(ARRAY_SIZE(functions) == SITES_, "a name for every site");

struct page {
	uint32_t birth; /* 0: not mapped */
	uint32_t site;
};

struct area {
	char *base; /* NULL: the slot is free */
	struct page pages[FIELD_PAGES];
};

struct worker {
	uint64_t random;
	uint32_t births;
	uint64_t mapped, unmapped; /* pages */
	struct area slots[SLOTS], field;
};

static struct worker workers[MAX_THREADS];
static pthread_barrier_t start, finish;
static uint64_t threads, calls;

/* All threads share the program break: lock this to move it. */
static pthread_mutex_t break_lock = PTHREAD_MUTEX_INITIALIZER;
static char *break_first, *break_now;
static uint32_t break_births[FIELD_PAGES];
static uint64_t break_mapped, break_unmapped;

static uint64_t random_below(struct worker *worker, uint64_t limit)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random % limit;
}

static SITE void *call_anonymous(size_t size)
{
	return OPAQUE(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static SITE void *call_shared(size_t size)
{
	return OPAQUE(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static SITE void *call_fixed(void *at, size_t size, int flags)
{
	return OPAQUE(
		mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0));
}

static SITE void *call_remap(void *old, size_t size, size_t wanted)
{
	return OPAQUE(mremap(old, size, wanted, MREMAP_MAYMOVE));
}

static SITE void *call_remap_fixed(void *old, size_t size, size_t wanted, int flags, void *to)
{
	return OPAQUE(mremap(old, size, wanted, MREMAP_MAYMOVE | MREMAP_FIXED | flags, to));
}

static SITE void *call_brk(void *to)
{
	return OPAQUE((void *)syscall(SYS_brk, to));
}

/* Assigns `count` pages from `first` on to one call; their former births end. */
static void pages_born(struct worker *worker, struct area *area, size_t first, size_t count,
		       enum site site)
{
	uint32_t birth = ++worker->births;

	for (size_t i = first; i < first + count; i++) {
		worker->unmapped += area->pages[i].birth != 0;
		area->pages[i] = (struct page){birth, site};
	}
	worker->mapped += count;
}

static void pages_die(struct worker *worker, struct area *area, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++) {
		worker->unmapped += area->pages[i].birth != 0;
		area->pages[i] = (struct page){0};
	}
}

static struct area *slot_free(struct worker *worker)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (!worker->slots[i].base)
			return &worker->slots[i];
	return NULL;
}

/* Nothing in it is left: the slot may be used again. */
static void slot_settle(struct area *slot)
{
	for (size_t i = 0; i < SLOT_PAGES; i++)
		if (slot->pages[i].birth)
			return;
	slot->base = NULL;
}

/* A run of mapped pages, at most `limit` long; 0: this slot has none there. */
static size_t run_choose(struct worker *worker, const struct area *slot, size_t limit,
			 size_t *first)
{
	size_t count = 0, wanted = 1 + random_below(worker, limit);

	*first = random_below(worker, SLOT_PAGES);
	while (*first + count < SLOT_PAGES && count < wanted && slot->pages[*first + count].birth)
		count++;
	return count;
}

static void step_map(struct worker *worker)
{
	size_t pages = 1 + random_below(worker, 24);
	struct area *slot = slot_free(worker);
	enum site site = random_below(worker, 4) ? ANONYMOUS : SHARED;
	void *at;

	if (!slot)
		return;
	at = site == SHARED ? call_shared(pages * PAGE) : call_anonymous(pages * PAGE - 17);
	if (at == MAP_FAILED)
		_exit(120);
	slot->base = at;
	pages_born(worker, slot, 0, pages, site);
}

static void step_unmap(struct worker *worker)
{
	struct area *slot = &worker->slots[random_below(worker, SLOTS)];
	size_t first = random_below(worker, SLOT_PAGES), count;

	if (!slot->base)
		return;
	count = run_choose(worker, slot, SLOT_PAGES, &first);
	if (!count)
		return;
	if (munmap(slot->base + first * PAGE, count * PAGE))
		_exit(121);
	pages_die(worker, slot, first, count);
	slot_settle(slot);
}

/* The kernel did it: it may have moved, grown, shrunk. */
static void remap_settle(struct worker *worker, struct area *slot, size_t first, size_t count,
			 size_t wanted, char *result)
{
	struct area *to = slot;
	struct page moved[SLOT_PAGES];
	size_t kept = count < wanted ? count : wanted, at = first;

	memcpy(moved, &slot->pages[first], sizeof(moved[0]) * count);
	if (result != slot->base + first * PAGE) {
		to = slot_free(worker);
		at = 0;
		memset(&slot->pages[first], 0, sizeof(moved[0]) * count);
		to->base = result;
		memcpy(&to->pages[0], moved, sizeof(moved[0]) * kept);
		worker->unmapped += count - kept;
	} else if (wanted < count) {
		pages_die(worker, slot, first + wanted, count - wanted);
	}
	if (wanted > count)
		pages_born(worker, to, at + count, wanted - count, REMAP);
	slot_settle(slot);
}

static void step_remap(struct worker *worker)
{
	struct area *slot = &worker->slots[random_below(worker, SLOTS)];
	size_t first = 0, count, wanted = 1 + random_below(worker, 32);
	char *result;

	if (!slot->base || !slot_free(worker))
		return;
	count = run_choose(worker, slot, 24, &first);
	if (!count || first + wanted > SLOT_PAGES)
		return;
	result = call_remap(slot->base + first * PAGE, count * PAGE, wanted * PAGE);
	/* Pages of two calls need not be one VMA: then it fails (EFAULT), and nothing changes. */
	if (result != MAP_FAILED)
		remap_settle(worker, slot, first, count, wanted, result);
}

/* From a slot into the field. */
static void step_remap_fixed(struct worker *worker)
{
	struct area *slot = &worker->slots[random_below(worker, SLOTS)], *field = &worker->field;
	size_t first = 0, count, at;
	int stays = random_below(worker, 3) ? 0 : MREMAP_DONTUNMAP;
	struct page moved[SLOT_PAGES];

	if (!slot->base)
		return;
	count = run_choose(worker, slot, 16, &first);
	at = random_below(worker, FIELD_PAGES - 16);
	/* Move pages of one call only: otherwise the kernel may fail half-way, with the target
	 * gone. */
	for (size_t i = 1; i < count; i++)
		if (slot->pages[first + i].birth != slot->pages[first].birth)
			count = i;
	if (!count || slot->pages[first].site == SHARED)
		return;
	if (call_remap_fixed(slot->base + first * PAGE, count * PAGE, count * PAGE, stays,
			     field->base + at * PAGE) == MAP_FAILED)
		_exit(122);
	if (stays) {
		pages_born(worker, field, at, count, REMAP_FIXED);
		return;
	}
	memcpy(moved, &slot->pages[first], sizeof(moved[0]) * count);
	memset(&slot->pages[first], 0, sizeof(moved[0]) * count);
	pages_die(worker, field, at, count);
	memcpy(&field->pages[at], moved, sizeof(moved[0]) * count);
	slot_settle(slot);
}

static void step_fixed(struct worker *worker)
{
	size_t first = random_below(worker, FIELD_PAGES), count = 1 + random_below(worker, 32);
	struct area *field = &worker->field;

	if (first + count > FIELD_PAGES)
		return;
	if (call_fixed(field->base + first * PAGE, count * PAGE, MAP_FIXED) == MAP_FAILED)
		_exit(123);
	pages_born(worker, field, first, count, FIXED);
}

static void step_field_unmap(struct worker *worker)
{
	size_t first = random_below(worker, FIELD_PAGES), count = 1 + random_below(worker, 32);

	if (first + count > FIELD_PAGES)
		return;
	if (munmap(worker->field.base + first * PAGE, count * PAGE))
		_exit(124);
	pages_die(worker, &worker->field, first, count);
}

/* Calls that fail, and change nothing. */
static void step_in_vain(struct worker *worker)
{
	char *field = worker->field.base;
	void *there = MAP_FAILED;
	int gone = -1;

	switch (random_below(worker, 5)) {
	case 0:
		gone = munmap(field + 1, PAGE);
		break;
	case 1:
		there = call_fixed(field + 1, 4 * PAGE, MAP_FIXED);
		break;
	case 2:
		there = call_fixed(field, 0, MAP_FIXED);
		break;
	case 3:
		there = call_remap(field + 7, PAGE, 2 * PAGE);
		break;
	default: /* an invalid file descriptor, over mapped pages */
		there = mmap(field, 16 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, -1, 0);
	}
	if (!gone || there != MAP_FAILED)
		_exit(125);
}

static size_t break_pages(const char *at)
{
	return ((uintptr_t)at + PAGE - 1) / PAGE - ((uintptr_t)break_first + PAGE - 1) / PAGE;
}

static void step_brk(struct worker *worker)
{
	size_t before, after;
	char *to;

	pthread_mutex_lock(&break_lock);
	to = break_first + random_below(worker, (FIELD_PAGES - 1) * PAGE);
	if (call_brk(to) != to)
		_exit(126);
	before = break_pages(break_now);
	after = break_pages(to);
	for (size_t i = before; i < after; i++)
		break_births[i] = (uint32_t)(break_mapped + 1);
	for (size_t i = after; i < before; i++)
		break_births[i] = 0;
	break_mapped += after > before ? after - before : 0;
	break_unmapped += after < before ? before - after : 0;
	break_now = to;
	pthread_mutex_unlock(&break_lock);
}

static void step(struct worker *worker)
{
	static void (*const steps[])(struct worker * worker) = {
		step_map,	  step_map,   step_unmap,	step_unmap,   step_remap,
		step_remap_fixed, step_fixed, step_field_unmap, step_in_vain, step_brk,
	};

	steps[random_below(worker, ARRAY_SIZE(steps))](worker);
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
}

/* -------- the ledger */

struct run {
	uintptr_t start, end;
	uint64_t birth;
	uint32_t site;
};

#define MAX_RUNS (MAX_THREADS * (SLOTS * SLOT_PAGES + FIELD_PAGES))
static struct run runs[MAX_RUNS];
static size_t run_count;

static void run_add(uintptr_t at, uint64_t birth, uint32_t site)
{
	struct run *last = run_count ? &runs[run_count - 1] : NULL;

	if (!birth)
		return;
	if (last && last->end == at && last->birth == birth)
		last->end += PAGE;
	else
		runs[run_count++] = (struct run){at, at + PAGE, birth, site};
}

static void area_runs(const struct area *area, size_t pages, uint64_t owner)
{
	for (size_t i = 0; area->base && i < pages; i++)
		run_add((uintptr_t)area->base + i * PAGE,
			area->pages[i].birth ? owner << 32 | area->pages[i].birth : 0,
			area->pages[i].site);
}

/* Insertion sort: qsort may allocate. */
static void runs_sort(void)
{
	for (size_t i = 1; i < run_count; i++) {
		struct run run = runs[i];
		size_t at = i;

		for (; at && runs[at - 1].start > run.start; at--)
			runs[at] = runs[at - 1];
		runs[at] = run;
	}
}

static void runs_collect(void)
{
	uintptr_t page = ((uintptr_t)break_first + PAGE - 1) & ~(PAGE - 1);

	run_count = 0;
	for (size_t t = 0; t < threads; t++) {
		for (size_t i = 0; i < SLOTS; i++)
			area_runs(&workers[t].slots[i], SLOT_PAGES, t + 1);
		area_runs(&workers[t].field, FIELD_PAGES, t + 1);
	}
	for (size_t i = 0; i < FIELD_PAGES; i++)
		run_add(page + i * PAGE, break_births[i], BREAK);
	runs_sort();
}

/* Every page of the ledger is mapped, and none twice: else this program is wrong. */
static void runs_check(void)
{
	unsigned char resident[FIELD_PAGES];

	for (size_t i = 0; i < run_count; i++) {
		if (i && runs[i - 1].end > runs[i].start)
			_exit(127);
		if (mincore((void *)runs[i].start, runs[i].end - runs[i].start, resident))
			_exit(119);
	}
}

static void ledger_say(void)
{
	uint64_t mapped = break_mapped, unmapped = break_unmapped, bytes[SITES_] = {0}, sum = 0;
	uint64_t ranges[SITES_] = {0};
	char sites[2048];
	size_t used = 0;

	runs_collect();
	runs_check();
	for (size_t t = 0; t < threads; t++) {
		mapped += workers[t].mapped;
		unmapped += workers[t].unmapped;
	}
	for (size_t i = 0; i < run_count; i++) {
		bool joined =
			i && runs[i - 1].end == runs[i].start && runs[i - 1].birth == runs[i].birth;

		bytes[runs[i].site] += runs[i].end - runs[i].start;
		ranges[runs[i].site] += !joined;
		sum += !joined;
	}
	for (size_t i = NONE + 1; i < SITES_; i++)
		used += snprintf(sites + used, sizeof(sites) - used,
				 "%s{\"function\":\"%s\",\"count\":%lu,\"bytes\":%lu}",
				 used ? "," : "", functions[i], ranges[i], bytes[i]);
	say("{\"pid\":%d,\"mapped_bytes\":%lu,\"unmapped_bytes\":%lu,\"outstanding_bytes\":%lu,"
	    "\"ranges\":%lu,\"sites\":[%s]}\n",
	    getpid(), mapped * PAGE, unmapped * PAGE, (mapped - unmapped) * PAGE, sum, sites);
}

/* Each range as "START END" in hexadecimal, and an empty line. */
static void ranges_say(void)
{
	runs_collect();
	for (size_t i = 0; i < run_count; i++) {
		uintptr_t from = runs[i].start;

		while (i + 1 < run_count && runs[i + 1].start == runs[i].end &&
		       runs[i + 1].birth == runs[i].birth)
			i++;
		say("%lx %lx\n", from, runs[i].end);
	}
	say("\n");
}

static int worker_start(size_t number, uint64_t seed)
{
	struct worker *worker = &workers[number];
	pthread_t thread;

	worker->random = seed + (number + 1) * 0x9E3779B97F4A7C15ull;
	worker->field.base = (char *)(FIELD_ZONE + number * (4 * FIELD_PAGES * PAGE));
	return pthread_create(&thread, NULL, work, worker);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "go", .run = go},
		{.name = "mappings", .run = ledger_say, .silent = true},
		{.name = "ranges", .run = ranges_say, .silent = true},
	};
	static const struct truth none;

	threads = argument(argc, argv, 1, 4);
	calls = argument(argc, argv, 2, 25000);
	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	pthread_barrier_init(&start, NULL, threads + 1);
	pthread_barrier_init(&finish, NULL, threads + 1);
	for (size_t i = 0; i < threads; i++)
		if (worker_start(i, argument(argc, argv, 3, 1)))
			return 1;
	break_first = break_now = sbrk(0);
	return workload_serve(commands, ARRAY_SIZE(commands), &none);
}
