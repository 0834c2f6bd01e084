// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/process_names.h"

#include <errno.h>

#include "leakmon_abi.h"

/* Named addresses kept per process; a process with more distinct ones starts over. */
#define MAX_NAMED (1u << 17)

static void forget(struct process_names *names)
{
	hash_free(&names->index);
	vec_free(&names->list);
}

void process_names_free(struct process_names *names)
{
	forget(names);
	jit_names_free(&names->jit);
}

void process_names_refresh(struct process_names *names, const struct process *process)
{
	names->process = process;
	/* After an exit too: the end of its map may be read still. */
	if (jit_names_refresh(&names->jit, process))
		forget(names);
}

/* Where to look: the byte before a return address belongs to the call. */
static uint64_t lookup_address(uint64_t address)
{
	uint64_t exact = LM_FRAME_ADDRESS(address);

	return exact != address ? exact : address - 1;
}

static uint64_t file_offset(const struct code_range *range, uint64_t address)
{
	return address - range->mapping.start + range->mapping.offset;
}

static int name_function(struct modules *modules, struct intern *intern, uint64_t lookup,
			 struct named *named)
{
	const struct code_range *range = named->range;
	struct module_place place = {range->task, &range->mapping};
	struct module *module = module_get(range->dso);
	struct frame *frame = &named->frame;
	struct module_function function;
	struct image *image;
	int err;

	if (!module)
		return -ENOMEM;
	image = &module->image;
	frame->why = module_load(modules, module, &place);
	if (frame->why)
		return 0;
	if (image->file.build_id[0]) {
		frame->build_id = intern_string(intern, image->file.build_id);
		if (!frame->build_id)
			return -ENOMEM;
	}
	if (elf_file_vaddr(&image->file, file_offset(range, lookup), &named->vaddr)) {
		frame->why = "no symbol at this address";
		return 0;
	}
	frame->module_offset = named->vaddr + (frame->address - lookup);
	err = module_function(module, intern, named->vaddr, &function);
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
static int name_compiled(struct process_names *names, struct worker *worker, struct intern *intern,
			 uint64_t lookup, struct frame *frame)
{
	struct module_function function;
	int err = jit_names_find(&names->jit, worker, intern, lookup, &function);

	if (err)
		return err == -ENOENT ? 0 : err;
	frame->function = function.name;
	frame->offset = frame->address - function.start;
	frame->module = FRAME_JIT;
	frame->module_offset = 0;
	frame->why = NULL;
	return 0;
}

/* NULL: no file names anything there. */
static struct module *module_of(const struct code_range *range)
{
	struct module *module = range && range->dso ? dso_facet(range->dso, DSO_SYMBOLS) : NULL;

	return module && !module->why ? module : NULL;
}

static int name_address(struct process_names *names, struct modules *modules, struct intern *intern,
			uint64_t address, struct named *named)
{
	uint64_t lookup = lookup_address(address);
	const struct code_range *range = address ? process_code_at(names->process, lookup) : NULL;
	struct frame *frame = &named->frame;
	int err = 0;

	frame->address = LM_FRAME_ADDRESS(address);
	named->range = range;
	frame->why = range ? range->why : "unmapped address";
	if (range && range->mapping.inode) {
		frame->module = intern_string(intern, range->mapping.path);
		if (!frame->module)
			return -ENOMEM;
		/* Until the file's own numbering is known. */
		frame->module_offset = file_offset(range, frame->address);
		err = range->dso ? name_function(modules, intern, lookup, named) : 0;
	}
	if (err || !address || module_of(range))
		return err;
	return name_compiled(names, modules->worker, intern, lookup, frame);
}

int process_names_find(struct process_names *names, struct modules *modules, struct intern *intern,
		       uint64_t address, struct named **result)
{
	struct named named = {0}, *kept;
	uint64_t *slot;
	int err;

	/* A debug file that came from afar may name what had no name. */
	if (names->generation != names->process->generation || names->fetched != modules->fetched ||
	    names->list.count >= MAX_NAMED)
		forget(names);
	names->generation = names->process->generation;
	names->fetched = modules->fetched;
	slot = hash_get(&names->index, address);
	if (slot && *slot) {
		*result = &names->list.items[*slot - 1];
		return 0;
	}
	err = name_address(names, modules, intern, address, &named);
	if (err)
		return err;
	slot = hash_put(&names->index, address, NULL);
	kept = slot ? vec_push(&names->list) : NULL;
	if (!kept)
		return -ENOMEM;
	*kept = named;
	*slot = names->list.count;
	*result = kept;
	return 0;
}

int named_want_lines(const struct named *named, const struct source_lines **source)
{
	const struct code_range *range = named->range;
	struct module *module = module_of(range);
	struct mapping mapping;

	*source = NULL;
	if (!module || !module->loaded)
		return 0;
	mapping = range->mapping;
	mapping.path = (char *)named->frame.module; /* borrowed: it is interned */
	*source = module_want_lines(module, &(struct module_place){range->task, &mapping},
				    named->vaddr);
	return *source ? 0 : -ENOMEM;
}
