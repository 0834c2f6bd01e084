// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/row_modules.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "parse/questions.h"
#include "unwind/module_image.h"

/* Files that nobody maps: a program that is started again and again finds its rows. */
#define MAX_UNUSED 256

int row_modules_init(struct row_modules *modules, int map_fd, struct worker *worker)
{
	*modules = (struct row_modules){.worker = worker, .vdso_fd = -1};
	return row_sets_init(&modules->sets, map_fd);
}

int row_module_vaddr(const struct row_module *module, const struct mapping *mapping,
		     uint64_t *vaddr)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct elf_segment *segment = &module->segments[i];
		uint64_t page_offset = segment->offset & ~4095ull;

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

static struct row_module *add(struct row_modules *modules, const struct file_identity *identity,
			      uint64_t key)
{
	struct row_module *module = calloc(1, sizeof(*module));
	struct row_module **place = module ? vec_push(&modules->list) : NULL;
	uint64_t *slot = place ? hash_put(&modules->index, key, NULL) : NULL;

	if (!slot) {
		modules->list.count -= place != NULL;
		free(module);
		return NULL;
	}
	*module = (struct row_module){
		.identity = *identity, .key = key, .place = modules->list.count - 1};
	*place = module;
	*slot = (uintptr_t)module;
	modules->unused++;
	return module;
}

static struct row_module *find_or_add(struct row_modules *modules,
				      const struct file_identity *identity, bool *fresh)
{
	uint64_t key = hash_mix(hash_mix(identity->device) ^ identity->inode), *slot;

	key = hash_mix(hash_mix(key ^ identity->size) ^ (uint64_t)identity->modified.tv_sec);
	/* Two identities of one hash take the next keys in turn. */
	for (*fresh = false; (slot = hash_get(&modules->index, key)); key++) {
		struct row_module *module = (struct row_module *)(uintptr_t)*slot;

		if (file_identity_equal(&module->identity, identity))
			return module;
	}
	*fresh = true;
	return add(modules, identity, key);
}

struct row_module *row_modules_hold(struct row_modules *modules, int task,
				    const struct mapping *mapping)
{
	_cleanup_close_ int fd = module_image_open(task, mapping, &modules->vdso_fd);
	struct file_identity identity = {0};
	struct row_module *module;
	bool fresh;
	int error;

	if (fd < 0 || file_identity_read(fd, &identity))
		return NULL;
	module = find_or_add(modules, &identity, &fresh);
	if (!module)
		return NULL;
	modules->unused -= !module->users++;
	error = fresh || module->postponed ? compile(modules, module, fd) : 0;
	module->postponed = error == -ETIME || error == -EINTR;
	if (error) {
		modules->failures++;
		log_debug("%s: no unwind rows: %s", mapping->path,
			  worker_failure(error) ? worker_failure(error) : strerror(-error));
	}
	return module;
}

static void drop(struct row_modules *modules, struct row_module *module)
{
	struct row_module *last = modules->list.items[--modules->list.count];

	modules->list.items[module->place] = last;
	last->place = module->place;
	hash_remove(&modules->index, module->key);
	modules->unused -= !module->users;
	row_sets_release(&modules->sets, module->set);
	free(module->segments);
	free(module);
}

void row_modules_release(struct row_modules *modules, struct row_module *module)
{
	struct row_module *oldest = NULL;

	if (--module->users)
		return;
	module->unused_since = ++modules->releases;
	if (++modules->unused <= MAX_UNUSED)
		return;
	for (size_t i = 0; i < modules->list.count; i++) {
		struct row_module *other = modules->list.items[i];

		if (!other->users && (!oldest || other->unused_since < oldest->unused_since))
			oldest = other;
	}
	if (oldest)
		drop(modules, oldest);
}

void row_modules_free(struct row_modules *modules)
{
	while (modules->list.count)
		drop(modules, modules->list.items[modules->list.count - 1]);
	vec_free(&modules->list);
	hash_free(&modules->index);
	row_sets_free(&modules->sets);
	cleanup_close(&modules->vdso_fd);
}
