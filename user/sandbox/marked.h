/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a parser failed at, so that none is tried twice; but for those that took too long,
 * which may have been the machine's fault: they are tried again after a minute, two, four, ...
 */
#ifndef LEAKMON_SANDBOX_MARKED_H
#define LEAKMON_SANDBOX_MARKED_H

#include "base/file_identity.h"
#include "base/vec.h"

struct marked_file {
	struct file_identity identity;
	uint32_t kind;
	int error;
	unsigned times;	   /* that it took too long */
	uint64_t until_ns; /* it is not tried again before (CLOCK_MONOTONIC) */
};

struct marked_files {
	VEC(struct marked_file) list;
};

/* The error that the file got for this kind of request; 0: it may be tried. */
int marked_find(const struct marked_files *marked, const struct file_identity *identity,
		uint32_t kind);
/* Notes identity, kind and error. The oldest are forgotten when there are many. */
void marked_add(struct marked_files *marked, const struct marked_file *file);

#endif
