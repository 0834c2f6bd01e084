/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects that the kernel has allocated on behalf of one process, and not freed since it is
 * followed (bpf/object.bpf.c): by the kernel's function and the process's own call stack.
 */
#ifndef LEAKMON_COLLECT_KERNEL_OBJECTS_H
#define LEAKMON_COLLECT_KERNEL_OBJECTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/vec.h"
#include "trace/probe/loader.h"

struct kernel_object_row {
	struct lm_object_key key;
	struct lm_object_sum sum; /* of the followed objects: see object_shift */
};

struct kernel_objects {
	VEC(struct kernel_object_row) list;
	struct lm_object_counts counts; /* of all CPUs */
	uint64_t frees;			/* seen on the whole machine: the cost */
};

/*
 * Reads them. Returns 0; -ENOTSUP: not followed; -errno. *objects is untouched on error; its owner
 * frees it.
 */
int kernel_objects_read(const struct bpf_side *bpf, struct kernel_objects *objects);
void kernel_objects_free(struct kernel_objects *objects);

/* Returns whether the followed process, or a descendant of it, created this one, alive or not. */
bool kernel_objects_has_child(const struct bpf_side *bpf, pid_t pid);

#endif
