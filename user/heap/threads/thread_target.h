/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads family's probes on one process. */
#ifndef LEAKMON_THREADS_THREAD_TARGET_H
#define LEAKMON_THREADS_THREAD_TARGET_H

#include "binary/parse/thread_library.h"
#include "heap/threads/thread_seed.h"
#include "process/target/process.h"
#include "trace/probe/attach.h"
#include "trace/probe/code_watch.h"
#include "trace/probe/loader.h"

struct worker;

/* Zero-initialise it, except for `pid`. */
struct thread_target {
	pid_t pid;
	struct attachments attachments;
	struct mapped_files seen; /* files that were looked at */
	size_t points;		  /* probed in all; 0: no thread library is mapped (yet) */
	char why[96];		  /* a thread library is mapped, but not probed; "" */
	bool unread;		  /* a file that may be a thread library could not be read */
	bool postponed;		  /* likewise, but it is tried again */
	struct code_watch code;	  /* what has become of the probes */
	/* Which threads there were before the attach (thread_seed.h). */
	const char *why_before;	     /* they are unknown, a literal; NULL: they are known */
	struct thread_missed missed; /* to be taken off lm_thread_ledger */
	uint32_t seeded;	     /* threads that were put on the ledger */
};

struct thread_mapper {
	struct mapped_file file;
	pid_t pid;
};

/*
 * Probes that are set on files once, for every process that maps them: what is traced by a
 * debugger, or has changed that code in its memory, must not be among these. Zero-initialise.
 */
struct thread_shared {
	struct attachments attachments;
	struct mapped_files probed, refused;
	/* Which processes map which code, as it was at a time. */
	VEC(struct thread_mapper) mappers;
	uint64_t mappers_ns;
};

/*
 * Leaves alone the files that a process maps; to be called before the first attachment. 0 or
 * -errno.
 */
int thread_shared_refuse(struct thread_shared *shared, pid_t pid);
void thread_shared_detach(struct thread_shared *shared);

struct thread_config {
	const struct bpf_side *bpf;
	enum attach_method method;
	struct worker *worker;	      /* borrowed; reads the files */
	struct dso_cache *dsos;	      /* borrowed; thread libraries are facets of them */
	struct thread_shared *shared; /* NULL: probes are set on the process alone; borrowed */
};

/* From now on thread libraries can be read of these files. */
void thread_libraries_register(struct dso_cache *dsos);

/*
 * Probes the thread libraries that are mapped and not yet probed; may be called again whenever the
 * process may have mapped more, and has just been refreshed. 0, also when there are none; -errno.
 */
int thread_target_attach(struct thread_target *target, const struct process *process,
			 const struct thread_config *config);
void thread_target_detach(struct thread_target *target);

#endif
