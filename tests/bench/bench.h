/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the sections of the benchmark. A section starts its own processes, adds samples, and
 * returns 0 even without a figure: the table has the reason. Only -EINTR ends the run.
 */
#ifndef LEAKMON_BENCH_BENCH_H
#define LEAKMON_BENCH_BENCH_H

#include <stdbool.h>

#include "figures.h"

struct bench {
	struct results results;
	bool quick;	 /* one repetition, short */
	int repetitions; /* odd */
	int most;	 /* upper limit, also for values with a number of their own; 0: no limit */
	const char *pair_ms; /* how long one pair measurement lasts */
	char directory[32];  /* scratch, removed at the end */
};

int section_pairs(struct bench *bench);
int section_threads(struct bench *bench);
int section_walk(struct bench *bench);
int section_libraries(struct bench *bench);
int section_naming(struct bench *bench);
int section_sampled(struct bench *bench);
int section_bystander(struct bench *bench);
int section_lifecycle(struct bench *bench);
int section_blocks(struct bench *bench);
int section_sites(struct bench *bench);
int section_idle(struct bench *bench);
int section_triage(struct bench *bench);
int section_sqlite(struct bench *bench);
int section_crowd(struct bench *bench);
int section_redis(struct bench *bench);
int section_profile(struct bench *bench);
int section_programs(struct bench *bench);
int section_diagnose(struct bench *bench);
int section_retain(struct bench *bench);

/* Prints the progress of the run on stderr. */
void progress(const char *section, int repetition, int repetitions);

/* Repeats a measurement, with progress, until it fails. Returns 0 or its -errno. */
int repeat(struct bench *bench, const char *section, int repetitions,
	   int (*measure)(struct bench *bench));

#endif
