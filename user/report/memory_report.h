/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of processes by parts that add up to the Rss of smaps, except for an unexplained
 * difference; and the growth between two readings. Filled by heap/memory/memory_parts.h.
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

/* In bytes; 0 for fields that the kernel does not report. */
struct smaps_figures {
	uint64_t size, rss, pss, swap, swap_pss, locked;
	uint64_t private_dirty, private_clean, shared_dirty, shared_clean;
	uint64_t anonymous;
	uint64_t anon_huge, file_huge, shmem_huge;
	uint64_t hugetlb; /* not part of Rss */
};

/* Private anonymous memory, including copies of a file's pages, by owner of the pages. */
struct memory_forked {
	uint64_t own;	 /* this process alone */
	uint64_t shared; /* with relatives, since a fork(2): the next write copies a page */
	uint64_t faults; /* minor page faults so far; each copy takes one */
};

/* From /proc/PID/status; 0 for missing lines. */
struct memory_status {
	uint64_t page_tables, locked, hugetlb, swap;
	uint64_t rss_anon, rss_file, rss_shmem;
	uint32_t uid;	 /* effective */
	int32_t own_pid; /* its PID in its own PID namespace */
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
	MEMORY_MAPPED_BLOCKS, /* live blocks of malloc with a separate mapping each */
	MEMORY_STACKS,	      /* of live threads */
	MEMORY_ENDED_STACKS,  /* of ended threads: never joined, or kept for reuse */
	MEMORY_FILES,	      /* pages of files, shared with the page cache */
	MEMORY_FILES_WRITTEN, /* a process's own copies of such pages */
	MEMORY_MODULE_DATA,   /* the zeroed rest of modules' data */
	MEMORY_SHARED,	      /* shared memory: System V, memfd, /dev/shm, shared anonymous */
	MEMORY_CODE,	      /* generated code */
	MEMORY_MANAGED,	      /* a managed heap: heap/runtime/runtime.h */
	MEMORY_NAMED,	      /* anonymous, named by prctl(2) */
	MEMORY_ANONYMOUS,     /* its owner is unknown */
	MEMORY_KERNEL,	      /* vdso and the like */
	MEMORY_PAGE_TABLES,   /* kernel memory for the process: not part of Rss */
	MEMORY_PART_MAX_
};
/* The parts before this one add up to Rss. */
#define MEMORY_RESIDENT_PARTS MEMORY_PAGE_TABLES
_Static_assert((int)MEMORY_MAPPED_BLOCKS == (int)HEAP_USE_MAX_, "the uses of a heap come first");

/* Return a part's name, "live_blocks", and its description for people. Static. */
const char *memory_part_name(enum memory_part part);
const char *memory_part_words(enum memory_part part);

struct memory_process;

/* Groups of parts, for conclusions. */
enum memory_group {
	GROUP_LIVE,   /* live blocks */
	GROUP_FREE,   /* inside malloc */
	GROUP_MALLOC, /* malloc's records, and heaps that could not be walked */
	GROUP_STACKS,
	GROUP_FILES,
	GROUP_SHARED,
	GROUP_MANAGED, /* of a garbage collector */
	GROUP_OTHER,   /* anonymous memory outside malloc */
	GROUP_PAGE_TABLES,
	/* Pages shared by fork(2) that became private: growth without an amount, because Rss
	 * contains such a page before and after. */
	GROUP_UNSHARED,
	GROUP_MAX_
};
/* The groups before the first limit are parts of Rss; those before the second have an amount at any
 * time. */
#define GROUP_RESIDENT_END GROUP_PAGE_TABLES
#define GROUP_AMOUNT_END GROUP_UNSHARED

