/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that a parser failed at, so that none is tried twice. */
#ifndef LEAKMON_SANDBOX_MARKED_H
#define LEAKMON_SANDBOX_MARKED_H

#include "base/file_identity.h"
#include "base/vec.h"

struct marked_file {
	struct file_identity identity;
	uint32_t kind;
	int error;
};

struct marked_files {
	VEC(struct marked_file) list;
};

/* The error that the file got for this kind of request, or 0. */
int marked_find(const struct marked_files *marked, const struct file_identity *identity,
		uint32_t kind);
/* The oldest are forgotten when there are many. */
void marked_add(struct marked_files *marked, const struct marked_file *file);

#endif
