/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums up a report by the builds of its programs, over all hosts. */
#ifndef LEAKMON_ANALYZE_FLEET_BUILD_H
#define LEAKMON_ANALYZE_FLEET_BUILD_H

#include "report/fleet.h"

/*
 * Builds the sums of a named report, of a fleet or of one host (without hosts), with a history for
 * growth, since and trends; and without a cut, which would omit hosts. Returns 0 or -ENOMEM (then
 * *fleet is untouched).
 */
int fleet_build(struct fleet *fleet, const struct report *report);

/*
 * Returns the build-id of the program's file, from frames in it; for a process that ended before
 * its file was known, from where it starts. NULL: no such frame.
 */
const char *fleet_build_id(const char *exe, const struct frames *frames);

#endif
