// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/made_code.h"

#include <errno.h>

#include "base/cleanup.h"
#include "elf/cfi.h"
#include "heap/data_modules.h"
#include "heap/heap_image.h"
#include "runtime/runtime.h"
#include "runtime/target_memory.h"

struct made_code {
	const struct code_reader *reader;
	struct heap_image image; /* only its mappings */
	struct maps own;	 /* of them those of the runtime's files; paths are borrowed */
	struct data_modules modules;
	struct target_memory memory;
	void *state; /* the reader's; NULL: it is not open */
};

static const struct runtime *runtime_of_file(const struct mapping *mapping)
{
	const struct runtime *runtime;

	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (runtime->code && runtime->detect && runtime->detect(mapping))
			return runtime;
	}
	return NULL;
}

bool made_code_is_file(const struct mapping *mapping)
{
	return runtime_of_file(mapping);
}

/* Of the first such runtime; other files need not be parsed. */
static int choose_files(struct made_code *code)
{
	const struct maps *maps = &code->image.maps;

	code->own.source = maps->source;
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct runtime *runtime = runtime_of_file(&maps->list.items[i]);
		struct mapping *chosen;

		if (!runtime || (code->reader && code->reader != runtime->code))
			continue;
		code->reader = runtime->code;
		chosen = vec_push(&code->own.list);
		if (!chosen)
			return -ENOMEM;
		*chosen = maps->list.items[i];
	}
	return code->own.list.count ? 0 : -ENOENT;
}

static int read_files(struct made_code *code, struct worker *worker, struct dso_cache *dsos)
{
	struct heap_image chosen = {.pid = code->image.pid};
	int error = choose_files(code);

	/* It is read for its mappings alone. */
	chosen.maps = code->own;
	return error ? error : data_modules_read(&chosen, worker, dsos, &code->modules);
}

static int open_all(struct made_code *code, struct worker *worker, struct dso_cache *dsos,
		    const char **why)
{
	int error = maps_read(code->image.pid, MAPS_ALL, &code->image.maps);

	if (!error)
		error = read_files(code, worker, dsos);
	if (!error)
		error = target_memory_open(&code->image.maps, &code->modules, NULL, &code->memory);
	return error ? error : code->reader->open(&code->memory, &code->state, why);
}

int made_code_open(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		   struct made_code **opened, const char **why)
{
	struct made_code *code = calloc(1, sizeof(*code));
	int error;

	*why = "its memory cannot be read";
	if (!code)
		return -ENOMEM;
	code->image.pid = pid;
	code->memory.pagemap = -1;
	error = open_all(code, worker, dsos, why);
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
	target_memory_close(&code->memory);
	data_modules_free(&code->modules);
	vec_free(&code->own.list);
	maps_free(&code->image.maps);
	free(code);
}

void made_code_forget(struct made_code *code)
{
	target_memory_forget(&code->memory);
}

void made_code_release(struct made_code *code)
{
	target_memory_release(&code->memory);
}

int made_code_rows(struct made_code *code, struct unwind_table *table, struct unwind_made *made)
{
	struct row_builder builder = {0};
	struct code_rows rows = {.rows = &builder};
	int error;

	made_code_forget(code);
	error = code->reader->rows(code->state, &rows);
	if (!error && !builder.rows.count)
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
