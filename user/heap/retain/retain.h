/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All findings of `leakmon retain` about one process at one moment, ready for output. */
#ifndef LEAKMON_RETAIN_RETAIN_H
#define LEAKMON_RETAIN_RETAIN_H

#include <time.h>

#include "heap/retain/path_costs.h"
#include "heap/retain/paths.h"

struct held_words;
struct process_table;
struct worker;

/* Unreachable blocks, by allocation site, else by class: definite leaks. */
struct retain_leak {
	uint32_t site;	/* of the direct ones, as in tracked_block; 0: unknown */
	uint32_t class; /* of one of them */
	struct retention_total direct, indirect;
	uint32_t example; /* a block */
};

/* Indices of another list. */
struct ranking {
	VEC(uint32_t) list;
};

/* A path to show, and its target. */
struct retain_path {
	uint32_t class;
	struct path path;
	bool also; /* see struct retained_path */
};

struct retain {
	struct timespec time; /* CLOCK_REALTIME */
	pid_t pid;
	char comm[16];
	const char *allocator;	      /* "jemalloc 5.3", or NULL: its heap could not be walked */
	bool settled;		      /* of one moment, or confirmed by two scans */
	uint64_t total_ns, rss_bytes; /* of leakmon's own work */

	struct heap_image heap_image;
	struct heap_graph graph;
	struct data_modules modules;
	struct thread_blocks locals;
	struct stack_frames frames;
	struct kernel_roots held;
	struct intern intern;
	struct root_functions functions;
	struct root_groups groups;
	struct classes classes;
	struct path_costs costs;
	struct retention retention;

	/* of the contents of lost blocks; NULL unless two scans must agree */
	uint64_t *lost_hashes;

	/* Ranked, the largest first. */
	struct ranking ranked_roots;
	struct ranking ranked_classes;
	VEC(struct retain_leak) leaks;
	VEC(struct retain_path) paths;
};

struct retain_sources {
	struct worker *worker;		 /* borrowed; reads the target's files */
	struct process_table *processes; /* borrowed */
	struct symbolizer *symbolizer;	 /* borrowed; names functions */
	/*
	 * Where programs that read the kernel's words stay loaded between images, to save 0.1 s of
	 * CPU; the caller closes them (held_words_close()). NULL: they are loaded for each image.
	 */
	struct held_words **held;
	const struct tracked_block *tracked; /* by address; or NULL */
	size_t tracked_count;
	struct site_types types;   /* of tracked blocks; borrowed */
	bool complete;		   /* every block was tracked since the process began */
	struct progress *progress; /* borrowed; NULL: not shown */
};

/*
 * Takes the heap image; needs those of `sources` that read files. *retain is filled in any case,
 * must not be moved from here on, and is freed by the caller. Errors as heap_image_take().
 */
int retain_begin(pid_t pid, const struct heap_image_options *options,
		 const struct retain_sources *sources, struct retain *retain);

/* Completes the analysis, except paths. Returns 0 or -ENOMEM. */
int retain_finish(struct retain *retain, const struct retain_sources *sources);

/* Retracts blocks lost only by pages that are PAGE_LATE. Returns 0 or -ENOMEM. */
int retain_take_back_uncertain(struct retain *retain);

/* Fills ranked_roots and ranked_classes. Returns 0 or -ENOMEM. */
int retain_rank(struct retain *retain);

/* Recounts classes and leaks, after verdicts have changed. Returns 0 or -ENOMEM. */
int retain_count_again(struct retain *retain);

/*
 * Add paths: one to the block at an address; to those of a class, or of the largest classes, with a
 * second one if two are close. Return 0 or -errno.
 */
int retain_add_address_path(struct retain *retain, uint64_t address);
int retain_add_class_path(struct retain *retain, uint32_t class);
int retain_add_top_paths(struct retain *retain, size_t count);

void retain_free(struct retain *retain);

#endif
