/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of the maps at one time: the result of collect. It holds addresses, no names; nothing in
 * it refers to BPF. Snapshots own everything they point to.
 */
#ifndef LEAKMON_REPORT_SNAPSHOT_H
#define LEAKMON_REPORT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/poisson.h"
#include "base/vec.h"
#include "leakmon_abi.h"
#include "report/runtime_label.h"

struct container;

/* The ledger of mappings, in bytes: mapped = unmapped + outstanding + purged. */

struct mapping_ledger {
	uint64_t mapped;
	uint64_t unmapped;
	uint64_t outstanding;
	uint64_t purged; /* dropped because the process exited or execed */
	uint64_t ranges; /* outstanding; a number, in which a range split by a hole counts twice */
	/* Losses. Any of them breaks exactness. */
	uint64_t events_lost; /* a number of calls; of a process: its 32-bit ones only */
	uint64_t missed;      /* still counted when mapped over; part of unmapped */
	uint64_t healed;      /* added or dropped when /proc/PID/maps was read to repair a loss */
};

/* The ledger of descriptors: opened + before = closed + outstanding + purged + dropped. */

struct descriptor_ledger {
	uint64_t opened; /* since the attach */
	uint64_t before; /* open at the attach */
	uint64_t closed; /* of both */
	uint64_t outstanding;
	uint64_t purged; /* open at the process's exit: closed by the kernel */
	/* Losses. Any of them breaks exactness. */
	uint64_t dropped;  /* opened, without room to record them */
	uint64_t adopted;  /* part of `opened`: found in /proc/PID/fd, opening unseen */
	uint64_t given_up; /* part of `closed`: gone from /proc/PID/fd, closing unseen */
	uint64_t missed;   /* programs skipped by the kernel, over all processes */
	uint64_t foreign;  /* calls of threads with a private descriptor table */
};

/*
 * The threads of one process at the time of a snapshot, as plain numbers: live ones, and the
 * creators of those that ended and were never joined, which keep their stacks mapped.
 */

/* Dead threads that one call stack created to run one function. */
struct dead_group {
	uint64_t count;
	uint64_t before_attach;		 /* of these; when they ended is unknown */
	uint64_t oldest_ns, newest_ns;	 /* age of the first and the last end of the others */
	uint64_t stack_bytes;		 /* mapped, except stacks supplied by the program */
	uint64_t resident_bytes;	 /* of these */
	uint64_t heap_bytes, heap_count; /* outstanding blocks allocated by them */
	uint64_t start_routine;		 /* address of their function; 0: unknown */
	uint64_t *addresses;  /* pthread_create's caller first, see LM_FRAME_EXACT; owned */
	size_t depth;	      /* 0: created before the attach */
	enum lm_walk_end end; /* not ROOT: frames are missing after the last one */
	uint32_t site; /* identifies the creating stack within this monitor's run; 0: unknown */
};

struct thread_figures {
	uint64_t alive;
	bool counted;	 /* `alive` is known */
	bool followed;	 /* everything else is known, too */
	bool exact;	 /* no thread was missed */
	char why[96];	 /* why following failed; "" */
	uint64_t untold; /* ended since the attach, unknown whether joined; not in `dead` */
	uint64_t dead;	 /* ended, not joined, not detached */
	uint64_t dead_stack_bytes, dead_resident_bytes;
	uint64_t dead_heap_bytes, dead_heap_count;
	uint64_t created, joined, detached; /* since the attach */
	VEC(struct dead_group) groups;	    /* most threads first; their counts add up to `dead` */
};

/* Fills in `alive`, if the process still exists. */
void thread_figures_count(struct thread_figures *threads, pid_t pid);
void thread_figures_free(struct thread_figures *threads);

/*
 * Families of events, whose sites are ranked and counted separately; report/family.h describes
 * them.
 */
enum family_id {
	FAMILY_HEAP,
	FAMILY_THREADS,
	FAMILY_MAPPING,
	FAMILY_KERNEL,
	FAMILY_DESCRIPTORS,
	FAMILY_MAX_
};

/* The purpose of a site's memory, within its family. */
enum site_kind {
	KIND_NONE, /* the heap has no kinds */
	/* mapping: KIND_MAPPING + enum lm_mapping_kind */
	KIND_MAPPING,
	KIND_FILE,
	KIND_RESERVATION,
	KIND_THREAD_STACK,
	KIND_ARENA,
	KIND_BRK,
	/* kernel: KIND_KMALLOC + enum lm_kernel_kind */
	KIND_KMALLOC,
	KIND_CACHE,
	KIND_PAGES,
	KIND_SLAB_PAGES,
	/* descriptors; KIND_FILE for regular files and directories */
	KIND_DEVICE,
	KIND_SOCKET,
	KIND_PIPE,
	KIND_MEMFD,
	KIND_ANONYMOUS, /* an anonymous inode: eventfd, epoll, ... */
	KIND_MAX_,
};

