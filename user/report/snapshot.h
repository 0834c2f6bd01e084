/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of the maps at one time: the struct that collect hands on. It holds addresses, no names;
 * nothing in it refers to BPF. Snapshots own everything they point to.
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
	uint64_t purged; /* given up because the process exited or replaced itself */
	uint64_t ranges; /* outstanding; not bytes: what a hole split counts twice */
	/* Losses. Any of them breaks exactness. */
	uint64_t events_lost; /* calls, not bytes; of a process: its 32-bit ones only */
	uint64_t missed;      /* came mapped over what was still counted; part of unmapped */
	uint64_t healed;      /* found or given up when /proc/PID/maps was read to mend a loss */
};

/* The ledger of descriptors: opened + before = closed + outstanding + purged + dropped. */

struct descriptor_ledger {
	uint64_t opened; /* since the attach */
	uint64_t before; /* open at the attach */
	uint64_t closed; /* of both */
	uint64_t outstanding;
	uint64_t purged; /* open when the process exited: the kernel closed them */
	/* Losses. Any of them breaks exactness. */
	uint64_t dropped;  /* opened, and no room to keep them */
	uint64_t adopted;  /* of `opened`: found in /proc/PID/fd, and never seen opened */
	uint64_t given_up; /* of `closed`: gone from /proc/PID/fd, and never seen closed */
	uint64_t missed;   /* programs that the kernel left out, over all processes */
	uint64_t foreign;  /* calls of threads with a descriptor table of their own */
};

/*
 * The threads of one process at the time of a snapshot, as plain numbers: how many live, and which
 * created those that ended and were never joined, which keep their stacks mapped.
 */

/* Dead threads that one call stack created to run one function. */
struct dead_group {
	uint64_t count;
	uint64_t before_attach;		 /* of them: when these ended is not known */
	uint64_t oldest_ns, newest_ns;	 /* since the first and the last of the others ended */
	uint64_t stack_bytes;		 /* mapped, without stacks that the program provided */
	uint64_t resident_bytes;	 /* of these */
	uint64_t heap_bytes, heap_count; /* outstanding blocks that they allocated */
	uint64_t start_routine;		 /* address of the function that they ran; 0: not known */
	uint64_t *addresses;  /* pthread_create's caller first, see LM_FRAME_EXACT; owned */
	size_t depth;	      /* 0: created before the attach */
	enum lm_walk_end end; /* not ROOT: frames are missing behind the last one */
	uint32_t site; /* identifies the creating stack within this monitor's run; 0: not known */
};

struct thread_figures {
	uint64_t alive;
	bool counted;	 /* `alive` is known */
	bool followed;	 /* and so is everything else */
	bool exact;	 /* no thread was missed */
	char why[96];	 /* not followed, although it was tried: why; "" */
	uint64_t untold; /* ended since the attach, joined or not: not known, not in `dead` */
	uint64_t dead;	 /* ended, not joined, not detached */
	uint64_t dead_stack_bytes, dead_resident_bytes;
	uint64_t dead_heap_bytes, dead_heap_count;
	uint64_t created, joined, detached; /* since the attach */
	VEC(struct dead_group) groups;	    /* most threads first; their counts sum up to `dead` */
};

/* Fills in `alive`, if the process can still be asked. */
void thread_figures_count(struct thread_figures *threads, pid_t pid);
void thread_figures_free(struct thread_figures *threads);

/*
 * Families of events, with sites ranked and counted apart; report/family.h has all that is
 * said of them.
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
	/* descriptors; of regular files and directories KIND_FILE */
	KIND_DEVICE,
	KIND_SOCKET,
	KIND_PIPE,
	KIND_MEMFD,
	KIND_ANONYMOUS, /* an anonymous inode: eventfd, epoll, ... */
	KIND_MAX_,
};

