/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts programs on offsets of a file, for one process: through one uprobe_multi link where the
 * kernel has it, through a perf event per offset otherwise.
 */
#ifndef LEAKMON_PROBE_ATTACH_H
#define LEAKMON_PROBE_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* include/uapi/linux/bpf.h since 6.6; Debian 12's header is older. */
#define LM_BPF_TRACE_UPROBE_MULTI 48
#define LM_BPF_F_UPROBE_MULTI_RETURN 1

/* Descriptors whose closing detaches: BPF links, and the perf events below them. */
struct attachments {
	VEC(int) fds;
};

struct attach_request {
	int program_fd;
	int file_fd; /* of the file that holds the code */
	const uint64_t *offsets; /* in the file */
	const uint64_t *cookies;
	size_t count;
	pid_t pid; /* only this process; 0: every process that maps the file */
	bool at_return;
};

/*
 * Both add to *attachments. 0, or -errno with nothing added.
 * -ENOENT / -EINVAL from attach_multi: this kernel has no uprobe_multi.
 */
int attach_multi(struct attachments *attachments, const struct attach_request *request);
int attach_perf(struct attachments *attachments, const struct attach_request *request);

/* Detaches everything, in parallel: each detach waits for the kernel's grace period. */
void attachments_close(struct attachments *attachments);

#endif
