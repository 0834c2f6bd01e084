/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon report` and `leakmon diff` of runs of `leakmon retain` in recordings. */
#ifndef LEAKMON_COMMAND_RETAINED_H
#define LEAKMON_COMMAND_RETAINED_H

#include "cli/options.h"
#include "store/recording.h"

/* Whether it holds such runs and no snapshots. */
bool retained_only(const struct recording *recording);

/* 0, or -errno after an error message. */
int retained_report(struct recording *recording, const struct options *options);

struct retained_side {
	struct recording *recording;
	const char *path, *at; /* at: NULL: the last one */
};

/* *growth: bytes. 0, or -errno after an error message. */
int retained_diff(const struct retained_side *before, const struct retained_side *after,
		  const struct options *options, int64_t *growth);

#endif