enum memory_verdict {
	MEMORY_STEADY,	      /* little growth */
	MEMORY_LIVE_GROWS,    /* a leak, or data */
	MEMORY_RETAINED,      /* free inside malloc, which malloc_trim() would give back */
	MEMORY_FRAGMENTATION, /* free inside malloc, between live blocks */
	MEMORY_ARENAS,	      /* free in the arenas of many threads */
	MEMORY_THREAD_CACHES, /* free in the caches of threads */
	MEMORY_HUGE_PAGES,    /* huge pages, mostly never written to */
	MEMORY_STACKS_GROW,
	MEMORY_PAGE_CACHE, /* mapped files */
	MEMORY_SHARED_GROWS,
	MEMORY_MANAGED_GROWS, /* objects of a language with a garbage collector */
	MEMORY_OTHER_GROWS,   /* memory of unknown owner */
	MEMORY_PAGE_TABLES_GROW,
	MEMORY_UNSHARED_GROWS, /* copies of pages that were shared by fork(2) */
	MEMORY_FILLS,	       /* mappings of a fixed size, which limits the growth */
	MEMORY_MIXED,	       /* no group makes up half of the growth */
	MEMORY_VERDICT_MAX_
};

/* Return the name of a verdict, "fragmentation"; of a group, "free"; its description, "free inside
 * malloc"; and the group of a part. Static. */
const char *memory_verdict_name(enum memory_verdict verdict);
const char *memory_group_name(enum memory_group group);
const char *memory_group_words(enum memory_group group);
enum memory_group memory_part_group(enum memory_part part);
/* Returns a group's resident bytes in a process; the size of page tables; 0 for pages that became
 * private. */
uint64_t memory_group_resident(const struct memory_process *process, enum memory_group group);

/* In bytes, resident and in swap; `total` excludes page tables and pages that became private. */
struct memory_growth {
	uint64_t since_ms; /* also 0 if the clock was set back meanwhile */
	int64_t total, groups[GROUP_MAX_];
};

/* Mappings of a fixed size, present at both readings, with more pages at the second. */
struct memory_filled {
	uint64_t mappings; /* 0: none */
	uint64_t address;  /* of the mapping that grew most */
	uint64_t size, before, now;
	enum memory_part part; /* part of that mapping */
	uint64_t blocks_grown; /* growth of the mappings that are blocks of malloc */
	bool shared;	       /* all are shared (mmap(2), MAP_SHARED) */
	bool doubtful;	       /* they may belong to an allocator that was only partly read */
};

/* Two readings of one figure. */
struct memory_then_now {
	uint64_t before, now;
};

struct memory_conclusion {
	enum memory_verdict verdict;
	/*
	 * The allocator, the page cache or the kernel keeps the growth, and live blocks make up
	 * less than a fifth of it. No other text may then call it a leak; and without `no_leak`, no
	 * text may exclude a leak.
	 */
	bool no_leak;
	/* The growth may be garbage: the collector has not freed old objects since the first
	 * reading. No other text may call it a leak yet. */
	bool unproven;
	struct memory_growth growth;
	struct memory_then_now page_tables;
	struct memory_then_now own;  /* private bytes: Private_Clean and Private_Dirty of smaps */
	struct memory_filled filled; /* mappings that make up at least half of the growth */
	const char *why; /* explanation in findings of this verdict; static; NULL: none */
	char text[1024]; /* numbers, their meaning, the next step */
};

struct memory_share {
	uint64_t size, resident, swapped;
	/* For a heap's parts: by the whole heap's ratio of pss to rss. */
	uint64_t pss;
};

/*
 * A mapping that may fill up: writable, and neither a stack nor a heap of malloc or of a collector.
 */
struct memory_fillable {
	uint64_t address, size;
	uint64_t resident; /* or in swap */
	enum memory_part part;
	bool shared;
};

#define MEMORY_FILLABLE_MAX 8

/* The named share of a part: a file, a shared mapping, or a named mapping. */
struct memory_item {
	enum memory_part part;
	char *name; /* untrusted; owned */
	struct memory_share share;
};

/* Huge pages, and their bytes in small pages that are all zero, mostly never written to. */
struct memory_huge {
	uint64_t bytes;
	uint64_t checked, zero; /* bytes read; zero bytes among these */
};

