/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaches programs to offsets of a file, for one process.
 *
 *   ATTACH_SESSION  uprobe_multi links with programs that run at entry and at return, and may
 *                   decline the return (6.13)
 *   ATTACH_MULTI    uprobe_multi links, entry and return separate (6.6; correct from 6.10)
 *   ATTACH_PERF     a perf event per offset, entry and return separate
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
	uint64_t apart_ns; /* CPU time of the processes that set and remove breakpoints */
};

/* Where a program runs; POINT_BOTH only with ATTACH_SESSION. */
enum attach_point { POINT_ENTRY, POINT_RETURN, POINT_BOTH };

struct attach_request {
	int program_fd;
	int file_fd;		 /* of the file with the code */
	const uint64_t *offsets; /* in the file */
	const uint64_t *cookies;
	/* File offset of each one's counter of listeners; 0: none. NULL: none for all. */
	const uint64_t *counters;
	size_t count;
	pid_t pid; /* only this process; 0: every process that maps the file */
	enum attach_point point;
};

/*
 * Adds to *attachments. Returns 0, or -errno with nothing added; -ENOENT or -EINVAL usually mean
 * that this kernel lacks the method. -EDEADLK: trace/probe/memory_locks.h.
 */
int attach(struct attachments *attachments, enum attach_method method,
	   const struct attach_request *request);

/*
 * Sets breakpoints again that request->pid has lost, in places of existing links: a link of a
 * program without effect is made and closed, and the kernel rescans the process. program_fd,
 * cookies and point are not used. Takes as long as a detach. Returns 0 or -errno.
 */
int attach_renew(enum attach_method method, const struct attach_request *request);

/* Returns the attach type with which a program at `point` is loaded; 0: the default. */
unsigned attach_type(enum attach_method method, enum attach_point point);

/*
 * Detaches everything, in parallel: each detach waits for the kernel's grace period. Safe from
 * SIGKILL: separate processes inherit the descriptors and end. When the kernel removes breakpoints,
 * it gives up at a pending SIGKILL (get_user_pages(), mm/gup.c: "failed to unregister, leaking
 * uprobe"), and a process killed while closing them would leave them there for good. An exiting
 * process receives no more signals. Setting them is left to a separate process, too: one killed
 * halfway removes none.
 */
void attachments_close(struct attachments *attachments);

/* Moves as many as possible, so that many are closed at once. Returns 0 or -ENOMEM. */
int attachments_move(struct attachments *to, struct attachments *from);

#endif
