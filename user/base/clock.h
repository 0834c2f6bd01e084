/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LEAKMON_BASE_CLOCK_H
#define LEAKMON_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Converts a time to nanoseconds; a negative one wraps around. */
uint64_t timespec_ns(const struct timespec *time);

/* Return a clock's reading, in nanoseconds or seconds; 0: it cannot be read. */
uint64_t clock_ns(clockid_t clock);
double clock_s(clockid_t clock);

/* Returns CLOCK_MONOTONIC, the clock of the BPF side (bpf_ktime_get_ns), in nanoseconds. */
uint64_t monotonic_ns(void);
/* Returns CLOCK_MONOTONIC in seconds. */
double monotonic_s(void);

/*
 * A time by which several successive loops must have ended. Once passed, it stays passed. For one
 * thread only.
 */
struct deadline {
	uint64_t at_ns; /* CLOCK_MONOTONIC; 0: none */
	uint32_t steps;
	bool passed;
};

/* Reads the clock. Returns whether the deadline has passed; false if deadline is NULL. */
bool deadline_has_passed(struct deadline *deadline);

/* For steps cheaper than reading the clock: reads it at the first of every 256 only. */
static inline bool deadline_step(struct deadline *deadline)
{
	if (!deadline)
		return false;
	return deadline->steps++ % 256 ? deadline->passed : deadline_has_passed(deadline);
}

#endif
