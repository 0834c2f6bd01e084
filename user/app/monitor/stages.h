/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stages that every run needs for processes and their files: the parsers in the sandbox, the
 * processes with their mapped files, the names of their code, and the rows for the kernel's stack
 * walk.
 */
#ifndef LEAKMON_MONITOR_STAGES_H
#define LEAKMON_MONITOR_STAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "app/monitor/made_codes.h"
#include "app/monitor/pythons.h"
#include "base/sandbox/worker.h"
#include "leakmon_abi.h"
#include "process/symbol/symbolizer.h"
#include "process/target/process.h"
#include "process/unwind/unwind_store.h"

/* All members are owned. Zero-initialise. */
struct stages {
	struct worker *worker;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwind_store *unwind; /* NULL: this run walks no stacks in the kernel */
	const uint32_t *generation;  /* of its rows */
	struct pythons *pythons;     /* NULL: as for `unwind` */
	struct made_codes *codes;    /* NULL: as for `unwind` */
};

/*
 * Opens all stages but the rows, without starting a child process. Returns 0 or -ENOMEM; call
 * stages_close() in either case.
 */
int stages_open(struct stages *stages);
/*
 * Opens the rows, for the kernel's maps, which outlive the stages; with Python's and Java's frames
 * only for LM_STACK_WALK_AUTO: the other methods walk native code only. Returns 0 or -ENOMEM.
 */
int stages_open_unwind(struct stages *stages, const struct unwind_maps *maps,
		       enum lm_stack_walk stack_walk);
/* Closes all stages. Zeroed stages are allowed. */
void stages_close(struct stages *stages);

/* Re-reads the mappings of a process, for the stack walk and for names. Needs the rows. */
void stages_refresh(struct stages *stages, pid_t pid);
/* Does the work of stages_refresh() for a process whose mappings were just read. */
void stages_load(struct stages *stages, struct process *process);
/* Loads the rows of many processes, with one wait for all of them: see unwind_store.h. */
void stages_load_rows(struct stages *stages, const pid_t *pids, size_t count);
/* Reads the generated code of a process if due. */
void stages_read_code(struct stages *stages);
/* Returns milliseconds until the next such reading; -1: none. */
int stages_read_code_in_ms(const struct stages *stages);
/* Drops all data about a process that is gone. */
void stages_forget(struct stages *stages, pid_t pid);

#endif
