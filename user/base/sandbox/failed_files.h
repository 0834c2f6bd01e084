/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files at which a parser failed, so that none is tried twice. A timeout may have been the
 * machine's fault: such a file is retried after a minute, two, four, ...
 */
#ifndef LEAKMON_SANDBOX_FAILED_FILES_H
#define LEAKMON_SANDBOX_FAILED_FILES_H

#include "base/file_identity.h"
#include "base/vec.h"

struct failed_file {
	struct file_identity identity;
	uint32_t kind;
	int error;
	unsigned times;	   /* number of timeouts */
	uint64_t until_ns; /* not retried before (CLOCK_MONOTONIC) */
};

struct failed_files {
	VEC(struct failed_file) list;
};

/* Returns the earlier error of this file and kind of request; 0: it may be tried. */
int failed_files_find(const struct failed_files *failed, const struct file_identity *identity,
		      uint32_t kind);
/* Records identity, kind and error. The oldest entries are evicted. */
void failed_files_add(struct failed_files *failed, const struct failed_file *file);

#endif
