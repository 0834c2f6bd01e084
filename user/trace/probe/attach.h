/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts programs on offsets of a file, for one process.
 *
 *   ATTACH_SESSION  uprobe_multi links with programs that run at entry and at return, and may forgo
 * the return (6.13) ATTACH_MULTI    uprobe_multi links, entry and return apart (6.6; right
 * from 6.10) ATTACH_PERF     a perf event per offset, entry and return apart
 */
#ifndef LEAKMON_PROBE_ATTACH_H
#define LEAKMON_PROBE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "binary/parse/plan.h"

/* include/uapi/linux/bpf.h since 6.6; Debian 12's header is older. */
#define LM_BPF_TRACE_UPROBE_MULTI 48
#define LM_BPF_TRACE_UPROBE_SESSION 57
#define LM_BPF_F_UPROBE_MULTI_RETURN 1

/* Descriptors that detach when closed: BPF links, and the perf events below them. */
struct attachments {
	VEC(int) fds;
	uint64_t apart_ns; /* CPU time of the processes that set breakpoints and take them out */
};

/* Where a program runs; POINT_BOTH only with ATTACH_SESSION. */
enum attach_point { POINT_ENTRY, POINT_RETURN, POINT_BOTH };

struct attach_request {
	int program_fd;
	int file_fd;		 /* of the file that holds the code */
	const uint64_t *offsets; /* in the file */
	const uint64_t *cookies;
	/* Where in the file the kernel counts listeners of each; 0: nowhere. NULL: nowhere at
	 * all. */
	const uint64_t *counters;
	size_t count;
	pid_t pid; /* only this process; 0: every process that maps the file */
	enum attach_point point;
};

/*
 * Adds to *attachments. 0, or -errno with nothing added; -ENOENT or -EINVAL mostly mean that this
 * kernel does not know the method. -EDEADLK: trace/probe/memory_locks.h.
 */
int attach(struct attachments *attachments, enum attach_method method,
	   const struct attach_request *request);

/*
 * Sets breakpoints that request->pid has lost, where links that stand put them: a link of a program
 * that does nothing is made and closed, and the kernel goes through the process again. program_fd,
 * cookies and point are not used. Takes as long as a detach does. 0 or -errno.
 */
int attach_renew(enum attach_method method, const struct attach_request *request);

/* The attach type that a program at `point` is loaded with; 0: the default one. */
unsigned attach_type(enum attach_method method, enum attach_point point);

/*
 * Detaches everything, in parallel: each detach waits for the kernel's grace period. Safe from
 * SIGKILL: processes of their own take the descriptors along and end. The kernel, when it takes
 * breakpoints out, gives up at a SIGKILL that is pending (get_user_pages(), mm/gup.c: "failed to
 * unregister, leaking uprobe"), and whoever dies while it closes them would leave them there for
 * good. An exiting process takes no signal any more. Setting them is left to a process of its own,
 * too: one that is killed halfway takes none out.
 */
void attachments_close(struct attachments *attachments);

/* Moves what it can, so that many are closed at once. 0 or -ENOMEM. */
int attachments_move(struct attachments *to, struct attachments *from);

#endif
