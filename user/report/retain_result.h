/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings of `leakmon retain` about a process, as plain rows, to be printed, recorded and
 * compared. It needs neither the process nor its heap image, and owns everything it points to.
 * Names come from the target, or from someone else's recording: untrusted.
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
	CLASS_CXX_ARRAY, /* name: the class of `new T[n]` */
	CLASS_OPS,	 /* name: the table's symbol, or NULL: see module and offset */
	CLASS_SITE,	 /* site: of the allocation; name: its type, if the stack shows it */
	CLASS_SIZE,	 /* size: usable bytes */
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
	ROOT_RUNTIME, /* named by the language; module: the runtime's key */
	/* Weak ones, which may not be in use: */
	ROOT_UNTRACKED,
	/*
	 * A word of a thread that no known function uses any more; called STALE_NUMBER, words that
	 * may be numbers.
	 */
	ROOT_STALE,
	ROOT_KIND_MAX_
};

/* No offset: the pointer is no word of the block, or an unknown one. */
#define STEP_NOWHERE ((uint64_t)INT64_MAX)

/* With this many adjacent pointers, their positions are not distinguished. */
#define PATH_WIDE 16

/* Returns "class", "ops table", ... */
const char *class_kind_name(enum class_kind kind);
/* Returns "global", "stack", ... */
const char *root_kind_name(enum root_kind kind);

#define RESULT_NONE UINT32_MAX

/* Indices of plain numbers. */
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

/*
 * Returns whether a kernel root of that name has a number as its address: a descriptor's or a
 * timer's. NULL is allowed.
 */
bool kernel_root_has_number(const char *name);

/* Returns "held", "untracked", "unreachable". */
const char *verdict_name(enum verdict verdict);

/* The call stack that allocated blocks. */
struct retained_site {
	uint64_t id; /* symbolizer_stack_id() */
	struct frames frames;
};

/*
 * Sites are referred to by their index plus 1, with 0 for none; classes and roots by their index.
 */
struct retained_class {
	uint64_t id; /* the same on every run */
	enum class_kind kind;
	const char *name, *module; /* or NULL; see struct block_class */
	uint64_t offset, size;	   /* of CLASS_OPS, of CLASS_SIZE */
	uint32_t site;		   /* of CLASS_SITE */
	uint32_t distance; /* the maximum shortest path from a root to one of them; 0: none */
	struct retention_total total, verdicts[VERDICT_MAX_];
	/* of the live ones: held by stacks and registers only. Not recorded */
	struct retention_total passing;
	uint64_t garbage; /* objects, if all roots of the runtime are known. Not recorded */
};

struct retained_root {
	uint64_t id; /* the same on every run; shared by threads of one name */
	enum root_kind kind;
	const char *name, *module; /* or NULL */
	uint64_t address, offset;
	pid_t tid; /* 0: of several threads, or of none */
	char comm[16];
	uint32_t threads; /* ROOT_THREAD_LOCAL: number of threads whose copy holds something */
	bool through;	  /* it holds blocks only through untracked memory */
	uint64_t words;
	struct retention_total led; /* blocks whose shortest paths begin at it */
	struct retention_total retained;
};

/*
 * Returns the basis for judging growth: of a managed class the objects held by roots, because there
 * is garbage between two collections; of any other all blocks, because unreachable ones are the
 * leak.
 */
struct retention_total retained_class_live(const struct retained_class *class);

/* Unreachable blocks by the call stack, else the class, of the direct ones. */
struct retained_leak {
	uint32_t class, site;
	struct retention_total direct, indirect;
	uint64_t example; /* address */
};

#define PATH_BRANCHES_MAX 4
struct retained_step {
	uint64_t offset, address, size;	 /* offset: see struct path_step */
	uint32_t class, width, repeated; /* see struct path_step */
	uint32_t turn, turns, skipped;	 /* see struct path_step */
	const char *label;		 /* ".items", "[3]"; NULL: unknown. Not recorded */
	uint32_t branches;		 /* see struct path_step; not recorded */
	struct {
		uint64_t offset;
		const char *label;
	} fields[PATH_BRANCHES_MAX];
};

/* Referrers to the blocks of a class: a node of its tree, in the order shown. */
#define REFERRER_PERIOD_MAX 4
struct retained_referrer {
	uint32_t depth;				       /* 0: the class itself */
	uint32_t root;				       /* its index; RESULT_NONE: classes */
	uint32_t classes[REFERRER_PERIOD_MAX], period; /* `period` classes, which alternate */
	uint64_t least, most;			       /* number of repetitions; 1, 1: no chain */
	uint64_t blocks, bytes;			       /* of the class, reached through it */
};

struct referrer_tree {
	VEC(struct retained_referrer) rows;
	uint64_t held, sampled; /* number of held blocks, and of those followed */
};

/* A place on a path with many things: pointers in one object, or turns of a chain. */
#define PILE_CLASSES_MAX 8
struct retained_pile {
	uint64_t many;
	bool chain, tree;			   /* tree: number in all its branches */
	uint32_t classes[PILE_CLASSES_MAX], count; /* the object; the alternating ones */
	uint32_t root;				   /* the pointers' root; RESULT_NONE */
};

struct retained_path {
	uint32_t class, root;
	uint64_t sharing, sampled;
	uint64_t chain; /* see struct path; not recorded */
	bool chain_exact, tree;
	/*
	 * Where things accumulate, possibly among the skipped steps; see struct path_pile. Not
	 * recorded; many 0: nowhere.
	 */
	struct retained_pile pile;
	/*
	 * Class of garbage, plus 1, whose collection would free the path's end: an object on the
	 * path refers to it weakly, like a Cleaner of Java. 0: none. Not recorded
	 */
	uint32_t awaited;
	/*
	 * of the same block as the previous path, from another root, and nearly as simple. Not
	 * recorded
	 */
	bool also;
	VEC(struct retained_step) steps;
	struct referrer_tree referrers; /* not recorded; empty: the path of a single block */
};

