// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/diagnose/kernel_memory.h"

#include <string.h>

#include "app/diagnose/count_series.h"
#include "base/cleanup.h"
#include "heap/memory/conclusion.h"
#include "process/symbol/site_label.h"

/* The share that each part of the time must add. */
#define GOES_ON_SHARE 0.1
/*
 * Some frees have no tracepoint (kmem_cache_free_bulk(), those after a grace period of RCU). So a
 * cache must have gained about as much as the process seems to have left in it; the rest of the
 * cache may have shrunk meanwhile. If all frees are seen, the cache proves nothing: other
 * processes' objects are freed as well.
 */
#define CACHE_SHARE 0.75
/*
 * The share of a call stack's dentries that must be of nonexistent files: each existing file has an
 * inode.
 */
#define INODES_SHARE 0.5
/* Minimum share of the outstanding objects that a count in /proc must confirm. */
#define THINGS_SHARE 0.5
/* An increase by this number between two readings is hardly chance. */
#define COUNTED_MIN 100
#define DENTRY_CACHE "dentry"
#define SEGMENTS_MIN 3

/* Known objects, by the prefixes of the functions that allocate them. */
static const struct kind {
	const char *words;
	const char *functions[5];
	enum kernel_thing thing; /* THING_MAX_: not counted by /proc */
	bool frees_seen;	 /* each free has its own event */
} kinds[] = {
	{"inotify watches",
	 {"inotify_", "__x64_sys_inotify_", "__arm64_sys_inotify_", "fsnotify_"},
	 THING_INOTIFY_WATCHES,
	 true},
	{"epoll items", {"ep_insert", "do_epoll_ctl"}, THING_EPOLL_ITEMS, false},
	{"POSIX timers",
	 {"do_timer_create", "alloc_posix_timer", "__x64_sys_timer_create"},
	 THING_TIMERS,
	 true},
	{"record locks",
	 {"locks_alloc_lock", "posix_lock_inode", "fcntl_setlk"},
	 THING_RECORD_LOCKS,
	 true},
	{"names of files that do not exist", {"__d_alloc"}, THING_MAX_, true},
	{"queued signals",
	 {"__sigqueue_alloc", "sigqueue_alloc", "__send_signal"},
	 THING_MAX_,
	 true},
	{"processes and threads",
	 {"dup_task_struct", "copy_process", "alloc_pid", "copy_"},
	 THING_ZOMBIES,
	 false},
	{"mappings", {"vm_area_alloc", "vm_area_dup", "mas_", "anon_vma_"}, THING_MAX_, false},
	{"messages of System V or POSIX queues",
	 {"alloc_msg", "load_msg", "newque"},
	 THING_MAX_,
	 false},
	{"sockets", {"sk_prot_alloc", "sock_alloc_inode", "sk_clone"}, THING_MAX_, false},
	{"data in sockets", {"__alloc_skb", "kmalloc_reserve", "alloc_skb_"}, THING_MAX_, false},
	{"io_uring requests", {"io_", "__io_"}, THING_MAX_, false},
	{"keys", {"key_alloc"}, THING_MAX_, false},
};

static const struct kind *kind_of(const char *function)
{
	for (size_t i = 0; function && i < ARRAY_SIZE(kinds); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(kinds[i].functions) && kinds[i].functions[j];
		     j++) {
			const char *known = kinds[i].functions[j];

			if (!strncmp(function, known, strlen(known)))
				return &kinds[i];
		}
	}
	return NULL;
}

static bool has_code(const struct kernel_row *row)
{
	return row->frames && row->frames->list.count;
}

/*
 * Returns whether both rows are of one line of the program, which may call the kernel in several
 * ways.
 */
static bool is_same_code(const struct kernel_row *one, const struct kernel_row *other)
{
	const struct frame *a = site_label_frame(one->frames), *b = site_label_frame(other->frames);

	return one->frames == other->frames ||
	       (a && b && a->function && b->function && !strcmp(a->function, b->function) &&
		a->line == b->line);
}

/*
 * Returns the inodes left by this code: their caches are named after their file systems,
 * "ext4_inode_cache", "xfs_inode".
 */
static double inodes_of(const struct kernel_evidence *evidence, const struct kernel_row *row)
{
	uint64_t inodes = 0;

	for (size_t i = 0; i < evidence->row_count; i++) {
		const struct kernel_row *other = &evidence->rows[i];

		if (has_code(other) && is_same_code(row, other) && strstr(other->cache, "inode"))
			inodes += other->count;
	}
	return (double)inodes;
}

/* Returns whether the growth of a row is not a cache of the kernel, and no free was missed. */
static bool counts(const struct kernel_evidence *evidence, const struct kernel_row *row)
{
	const struct kind *kind = kind_of(row->function);

	if (!has_code(row))
		return false;
	if ((!kind || !kind->frees_seen) &&
	    (double)row->cache_bytes < row->bytes[KERNEL_TIMES - 1] * CACHE_SHARE)
		return false;
	if (!row->reclaimable)
		return true;
	return !strcmp(row->cache, DENTRY_CACHE) &&
	       inodes_of(evidence, row) < (double)row->count * INODES_SHARE;
}

