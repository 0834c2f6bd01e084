/* SPDX-License-Identifier: GPL-2.0-or-later */
/* leakmon's report against the file of truth.h: for each block the return addresses, one by one. */
#ifndef LEAKMON_TRUTH_COMPARE_H
#define LEAKMON_TRUTH_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "truth.h"

#define COMPARE_KINDS 64

enum difference {
	DIFFERENCE_OTHER_CALLER,  /* both continue, at different callers */
	DIFFERENCE_LEAKMON_ENDS,  /* leakmon's stack ends here */
	DIFFERENCE_UNWINDER_ENDS, /* libgcc's unwinder ends here */
	DIFFERENCE_SIZE,	  /* the sizes are not equal */
	DIFFERENCE_MISSING,	  /* leakmon does not have the block; counted apart */
	DIFFERENCE_MAX_,
};

struct stack_view {
	const uint64_t *frames;
	size_t depth;
};

/* All blocks with stacks that diverge in the same way at the same frame, and the first of them. */
struct difference_kind {
	enum difference how;
	uint64_t parting; /* the last frame that both have; 0: none */
	uint64_t count;
	uint64_t address;		/* of the first block */
	uint64_t leakmon[TRUTH_FRAMES]; /* its stacks */
	size_t leakmon_depth;
	struct stack_view truth; /* in the truth file */
};

struct comparison {
	uint64_t equal, different;
	uint64_t missing; /* blocks that leakmon does not have */
	uint64_t cut;	  /* among the equal ones: leakmon's stack is full, and equal so far */
	uint64_t
		probed; /* the unwinder's stack ends at a return probe's trampoline, equal so far */
	uint64_t lost;	/* allocations for which the truth file had no room */
	uint64_t trampoline, trampoline_end; /* of return probes (`[uprobes]`); 0: none */
	size_t kind_count;
	struct difference_kind kinds[COMPARE_KINDS];
};

/*
 * Maps the file, writable for header.recording. Returns NULL with errno; EINVAL: not a truth file.
 */
struct truth_file *truth_map(const char *path);
void truth_unmap(struct truth_file *truth);

/* `report` is one report with blocks (-a -T 0 -o 0). *comparison is filled from zero.
 * The process must live: its trampoline is in /proc/PID/maps. 0 or -ENOMEM. */
int compare(json_t *report, const struct truth_file *truth, struct comparison *comparison);

/* One line of figures, then the first kinds of differences with both stacks. Addresses are named
 * by /proc/PID/maps while the process lives. */
void comparison_print(FILE *out, const char *name, const struct comparison *comparison,
		      const struct truth_file *truth);

#endif
