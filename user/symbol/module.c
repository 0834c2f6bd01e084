// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/module.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/target_file.h"
#include "symbol/demangle.h"

/* RLIMIT_NOFILE is 1024 by default, and the probes need some too. */
#define MAX_OPEN_FILES 512

static int read_identity(int fd, struct module_identity *identity)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	*identity = (struct module_identity){
		.device = status.st_dev,
		.inode = status.st_ino,
		.size = (uint64_t)status.st_size,
		.modified = status.st_mtim,
	};
	return 0;
}

static bool same_identity(const struct module_identity *left, const struct module_identity *right)
{
	return left->device == right->device && left->inode == right->inode &&
	       left->size == right->size && left->modified.tv_sec == right->modified.tv_sec &&
	       left->modified.tv_nsec == right->modified.tv_nsec;
}

static struct module *add_new(struct modules *modules, const struct module_identity *identity,
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
	module->fd = -1;
	module->image.file.fd = -1;
	*place = module;
	*slot = modules->list.count;
	return module;
}

static struct module *find_or_add(struct modules *modules, const struct module_identity *identity)
{
	uint64_t key = hash_mix(hash_mix(identity->device) ^ identity->inode), *place;

	/* Two versions of one file, like two files of one hash, take the next keys in turn. */
	for (; (place = hash_get(&modules->index, key)) && *place; key++) {
		struct module *module = modules->list.items[*place - 1];

		if (same_identity(&module->identity, identity))
			return module;
	}
	return add_new(modules, identity, key);
}

struct module *modules_add(struct modules *modules, int fd)
{
	_cleanup_close_ int owned = fd;
	struct module_identity identity = {0};
	struct module *module;

	if (read_identity(owned, &identity))
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
	hash_free(&module->line_index);
	vec_free(&module->source_lines);
	lines_close(module->lines);
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

void modules_release_lines(struct modules *modules)
{
	bool released = false;

	for (size_t i = 0; i < modules->list.count; i++) {
		struct module *module = modules->list.items[i];

		released |= module->lines != NULL;
		lines_close(module->lines);
		module->lines = NULL;
	}
	/* libdw's many small pieces would otherwise stay with us as free heap. */
	if (released)
		malloc_trim(0);
}

/* A descriptor that the caller closes. */
static int open_module(const struct module *module, const struct module_place *place)
{
	_cleanup_close_ int fd = -1;
	struct module_identity identity = {0};
	int err;

	if (module->fd >= 0) {
		fd = fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : TAKE_FD(fd);
	}
	fd = target_file_open_mapping(place->task, place->mapping);
	if (fd < 0)
		return TAKE_FD(fd);
	err = read_identity(fd, &identity);
	if (err)
		return err;
	return same_identity(&identity, &module->identity) ? TAKE_FD(fd) : -ESTALE;
}

static struct debug_request debug_request(const struct module *module, int fd,
					  const struct module_place *place)
{
	return (struct debug_request){
		.fd = fd,
		.build_id = module->image.file.build_id,
		.path = place->mapping->path,
		.task = place->task,
	};
}

/* A stripped file names only what it exports; its debug file, if installed, names the rest. */
static void add_debug_symbols(struct module *module, int fd, const struct module_place *place)
{
	struct debug_request request = debug_request(module, fd, place);
	_cleanup_close_ int debug_fd = debug_file_open(&request);

	if (debug_fd >= 0)
		image_add_debug_file(&module->image, debug_fd);
}

const char *module_load(struct module *module, const struct module_place *place)
{
	_cleanup_close_ int fd = -1;
	int err;

	if (module->loaded)
		return module->why;
	fd = open_module(module, place);
	if (fd < 0)
		return "file gone";
	err = image_read(fd, &module->image);
	if (err == -ENOMEM)
		return "out of memory";
	module->loaded = true;
	if (err)
		module->why = err == -EIO ? "unreadable file" : "not an ELF file";
	else if (!module->image.has_symtab)
		add_debug_symbols(module, fd, place);
	log_debug("%s: %zu functions%s%s", place->mapping->path, module->image.table.count,
		  err ? ", " : "", err ? module->why : "");
	return module->why;
}

static const char *readable_name(struct intern *intern, const char *raw)
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
		*slot = (uintptr_t)readable_name(intern, table->names + symbol->name);
	if (!*slot)
		return -ENOMEM;
	function->name = (const char *)(uintptr_t)*slot;
	function->start = symbol->address;
	return 0;
}

static void open_lines(struct module *module, const struct module_place *place)
{
	_cleanup_close_ int fd = open_module(module, place);
	struct debug_request request = debug_request(module, fd, place);
	int err;

	if (fd < 0)
		return;
	err = lines_open(&request, &module->lines);
	if (err && err != -ENOMEM) {
		module->no_lines = true;
		log_debug("%s: no file:line: %s", place->mapping->path, strerror(-err));
	}
}

static int look_up_line(struct module *module, const struct module_place *place,
			struct intern *intern, uint64_t vaddr, struct source_line *line)
{
	struct source_line found = {0};
	const char *file;

	if (!module->lines && !module->no_lines)
		open_lines(module, place);
	if (module->lines && !lines_find(module->lines, vaddr, &file, &found.line)) {
		found.file = intern_string(intern, file);
		if (!found.file)
			return -ENOMEM;
	}
	*line = found;
	return 0;
}

int module_line(struct module *module, const struct module_place *place, struct intern *intern,
		uint64_t vaddr, struct source_line *line)
{
	uint64_t *slot = hash_put(&module->line_index, vaddr, NULL);
	struct source_line *known;
	struct source_line found;
	int err;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		err = look_up_line(module, place, intern, vaddr, &found);
		if (err)
			return err;
		known = vec_push(&module->source_lines);
		if (!known)
			return -ENOMEM;
		*known = found;
		*slot = module->source_lines.count;
	}
	*line = module->source_lines.items[*slot - 1];
	return 0;
}