/* Groups of blocks; every block is in one of these. */
struct retained_sample {
	enum verdict verdict;
	uint32_t root;	/* where the shortest path to the blocks begins, or RESULT_NONE */
	uint32_t class; /* of the blocks */
	uint32_t site;
	struct retention_total total;
};

/* Blocks of a class that are weakly held and probably lost, see heap/retain/witness.h. */
struct retained_probable {
	uint32_t class;
	struct retention_total total;
	/* of the same class, and how many of them were freed or written to */
	uint64_t others, gone;
};

/* The walk of a managed heap. */
struct retained_runtime {
	const char *key, *name, *version; /* static; "": unknown */
	bool untested; /* the version: unknown, but describes itself like a known one */
	/* why it was not walked, or not completely; static; NULL: it was */
	const char *why;
	uint64_t objects, bytes;	 /* bytes: including owned memory */
	uint64_t heap_bytes, free_bytes; /* the runtime's, for objects; free bytes in it */
	bool only_small;		 /* for small ones */
	uint64_t unread_bytes;		 /* of its heap */
	uint64_t nonsense;		 /* impossible objects, left out */
	/* repeated stops, or reads without a stop, because of a collection */
	uint64_t retries;
	bool all_roots; /* are known, so that unreachable objects are garbage: */
	bool counted;	/* or not all, but reference counts distinguish them */
	uint64_t unreached, unreached_bytes;
	bool collector_off;	       /* disabled by the program */
	bool by_request;	       /* freed as a whole at the end of a request */
	uint64_t frozen, frozen_bytes; /* objects permanently exempt from collection */
	uint64_t finalizable;	       /* with a finalizer written in the language */
	uint64_t isolates;	       /* separate heaps of single threads; 0: one common heap */
	struct heap_part parts[HEAP_PARTS_MAX];
	struct class_copies copies[CLASS_COPIES_MAX];	   /* most copies first */
	uint64_t copied_classes;			   /* total, of which these are the first */
	struct listener_crowd crowds[LISTENER_CROWDS_MAX]; /* most listeners first */
	uint64_t crowded_events;			   /* total, of which these are the first */
};

struct retain_result {
	struct timespec time; /* CLOCK_REALTIME */
	pid_t pid;
	char comm[16];
	const char *core;	      /* the core file; NULL: a live process */
	struct managed_share managed; /* of a runtime without a walker; not recorded */
	const char *allocator;	      /* NULL: its heap could not be walked */
	const char *why_not_walked;   /* why an allocator's blocks are unknown; NULL: known */
	const char *why_broken;	      /* the check that failed; NULL: none, or not recorded */
	const char *why_not_stopped;  /* NULL: it was stopped, or was not to be */
	/*
	 * Why the kernel's references were not read; why they may hold more, so that the result is
	 * uncertain. NULL: read; certain. Not recorded
	 */
	const char *why_kernel_unread, *why_kernel_uncertain;
	bool settled, stopped, soft_dirty, pagemap;
	uint64_t numbers[RETAINED_NUMBER_MAX_];
	struct retention_total totals[VERDICT_MAX_], direct, indirect;
	struct retention_total through; /* of the untracked: see struct retention */
	/*
	 * Of the held blocks, those held by threads' stacks and registers only: in use by functions
	 * running now, or left over in their frames.
	 */
	struct retention_total passing;
	VEC(struct retained_site) sites;
	VEC(struct retained_class) classes; /* the largest first */
	VEC(struct retained_root) roots;    /* by the blocks they lead to, most first */
	size_t retaining;		    /* number of them that lead to anything */
	VEC(struct retained_leak) leaks;    /* the largest first */
	VEC(struct retained_path) paths;
	VEC(struct retained_sample) samples;
	uint64_t witness_ns; /* since the earlier scan compared with this one; 0: none */
	VEC(struct retained_probable) probable; /* not recorded */
	VEC(struct retained_runtime) runtimes;	/* not recorded */
	VEC(struct bounded_container) bounded;	/* by ascending address; not recorded */
	/* For a Go program; owned; NULL: not one. */
	struct heap_profile *heap_profile;
	bool no_malloc;	   /* a Go program without C */
	bool profile_only; /* so only its profile was examined */
	struct intern strings;
};

/* Returns the site of a class or a leak, or NULL: unknown. */
const struct retained_site *retained_site(const struct retain_result *result, uint32_t site);

/*
 * Sums the held blocks from the call stack of a leak's direct blocks: held by a proper owner, or by
 * a leftover word in reused memory. Returns false if their call stack is unknown, or some have a
 * more specific class.
 */
bool retained_leak_held(const struct retain_result *result, const struct retained_leak *leak,
			struct retention_total *held);

/* Computes the ids of classes and roots from their names. */
void retain_result_identify(struct retain_result *result);
void retain_result_free(struct retain_result *result);

/* Returns the total of all blocks. */
struct retention_total retain_result_total(const struct retain_result *result);

/* Returns the untracked blocks that only stale words lead to. */
struct retention_total retain_result_stale(const struct retain_result *result);

/* Returns all lost blocks, each once: unreachable ones, and those with only stale references. */
struct retention_total retain_result_lost(const struct retain_result *result);

/* For JSON and recordings. The totals of a result are in recordings only. */
struct figures;
extern const struct figures retain_head_figures, retain_image_figures, retain_total_figures,
	retained_root_figures, retained_root_amounts, retained_class_figures,
	retained_class_amounts, retained_leak_figures, retained_path_figures, retained_step_figures,
	retained_sample_figures;

#endif
