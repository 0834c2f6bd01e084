// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/stages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fatal_signal.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "binary/parse/questions.h"
#include "heap/allocators/data_modules.h"
#include "heap/threads/thread_target.h"
#include "trace/probe/target.h"

int stages_open(struct stages *stages)
{
	struct dso_cache *dsos;

	stages->worker = worker_new(&parse_kinds, NULL);
	stages->processes = process_table_new(true);
	if (!stages->worker || !stages->processes)
		return -ENOMEM;
	dsos = &stages->processes->dsos;
	stages->symbolizer = symbolizer_new(stages->worker, dsos);
	target_plans_register(dsos);
	thread_libraries_register(dsos);
	data_modules_register(dsos);
	return stages->symbolizer ? 0 : -ENOMEM;
}

int stages_open_unwind(struct stages *stages, const struct unwind_maps *maps,
		       enum lm_stack_walk stack_walk)
{
	stages->unwind = unwind_store_new(maps, stages->worker, &stages->processes->dsos);
	stages->generation = maps->generation;
	if (stages->unwind && stack_walk != LM_STACK_WALK_AUTO)
		return 0;
	stages->pythons =
		pythons_new(maps, stages->worker, &stages->processes->dsos, stages->symbolizer);
	stages->codes = made_codes_new(&(struct made_codes_stages){
		stages->unwind, stages->worker, &stages->processes->dsos, stages->symbolizer});
	return stages->unwind && stages->pythons && stages->codes ? 0 : -ENOMEM;
}

void stages_close(struct stages *stages)
{
	pythons_free(stages->pythons);
	made_codes_free(stages->codes);
	symbolizer_free(stages->symbolizer);
	unwind_store_free(stages->unwind);
	process_table_free(stages->processes);
	worker_free(stages->worker);
	*stages = (struct stages){0};
}

/* Returns whether rows were loaded. */
static bool load_rows(struct stages *stages, const struct process *process)
{
	uint32_t generation = *stages->generation;
	int error = process->error;

	/* At the end, only names are needed. */
	if (!error && !interrupt_check())
		made_codes_refresh(stages->codes, process);
	if (!error && !interrupt_check())
		error = unwind_store_refresh(stages->unwind, process);
	if (error && error != -ESRCH && error != -EINTR)
		log_warning(
			"process %d: its stacks are walked by frame pointer where new code is mapped: %s",
			process->pid, strerror(-error));
	return *stages->generation != generation;
}

void stages_load(struct stages *stages, struct process *process)
{
	FATAL_SIGNAL_PHASE("it reads the code of a process");
	/* Loading rows takes time, and the process goes on: probes depend on its latest
	 * mappings. */
	if (load_rows(stages, process))
		process_table_refresh(stages->processes, process->pid, &process);
	symbolizer_refresh(stages->symbolizer, (uint64_t)process->pid, process);
	pythons_refresh(stages->pythons, process);
}

void stages_refresh(struct stages *stages, pid_t pid)
{
	struct process *process;

	process_table_refresh(stages->processes, pid, &process);
	if (process)
		stages_load(stages, process);
}

void stages_read_code(struct stages *stages)
{
	pid_t pid = made_codes_due(stages->codes);

	if (pid)
		stages_refresh(stages, pid);
}

int stages_read_code_in_ms(const struct stages *stages)
{
	return made_codes_due_in_ms(stages->codes);
}

void stages_load_rows(struct stages *stages, const pid_t *pids, size_t count)
{
	struct process **processes = calloc(count + 1, sizeof(*processes));

	if (!processes)
		return;
	count = process_table_refresh_all(stages->processes, pids, count, processes);
	unwind_store_refresh_all(stages->unwind, processes, count);
	free(processes);
}

void stages_forget(struct stages *stages, pid_t pid)
{
	unwind_store_forget(stages->unwind, pid);
	pythons_forget(stages->pythons, pid);
	made_codes_forget(stages->codes, pid);
	symbolizer_forget(stages->symbolizer, (uint64_t)pid);
	process_table_forget(stages->processes, pid);
}
