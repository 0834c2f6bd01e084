/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handles watched processes whose runtime generates code (Java, JavaScript, .NET): tells the kernel
 * side how to unwind its frames, and names them while the code exists.
 *
 * The code is read when a process is refreshed, and again until nothing is new: at its start a
 * runtime generates its unusual code. Names are kept until the process is forgotten, or replaced by
 * another program.
 */
#ifndef LEAKMON_MONITOR_MADE_CODES_H
#define LEAKMON_MONITOR_MADE_CODES_H

#include "process/symbol/symbolizer.h"
#include "process/target/process.h"
#include "process/unwind/unwind_store.h"

struct made_codes;
struct worker;

/* Stages that they use; all borrowed. */
struct made_codes_stages {
	struct unwind_store *unwind;
	struct worker *worker;
	struct dso_cache *dsos;
	struct symbolizer *symbolizer; /* names frames through these from then on */
};

/*
 * Returns an empty set, which names frames for stages->symbolizer. It copies *stages;
 * made_codes_free() frees it. NULL: out of memory.
 */
struct made_codes *made_codes_new(const struct made_codes_stages *stages);
void made_codes_free(struct made_codes *codes);

/*
 * Call it after the process is refreshed and before its rows are. NULL is allowed, here and below.
 */
void made_codes_refresh(struct made_codes *codes, const struct process *process);
/* Forgets a process that is gone. */
void made_codes_forget(struct made_codes *codes, pid_t pid);

/* Returns a process whose code is due to be read again; 0: none. */
pid_t made_codes_due(const struct made_codes *codes);
/* Returns milliseconds until the next one is due; -1: none. */
int made_codes_due_in_ms(const struct made_codes *codes);

#endif
