// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/unwind/row_modules.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/page.h"
#include "binary/parse/questions.h"

static void free_module(void *value, void *context)
{
	struct row_modules *modules = context;
	struct row_module *module = value;

	row_sets_release(&modules->sets, module->set);
	free(module->segments);
	free(module);
}

int row_modules_init(struct row_modules *modules, int map_fd, struct worker *worker,
		     struct dso_cache *dsos)
{
	*modules = (struct row_modules){.dsos = dsos, .worker = worker};
	dso_cache_register(dsos, DSO_ROWS,
			   &(struct dso_facet_type){free_module, NULL, modules, NULL});
	return row_sets_init(&modules->sets, map_fd);
}

void row_modules_free(struct row_modules *modules)
{
	dso_cache_unregister(modules->dsos, DSO_ROWS);
	row_sets_free(&modules->sets);
}

int row_module_vaddr(const struct row_module *module, const struct mapping *mapping,
		     uint64_t *vaddr)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct elf_segment *segment = &module->segments[i];
		uint64_t page_offset = page_down(segment->offset);

		if (segment->executable && mapping->offset >= page_offset &&
		    mapping->offset < segment->offset + segment->file_size) {
			*vaddr = segment->vaddr - segment->offset + mapping->offset;
			return 0;
		}
	}
	return -ENOENT;
}

static int compile(struct row_modules *modules, struct row_module *module, int fd)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	int error = parse_unwind(modules->worker, fd, &file, &table);

	if (!error)
		error = row_sets_hold(&modules->sets, &table, file.build_id, &module->set);
	if (error)
		return error;
	module->base = table.base;
	module->segment_count = file.segments.count;
	module->segments = TAKE_PTR(file.segments.items);
	file.segments.count = 0;
	return 0;
}

static void compile_dso(struct row_modules *modules, struct row_module *module,
			const struct dso *dso, int task, const struct mapping *mapping)
{
	_cleanup_close_ int fd = dso_open(modules->dsos, dso, task, mapping);
	int error;

	if (fd < 0)
		return; /* the next process may still have the file */
	error = compile(modules, module, fd);
	module->postponed = error == -ETIME || error == -EINTR;
	if (!error)
		return;
	modules->failures++;
	log_debug("%s: no unwind rows: %s", mapping->path,
		  worker_failure(error) ? worker_failure(error) : strerror(-error));
}

const struct row_module *row_modules_get(struct row_modules *modules, struct dso *dso, int task,
					 const struct mapping *mapping)
{
	struct row_module *module = dso_facet(dso, DSO_ROWS);

	if (!module) {
		module = calloc(1, sizeof(*module));
		if (!module)
			return NULL;
		module->postponed = true;
		dso->facets[DSO_ROWS].value = module;
	}
	if (module->postponed)
		compile_dso(modules, module, dso, task, mapping);
	return module;
}
