/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums up a report by the builds of its programs, over all hosts. */
#ifndef LEAKMON_ANALYZE_FLEET_BUILD_H
#define LEAKMON_ANALYZE_FLEET_BUILD_H

#include "report/fleet.h"

/*
 * For a named report, of a fleet or of one host (which names none), with a history for growth,
 * since and trends; without a cut, which would leave out hosts. 0 or -ENOMEM (then *fleet is
 * untouched).
 */
int fleet_build(struct fleet *fleet, const struct report *report);

/* The build-id of the program's file, from frames in it; of a process that ended before anybody
 * knew its file, where it starts. NULL: no frame is. */
const char *fleet_build_id(const char *exe, const struct frames *frames);

#endif
