// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/target/process.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/search.h"
#include "process/proc/core.h"
#include "process/proc/process_list.h"
#include "process/proc/target_file.h"

/* Plugins that come and go each leave a range: older ones are forgotten. */
#define MAX_PAST 1024

/* Ignores the path: a rename or deletion does not change the mapping. */
static bool same_mapping(const struct mapping *left, const struct mapping *right)
{
	return left->start == right->start && left->end == right->end &&
	       left->offset == right->offset && mapping_same_file(left, right);
}

static struct code_range *find_current(const struct code_ranges *code, uint64_t address)
{
	size_t at = SORTED_BEFORE(range, code->items, code->count, range->mapping.end <= address);

	return at < code->count && code->items[at].mapping.start <= address ? &code->items[at]
									    : NULL;
}

static const struct code_range *find_same(const struct code_ranges *code,
					  const struct mapping *mapping)
{
	const struct code_range *range = find_current(code, mapping->start);

	return range && same_mapping(&range->mapping, mapping) ? range : NULL;
}

static void free_range(struct process_table *table, struct code_range *range)
{
	if (range->dso)
		dso_release(&table->dsos, range->dso, DSO_SYMBOLS);
	free(range->mapping.path);
}

static void free_ranges(struct process_table *table, struct code_ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++)
		free_range(table, &ranges->items[i]);
	vec_free(ranges);
}

/* Each range holds its DSO. */
static int add_range(struct process_table *table, struct code_ranges *ranges,
		     const struct code_range *range)
{
	char *path = strdup(range->mapping.path);
	struct code_range *added = path ? vec_push(ranges) : NULL;

	if (!added) {
		free(path);
		return -ENOMEM;
	}
	*added = *range;
	added->mapping.path = path;
	if (added->dso)
		dso_hold(&table->dsos, added->dso, DSO_SYMBOLS);
	return 0;
}

static const char *open_failure(int error)
{
	switch (error) {
	case -EACCES:
	case -EPERM:
		return "no permission to open the file";
	case -EMFILE:
	case -ENFILE:
		return "too many open files";
	case -EINVAL:
		return CODE_NOT_ELF;
	}
	return "file gone";
}

static int open_range(struct process_table *table, struct code_range *range)
{
	int fd;

	if (!range->mapping.inode) {
		range->why = CODE_ANONYMOUS;
		return 0;
	}
	fd = target_file_open_mapping(range->source, &range->mapping);
	if (fd < 0) {
		range->why = open_failure(fd);
		return 0;
	}
	range->dso = dso_add(&table->dsos, fd, DSO_SYMBOLS);
	return range->dso ? 0 : -ENOMEM;
}

static int add_new_range(struct process_table *table, struct code_ranges *code,
			 struct memory_source source, const struct mapping *mapping)
{
	struct code_range opened = {.mapping = *mapping, .source = source};
	int error = open_range(table, &opened);

	if (!error)
		error = add_range(table, code, &opened);
	if (opened.dso)
		dso_release(&table->dsos, opened.dso, DSO_SYMBOLS);
	return error;
}

/* Keeps unchanged ranges, and opens the rest. */
static int list_code(struct process_table *table, const struct process *process,
		     const struct maps *maps, struct code_ranges *code)
{
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		const struct code_range *known;

		if (!mapping->executable)
			continue;
		known = find_same(&process->code, mapping);
		error = known ? add_range(table, code, known)
			      : add_new_range(table, code, maps->source, mapping);
	}
	return error;
}

static void forget_past(struct process_table *table, struct code_ranges *past, size_t i)
{
	free_range(table, &past->items[i]);
	past->count--;
	memmove(&past->items[i], &past->items[i + 1], (past->count - i) * sizeof(*past->items));
}

static int remember_past(struct process_table *table, struct code_ranges *past,
			 const struct code_range *range)
{
	for (size_t i = 0; i < past->count; i++) {
		if (same_mapping(&past->items[i].mapping, &range->mapping)) {
			forget_past(table, past, i);
			break;
		}
	}
	if (past->count == MAX_PAST)
		forget_past(table, past, 0);
	return add_range(table, past, range);
}

static int remember_vanished(struct process_table *table, struct process *process,
			     const struct code_ranges *code)
{
	int error = 0;

	for (size_t i = 0; !error && i < process->code.count; i++) {
		if (!find_same(code, &process->code.items[i].mapping))
			error = remember_past(table, &process->past, &process->code.items[i]);
	}
	return error;
}

static bool has_same_code(const struct process *process, const struct maps *maps)
{
	size_t count = 0;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->executable &&
		    (count == process->code.count ||
		     !same_mapping(mapping, &process->code.items[count++].mapping)))
			return false;
	}
	return count == process->code.count;
}

static int take_code(struct process_table *table, struct process *process, const struct maps *maps)
{
	struct code_ranges code = {0};
	int error = list_code(table, process, maps, &code);

	if (!error)
		error = remember_vanished(table, process, &code);
	if (!error) {
		SWAP(code, process->code);
		process->generation++;
	}
	free_ranges(table, &code);
	return error;
}

static int refresh(struct process_table *table, struct process *process)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct process_entry entry = {0};
	int error = table->core ? core_maps(table->core, MAPS_CODE, &maps)
				: table->read(process->pid, MAPS_CODE, &maps);

	if (error)
		return error;
	/* The PID was reused: the previous process's mappings are gone. */
	if (!table->core && !process_read(process->pid, &entry) &&
	    entry.start_ticks != process->start_ticks) {
		process->start_ticks = entry.start_ticks;
		process->generation++;
	}
	if (!has_same_code(process, &maps))
		error = take_code(table, process, &maps);
	if (!error)
		SWAP(maps, process->maps);
	return error;
}

