/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon report` and `leakmon diff` of runs of `leakmon retain` in recordings. */
#ifndef LEAKMON_COMMAND_RETAINED_H
#define LEAKMON_COMMAND_RETAINED_H

#include "command/options.h"
#include "retain/result.h"
#include "store/recording.h"

/* Whether it holds such runs and no snapshots. */
bool retained_only(const struct recording *recording);

/* 0, or -errno after an error message. */
int retained_report(struct recording *recording, const char *at,
		    const struct output_options *output);

/* Of each process the latest run, in the order of their first ones. */
struct retained_set {
	VEC(struct retain_result) list;
};

/* 0, or -errno after an error message; to be freed in any case. */
int retained_set_read(struct recording *recording, struct retained_set *set);
void retained_set_free(struct retained_set *set);

struct retained_side {
	struct recording *recording;
	const char *path, *at; /* at: NULL: the last one */
};

/* *growth: bytes. 0, or -errno after an error message. */
int retained_diff(const struct retained_side *before, const struct retained_side *after,
		  const struct output_options *output, int64_t *growth);

/* Whether a format can show runs, or changes between them: 0, or -EINVAL after an error message. */
int retained_check_format(const char *format);
int retained_check_diff_format(const char *format);

#endif