/* Satisfies allocations = frees + outstanding + purged + sum(dropped). */
struct ledger {
	uint64_t allocations;
	uint64_t frees;
	uint64_t outstanding; /* computed by the equation */
	uint64_t purged;      /* dropped because the process exited or execed */
	uint64_t untracked_frees;
	uint64_t inherited_frees;
	uint64_t filtered;
	uint64_t unsampled;
	uint64_t failed;
	uint64_t abandoned;
	uint64_t dropped[LM_DROP_MAX_];
	uint64_t lost_stacks[LM_LOST_MAX_];
	uint64_t walk_ends[LM_WALK_MAX_]; /* stacks that end before the root, by cause */
	uint64_t outstanding_bytes;
	/*
	 * The check, see ledger_agrees: blocks counted one by one in the live set, and the changes
	 * in progress around that count.
	 */
	uint64_t scanned;
	uint64_t moved;
};

/* The ages at which a site's blocks are counted: 1 s, 10 s, 1 min, 10 min, 1 h, 6 h, 1 day. */
#define SITE_AGES_MAX_ 7
extern const uint64_t site_age_limits_ns[SITE_AGES_MAX_];

/* Files of the descriptors of one call stack and kind: their directories, protocols, ... */
#define SITE_PATTERNS_SIZE 160

/* One (process, user stack). Bytes and counts are of the blocks that passed --older. */
struct site {
	uint64_t bytes;
	uint64_t count;
	uint64_t allocated_bytes;
	uint64_t allocated_count;
	uint64_t freed_bytes;
	uint64_t freed_count;
	uint64_t by_dead_bytes; /* allocated by threads that have ended; 0 with -C */
	uint64_t by_dead_count;
	uint64_t oldest_ns;	       /* age of the oldest block; 0 if ages were not read (-C) */
	uint64_t freed_reach_ns;       /* nearly all of `freed_count` lived no longer; 0: unknown */
	uint64_t ages[SITE_AGES_MAX_]; /* blocks at least site_age_limits_ns[i] old; 0 with -C */
	/*
	 * For a process that samples itself, else 0: the bytes that one hit of its sampler
	 * represents; without frees, of allocated_bytes. And the variance of `count`, and the
	 * maximum number of blocks that one hit represents. See base/poisson.h.
	 */
	double hit_bytes, count_variance, hit_count;
	uint64_t *addresses; /* caller of the allocator first, see LM_FRAME_EXACT; owned */
	size_t depth;
	enum lm_lost lost;    /* not NONE: no stack, depth is 0 */
	enum lm_walk_end end; /* not ROOT: frames are missing after the last one */
	uint32_t index;	      /* identifies the site within this monitor's run */
	enum family_id family;
	enum site_kind kind; /* counts are of ranges in the mapping family */
	char *patterns;	     /* untrusted; NULL: not of descriptors; owned */
	/* symbolizer_native_id(), if the site is observed over time; else 0. */
	uint64_t native;
};

/* One outstanding block, only with --show-allocs. */
struct block {
	uint64_t address;
	uint64_t size;
	uint64_t age_ns;
	uint32_t site; /* equals site.index */
	uint32_t tid;
	bool by_dead; /* its thread has ended */
};

/* Why a process's numbers are not exact. */
enum inexact_cause {
	INEXACT_DROPPED,
	INEXACT_LOST_STACKS,
	INEXACT_SAMPLED,
	INEXACT_MAPPINGS, /* events of mappings were lost */
	INEXACT_MISSED,	  /* the kernel skipped a program */
	/* Changes to probed code: see trace/probe/code_watch.h. */
	INEXACT_CODE_CHANGED,
	INEXACT_CODE_MOVED,
	INEXACT_CODE_WRITABLE,
	INEXACT_UNPROBED,
	INEXACT_SHARED_MEMORY, /* a vfork or clone(CLONE_VM) child called its allocator */
	INEXACT_LATE_EXEC,     /* reattached only after it had execed */
	INEXACT_EVENTS_LOST,   /* missed forks or execs */
	/* Code without probes: see trace/probe/target.h. */
	INEXACT_FILE_UNREAD,
	INEXACT_FUNCTION_UNPROBED,
	INEXACT_DESCRIPTORS, /* /proc/PID/fd disagreed, or calls were not counted */
	INEXACT_LEDGER,	     /* the live set and the ledger disagree */
	INEXACT_MAX_
};

