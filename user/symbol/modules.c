// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/modules.h"

#include "base/cleanup.h"
#include "base/descriptors.h"
#include "symbol/debuginfod.h"

#define MAX_OPEN_FILES 512
/* For what cannot do without, as reports and the parser: a file can be opened again. */
#define DESCRIPTORS_SPARED 32
/* Modules that nobody holds: their tables are kept for the next process that maps them. */
#define MAX_UNUSED 64

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
	module->key = key;
	module->place = modules->list.count - 1;
	module->number = ++modules->last_number;
	module->fd = -1;
	module->image.file.fd = -1;
	modules->unused++;
	*place = module;
	*slot = (uintptr_t)module;
	return module;
}

static struct module *find_or_add(struct modules *modules, const struct file_identity *identity)
{
	uint64_t key = hash_mix(hash_mix(identity->device) ^ identity->inode), *slot;

	/* Two versions of one file are two modules. */
	key = hash_mix(hash_mix(key ^ identity->size) ^ (uint64_t)identity->modified.tv_sec);
	/* Two identities of one hash take the next keys in turn. */
	for (; (slot = hash_get(&modules->index, key)); key++) {
		struct module *module = (struct module *)(uintptr_t)*slot;

		if (file_identity_equal(&module->identity, identity))
			return module;
	}
	return add_new(modules, identity, key);
}

void modules_hold(struct modules *modules, struct module *module)
{
	modules->unused -= !module->users;
	module->users++;
}

struct module *modules_add(struct modules *modules, int fd)
{
	_cleanup_close_ int owned = fd;
	struct file_identity identity = {0};
	struct module *module;

	if (file_identity_read(owned, &identity))
		return NULL;
	module = find_or_add(modules, &identity);
	if (!module)
		return NULL;
	if (module->fd < 0 && modules->open_files < MAX_OPEN_FILES &&
	    descriptors_left(DESCRIPTORS_SPARED)) {
		module->fd = TAKE_FD(owned);
		modules->open_files++;
	}
	modules_hold(modules, module);
	return module;
}

static void close_file(struct modules *modules, struct module *module)
{
	if (module->fd < 0)
		return;
	close(TAKE_FD(module->fd));
	modules->open_files--;
}

static void free_module(struct modules *modules, struct module *module)
{
	close_file(modules, module);
	modules->opened_lines -= module->lines.opened;
	image_free(&module->image);
	hash_free(&module->functions);
	module_lines_free(&module->lines);
	free(module);
}

static void drop(struct modules *modules, struct module *module)
{
	struct module *last = modules->list.items[--modules->list.count];

	modules->list.items[module->place] = last;
	last->place = module->place;
	hash_remove(&modules->index, module->key);
	modules->unused--;
	free_module(modules, module);
}

static void drop_oldest_unused(struct modules *modules)
{
	struct module *oldest = NULL;

	for (size_t i = 0; i < modules->list.count; i++) {
		struct module *module = modules->list.items[i];

		/* An answer about it is under way. */
		if (module->users || module == modules->asked)
			continue;
		if (!oldest || module->unused_since < oldest->unused_since)
			oldest = module;
	}
	if (oldest)
		drop(modules, oldest);
}

void modules_release(struct modules *modules, struct module *module)
{
	if (--module->users)
		return;
	modules->unused++;
	module->unused_since = ++modules->releases;
	close_file(modules, module);
	if (module != modules->asked)
		modules_abandon_lines(modules, module);
	if (modules->unused > MAX_UNUSED)
		drop_oldest_unused(modules);
}

void modules_free(struct modules *modules)
{
	for (size_t i = 0; i < modules->list.count; i++)
		free_module(modules, modules->list.items[i]);
	vec_free(&modules->list);
	hash_free(&modules->index);
}

void modules_take_fetched(struct modules *modules)
{
	if (!modules->debuginfod || !debuginfod_take(modules->debuginfod))
		return;
	for (size_t i = 0; i < modules->list.count; i++) {
		struct module *module = modules->list.items[i];

		module->lines.awaits_file = false;
		modules->fetched += module_take_symbols(modules, module);
	}
}
