/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a profile is written; the contract is that of output.h. */
#ifndef LEAKMON_OUTPUT_PROFILE_FORMAT_H
#define LEAKMON_OUTPUT_PROFILE_FORMAT_H

#include <stdio.h>

#include "profile/profile_report.h"

int profile_text_write(FILE *out, const struct profile_report *report);
int profile_json_write(FILE *out, const struct profile_report *report);
int profile_prom_write(FILE *out, const struct profile_report *report);
int profile_folded_write(FILE *out, const struct profile_report *report);
int profile_pprof_write(FILE *out, const struct profile_report *report);

/* What a rate comes to in an hour, for formats whose numbers are whole. */
static inline uint64_t profile_hourly(double per_s)
{
	return per_s > 0 ? (uint64_t)(per_s * 3600 + 0.5) : 0;
}

#endif