struct snapshot_process {
	lm_process_key key;
	uint32_t pid;
	char comm[16];
	char *exe;  /* /proc/PID/exe while it lived, or NULL; untrusted; owned */
	char *host; /* of a fleet (app/runs/merge.h), untrusted; owned; NULL: the recording's own */
	struct managed_share managed; /* memory unknown to its allocator; not recorded */
	struct container *container;  /* process/proc/container.h; NULL: none, or unknown; owned */
	bool exited;
	uint64_t age_ns;       /* since its start; 0: unknown, or ended */
	bool exact;	       /* no enum inexact_cause: every number below is exact */
	uint32_t inexact;      /* 1 << enum inexact_cause; 0 if an older recording lacks it */
	uint32_t hidden_tasks; /* SHARED_MEMORY: their number */
	uint32_t hidden_pid;   /* the latest of them */
	struct ledger ledger;
	/*
	 * Of the blocks that passed --older; mappings are separate, because they contain the
	 * blocks.
	 */
	uint64_t outstanding_bytes;
	uint64_t outstanding_count;
	/* It samples itself (otel_memory), so its numbers are estimates. */
	bool samples_itself;
	bool without_free;	       /* it reports no frees: only total allocations are known */
	uint64_t sample_interval;      /* bytes per sample; 0: no sample yet */
	struct mapping_ledger mapping; /* with snapshot.has_mappings */
	struct descriptor_ledger descriptors; /* with snapshot.has_descriptors */
	struct thread_figures threads;
	VEC(struct site) sites;
	VEC(struct block) blocks;
};

struct snapshot {
	uint64_t sequence;    /* 1 for the first of a run */
	struct timespec time; /* CLOCK_REALTIME */
	uint64_t monotonic_ns;
	bool sampled;	      /* numbers are estimates */
	bool has_ages;	      /* false with -C */
	bool has_owners;      /* by_dead is known for heap blocks */
	bool only_by_dead;    /* bytes and counts cover only blocks allocated by ended threads */
	uint64_t scan_ns;     /* duration of the reading */
	struct ledger ledger; /* sum over the processes, plus losses charged to none */
	bool has_mappings;    /* --mappings */
	struct mapping_ledger mapping;	      /* sum over the processes, including ended ones */
	bool has_descriptors;		      /* --descriptors */
	struct descriptor_ledger descriptors; /* sum over the processes, including ended ones */
	VEC(struct snapshot_process) processes;
};

void snapshot_free(struct snapshot *snapshot);

/* Add *part to *total, field by field. */
void ledger_add(struct ledger *total, const struct ledger *part);
void mapping_ledger_add(struct mapping_ledger *total, const struct mapping_ledger *part);
void descriptor_ledger_add(struct descriptor_ledger *total, const struct descriptor_ledger *part);
/* Adds all ledgers of a snapshot, and the flags of those present. */
void snapshot_add_ledgers(struct snapshot *sum, const struct snapshot *added);

/*
 * For a fleet: removes all processes of other hosts. The ledgers are then the sums of the remaining
 * ones: losses charged to no process are in none.
 */
void snapshot_keep_host(struct snapshot *snapshot, const char *host);

/*
 * Returns whether the live set has as many blocks as the ledger (the snapshot's or one of its
 * processes') says, except for changes in progress. True if the live set was not read (-C).
 */
bool ledger_agrees(const struct snapshot *snapshot, const struct ledger *ledger);

/* Marks the process's numbers as not exact, with the cause. */
void snapshot_mark_inexact(struct snapshot_process *process, enum inexact_cause cause);

/* Returns the number of processes with that cause. */
size_t snapshot_count_inexact(const struct snapshot *snapshot, enum inexact_cause cause);

/* Returns the name in JSON: "dropped", "code_moved", ... */
const char *inexact_name(unsigned cause);
/* Returns the event, and the operator's remedy; NULL: the ledger shows it, with numbers. */
const char *inexact_advice(unsigned cause);

/*
 * 95 % limits of a site's numbers, or of their sum, in a process that samples itself. Without
 * frees, the bytes are total allocations, and `count` is 0 and 0.
 */
struct estimate {
	double samples; /* events from which the bytes are estimated */
	struct bounds bytes, count;
};

/* Returns its bytes as a sum over hits; all 0 if they are exact. */
struct poisson_sum snapshot_hits(const struct site *site);
struct estimate snapshot_estimate_site(const struct site *site);
struct estimate snapshot_estimate_process(const struct snapshot_process *process);

/* Return the names of the causes in reports and JSON: "blocks_full", "sites_full", ... */
const char *drop_name(unsigned cause);
const char *lost_name(unsigned cause);
const char *walk_end_name(unsigned end);
/* Return the event, and the operator's remedy, to follow "N allocations dropped: ". */
const char *drop_advice(unsigned cause);
const char *lost_advice(unsigned cause);
const char *walk_end_advice(unsigned end);

#endif
