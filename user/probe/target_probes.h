/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the probes of one planned file on one process. */
#ifndef LEAKMON_PROBE_TARGET_PROBES_H
#define LEAKMON_PROBE_TARGET_PROBES_H

#include <stdio.h>
#include <sys/types.h>

#include "parse/plan.h"
#include "probe/attach.h"
#include "probe/loader.h"

struct probes_request {
	const struct probe_plan *plan;
	const char *path; /* untrusted, for messages */
	int file_fd;
	pid_t pid;
	enum attach_method method;
	const struct bpf_side *bpf;
};

/*
 * A function that ends blocks and cannot be probed makes every number wrong: -EOPNOTSUPP after an
 * error. One that only allocates and may throw is left out, with a warning: its blocks are not
 * seen. *left_out: either has happened.
 */
int probes_check(const struct probe_plan *plan, const char *path, bool *left_out);

/* Adds to *attachments. 0 or -errno; what was attached by then stays in it. */
int probes_attach(struct attachments *attachments, const struct probes_request *request);

/* How many functions get a probe. */
size_t probes_count(const struct probe_plan *plan);

/* For `leakmon doctor`: whose allocator it is, and where each probe goes and why. */
void probes_print(FILE *out, const struct probe_plan *plan);

#endif
