/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of processes by parts, the sum of which is the Rss of smaps; the difference is what
 * they do not explain. And the growth between two readings. Made by
 * heap/memory/memory_parts.h.
 */
#ifndef LEAKMON_REPORT_MEMORY_REPORT_H
#define LEAKMON_REPORT_MEMORY_REPORT_H

#include <time.h>

#include "base/text.h"
#include "process/proc/container.h"
#include "report/allocator_report.h"
#include "report/cgroup_report.h"
#include "report/heap_floor.h"
#include "report/runtime_figures.h"
#include "report/runtime_label.h"
#include "report/sysv_report.h"

/* In bytes. A field that a kernel does not have is 0. */
struct smaps_figures {
	uint64_t size, rss, pss, swap, swap_pss, locked;
	uint64_t private_dirty, private_clean, shared_dirty, shared_clean;
	uint64_t anonymous;
	uint64_t anon_huge, file_huge, shmem_huge;
	uint64_t hugetlb; /* is no part of Rss */
};

/* Private anonymous memory, copies of a file's pages included, by who has its pages. */
struct memory_forked {
	uint64_t own;	 /* this process alone */
	uint64_t shared; /* with relatives, since a fork(2): the next write copies a page */
	uint64_t faults; /* minor page faults so far; each copy takes one */
};

/* From /proc/PID/status; a line that is missing is 0. */
struct memory_status {
	uint64_t page_tables, locked, hugetlb, swap;
	uint64_t rss_anon, rss_file, rss_shmem;
	uint32_t uid;	 /* effective */
	int32_t own_pid; /* as the process itself knows it, in its PID namespace */
};

enum memory_part {
	/* The first ones are those of enum heap_use, in the same order. */
	MEMORY_LIVE,
	MEMORY_CACHED,
	MEMORY_FAST,
	MEMORY_BINS,
	MEMORY_TOP,
	MEMORY_DIRTY,
	MEMORY_MALLOC_OWN,
	MEMORY_HEAP_UNKNOWN,
	MEMORY_MAPPED_BLOCKS, /* live blocks of malloc with mappings of their own */
	MEMORY_STACKS,	      /* of threads that live */
	MEMORY_ENDED_STACKS,  /* of threads that have ended: never joined, or kept for reuse */
	MEMORY_FILES,	      /* pages of files, which the page cache has anyway */
	MEMORY_FILES_WRITTEN, /* a process's own copies of such pages */
	MEMORY_MODULE_DATA,   /* of modules: the zeroed rest of their data */
	MEMORY_SHARED,	      /* shared memory: System V, memfd, /dev/shm, shared anonymous */
	MEMORY_CODE,	      /* generated code */
	MEMORY_MANAGED,	      /* the heap of a garbage collector: heap/runtime/runtime.h */
	MEMORY_NAMED,	      /* anonymous, with a name that prctl(2) gave it */
	MEMORY_ANONYMOUS,     /* its owner is unknown */
	MEMORY_KERNEL,	      /* vdso and the like */
	MEMORY_PAGE_TABLES,   /* that the kernel has for the process: no part of Rss */
	MEMORY_PART_MAX_
};
/* The parts before this one add up to Rss. */
#define MEMORY_RESIDENT_PARTS MEMORY_PAGE_TABLES
_Static_assert((int)MEMORY_MAPPED_BLOCKS == (int)HEAP_USE_MAX_, "the uses of a heap come first");

/* "live_blocks"; and what it is in words. Static. */
const char *memory_part_name(enum memory_part part);
const char *memory_part_words(enum memory_part part);

struct memory_process;

/* Parts that are explained together. */
enum memory_group {
	GROUP_LIVE,   /* blocks that the program has */
	GROUP_FREE,   /* inside malloc */
	GROUP_MALLOC, /* malloc's records, and heaps that could not be walked */
	GROUP_STACKS,
	GROUP_FILES,
	GROUP_SHARED,
	GROUP_MANAGED, /* of a garbage collector */
	GROUP_OTHER,   /* anonymous memory of others than malloc */
	GROUP_PAGE_TABLES,
	/* Pages shared by fork(2) that became private: a growth without an amount, since Rss has
	 * such a page before and after. */
	GROUP_UNSHARED,
	GROUP_MAX_
};
/* The groups before these two: are parts of Rss; have an amount at any one time. */
#define GROUP_RESIDENT_END GROUP_PAGE_TABLES
#define GROUP_AMOUNT_END GROUP_UNSHARED

