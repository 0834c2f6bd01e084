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

/* Zero-initialise all but `pid`. */
struct thread_target {
	pid_t pid;
	struct attachments attachments;
	struct mapped_files seen; /* files examined */
	size_t points;		  /* all probed points; 0: no thread library is mapped (yet) */
	char why[96];		  /* reason why a mapped thread library is not probed, or "" */
	bool unread;		  /* a file that may be a thread library could not be read */
	bool postponed;		  /* a file will be retried */
	struct code_watch code;	  /* state of the probes */
	/* The threads older than the attach (thread_seed.h). */
	const char *why_before;	     /* why they are unknown, a literal; NULL: they are known */
	struct thread_missed missed; /* to subtract from lm_thread_ledger */
	uint32_t seeded;	     /* threads that seeding added to the ledger */
};

struct thread_mapper {
	struct mapped_file file;
	pid_t pid;
};

/*
 * Probes set once per file, for every process that maps it: no such process may be traced by a
 * debugger, or have changed that code in its memory. Zero-initialise.
 */
struct thread_shared {
	struct attachments attachments;
	struct mapped_files probed, refused;
	/* The mappings of code by process, as of mappers_ns. */
	VEC(struct thread_mapper) mappers;
	uint64_t mappers_ns;
};

/*
 * Excludes the files that a process maps from probing; call it before the first attachment. Returns
 * 0 or -errno.
 */
int thread_shared_refuse(struct thread_shared *shared, pid_t pid);
void thread_shared_detach(struct thread_shared *shared);

struct thread_config {
	const struct bpf_side *bpf;
	enum attach_method method;
	struct worker *worker;	      /* borrowed; reads the files */
	struct dso_cache *dsos;	      /* borrowed; thread libraries are their facets */
	struct thread_shared *shared; /* borrowed; NULL: probes are set on the process alone */
};

/* Registers thread libraries as a facet of these files. */
void thread_libraries_register(struct dso_cache *dsos);

/*
 * Probes mapped thread libraries that are not yet probed; call again when the process may have
 * mapped more, after a refresh. Returns 0, also without any library, or -errno.
 */
int thread_target_attach(struct thread_target *target, const struct process *process,
			 const struct thread_config *config);
void thread_target_detach(struct thread_target *target);

#endif