/* Balances: allocations = frees + outstanding + purged + sum(dropped). */
struct ledger {
	uint64_t allocations;
	uint64_t frees;
	uint64_t outstanding; /* what must still be there */
	uint64_t purged;      /* given up because the process exited or replaced itself */
	uint64_t untracked_frees;
	uint64_t inherited_frees;
	uint64_t filtered;
	uint64_t unsampled;
	uint64_t failed;
	uint64_t abandoned;
	uint64_t dropped[LM_DROP_MAX_];
	uint64_t lost_stacks[LM_LOST_MAX_];
	uint64_t walk_ends[LM_WALK_MAX_]; /* stacks that end before the root, by reason */
	uint64_t outstanding_bytes;
	/* The check, see ledger_agrees: blocks counted one by one in the live set, and how many
	 * changes were under way from before that count to after it. */
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
	uint64_t oldest_ns;	 /* age of the oldest block; 0 if ages were not read (-C) */
	uint64_t freed_reach_ns; /* nearly all of `freed_count` ended no older; 0: not known */
	uint64_t ages[SITE_AGES_MAX_]; /* blocks at least site_age_limits_ns[i] old; 0 with -C */
	/* For a process that samples itself, else 0: the bytes that one hit of its sampler stands
	 * for; of one that reports no end, of allocated_bytes. And of `count` the variance, and
	 * the blocks that one hit stands for at most. See base/poisson.h. */
	double hit_bytes, count_variance, hit_count;
	uint64_t *addresses; /* caller of the allocator first, see LM_FRAME_EXACT; owned */
	size_t depth;
	enum lm_lost lost;    /* not NONE: no stack, depth is 0 */
	enum lm_walk_end end; /* not ROOT: frames are missing behind the last one */
	uint32_t index;	      /* identifies the site within this monitor's run */
	enum family_id family;
	enum site_kind kind; /* counts are of ranges in the mapping family */
	char *patterns;	     /* untrusted; NULL: not of descriptors; owned */
	/* symbolizer_native_id(), if what comes of it is looked at over time; else 0. */
	uint64_t native;
};

/* One outstanding block, only with --show-allocs. */
struct block {
	uint64_t address;
	uint64_t size;
	uint64_t age_ns;
	uint32_t site; /* equals site.index */
	uint32_t tid;
	bool by_dead; /* that thread has ended */
};

/* Why a process's numbers are not exact. */
enum inexact_cause {
	INEXACT_DROPPED,
	INEXACT_LOST_STACKS,
	INEXACT_SAMPLED,
	INEXACT_MAPPINGS, /* events of mappings were lost */
	INEXACT_MISSED,	  /* the kernel did not run a program */
	/* Changes to probed code: see trace/probe/code_watch.h. */
	INEXACT_CODE_CHANGED,
	INEXACT_CODE_MOVED,
	INEXACT_CODE_WRITABLE,
	INEXACT_UNPROBED,
	INEXACT_SHARED_MEMORY, /* vfork or clone(CLONE_VM) made one that called its allocator */
	INEXACT_LATE_EXEC,     /* probed again only after it had replaced itself */
	INEXACT_EVENTS_LOST,   /* missed forks or execs */
	/* Code without probes: see trace/probe/target.h. */
	INEXACT_FILE_UNREAD,
	INEXACT_FUNCTION_UNPROBED,
	INEXACT_DESCRIPTORS, /* /proc/PID/fd said otherwise, or calls were not counted */
	INEXACT_LEDGER,	     /* the live set holds other blocks than the ledger says */
	INEXACT_MAX_
};

struct snapshot_process {
	lm_process_key key;
	uint32_t pid;
	char comm[16];
	char *exe;  /* as /proc/PID/exe said while it lived, or NULL; untrusted; owned */
	char *host; /* of a fleet (app/runs/merge.h), untrusted; owned; NULL: where it was taken */
	struct managed_share managed; /* what its allocator knows nothing of; not recorded */
	struct container *container; /* process/proc/container.h; NULL: none, or not known; owned */
	bool exited;
	uint64_t age_ns;       /* since it began; 0: not known, or it has ended */
	bool exact;	       /* nothing of enum inexact_cause: every number below is exact */
	uint32_t inexact;      /* 1 << enum inexact_cause; 0 if an older recording lacks it */
	uint32_t hidden_tasks; /* SHARED_MEMORY: how many */
	uint32_t hidden_pid;   /* and the latest of them */
	struct ledger ledger;
	/* For the blocks that passed --older; mappings are apart, for they hold the blocks. */
	uint64_t outstanding_bytes;
	uint64_t outstanding_count;
	/* It samples itself (otel_memory), and so its numbers are estimates. */
	bool samples_itself;
	bool without_free;	  /* and reports no end: what it allocated is all that is known */
	uint64_t sample_interval; /* bytes from one sample to the next; 0: there was none yet */
	struct mapping_ledger mapping;	      /* with snapshot.has_mappings */
	struct descriptor_ledger descriptors; /* with snapshot.has_descriptors */
	struct thread_figures threads;
	VEC(struct site) sites;
	VEC(struct block) blocks;
};

