// SPDX-License-Identifier: GPL-2.0-or-later
/* The set of ranges against /proc/PID/maps: at the beginning, and after a loss. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "collect/mapping_ranges.h"

/* What the kernel put there, not a system call of the process. */
static bool is_the_kernels(const struct mapping *mapping)
{
	static const char *const names[] = {"[stack]",	     "[vdso]",	  "[vvar]",
					    "[vvar_vclock]", "[uprobes]", "[vsyscall]"};

	for (size_t i = 0; !mapping->inode && i < ARRAY_SIZE(names); i++) {
		if (!strcmp(mapping->path, names[i]))
			return true;
	}
	return false;
}

int mapping_process_begin(struct mapping_process *process, const struct maps *maps)
{
	static const struct range_tag before = {.kind = KIND_BEFORE};
	int error = 0;

	for (size_t i = 0; i < maps->list.count && !error; i++)
		error = ranges_insert(&process->ranges, maps->list.items[i].start,
				      maps->list.items[i].end, &before);
	return error == -EINVAL ? 0 : error;
}

/* Takes off what lies between two mappings. */
static int give_up(struct mapping_process *process, uint64_t start, uint64_t end)
{
	return mapping_give_up(process, start, end, &process->ledger.healed);
}

/* The holes of the set inside one mapping. */
struct holes {
	uint64_t at; /* everything below is known */
	VEC(struct range) found;
};

static int hole_add(struct holes *holes, uint64_t start, uint64_t end)
{
	struct range *hole;

	if (start >= end)
		return 0;
	hole = vec_push(&holes->found);
	if (!hole)
		return -ENOMEM;
	hole->start = start;
	hole->end = end;
	return 0;
}

static int hole_before(const struct range *range, void *context)
{
	struct holes *holes = context;
	int error = hole_add(holes, holes->at, range->start);

	holes->at = range->end;
	return error;
}

/* Puts what one mapping has and the set has not under the site LM_SITE_LOST. */
static int adopt(struct mapping_process *process, const struct mapping *mapping)
{
	struct holes holes = {.at = mapping->start};
	struct range_tag tag = {.site = LM_SITE_LOST,
				.kind = mapping->inode ? LM_KIND_FILE : LM_KIND_MAPPING};
	struct ranges known;
	int error = ranges_cut(&process->ranges, mapping->start, mapping->end, &known);

	if (error)
		return error;
	error = ranges_walk(&known, hole_before, &holes);
	ranges_absorb(&process->ranges, &known);
	if (!error)
		error = hole_add(&holes, holes.at, mapping->end);
	if (!strcmp(mapping->path, "[heap]"))
		tag.kind = LM_KIND_BRK;
	for (size_t i = 0; i < holes.found.count && !error; i++) {
		const struct range *hole = &holes.found.items[i];

		error = mapping_place(process, hole->start, hole->end, &tag);
		process->ledger.healed += error ? 0 : hole->end - hole->start;
	}
	vec_free(&holes.found);
	return error;
}

/* A call in progress whose end was lost would give back what is no longer there. */
static void calls_forget(struct mapping_process *process)
{
	for (size_t i = 0; i < process->calls.count; i++) {
		ranges_free(&process->calls.items[i].removed);
		ranges_free(&process->calls.items[i].lifted);
	}
	process->calls.count = 0;
}

int mapping_process_heal(struct mapping_process *process, const struct maps *maps)
{
	uint64_t at = 0;
	int error = 0;

	process->inexact = true;
	calls_forget(process);
	for (size_t i = 0; i < maps->list.count && !error; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		error = give_up(process, at, mapping->start);
		if (!error && !is_the_kernels(mapping))
			error = adopt(process, mapping);
		at = mapping->end;
	}
	return error ? error : give_up(process, at, UINT64_MAX);
}
