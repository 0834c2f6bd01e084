/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings of `leakmon retain` about a process, as plain rows: this is printed, recorded and
 * compared. It needs neither the process nor its heap image any more, and owns all it points to.
 * Names in it came from the target, or from a recording that somebody else made: untrusted.
 */
#ifndef LEAKMON_REPORT_RETAIN_RESULT_H
#define LEAKMON_REPORT_RETAIN_RESULT_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"
#include "report/heap_profile.h"
#include "report/runtime_label.h"

enum verdict { VERDICT_HELD, VERDICT_UNTRACKED, VERDICT_LOST, VERDICT_MAX_ };

struct retention_total {
	uint64_t blocks, bytes;
};

enum class_kind {
	CLASS_CXX,	 /* name: the class */
	CLASS_CXX_ARRAY, /* likewise, of `new T[n]` */
	CLASS_OPS,	 /* name: the table's symbol, or NULL: see module and offset */
	CLASS_SITE,	 /* site: where it was allocated; name: its type, if the stack shows it */
	CLASS_SIZE,	 /* size: as usable */
	CLASS_RUNTIME,	 /* of a managed language; name: the class; module: the runtime's key */
	CLASS_KIND_MAX_
};

#define STALE_NUMBER "words that may be numbers"

enum root_kind {
	ROOT_GLOBAL,
	ROOT_STACK,
	ROOT_THREAD_LOCAL,
	ROOT_REGISTER,
	ROOT_KERNEL,
	ROOT_RUNTIME, /* what the language has a name for; module: the runtime's key */
	/* Weak ones: they may hold what they lead to. */
	ROOT_UNTRACKED,
	/* A word of a thread that no function is known to use any more; called STALE_NUMBER, words
	 * that may be numbers. */
	ROOT_STALE,
	ROOT_KIND_MAX_
};

/* No offset: the pointer is no word of the block, or nobody knows which one. */
#define STEP_NOWHERE ((uint64_t)INT64_MAX)

/* For so many pointers beside each other, nobody asks which one it is. */
#define PATH_WIDE 16

/* "class", "ops table", ... */
const char *class_kind_name(enum class_kind kind);
/* "global", "stack", ... */
const char *root_kind_name(enum root_kind kind);

#define RESULT_NONE UINT32_MAX

/* Plain numbers. */
enum retained_number {
	/* of the heap image */
	NUMBER_PAUSE_NS,
	NUMBER_MAX_PAUSE_NS,
	NUMBER_STOPS,
	NUMBER_READ_NS,
	NUMBER_TOTAL_NS,
	NUMBER_OWN_PEAK_BYTES,
	NUMBER_WRITABLE_BYTES,
	NUMBER_READ_BYTES,
	NUMBER_SWAPPED_BYTES,
	NUMBER_PAGES_CHECKED,
	NUMBER_PAGES_CHANGED,
	/* of the heap */
	NUMBER_BLOCKS,
	NUMBER_WALKED,
	NUMBER_TRACKED,
	NUMBER_ARENAS,
	NUMBER_BROKEN,
	NUMBER_BROKEN_AT, /* address; only with NUMBER_BROKEN */
	NUMBER_BROKEN_FREE_LISTS,
	NUMBER_DROPPED, /* allocations since the attach that could not be tracked */
	RETAINED_NUMBER_MAX_
};

/* Whether a root of the kernel with that name has a number as its address: a descriptor's or a
 * timer's. NULL is allowed. */
bool kernel_root_has_number(const char *name);

/* "held", "untracked", "unreachable". */
const char *verdict_name(enum verdict verdict);

/* Where blocks were allocated. */
struct retained_site {
	uint64_t id; /* symbolizer_stack_id() */
	struct frames frames;
};

/* Sites are meant by their place plus 1, so that 0 is none; classes and roots by their place. */
struct retained_class {
	uint64_t id; /* the same on every run */
	enum class_kind kind;
	const char *name, *module; /* or NULL; see struct block_class */
	uint64_t offset, size;	   /* of CLASS_OPS, of CLASS_SIZE */
	uint32_t site;		   /* of CLASS_SITE */
	uint32_t distance; /* the longest shortest path from a root to one of them; 0: none */
	struct retention_total total, verdicts[VERDICT_MAX_];
	struct retention_total passing; /* of the live ones: only stacks and registers lead there.
					 * Not recorded */
	uint64_t garbage; /* objects, if all roots of the runtime are known. Not recorded */
};

