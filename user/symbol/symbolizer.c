// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/symbolizer.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "symbol/address_space.h"
#include "symbol/frames.h"
#include "symbol/intern.h"
#include "symbol/jit_names.h"
#include "symbol/module.h"
#include "worker/worker.h"

/* Named addresses kept per process; a process with more distinct ones starts over. */
#define MAX_NAMED (1u << 17)

struct named {
	struct frame frame;
	const struct code_range *range; /* NULL: no code there */
};

struct process {
	struct address_space space;
	struct jit_names jit;
	struct hash index; /* address -> place in named, plus 1 */
	VEC(struct named) named;
};

struct symbolizer {
	struct intern strings;
	struct modules modules;
	struct hash processes; /* key -> struct process *, or 0 once forgotten */
	struct worker *own_worker;
};

struct symbolizer *symbolizer_new(struct worker *worker)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return NULL;
	if (!worker)
		worker = symbolizer->own_worker = worker_new_local();
	symbolizer->modules.worker = worker;
	if (worker)
		return symbolizer;
	free(symbolizer);
	return NULL;
}

static void forget_names(struct process *process)
{
	hash_free(&process->index);
	vec_free(&process->named);
}

static void free_process(struct process *process)
{
	if (!process)
		return;
	forget_names(process);
	address_space_free(&process->space);
	jit_names_free(&process->jit);
	free(process);
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (size_t i = 0; i < symbolizer->processes.capacity; i++) {
		const struct hash_entry *entry = &symbolizer->processes.entries[i];

		if (entry->used)
			free_process((struct process *)(uintptr_t)entry->value);
	}
	hash_free(&symbolizer->processes);
	modules_free(&symbolizer->modules);
	intern_free(&symbolizer->strings);
	worker_free(symbolizer->own_worker);
	free(symbolizer);
}

void symbolizer_release_lines(struct symbolizer *symbolizer)
{
	modules_release_lines(&symbolizer->modules);
}

void symbolizer_forget(struct symbolizer *symbolizer, uint64_t process)
{
	uint64_t *slot = hash_get(&symbolizer->processes, process);

	if (!slot)
		return;
	free_process((struct process *)(uintptr_t)*slot);
	*slot = 0;
}

static struct process *find_process(const struct symbolizer *symbolizer, uint64_t key)
{
	const uint64_t *slot = hash_get(&symbolizer->processes, key);

	return slot ? (struct process *)(uintptr_t)*slot : NULL;
}

static struct process *find_or_add_process(struct symbolizer *symbolizer, uint64_t key)
{
	uint64_t *slot = hash_put(&symbolizer->processes, key, NULL);

	if (slot && !*slot)
		*slot = (uintptr_t)calloc(1, sizeof(struct process));
	return slot ? (struct process *)(uintptr_t)*slot : NULL;
}

int symbolizer_refresh(struct symbolizer *symbolizer, uint64_t process, int pid)
{
	struct process *known = find_or_add_process(symbolizer, process);
	bool changed = false;
	int err;

	if (!known)
		return -ENOMEM;
	err = address_space_refresh(&known->space, pid, &symbolizer->modules, &symbolizer->strings,
				    &changed);
	/* After an exit too: the end of its map may be read still. */
	if (jit_names_refresh(&known->jit, &known->space) || changed)
		forget_names(known);
	return err;
}

/* The byte before a return address belongs to the call. */
static uint64_t file_offset(const struct code_range *range, uint64_t address)
{
	return address - 1 - range->mapping.start + range->mapping.offset;
}

static int name_function(struct symbolizer *symbolizer, const struct code_range *range,
			 struct frame *frame)
{
	struct module_place place = {range->task, &range->mapping};
	struct image *image = &range->module->image;
	struct module_function function;
	uint64_t vaddr;
	int err;

	frame->why = module_load(&symbolizer->modules, range->module, &place);
	if (frame->why)
		return 0;
	if (image->file.build_id[0])
		frame->build_id = image->file.build_id;
	if (elf_file_vaddr(&image->file, file_offset(range, frame->address), &vaddr)) {
		frame->why = "no symbol at this address";
		return 0;
	}
	frame->module_offset = vaddr + 1;
	err = module_function(range->module, &symbolizer->strings, vaddr, &function);
	if (err == -ENOENT) {
		frame->why = image->table.count ? "no symbol at this address" : "no symbols";
		return 0;
	}
	if (err)
		return err;
	frame->function = function.name;
	frame->offset = frame->module_offset - function.start;
	return 0;
}

/* What no file names may be in the list that its compiler keeps. */
static int name_compiled(struct symbolizer *symbolizer, struct process *process,
			 struct frame *frame)
{
	struct module_function function;
	int err = jit_names_find(&process->jit, symbolizer->modules.worker, &symbolizer->strings,
				 frame->address - 1, &function);