static bool goes_on(const double bytes[KERNEL_TIMES])
{
	double all = bytes[KERNEL_TIMES - 1], before = 0;

	for (size_t i = 0; i < KERNEL_TIMES; i++) {
		if (bytes[i] - before < all * GOES_ON_SHARE)
			return false;
		before = bytes[i];
	}
	return all >= MEMORY_GROWTH_MIN;
}

/* Sums all rows of the same code as the first. */
static void sum_up(const struct kernel_evidence *evidence, const struct kernel_row *first,
		   struct diagnosed_kernel *kernel, double bytes[KERNEL_TIMES])
{
	const struct kernel_row *most = first;

	memset(bytes, 0, sizeof(double) * KERNEL_TIMES);
	for (size_t i = 0; i < evidence->row_count; i++) {
		const struct kernel_row *row = &evidence->rows[i];

		if (!counts(evidence, row) || !is_same_code(first, row))
			continue;
		for (size_t j = 0; j < KERNEL_TIMES; j++)
			bytes[j] += row->bytes[j];
		if (row->bytes[KERNEL_TIMES - 1] > most->bytes[KERNEL_TIMES - 1])
			most = row;
	}
	*kernel = (struct diagnosed_kernel){.function = most->function,
					    .cache = most->cache,
					    .frames = most->frames,
					    .count = most->count,
					    .bytes = bytes[KERNEL_TIMES - 1],
					    .seconds = evidence->seconds,
					    .exact = evidence->exact};
}

/* Returns the words for the things in /proc: of processes, only zombies are counted. */
static const char *counted_name(const struct kind *kind)
{
	return kind->thing == THING_ZOMBIES ? "ended children that nobody waited for" : kind->words;
}

/* Returns both counts of /proc; known: both were read. */
static struct diagnosed_count things_of(const struct kernel_evidence *evidence,
					enum kernel_thing thing)
{
	if (thing == THING_MAX_ || !evidence->first || !evidence->last)
		return (struct diagnosed_count){.known = false};
	return (struct diagnosed_count){.known = evidence->first->of[thing].known &&
						 evidence->last->of[thing].known,
					.before = evidence->first->of[thing].count,
					.now = evidence->last->of[thing].count};
}

static void name_kind(const struct kernel_evidence *evidence, struct diagnosed_kernel *kernel)
{
	const struct kind *kind = kind_of(kernel->function);
	struct diagnosed_count things;

	kernel->what = kind ? kind->words : NULL;
	if (!kind)
		return;
	things = things_of(evidence, kind->thing);
	/* Processes have many objects: only zombies are counted. */
	if (!things.known || (kind->thing == THING_ZOMBIES && !count_grew(&things)))
		return;
	kernel->what = counted_name(kind);
	kernel->things = things;
}

/* Returns whether a count in /proc contradicts the outstanding objects: frees were missed. */
static bool is_refuted(const struct diagnosed_kernel *kernel)
{
	const struct diagnosed_count *things = &kernel->things;

	return things->known &&
	       (double)things->now - (double)things->before < (double)kernel->count * THINGS_SHARE;
}

bool kernel_memory_judge(const struct kernel_evidence *evidence, struct diagnosed_kernel *kernel)
{
	struct diagnosed_kernel most = {.bytes = 0};

	for (size_t i = 0; i < evidence->row_count; i++) {
		struct diagnosed_kernel found;
		double bytes[KERNEL_TIMES];

		if (!counts(evidence, &evidence->rows[i]))
			continue;
		sum_up(evidence, &evidence->rows[i], &found, bytes);
		if (!goes_on(bytes) || found.bytes <= most.bytes)
			continue;
		name_kind(evidence, &found);
		if (!is_refuted(&found))
			most = found;
	}
	if (!(most.bytes > 0))
		return false;
	*kernel = most;
	return true;
}

bool kernel_memory_counted(const struct kernel_evidence *evidence, struct diagnosed_kernel *kernel)
{
	uint64_t most = COUNTED_MIN - 1;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct diagnosed_count things = things_of(evidence, kinds[i].thing);

		if (!things.known || !count_grew(&things) || things.now - things.before <= most)
			continue;
		most = things.now - things.before;
		kernel->what = counted_name(&kinds[i]);
		kernel->things = things;
	}
	return kernel->things.known;
}

bool sysv_judge(const struct kernel_evidence *evidence, struct diagnosed_sysv *sysv)
{
	uint64_t before = 0;

	for (size_t i = 0; i < KERNEL_TIMES; i++) {
		if (evidence->sysv.segments[i] <= before)
			return false;
		before = evidence->sysv.segments[i];
	}
	if (before < SEGMENTS_MIN || evidence->sysv.bytes < MEMORY_GROWTH_MIN)
		return false;
	*sysv = (struct diagnosed_sysv){before, evidence->sysv.bytes, evidence->sysv.by_children};
	return true;
}
