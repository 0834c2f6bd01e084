/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delivery counts of pushed documents, for reports: they reveal a server that accepts nothing. */
#ifndef LEAKMON_REPORT_PUSHED_H
#define LEAKMON_REPORT_PUSHED_H

#include <stdbool.h>
#include <stdint.h>

struct pushed_lane {
	bool on; /* the lane is in use */
	uint64_t delivered, lost, waiting;
};

struct pushed {
	struct pushed_lane profiles, events; /* --push, --webhook */
	struct pushed_lane metrics, logs;    /* --otlp */
};

#endif