struct snapshot {
	uint64_t sequence;    /* 1 for the first of a run */
	struct timespec time; /* CLOCK_REALTIME */
	uint64_t monotonic_ns;
	bool sampled;	   /* numbers are estimates */
	bool has_ages;	   /* false with -C */
	bool has_owners;   /* by_dead is known of heap blocks */
	bool only_by_dead; /* bytes and counts are of blocks that ended threads allocated */
	uint64_t scan_ns;  /* how long reading took */
	struct ledger
		ledger;	   /* sum over the processes, and what no process could be charged with */
	bool has_mappings; /* --mappings */
	struct mapping_ledger mapping;	      /* sum over the processes, and those that are gone */
	bool has_descriptors;		      /* --descriptors */
	struct descriptor_ledger descriptors; /* likewise */
	VEC(struct snapshot_process) processes;
};

void snapshot_free(struct snapshot *snapshot);

/* *total += *part, field by field. */
void ledger_add(struct ledger *total, const struct ledger *part);
void mapping_ledger_add(struct mapping_ledger *total, const struct mapping_ledger *part);
void descriptor_ledger_add(struct descriptor_ledger *total, const struct descriptor_ledger *part);
/* All of those of a snapshot, and which it has. */
void snapshot_add_ledgers(struct snapshot *sum, const struct snapshot *added);

/* For a fleet: leaves out all processes of other hosts. The ledgers are then the sums of those that
 * are left: what no process could be charged with is in none. */
void snapshot_keep_host(struct snapshot *snapshot, const char *host);

/*
 * Whether the live set holds as many blocks as the ledger, the snapshot's or one of its processes',
 * says, but for what moved meanwhile. True where the live set was not read (-C).
 */
bool ledger_agrees(const struct snapshot *snapshot, const struct ledger *ledger);

/* From here on its numbers are not exact, for this cause. */
void snapshot_mark_inexact(struct snapshot_process *process, enum inexact_cause cause);

/* How many processes have it. */
size_t snapshot_count_inexact(const struct snapshot *snapshot, enum inexact_cause cause);

/* As it stands in JSON: "dropped", "code_moved", ... */
const char *inexact_name(unsigned cause);
/* The event, and the operator's remedy; NULL: the ledger says it, with numbers. */
const char *inexact_advice(unsigned cause);

/*
 * Bounds of a site's numbers, or of their sum, in a process that samples itself: 95 %. Of one that
 * reports no end, the bytes are those that were allocated, and `count` is 0 and 0.
 */
struct estimate {
	double samples; /* events that the bytes rest on */
	struct bounds bytes, count;
};

/* Its bytes as a sum over hits; all 0 if they are exact. */
struct poisson_sum snapshot_hits(const struct site *site);
struct estimate snapshot_estimate_site(const struct site *site);
struct estimate snapshot_estimate_process(const struct snapshot_process *process);

/* Names of the causes as they stand in reports and JSON: "blocks_full", "sites_full", ... */
const char *drop_name(unsigned cause);
const char *lost_name(unsigned cause);
const char *walk_end_name(unsigned end);
/* The event, and the operator's remedy, to follow "N allocations dropped: ". */
const char *drop_advice(unsigned cause);
const char *lost_advice(unsigned cause);
const char *walk_end_advice(unsigned end);

#endif
