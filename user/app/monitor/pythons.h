/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Python programs among the processes that are watched: tells the kernel side where each has its
 * frames, and names those that it has met, while their code is still there.
 *
 * A program is looked at when it is refreshed, until its interpreter is found: what it allocates
 * before has native frames only. Names are kept until the process is forgotten, or becomes another
 * one; code that is gone by then has none.
 */
#ifndef LEAKMON_MONITOR_PYTHONS_H
#define LEAKMON_MONITOR_PYTHONS_H

#include "process/symbol/symbolizer.h"
#include "process/target/process.h"
#include "process/unwind/unwind_store.h"

struct pythons;
struct worker;

/* All is borrowed. Frames are named for `symbolizer` from then on. NULL: out of memory. */
struct pythons *pythons_new(const struct unwind_maps *maps, struct worker *worker,
			    struct dso_cache *dsos, struct symbolizer *symbolizer);
void pythons_free(struct pythons *pythons);

/* The process has just been refreshed; cheap where nothing is new. NULL is nothing, here and
 * below. */
void pythons_refresh(struct pythons *pythons, const struct process *process);
/* It is gone. */
void pythons_forget(struct pythons *pythons, pid_t pid);

#endif