struct retained_root {
	uint64_t id; /* the same on every run; threads of one name have the same */
	enum root_kind kind;
	const char *name, *module; /* or NULL */
	uint64_t address, offset;
	pid_t tid; /* 0: of several threads, or of none */
	char comm[16];
	uint32_t threads; /* ROOT_THREAD_LOCAL: how many have one that holds something */
	bool through; /* it holds nothing of that itself: it leads to memory that no block is known
		       * in, and that does */
	uint64_t words;
	struct retention_total led; /* what the shortest paths from it end at */
	struct retention_total retained;
};

/* The basis for judging growth: of a managed class the objects that roots hold, for between two
 * collections there is garbage, too; of any other all blocks, unreachable ones are the leak. */
struct retention_total retained_class_live(const struct retained_class *class);

/* Lost blocks by where, else as what, the direct ones were allocated. */
struct retained_leak {
	uint32_t class, site;
	struct retention_total direct, indirect;
	uint64_t example; /* address */
};

#define PATH_BRANCHES_MAX 4
struct retained_step {
	uint64_t offset, address, size;	 /* offset: see struct path_step */
	uint32_t class, width, repeated; /* likewise */
	uint32_t turn, turns, skipped;	 /* likewise */
	const char *label;		 /* ".items", "[3]"; NULL: none is known. Not recorded */
	uint32_t branches;		 /* see struct path_step; not recorded */
	struct {
		uint64_t offset;
		const char *label;
	} fields[PATH_BRANCHES_MAX];
};

/* Referrers to the blocks of a class: an element of its tree, in the order shown. */
#define REFERRER_PERIOD_MAX 4
struct retained_referrer {
	uint32_t depth;				       /* 0: the class itself */
	uint32_t root;				       /* its place; RESULT_NONE: it is classes */
	uint32_t classes[REFERRER_PERIOD_MAX], period; /* so many, which repeat in turn */
	uint64_t least, most;			       /* how often; 1, 1: it is no chain */
	uint64_t blocks, bytes;			       /* of the class, that it leads to */
};

struct referrer_tree {
	VEC(struct retained_referrer) rows;
	uint64_t held, sampled; /* of so many blocks that are held, so many were followed */
};

/* A place of a path where many things are: so many pointers in one object, or turns of a chain. */
#define PILE_CLASSES_MAX 8
struct retained_pile {
	uint64_t many;
	bool chain, tree;			   /* tree: so many in all its branches */
	uint32_t classes[PILE_CLASSES_MAX], count; /* the object; those that take turns */
	uint32_t root;				   /* the pointers are in it; RESULT_NONE */
};

struct retained_path {
	uint32_t class, root;
	uint64_t sharing, sampled;
	uint64_t chain; /* see struct path; not recorded */
	bool chain_exact, tree;
	/* Where things pile up, which may be among the steps left out; see struct path_pile. Not
	 * recorded; many 0: nowhere. */
	struct retained_pile pile;
	/* Class of garbage, plus 1, whose collection would free what the path leads to: an object
	 * on the path refers to it weakly, as a Cleaner of Java does. 0: there is none. Not
	 * recorded */
	uint32_t awaited;
	bool also; /* the same block's as the path before, from another root, and nearly as plain.
		    * Not recorded */
	VEC(struct retained_step) steps;
	struct referrer_tree referrers; /* not recorded; empty: of one block's path */
};

/* Every block is in one of these. */
struct retained_sample {
	enum verdict verdict;
	uint32_t root;	/* that the shortest path to the blocks begins at, or RESULT_NONE */
	uint32_t class; /* of the blocks */
	uint32_t site;
	struct retention_total total;
};

/* Blocks of a class that are weakly held and probably lost, see heap/retain/witness.h. */
struct retained_probable {
	uint32_t class;
	struct retention_total total;
	uint64_t others,
		gone; /* of the same class, and how many of them were freed or written to */
};

