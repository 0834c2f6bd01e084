/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon report` and `leakmon diff` of runs of `leakmon retain` in recordings. */
#ifndef LEAKMON_RUNS_STORED_RETENTION_H
#define LEAKMON_RUNS_STORED_RETENTION_H

#include "monitor/emit.h"
#include "report/retain_result.h"
#include "store/recording.h"

/* Whether it holds such runs and no snapshots. */
bool stored_retentions_only(const struct recording *recording);

/* 0, or -errno after an error message. */
int stored_retention_report(struct recording *recording, const char *at,
			    const struct output_options *output);

/* Of each process the latest run, in the order of their first ones. */
struct stored_retentions {
	VEC(struct retain_result) list;
};

/* 0, or -errno after an error message; to be freed in any case. */
int stored_retentions_read(struct recording *recording, struct stored_retentions *set);
void stored_retentions_free(struct stored_retentions *set);

struct stored_retention_side {
	struct recording *recording;
	const char *path, *at; /* at: NULL: the last one */
};

/* *growth: bytes. 0, or -errno after an error message. */
int stored_retention_diff(const struct stored_retention_side *before,
			  const struct stored_retention_side *after,
			  const struct output_options *output, int64_t *growth);

/* Whether a format can show runs, or changes between them: 0, or -EINVAL after an error message. */
int stored_retention_check_format(const char *format);
int stored_retention_check_diff_format(const char *format);

#endif
