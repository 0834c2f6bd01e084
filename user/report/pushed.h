/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of what was pushed so far, for reports: a server that takes nothing shows in them. */
#ifndef LEAKMON_REPORT_PUSHED_H
#define LEAKMON_REPORT_PUSHED_H

#include <stdbool.h>
#include <stdint.h>

struct pushed_lane {
	bool on; /* something is sent there */
	uint64_t delivered, lost, waiting;
};

struct pushed {
	struct pushed_lane profiles, events; /* --push, --webhook */
	struct pushed_lane metrics, logs;    /* --otlp */
};

#endif
