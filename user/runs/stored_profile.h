/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon report` and `leakmon diff` of profiles in recordings. */
#ifndef LEAKMON_RUNS_STORED_PROFILE_H
#define LEAKMON_RUNS_STORED_PROFILE_H

#include "monitor/emit.h"
#include "store/recording.h"

/* Whether it holds profiles and no snapshots. */
bool stored_profiles_only(const struct recording *recording);

/* 0, or -errno after a message. */
int stored_profile_report(struct recording *recording, const char *at,
			  const struct output_options *output);

struct stored_profile_side {
	struct recording *recording;
	const char *path, *at;
};

int stored_profile_diff(const struct stored_profile_side *before,
			const struct stored_profile_side *after,
			const struct output_options *output);

#endif
