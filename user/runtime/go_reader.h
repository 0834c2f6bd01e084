/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be read of a Go program from outside, while it runs or in a core file, without stopping
 * it. Every reading finds the program anew: it is a few milliseconds of work.
 */
#ifndef LEAKMON_RUNTIME_GO_READER_H
#define LEAKMON_RUNTIME_GO_READER_H

#include "proc/maps.h"
#include "report/goroutine_report.h"

/* Whether a process is a Go program, of any version: its data have the build information.
 * Where its heap lies does not tell, for 1.26 and later put it anywhere. */
bool go_is_program(const struct maps *maps);

/*
 * Goroutines that run on meanwhile are read again, and where that does not help counted without
 * their place. report->why says why nothing is known; 0 or -ENOMEM. goroutine_report_free() in any
 * case.
 */
int goroutines_read(const struct maps *maps, struct goroutine_report *report);

#endif
