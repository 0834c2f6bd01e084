// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/module.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "parse/questions.h"
#include "symbol/debug_file.h"
#include "symbol/debuginfod.h"
#include "symbol/demangle.h"

static void free_module(void *value, void *context)
{
	struct modules *modules = context;
	struct module *module = value;

	modules->opened_lines -= module->lines.opened;
	image_free(&module->image);
	hash_free(&module->functions);
	module_lines_free(&module->lines);
	free(module);
}

static void abandon_lines(void *value, void *context)
{
	modules_abandon_lines(context, value);
}

void modules_init(struct modules *modules, struct dso_cache *dsos, struct worker *worker)
{
	*modules = (struct modules){.dsos = dsos, .worker = worker};
	dso_cache_register(dsos, DSO_SYMBOLS,
			   &(struct dso_facet_type){free_module, abandon_lines, modules});
}

void modules_free(struct modules *modules)
{
	if (modules->asked)
		dso_release(modules->dsos, modules->asked->dso, DSO_SYMBOLS);
	dso_cache_unregister(modules->dsos, DSO_SYMBOLS);
}

struct module *module_get(struct dso *dso)
{
	struct module *module = dso_facet(dso, DSO_SYMBOLS);

	if (module)
		return module;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->dso = dso;
	module->image.file.fd = -1;
	dso->facets[DSO_SYMBOLS].value = module;
	return module;
}

int module_open(const struct modules *modules, const struct module *module,
		const struct module_place *place)
{
	return dso_open(modules->dsos, module->dso, place->task, place->mapping);
}

/* What a separate debug file names, if that is more. Takes the descriptor over. */
static bool take_debug_file(struct modules *modules, struct module *module, int fd)
{
	_cleanup_(image_free) struct image debug = {.file.fd = -1};
	_cleanup_close_ int owned = fd;
	size_t before = module->image.table.count;

	if (owned >= 0 && !parse_image(modules->worker, owned, &debug))
		image_take_debug_symbols(&module->image, &debug);
	return module->image.table.count != before;
}

/* A stripped file names only what it exports; its debug file, if there is one, names the rest. */
static void add_debug_symbols(struct modules *modules, struct module *module, int fd,
			      const struct module_place *place)
{
	struct debug_description description;
	struct debug_request request = {
		.worker = modules->worker,
		.debuginfod = modules->debuginfod,
		.build_id = module->image.file.build_id,
		.link = description.link,
		.path = place->mapping->path,
		.task = place->task,
	};
	int debug_fd;

	if (parse_description(modules->worker, fd, &description))
		return;
	debug_fd = debug_file_open(&request, &(struct debug_description){0});
	module->awaits_symbols = debug_fd == -EAGAIN;
	take_debug_file(modules, module, debug_fd);
}

/*
 * Looks whether the debug file that it waits for has come, and takes the names in it. Whether there
 * were any: names found before may be wrong then.
 */
static bool take_symbols(struct modules *modules, struct module *module)
{
	struct debug_request request = {
		.worker = modules->worker,
		.debuginfod = modules->debuginfod,
		.build_id = module->image.file.build_id,
		.path = "",
	};
	int fd;

	if (!module->awaits_symbols)
		return false;
	fd = debug_file_fetch(&request, &(struct debug_description){0});
	module->awaits_symbols = fd == -EAGAIN;
	if (!take_debug_file(modules, module, fd))
		return false;
	hash_free(&module->functions);
	return true;
}

void modules_take_fetched(struct modules *modules)
{
	if (!modules->debuginfod || !debuginfod_take(modules->debuginfod))
		return;
	for (size_t i = 0; i < modules->dsos->list.count; i++) {
		struct module *module = dso_facet(modules->dsos->list.items[i], DSO_SYMBOLS);

		if (!module)
			continue;
		module->lines.awaits_file = false;
		modules->fetched += take_symbols(modules, module);
	}
}

static const char *why_no_image(int err)
{
	const char *failure = worker_failure(err);

	if (failure)
		return failure;
	return err == -EIO ? "unreadable file" : "not an ELF file";
}

const char *module_load(struct modules *modules, struct module *module,
			const struct module_place *place)
{
	_cleanup_close_ int fd = -1;
	int err;

	if (module->loaded)
		return module->why;
	fd = module_open(modules, module, place);
	if (fd < 0)
		return "file gone";
	err = parse_image(modules->worker, fd, &module->image);
	if (err == -ENOMEM)
		return "out of memory";
	if (err == -ETIME)
		return worker_failure(err);
	if (err == -EINTR)
		return "interrupted";
	if (err == -EMFILE || err == -ENFILE)
		return "too many open files";
	module->loaded = true;
	if (err)
		module->why = why_no_image(err);
	else if (!module->image.has_symtab)
		add_debug_symbols(modules, module, fd, place);
	log_debug("%s: %zu functions%s%s", place->mapping->path, module->image.table.count,
		  err ? ", " : "", err ? module->why : "");
	return module->why;
}

const char *module_readable_name(struct intern *intern, const char *raw)
{
	_cleanup_free_ char *readable = demangle(raw);

	return intern_string(intern, readable ? readable : raw);
}

int module_function(struct module *module, struct intern *intern, uint64_t vaddr,
		    struct module_function *function)
{
	const struct symbol_table *table = &module->image.table;
	const struct symbol *symbol = symbol_table_find(table, vaddr);
	uint64_t *slot;

	if (!symbol)
		return -ENOENT;
	slot = hash_put(&module->functions, (uint64_t)(symbol - table->symbols), NULL);
	if (!slot)
		return -ENOMEM;
	if (!*slot)
		*slot = (uintptr_t)module_readable_name(intern, table->names + symbol->name);
	if (!*slot)
		return -ENOMEM;
	function->name = (const char *)(uintptr_t)*slot;
	function->start = symbol->address;
	return 0;
}
