/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions of every run about processes and their files, assembled in one place: the parsers in
 * the sandbox, the processes with the files that they map, the names of their code, and the rows
 * that the kernel walks their stacks by.
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

/* All owned. Zero-initialise. */
struct stages {
	struct worker *worker;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwind_store *unwind; /* NULL: no kernel walks stacks for this run */
	const uint32_t *generation;  /* of its rows */
	struct pythons *pythons;     /* likewise */
	struct made_codes *codes;    /* likewise */
};

/* All but the rows. Starts no process yet. 0 or -ENOMEM; to be closed in either case. */
int stages_open(struct stages *stages);
/* The rows, into the kernel's maps, which outlive the stages; with Python's and Java's frames only
 * for LM_STACK_WALK_AUTO: the other ways are those of native code. 0 or -ENOMEM. */
int stages_open_unwind(struct stages *stages, const struct unwind_maps *maps,
		       enum lm_stack_walk stack_walk);
/* Zeroed, they can be closed, too. */
void stages_close(struct stages *stages);

/*
 * Keeps the stages in step with processes, and needs the rows. Reads the mappings of a process
 * again: for the stack walk, and for names.
 */
void stages_refresh(struct stages *stages, pid_t pid);
/* The same of one with mappings just read. */
void stages_load(struct stages *stages, struct process *process);
/* Loads the rows of many processes, with one wait for all of them: see unwind_store.h. */
void stages_load_rows(struct stages *stages, const pid_t *pids, size_t count);
/* Reads the code that a process has made, where that is due. */
void stages_read_code(struct stages *stages);
/* When that is, in milliseconds; -1: never. */
int stages_read_code_in_ms(const struct stages *stages);
/* Drops what is known of a process that is gone. */
void stages_forget(struct stages *stages, pid_t pid);

#endif