/* A managed heap, as it was walked. */
struct retained_runtime {
	const char *key, *name, *version; /* static; "": not known */
	bool untested;		 /* the version: it describes itself as one that is known */
	const char *why;	 /* it was not walked, or not all of it; static; NULL: it was */
	uint64_t objects, bytes; /* bytes: with what belongs to them */
	uint64_t heap_bytes, free_bytes; /* that the runtime has for small objects; free in them */
	uint64_t unread_bytes;		 /* of its heap */
	uint64_t nonsense;		 /* what cannot be, and was left out */
	uint64_t retries;		 /* stops, or reads without one, while it collected */
	bool all_roots; /* are known, so that objects that none leads to are garbage: */
	bool counted;	/* or not all, but counts of references distinguish them */
	uint64_t unreached, unreached_bytes;
	bool collector_off;	       /* the program has switched it off */
	uint64_t frozen, frozen_bytes; /* objects that it leaves alone for good */
	uint64_t finalizable;	       /* that have a finalizer written in the language */
	uint64_t isolates; /* heaps of a thread each, which share nothing; 0: there is one heap */
	struct heap_part parts[HEAP_PARTS_MAX];
	struct class_copies copies[CLASS_COPIES_MAX];	   /* most copies first */
	uint64_t copied_classes;			   /* of which these are the first ones */
	struct listener_crowd crowds[LISTENER_CROWDS_MAX]; /* most listeners first */
	uint64_t crowded_events;			   /* likewise */
};

struct retain_result {
	struct timespec time; /* CLOCK_REALTIME */
	pid_t pid;
	char comm[16];
	const char *core;	      /* the core file that it is of; NULL: of a live process */
	struct managed_share managed; /* of a runtime without a walker; not recorded */
	const char *allocator;	      /* NULL: its heap could not be walked */
	const char *why_not_walked;   /* why an allocator's blocks are not known; NULL: they are */
	const char *why_broken;	      /* which check of it failed; NULL: none, or not recorded */
	const char *why_not_stopped;  /* NULL: it was, or was not to be */
	/* Why what the kernel alone holds was not read; why it may hold more, so that the result is
	 * not settled. NULL: it was; it does not. Not recorded */
	const char *why_kernel_unread, *why_kernel_uncertain;
	bool settled, stopped, soft_dirty, pagemap;
	uint64_t numbers[RETAINED_NUMBER_MAX_];
	struct retention_total totals[VERDICT_MAX_], direct, indirect;
	struct retention_total through; /* of the untracked: see struct retention */
	/* Of the held blocks, those to which only threads' stacks and registers lead: what the
	 * functions that run just now work with, and whatever is left over in their frames. */
	struct retention_total passing;
	VEC(struct retained_site) sites;
	VEC(struct retained_class) classes; /* the greatest first */
	VEC(struct retained_root) roots;    /* what leads to most first */
	size_t retaining;		    /* so many of them lead to something */
	VEC(struct retained_leak) leaks;    /* the greatest first */
	VEC(struct retained_path) paths;
	VEC(struct retained_sample) samples;
	uint64_t witness_ns; /* since the look that this one was compared with; 0: there was none */
	VEC(struct retained_probable) probable; /* not recorded */
	VEC(struct retained_runtime) runtimes;	/* not recorded */
	VEC(struct bounded_container) bounded;	/* by ascending address; not recorded */
	/* For a Go program; owned; NULL: it is none. */
	struct heap_profile *heap_profile;
	bool no_malloc;	   /* a Go program without C */
	bool profile_only; /* so that nothing but its profile was looked at */
	struct intern strings;
};

/* The site of a class or a leak, or NULL: not known. */
const struct retained_site *retained_site(const struct retain_result *result, uint32_t site);

/*
 * Blocks from the call stack of a leak's direct blocks that are held all the same: by a proper
 * owner, or by a word left over in memory that is used again. False: their call stack is not known,
 * or some of them have a class that says more.
 */
bool retained_leak_held(const struct retain_result *result, const struct retained_leak *leak,
			struct retention_total *held);

/* Fills the ids of classes and roots from what they are called. */
void retain_result_identify(struct retain_result *result);
void retain_result_free(struct retain_result *result);

/* All blocks. */
struct retention_total retain_result_total(const struct retain_result *result);

/* Among the untracked blocks, those that only stale words lead to. */
struct retention_total retain_result_stale(const struct retain_result *result);

/* All that is lost, each block once: the unreachable, and those with only stale references. */
struct retention_total retain_result_lost(const struct retain_result *result);

/* In JSON and in recordings. The totals of a result are in recordings only. */
struct figures;
extern const struct figures retain_head_figures, retain_image_figures, retain_total_figures,
	retained_root_figures, retained_root_amounts, retained_class_figures,
	retained_class_amounts, retained_leak_figures, retained_path_figures, retained_step_figures,
	retained_sample_figures;

#endif
