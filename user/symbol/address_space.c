// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/address_space.h"

#include <errno.h>

#include "base/cleanup.h"
#include "proc/target_file.h"

/* Plugins that come and go leave a range each time: what is older than this is forgotten. */
#define MAX_PAST 1024

/* The path is left out: a rename or deletion does not change what is mapped. */
static bool same_mapping(const struct mapping *left, const struct mapping *right)
{
	return left->start == right->start && left->end == right->end &&
	       left->offset == right->offset && left->inode == right->inode &&
	       left->major == right->major && left->minor == right->minor;
}

static const struct code_range *find_current(const struct address_space *space, uint64_t address)
{
	size_t low = 0, high = space->current.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct code_range *range = &space->current.items[middle];

		if (address < range->mapping.start)
			high = middle;
		else if (address >= range->mapping.end)
			low = middle + 1;
		else
			return range;
	}
	return NULL;
}

static const struct code_range *find_same(const struct address_space *space,
					  const struct mapping *mapping)
{
	const struct code_range *range = find_current(space, mapping->start);

	return range && same_mapping(&range->mapping, mapping) ? range : NULL;
}

static const char *open_failure(int err)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return "no permission to open the file";
	case -EMFILE:
	case -ENFILE:
		return "too many open files";
	case -EINVAL:
		return "not an ELF file";
	}
	return "file gone";
}

static int open_range(struct code_range *range, struct modules *modules, struct intern *intern)
{
	int fd;

	/* The cast: struct mapping can own its path, this one borrows it. */
	range->mapping.path = (char *)intern_string(intern, range->mapping.path);
	if (!range->mapping.path)
		return -ENOMEM;
	if (!range->mapping.inode) {
		range->why = "anonymous code";
		return 0;
	}
	fd = target_file_open_mapping(range->task, &range->mapping);
	if (fd < 0) {
		range->why = open_failure(fd);
		return 0;
	}
	range->module = modules_add(modules, fd);
	return range->module ? 0 : -ENOMEM;
}

/* Each range holds its module. */
static void copy_range(const struct address_space *space, const struct code_range *range,
		       struct code_range *copy)
{
	*copy = *range;
	if (copy->module)
		modules_hold(space->modules, copy->module);
}

static void release_range(const struct address_space *space, const struct code_range *range)
{
	if (range->module)
		modules_release(space->modules, range->module);
}

/* Fills next->current from maps, and takes over from `space` what has stayed. */
static int build_current(const struct address_space *space, const struct maps *maps,
			 struct modules *modules, struct intern *intern, struct address_space *next)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct code_range *known = find_same(space, &maps->list.items[i]);
		struct code_range *range = vec_push(&next->current);
		int err = 0;

		if (!range)
			return -ENOMEM;
		if (known) {
			copy_range(next, known, range);
			continue;
		}
		range->mapping = maps->list.items[i];
		range->task = maps->task;
		err = open_range(range, modules, intern);
		if (err)
			return err;
	}
	return 0;
}

static void forget_past(struct address_space *space, size_t i)
{
	release_range(space, &space->past.items[i]);
	space->past.count--;
	memmove(&space->past.items[i], &space->past.items[i + 1],
		(space->past.count - i) * sizeof(*space->past.items));
}

static int remember_past(struct address_space *space, const struct code_range *range)
{
	struct code_range *past;

	for (size_t i = 0; i < space->past.count; i++) {
		if (same_mapping(&space->past.items[i].mapping, &range->mapping)) {
			forget_past(space, i);
			break;
		}
	}
	if (space->past.count == MAX_PAST)
		forget_past(space, 0);
	past = vec_push(&space->past);
	if (!past)
		return -ENOMEM;
	copy_range(space, range, past);
	return 0;
}

static int remember_vanished(struct address_space *space, const struct address_space *next)
{
	int err = 0;

	for (size_t i = 0; !err && i < space->current.count; i++) {
		if (!find_same(next, &space->current.items[i].mapping))
			err = remember_past(space, &space->current.items[i]);
	}
	return err;
}

static bool same_ranges(const struct address_space *left, const struct address_space *right)
{
	if (left->current.count != right->current.count)
		return false;
	for (size_t i = 0; i < left->current.count; i++) {
		if (!same_mapping(&left->current.items[i].mapping,
				  &right->current.items[i].mapping))
			return false;
	}
	return true;
}

int address_space_refresh(struct address_space *space, int pid, struct modules *modules,
			  struct intern *intern, bool *changed)
{
	_cleanup_(maps_free) struct maps maps = {0};
	_cleanup_(address_space_free) struct address_space next = {.modules = modules};
	__typeof__(space->current) replaced = space->current;
	int err;

	space->modules = modules;
	err = maps_read(pid, MAPS_EXECUTABLE, &maps);
	if (!err)
		err = build_current(space, &maps, modules, intern, &next);
	if (err)
		return err;
	*changed = !same_ranges(space, &next);
	if (!*changed)
		return 0;
	err = remember_vanished(space, &next);
	if (err)
		return err;
	space->current.items = next.current.items;
	space->current.count = next.current.count;
	space->current.capacity = next.current.capacity;
	next.current.items = replaced.items;
	next.current.count = replaced.count;
	return 0;
}

const struct code_range *address_space_find(const struct address_space *space, uint64_t address)
{
	const struct code_range *range = find_current(space, address);

	for (size_t i = space->past.count; !range && i > 0; i--) {
		const struct mapping *mapping = &space->past.items[i - 1].mapping;

		if (address >= mapping->start && address < mapping->end)
			range = &space->past.items[i - 1];
	}
	return range;
}

void address_space_free(struct address_space *space)
{
	for (size_t i = 0; i < space->current.count; i++)
		release_range(space, &space->current.items[i]);
	for (size_t i = 0; i < space->past.count; i++)
		release_range(space, &space->past.items[i]);
	vec_free(&space->current);
	vec_free(&space->past);
}
