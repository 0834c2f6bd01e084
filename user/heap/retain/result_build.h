/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies the findings about a process into plain rows. */
#ifndef LEAKMON_RETAIN_RESULT_BUILD_H
#define LEAKMON_RETAIN_RESULT_BUILD_H

#include "report/retain_result.h"

struct retain;
struct report_site;

struct retain_result_sources {
	const struct report_site *const *sites; /* of tracked blocks, by number - 1; or NULL */
	size_t site_count;
	uint64_t dropped; /* see NUMBER_DROPPED */
	bool samples;	  /* these take a while */
};

/* Builds the result. Returns 0 or -ENOMEM, then *result is untouched. */
int retain_result_build(const struct retain *retain, const struct retain_result_sources *sources,
			struct retain_result *result);

#endif
