// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/module.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/target_file.h"
#include "symbol/debug_file.h"
#include "symbol/demangle.h"
#include "worker/worker.h"

/* RLIMIT_NOFILE is 1024 by default, and the probes need some too. */
#define MAX_OPEN_FILES 512

static struct module *add_new(struct modules *modules, const struct file_identity *identity,
			      uint64_t key)
{
	struct module *module = calloc(1, sizeof(*module));
	struct module **place = module ? vec_push(&modules->list) : NULL;
	uint64_t *slot = place ? hash_put(&modules->index, key, NULL) : NULL;

	if (!slot) {
		if (place)
			modules->list.count--;
		free(module);
		return NULL;
	}
	module->identity = *identity;
	module->number = (uint32_t)modules->list.count;
	module->fd = -1;
	module->image.file.fd = -1;
	*place = module;
	*slot = modules->list.count;
	return module;
}

static struct module *find_or_add(struct modules *modules, const struct file_identity *identity)
{
	uint64_t key = hash_mix(hash_mix(identity->device) ^ identity->inode), *place;

	/* Two versions of one file, like two files of one hash, take the next keys in turn. */
	for (; (place = hash_get(&modules->index, key)) && *place; key++) {
		struct module *module = modules->list.items[*place - 1];

		if (file_identity_equal(&module->identity, identity))
			return module;
	}
	return add_new(modules, identity, key);
}

struct module *modules_add(struct modules *modules, int fd)
{
	_cleanup_close_ int owned = fd;
	struct file_identity identity = {0};
	struct module *module;

	if (file_identity_read(owned, &identity))
		return NULL;
	module = find_or_add(modules, &identity);
	if (module && module->fd < 0 && modules->open_files < MAX_OPEN_FILES) {
		module->fd = TAKE_FD(owned);
		modules->open_files++;
	}
	return module;
}

static void free_module(struct module *module)
{
	if (module->fd >= 0)
		close(module->fd);
	image_free(&module->image);
	hash_free(&module->functions);
	module_lines_free(&module->lines);
	free(module);
}

void modules_free(struct modules *modules)
{
	for (size_t i = 0; i < modules->list.count; i++)
		free_module(modules->list.items[i]);
	vec_free(&modules->list);
	hash_free(&modules->index);
	modules->open_files = 0;
}

int module_open(const struct module *module, const struct module_place *place)
{
	_cleanup_close_ int fd = -1;
	struct file_identity identity = {0};
	int err;

	if (module->fd >= 0) {
		fd = fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : TAKE_FD(fd);
	}
	fd = target_file_open_mapping(place->task, place->mapping);
	if (fd < 0)
		return TAKE_FD(fd);
	err = file_identity_read(fd, &identity);
	if (err)
		return err;
	return file_identity_equal(&identity, &module->identity) ? TAKE_FD(fd) : -ESTALE;
}

/* A stripped file names only what it exports; its debug file, if installed, names the rest. */
static void add_debug_symbols(struct modules *modules, struct module *module, int fd,
			      const struct module_place *place)
{
	_cleanup_(image_free) struct image debug = {.file.fd = -1};
	struct debug_description description;
	struct debug_request request = {
		.worker = modules->worker,
		.build_id = module->image.file.build_id,
		.link = description.link,
		.path = place->mapping->path,
		.task = place->task,
	};
	_cleanup_close_ int debug_fd = -1;

	if (worker_describe(modules->worker, fd, &description))
		return;
	debug_fd = debug_file_open(&request, &(struct debug_description){0});
	if (debug_fd >= 0 && !worker_read_image(modules->worker, debug_fd, &debug))
		image_take_debug_symbols(&module->image, &debug);
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
	fd = module_open(module, place);
	if (fd < 0)
		return "file gone";
	err = worker_read_image(modules->worker, fd, &module->image);
	if (err == -ENOMEM)
		return "out of memory";
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
