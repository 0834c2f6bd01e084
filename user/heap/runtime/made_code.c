// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/made_code.h"

#include <errno.h>

#include "base/cleanup.h"
#include "binary/elf/cfi.h"
#include "heap/runtime/runtime_process.h"

struct made_code {
	struct runtime_process process;
	const struct code_reader *reader;
	void *state; /* the reader's state; NULL: not open */
};

static bool makes_code(const struct runtime *runtime)
{
	return runtime->code;
}

bool made_code_is_file(const struct mapping *mapping)
{
	return runtime_of_file(mapping, makes_code);
}

static int open_all(struct made_code *code, pid_t pid, struct worker *worker,
		    struct dso_cache *dsos, const char **why)
{
	int error = runtime_process_open(&code->process, pid, makes_code, worker, dsos);

	if (error)
		return error;
	code->reader = code->process.runtime->code;
	return code->reader->open(&code->process.memory, &code->state, why);
}

int made_code_open(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		   struct made_code **opened, const char **why)
{
	struct made_code *code = calloc(1, sizeof(*code));
	int error;

	*why = "its memory cannot be read";
	if (!code)
		return -ENOMEM;
	error = open_all(code, pid, worker, dsos, why);
	if (error) {
		made_code_close(code);
		return error;
	}
	*opened = code;
	return 0;
}

void made_code_close(struct made_code *code)
{
	if (!code)
		return;
	if (code->state)
		code->reader->close(code->state);
	runtime_process_close(&code->process);
	free(code);
}

void made_code_forget(struct made_code *code)
{
	target_memory_forget(&code->process.memory);
}

void made_code_release(struct made_code *code)
{
	target_memory_release(&code->process.memory);
}

int made_code_rows(struct made_code *code, struct unwind_table *table, struct unwind_made *made)
{
	struct row_builder builder = {0};
	struct code_rows rows = {.rows = &builder};
	int error;

	made_code_forget(code);
	if (!code->reader->rows)
		return -EEXIST;
	error = code->reader->rows(code->state, &rows);
	if (!error && !builder.rows.count && !rows.blocks.shared)
		error = -ENOENT;
	*table = (struct unwind_table){
		.base = rows.start, .rows = builder.rows.items, .count = builder.rows.count};
	*made = (struct unwind_made){table, rows.end, rows.blocks};
	return error;
}

int made_code_name(struct made_code *code, uint64_t address, struct intern *strings,
		   struct frames *frames)
{
	return code->reader->name(code->state, address, strings, frames);
}