	if (err)
		return err == -ENOENT ? 0 : err;
	frame->function = function.name;
	frame->offset = frame->address - function.start;
	frame->module = FRAME_JIT;
	frame->module_offset = 0;
	frame->why = NULL;
	return 0;
}

static int name_address(struct symbolizer *symbolizer, struct process *process, uint64_t address,
			struct named *named)
{
	const struct code_range *range = NULL;
	struct frame *frame = &named->frame;
	int err = 0;

	frame->address = address;
	if (address)
		range = address_space_find(&process->space, address - 1);
	named->range = range;
	frame->why = range ? range->why : "unmapped address";
	if (range && range->mapping.inode) {
		frame->module = range->mapping.path;
		/* Until the file's own numbering is known. */
		frame->module_offset = file_offset(range, address) + 1;
		err = range->module ? name_function(symbolizer, range, frame) : 0;
	}
	if (err || !address || (range && range->module && !range->module->why))
		return err;
	return name_compiled(symbolizer, process, frame);
}

static int find_or_name(struct symbolizer *symbolizer, struct process *process, uint64_t address,
			struct named **result)
{
	struct named named = {0}, *kept;
	uint64_t *slot;
	int err;

	slot = hash_get(&process->index, address);
	if (slot && *slot) {
		*result = &process->named.items[*slot - 1];
		return 0;
	}
	if (process->named.count >= MAX_NAMED)
		forget_names(process);
	err = name_address(symbolizer, process, address, &named);
	if (err)
		return err;
	slot = hash_put(&process->index, address, NULL);
	kept = slot ? vec_push(&process->named) : NULL;
	if (!kept)
		return -ENOMEM;
	*kept = named;
	*slot = process->named.count;
	*result = kept;
	return 0;
}

/* The lines of what was named, as far as they are known; NULL: no file, so no lines. */
static int want_lines(const struct named *named, const struct source_lines **source)
{
	const struct code_range *range = named->range;
	struct module_place place;

	*source = NULL;
	if (!range || !range->module || !range->module->loaded || range->module->why)
		return 0;
	place = (struct module_place){range->task, &range->mapping};
	*source = module_want_lines(range->module, &place, named->frame.module_offset - 1);
	return *source ? 0 : -ENOMEM;
}

static int want_all_lines(struct symbolizer *symbolizer, struct process *process,
			  const uint64_t *addresses, size_t depth)
{
	int err = 0;

	for (size_t i = 0; !err && i < depth; i++) {
		const struct source_lines *ignored;
		struct named *named;

		err = find_or_name(symbolizer, process, addresses[i], &named);
		if (!err)
			err = want_lines(named, &ignored);
	}
	return err;
}

static int append_address(struct symbolizer *symbolizer, struct process *process, uint64_t address,
			  enum frame_lines lines, struct frames *frames)
{
	const struct source_lines *source = NULL;
	struct named *named;
	int err = find_or_name(symbolizer, process, address, &named);

	if (!err && lines != LINES_NONE)
		err = want_lines(named, &source);
	if (err)
		return err;
	return frames_append(frames, &named->frame, source);
}

static int name_all(struct symbolizer *symbolizer, struct process *process,
		    const uint64_t *addresses, size_t depth, enum frame_lines lines,
		    struct frames *frames)
{
	int err = 0;

	if (process && lines == LINES_WAIT) {
		err = want_all_lines(symbolizer, process, addresses, depth);
		if (!err)
			err = symbolizer_find_lines(symbolizer, -1);
	}
	for (size_t i = 0; !err && i < depth; i++) {
		struct frame unknown = {.address = addresses[i], .why = "unknown process"};

		err = process ? append_address(symbolizer, process, addresses[i], lines, frames)
			      : frames_append(frames, &unknown, NULL);
	}
	return err;
}

int symbolizer_name(struct symbolizer *symbolizer, uint64_t process, const uint64_t *addresses,
		    size_t depth, enum frame_lines lines, struct frames *frames)
{
	struct process *known = find_process(symbolizer, process);
	struct frames named = {0};
	int err = name_all(symbolizer, known, addresses, depth, lines, &named);

	if (err) {
		vec_free(&named.list);
		return err;
	}
	*frames = named;
	return 0;
}

int symbolizer_find_lines(struct symbolizer *symbolizer, int timeout_ms)
{
	return modules_find_lines(&symbolizer->modules, &symbolizer->strings, timeout_ms);
}

int symbolizer_lines_fd(const struct symbolizer *symbolizer)
{
	return worker_lines_fd(symbolizer->modules.worker);
}
