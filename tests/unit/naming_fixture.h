/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbolizers, each with separate processes to name. */
#ifndef LEAKMON_UNIT_NAMING_FIXTURE_H
#define LEAKMON_UNIT_NAMING_FIXTURE_H

#include "process/symbol/symbolizer.h"
#include "process/target/process.h"

static struct {
	struct symbolizer *symbolizer; /* NULL: the place is free */
	struct process_table *processes;
} namings[4];

static inline struct process_table *naming_processes(const struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < 4; i++) {
		if (namings[i].symbolizer == symbolizer)
			return namings[i].processes;
	}
	return NULL;
}

static inline struct symbolizer *naming_new(struct worker *worker)
{
	size_t i = 0;

	while (namings[i].symbolizer)
		assert_true(++i < 4);
	namings[i].processes = process_table_new(true);
	assert_non_null(namings[i].processes);
	namings[i].symbolizer = symbolizer_new(worker, &namings[i].processes->dsos);
	assert_non_null(namings[i].symbolizer);
	return namings[i].symbolizer;
}

static inline int naming_refresh(struct symbolizer *symbolizer, uint64_t key, pid_t pid)
{
	struct process *process;
	int error = process_table_refresh(naming_processes(symbolizer), pid, &process);

	assert_non_null(process);
	assert_int_equal(symbolizer_refresh(symbolizer, key, process), 0);
	return error;
}

static inline void naming_free(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < 4; i++) {
		if (namings[i].symbolizer != symbolizer)
			continue;
		symbolizer_free(symbolizer);
		process_table_free(namings[i].processes);
		namings[i].symbolizer = NULL;
	}
}

#endif
