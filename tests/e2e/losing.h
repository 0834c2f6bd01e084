/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs below a library that loses a block with every 1,000th
 * (tests/workloads/plugin/loser.c). */
#ifndef LEAKMON_E2E_LOSING_H
#define LEAKMON_E2E_LOSING_H

#include "harness.h"

struct losing {
	char preload[256]; /* "LD_PRELOAD=..." */
	char file[256];	   /* "LOSER_FILE=..." */
};

static inline struct losing losing_in(const struct harness *harness)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	char directory[128];
	struct losing losing;

	assert_non_null(realpath(workloads ? workloads : "build/workloads", directory));
	snprintf(losing.preload, sizeof(losing.preload), "LD_PRELOAD=%s/loser.so", directory);
	snprintf(losing.file, sizeof(losing.file), "LOSER_FILE=%s/told", harness->directory);
	return losing;
}

/* How many blocks were lost so far. */
static inline uint64_t lost_blocks(const struct losing *losing)
{
	uint64_t blocks = 0;
	FILE *file = fopen(strchr(losing->file, '=') + 1, "r");

	assert_non_null(file);
	assert_int_equal(fread(&blocks, sizeof(blocks), 1, file), 1);
	fclose(file);
	return blocks;
}

#endif