enum memory_verdict {
	MEMORY_STEADY,	      /* it did not grow by much */
	MEMORY_LIVE_GROWS,    /* a leak, or data */
	MEMORY_RETAINED,      /* free inside malloc, which malloc_trim() would give back */
	MEMORY_FRAGMENTATION, /* free inside malloc, between live blocks */
	MEMORY_ARENAS,	      /* free in the arenas of many threads */
	MEMORY_THREAD_CACHES, /* free in the caches of threads */
	MEMORY_HUGE_PAGES,    /* of which little was ever written to */
	MEMORY_STACKS_GROW,
	MEMORY_PAGE_CACHE, /* mapped files */
	MEMORY_SHARED_GROWS,
	MEMORY_MANAGED_GROWS, /* objects of a language with a garbage collector */
	MEMORY_OTHER_GROWS,   /* memory of unknown owner */
	MEMORY_PAGE_TABLES_GROW,
	MEMORY_UNSHARED_GROWS, /* copies of pages that were shared by fork(2) */
	MEMORY_FILLS,	       /* mappings of a fixed size, which bounds it */
	MEMORY_MIXED,	       /* nothing makes up half of it */
	MEMORY_VERDICT_MAX_
};

/* "fragmentation"; and of a group "free", and in words "free inside malloc". Static. */
const char *memory_verdict_name(enum memory_verdict verdict);
const char *memory_group_name(enum memory_group group);
const char *memory_group_words(enum memory_group group);
enum memory_group memory_part_group(enum memory_part part);
/* For a process, resident bytes. For page tables, their bytes; 0 of pages that became private. */
uint64_t memory_group_resident(const struct memory_process *process, enum memory_group group);

/* In bytes, resident and in swap; page tables and pages that became private besides. */
struct memory_growth {
	uint64_t since_ms; /* 0 also if the clock was set back in between */
	int64_t total, groups[GROUP_MAX_];
};

/* Mappings of a fixed size that were there at both readings, and whose pages became more. */
struct memory_filled {
	uint64_t mappings; /* 0: none */
	uint64_t address;  /* of the one that grew most */
	uint64_t size, before, now;
	enum memory_part part; /* of that one */
	uint64_t blocks_grown; /* by that much, those of them that are blocks of malloc */
	bool shared;	       /* all of them are (mmap(2), MAP_SHARED) */
	bool doubtful;	       /* they may be an allocator's, of which not all is known */
};

/* Two readings of one figure. */
struct memory_then_now {
	uint64_t before, now;
};

struct memory_conclusion {
	enum memory_verdict verdict;
	/*
	 * The allocator, the page cache or the kernel keeps the growth, and live blocks make up
	 * less than a fifth of it. Nothing else may call it a leak then, and what is not `no_leak`
	 * is never said to be none.
	 */
	bool no_leak;
	/* It may be garbage: the collector has not freed old objects since the first reading.
	 * Nothing else may call it a leak yet. */
	bool unproven;
	struct memory_growth growth;
	struct memory_then_now page_tables;
	struct memory_then_now own;  /* private bytes: Private_Clean and Private_Dirty of smaps */
	struct memory_filled filled; /* that make up half of the growth or more */
	const char *why; /* what a finding of this verdict says; static; NULL: nothing special */
	char text[1024]; /* numbers, what they mean, what to do */
};

struct memory_share {
	uint64_t size, resident, swapped;
	/* For a heap's parts: as much of them as of the whole heap. */
	uint64_t pss;
};

/* A mapping that may fill: writable, no stack, no heap of malloc's or of a collector. */
struct memory_fillable {
	uint64_t address, size;
	uint64_t resident; /* and in swap */
	enum memory_part part;
	bool shared;
};

#define MEMORY_FILLABLE_MAX 8

/* For a part by name: of a file, of a shared or named mapping. */
struct memory_item {
	enum memory_part part;
	char *name; /* untrusted; owned */
	struct memory_share share;
};

