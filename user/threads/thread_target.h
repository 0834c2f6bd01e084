/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads family's probes on one process. */
#ifndef LEAKMON_THREADS_THREAD_TARGET_H
#define LEAKMON_THREADS_THREAD_TARGET_H

#include "probe/attach.h"
#include "probe/loader.h"
#include "proc/file_cache.h"
#include "threads/thread_library.h"

struct worker;

struct thread_seen {
	uint64_t inode;
	uint32_t major, minor;
};

/* Zero-initialise it, except for `pid`. */
struct thread_target {
	pid_t pid;
	struct attachments attachments;
	VEC(struct thread_seen) seen; /* files that were looked at */
	size_t points;		      /* probed in all; 0: no thread library is mapped (yet) */
	char why[96];		      /* a thread library is mapped, but not probed; "" */
	bool has_layout;
	struct thread_layout layout;
	uint64_t library_bias; /* address in the process = bias + the file's own; with has_layout */
};

struct thread_config {
	const struct bpf_side *bpf;
	enum attach_method method;
	struct worker *worker;	      /* borrowed; reads the files */
	struct file_cache *libraries; /* of struct thread_library; borrowed */
};

/* For thread_config.libraries. NULL: out of memory. */
struct file_cache *thread_libraries_new(void);

/*
 * Probes the thread libraries that are mapped and not yet probed; may be called again whenever the
 * process may have mapped more. 0, also when there are none; -errno.
 */
int thread_target_attach(struct thread_target *target, const struct thread_config *config);
void thread_target_detach(struct thread_target *target);

#endif
