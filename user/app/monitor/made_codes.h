/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes among the watched ones with a runtime that makes code while it runs (Java, JavaScript,
 * .NET): tells the kernel side how its frames are left, and names them as long as the code is
 * there.
 *
 * That is read when a process is refreshed, and again until nothing is new: a runtime makes at its
 * start what is not like all other code. Names are kept until the process is forgotten, or becomes
 * another one.
 */
#ifndef LEAKMON_MONITOR_MADE_CODES_H
#define LEAKMON_MONITOR_MADE_CODES_H

#include "process/symbol/symbolizer.h"
#include "process/target/process.h"
#include "process/unwind/unwind_store.h"

struct made_codes;
struct worker;

/* What they work with; all is borrowed. */
struct made_codes_stages {
	struct unwind_store *unwind;
	struct worker *worker;
	struct dso_cache *dsos;
	struct symbolizer *symbolizer; /* names frames by these from then on */
};

/* NULL: out of memory. */
struct made_codes *made_codes_new(const struct made_codes_stages *stages);
void made_codes_free(struct made_codes *codes);

/* The process has just been refreshed, and its rows are about to be. NULL is nothing, here and
 * below. */
void made_codes_refresh(struct made_codes *codes, const struct process *process);
/* It is gone. */
void made_codes_forget(struct made_codes *codes, pid_t pid);

/* A process with code that is to be read again now; 0: there is none. */
pid_t made_codes_due(const struct made_codes *codes);
/* When the next one is, in milliseconds; -1: there is none. */
int made_codes_due_in_ms(const struct made_codes *codes);

#endif