/* Memory of a runtime, by its own counters; in bytes. */
struct runtime_memory {
	struct runtime_figures figures;
	/* For conclusions: a runtime has either a goal or a floor. */
	struct heap_floor floor;
	struct heap_words words;
	struct heap_goal goal;
};

struct memory_process {
	pid_t pid;
	uint64_t start_ticks; /* since boot; identifies the process, with the PID */
	char comm[16];	      /* untrusted */
	const char *core;     /* the core file that was read; borrowed; NULL: a live process */
	struct container *container; /* owned; NULL: none, or not requested */
	struct timespec time;
	struct smaps_figures sum;
	struct memory_status status;
	struct memory_forked forked;
	struct memory_share parts[MEMORY_PART_MAX_];
	struct memory_fillable fillable[MEMORY_FILLABLE_MAX]; /* the largest ones */
	size_t fillable_count;
	VEC(struct memory_item) items;	     /* largest first */
	struct runtime_label runtime;	     /* its managed runtime */
	VEC(struct runtime_memory) runtimes; /* figures of all its runtimes */
	/* a program without malloc: see heap/runtime/runtime.h */
	bool no_malloc;
	struct allocator_reports allocators;
	bool heap_changed; /* during every reading of it */
	/* Duration of its stop, needed because its heap changed during every reading; 0: not
	 * stopped. */
	uint64_t pause_ns;
	/* why a necessary stop failed; static; NULL: none needed, or not permitted */
	const char *why_not_stopped;
	const char *why; /* reason why the allocator's state is unknown or incomplete; static */
	size_t live_stacks, ended_stacks, joined_stacks; /* joined ones are kept for reuse */
	struct memory_huge huge;
	int64_t difference; /* rss minus the sum of the parts */
	bool pagemap_readable;
	uint64_t read_ns;
	bool has_conclusion; /* `conclusion` is valid: there was an earlier reading */
	struct memory_conclusion conclusion;
};

void memory_process_free(struct memory_process *process);

/* Memory that was not read, or not completely. */
struct memory_gap {
	const char *what; /* "heap", "huge-pages", ...; static */
	const char *why;  /* static */
	uint64_t bytes;	  /* bytes concerned, or MEMORY_GAP_UNKNOWN */
};

#define MEMORY_GAP_UNKNOWN UINT64_MAX
#define MEMORY_GAPS_MAX 8

/* Fills in the gaps of a reading, and returns their number. */
size_t memory_gaps(const struct memory_process *process, struct memory_gap gaps[MEMORY_GAPS_MAX]);

/* Returns Private_Clean plus Private_Dirty of smaps: memory of this process alone, freed when it
 * ends (USS). */
uint64_t memory_own(const struct memory_process *process);
/* Return the resident bytes that are free inside malloc, and all resident bytes of the heaps. */
uint64_t memory_free_resident(const struct memory_process *process);
uint64_t memory_heap_resident(const struct memory_process *process);
/* Returns the bytes that could be given back: see ALLOCATOR_TRIMMABLE. */
uint64_t memory_trimmable(const struct memory_process *process);
/* Returns free resident bytes that cannot be given back, as a share of all resident bytes of the
 * arenas: 0 to 1. */
double memory_fragmentation(const struct memory_process *process);

struct memory_history;

struct memory_report {
	struct timespec time;
	uint64_t sequence;
	VEC(struct memory_process) processes;
	/* Earlier readings, and this one; borrowed; NULL: not kept. */
	const struct memory_history *history;
	struct sysv_report sysv;
	struct cgroup_memories groups; /* control groups of the processes, if requested */
	size_t unreadable;	       /* processes without permission to read */
	size_t top;		       /* rows of a list; 0: all */
	bool everywhere;	       /* all processes of the machine */
	struct text_form form;
};

void memory_report_free(struct memory_report *report);

/* Figures of a struct memory_process before and after its parts in JSON; figures of a struct
 * memory_share. */
struct figures;
extern const struct figures memory_process_figures, memory_detail_figures, memory_share_figures;

#endif