static struct process *find_or_add(struct process_table *table, pid_t pid)
{
	uint64_t *slot = hash_put(&table->processes, (uint64_t)pid, NULL);
	struct process *process;

	if (!slot || *slot)
		return slot ? (struct process *)(uintptr_t)*slot : NULL;
	process = calloc(1, sizeof(*process));
	if (!process) {
		hash_remove(&table->processes, (uint64_t)pid);
		return NULL;
	}
	process->pid = pid;
	*slot = (uintptr_t)process;
	return process;
}

int process_table_refresh(struct process_table *table, pid_t pid, struct process **process)
{
	*process = find_or_add(table, pid);
	if (!*process)
		return -ENOMEM;
	(*process)->error = refresh(table, *process);
	return (*process)->error;
}

size_t process_table_refresh_all(struct process_table *table, const pid_t *pids, size_t count,
				 struct process **processes)
{
	size_t read = 0;

	for (size_t i = 0; i < count && !interrupt_check(); i++) {
		bool known = process_table_find(table, pids[i]);

		if (!process_table_refresh(table, pids[i], &processes[read]))
			read++;
		else if (!known)
			process_table_forget(table, pids[i]);
	}
	return read;
}

struct process *process_table_find(const struct process_table *table, pid_t pid)
{
	const uint64_t *slot = hash_get(&table->processes, (uint64_t)pid);

	return slot ? (struct process *)(uintptr_t)*slot : NULL;
}

static void free_process(struct process_table *table, struct process *process)
{
	free_ranges(table, &process->code);
	free_ranges(table, &process->past);
	maps_free(&process->maps);
	free(process);
}

void process_table_forget(struct process_table *table, pid_t pid)
{
	struct process *process = process_table_find(table, pid);

	if (!process)
		return;
	free_process(table, process);
	hash_remove(&table->processes, (uint64_t)pid);
}

struct process_table *process_table_new(bool keeps_files)
{
	struct process_table *table = calloc(1, sizeof(*table));

	if (table)
		*table = (struct process_table){
			.read = maps_read,
			.dsos = {.keeps_files = keeps_files, .vdso_fd = -1},
		};
	return table;
}

void process_table_free(struct process_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->processes.capacity; i++) {
		const struct hash_entry *entry = &table->processes.entries[i];

		if (entry->used)
			free_process(table, (struct process *)(uintptr_t)entry->value);
	}
	hash_free(&table->processes);
	dso_cache_free(&table->dsos);
	free(table);
}

const struct code_range *process_code_at(const struct process *process, uint64_t address)
{
	const struct code_range *range = find_current(&process->code, address);

	for (size_t i = process->past.count; !range && i > 0; i--) {
		const struct mapping *mapping = &process->past.items[i - 1].mapping;

		if (address >= mapping->start && address < mapping->end)
			range = &process->past.items[i - 1];
	}
	return range;
}

static struct dso *find_dso(const struct process *process, const struct mapping *mapping)
{
	const struct code_range *range = find_same(&process->code, mapping);

	return range ? range->dso : NULL;
}

struct dso *process_dso(struct dso_cache *dsos, const struct process *process,
			const struct mapping *mapping, enum dso_kind kind)
{
	struct dso *dso = find_dso(process, mapping);

	if (!dso && dso_is_vdso(mapping))
		return dso_add_vdso(dsos, kind);
	if (!dso)
		return dso_add(dsos, target_file_open_mapping(process->maps.source, mapping), kind);
	dso_hold(dsos, dso, kind);
	return dso;
}

static int open_now(const struct dso_cache *dsos, const struct process *process,
		    const struct mapping *mapping)
{
	const struct dso *known = find_dso(process, mapping);
	struct memory_source source = process->maps.source;
	int fd = known ? dso_open(dsos, known, source.task, mapping) : -ESTALE;

	return fd == -ESTALE ? target_file_open_mapping(source, mapping) : fd;
}

static int visit(struct dso_cache *dsos, const struct process *process,
		 const struct mapping *mapping, const struct file_visitor *visitor)
{
	_cleanup_close_ int fd = open_now(dsos, process, mapping);
	int copy = fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0), error;
	struct dso *dso;

	if (fd >= 0 && copy < 0)
		copy = -errno;
	dso = dso_add(dsos, copy, visitor->kind);
	if (!dso)
		return visitor->visit(visitor->context, mapping, NULL, copy < 0 ? copy : -ENOMEM);
	error = visitor->visit(visitor->context, mapping, dso, fd);
	dso_release(dsos, dso, visitor->kind);
	return error;
}

int process_visit_files(struct dso_cache *dsos, const struct process *process,
			const struct file_visitor *visitor)
{
	int error = 0;

	for (int executable = 1; executable >= 0; executable--) {
		for (size_t i = 0; i < process->maps.list.count && !error; i++) {
			const struct mapping *mapping = &process->maps.list.items[i];

			if (!mapping->inode || mapping->executable != executable ||
			    mapped_files_have(visitor->seen, mapping))
				continue;
			error = interrupt_check();
			if (!error)
				error = visit(dsos, process, mapping, visitor);
		}
	}
	return error;
}