/* Huge pages, and how much of them holds nothing but zeros: it was hardly ever written to. */
struct memory_huge {
	uint64_t bytes;
	uint64_t checked, zero; /* of those that were read */
};

/* Memory of a runtime, as it counts that; in bytes. */
struct runtime_memory {
	struct runtime_figures figures;
	/* For a conclusion: a runtime with a goal has no floor here. */
	struct heap_floor floor;
	struct heap_words words;
	struct heap_goal goal;
};

struct memory_process {
	pid_t pid;
	uint64_t start_ticks; /* since boot: with the PID, which process it is */
	char comm[16];	      /* untrusted */
	const char *core;     /* the core file that it is read from; borrowed; NULL: it lives */
	struct container *container; /* owned; NULL: none, or not asked for */
	struct timespec time;
	struct smaps_figures sum;
	struct memory_status status;
	struct memory_forked forked;
	struct memory_share parts[MEMORY_PART_MAX_];
	struct memory_fillable fillable[MEMORY_FILLABLE_MAX]; /* the largest ones */
	size_t fillable_count;
	VEC(struct memory_item) items;	     /* greatest first */
	struct runtime_label runtime;	     /* that it has */
	VEC(struct runtime_memory) runtimes; /* what these count themselves */
	bool no_malloc;			     /* its program is alone: see heap/runtime/runtime.h */
	struct allocator_reports allocators;
	bool heap_changed; /* whenever it was read */
	/* For so long it stood, because its heap changed whenever it was read; 0: not at all. */
	uint64_t pause_ns;
	const char *why_not_stopped; /* it would have had to; static; NULL: no need, or not wanted
				      */
	const char *why; /* the allocator's state is not known, or not all of it; static */
	size_t live_stacks, ended_stacks, joined_stacks; /* joined ones are kept for reuse */
	struct memory_huge huge;
	int64_t difference; /* rss minus the sum of the parts */
	bool pagemap_readable;
	uint64_t read_ns;
	bool has_conclusion; /* there was a reading before */
	struct memory_conclusion conclusion;
};

void memory_process_free(struct memory_process *process);

/* Memory that could not be read, or not all of it. */
struct memory_gap {
	const char *what; /* "heap", "huge-pages", ...; static */
	const char *why;  /* static */
	uint64_t bytes;	  /* how many that concerns; MEMORY_GAP_UNKNOWN */
};

#define MEMORY_GAP_UNKNOWN UINT64_MAX
#define MEMORY_GAPS_MAX 8

/* Returns how many there are. */
size_t memory_gaps(const struct memory_process *process, struct memory_gap gaps[MEMORY_GAPS_MAX]);

/* Private_Clean and Private_Dirty of smaps: what it alone has, and gives back when it ends
 * (USS). */
uint64_t memory_own(const struct memory_process *process);
/* Free inside malloc: resident bytes, and those of them that malloc_trim(3) would not give back. */
uint64_t memory_free_resident(const struct memory_process *process);
uint64_t memory_heap_resident(const struct memory_process *process);
/* Bytes that could be given back: see ALLOCATOR_TRIMMABLE. */
uint64_t memory_trimmable(const struct memory_process *process);
/* Free resident bytes that cannot be given back, of all resident bytes of the arenas: 0 to 1. */
double memory_fragmentation(const struct memory_process *process);

struct memory_history;

struct memory_report {
	struct timespec time;
	uint64_t sequence;
	VEC(struct memory_process) processes;
	/* Readings of them before, and this one; borrowed; NULL: not kept. */
	const struct memory_history *history;
	struct sysv_report sysv;
	struct cgroup_memories groups; /* those that hold them, if groups were asked for */
	size_t unreadable;	       /* others that may not be read */
	size_t top;		       /* rows of a list; 0: all */
	bool everywhere;	       /* of the whole machine */
	struct text_form form;
};

void memory_report_free(struct memory_report *report);

/* Of a struct memory_process, as JSON has them before its parts and after; of a struct
 * memory_share. */
struct figures;
extern const struct figures memory_process_figures, memory_detail_figures, memory_share_figures;

#endif
