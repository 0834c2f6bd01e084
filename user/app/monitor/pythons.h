/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles Python programs among the watched processes: tells the kernel side where each has its
 * frames, and names the frames seen, while their code exists.
 *
 * A program is examined when it is refreshed, until its interpreter is found: earlier allocations
 * have native frames only. Names are kept until the process is forgotten, or replaced by another
 * program; code that is freed before it is named stays unnamed.
 */
#ifndef LEAKMON_MONITOR_PYTHONS_H
#define LEAKMON_MONITOR_PYTHONS_H

#include "process/symbol/symbolizer.h"
#include "process/target/process.h"
#include "process/unwind/unwind_store.h"

struct pythons;
struct worker;

/*
 * Creates the handler; all arguments are borrowed. It names frames for `symbolizer` from then on.
 * Returns NULL when out of memory.
 */
struct pythons *pythons_new(const struct unwind_maps *maps, struct worker *worker,
			    struct dso_cache *dsos, struct symbolizer *symbolizer);
void pythons_free(struct pythons *pythons);

/*
 * Call it after the process is refreshed; cheap if nothing is new. NULL is allowed, here and below.
 */
void pythons_refresh(struct pythons *pythons, const struct process *process);
/* Forgets a process that is gone. */
void pythons_forget(struct pythons *pythons, pid_t pid);

#endif
