// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/process_names.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "binary/parse/perf_map.h"
#include "binary/parse/questions.h"
#include "leakmon_abi.h"
#include "process/proc/file_opener.h"
#include "process/proc/target_file.h"

struct task_status {
	uint32_t user;	/* effective UID */
	uint32_t group; /* thread group: its ID in its innermost PID namespace */
};

/* Reads the last number of "NStgid:\t812\t1": the outer namespaces come first. */
static bool read_last(const char *numbers, uint32_t *last)
{
	bool found = false;
	char *end;

	for (;; numbers = end) {
		unsigned long number = strtoul(numbers, &end, 10);

		if (end == numbers || number > UINT32_MAX)
			return found;
		*last = (uint32_t)number;
		found = true;
		if (*end == '\n')
			return true;
	}
}

/*
 * man 5 proc, /proc/PID/status. The name in its first line cannot contain a newline: it is escaped.
 */
static int read_status(int task, struct task_status *status)
{
	struct task_status read = {0};
	_cleanup_fclose_ FILE *file = NULL;
	bool has_user = false, has_group = false;
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/status", task);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, "NStgid:", 7))
			has_group = read_last(line + 7, &read.group);
		else if (sscanf(line, "Uid:\t%*u\t%" SCNu32, &read.user) == 1)
			has_user = true;
	}
	if (!has_user || !has_group)
		return -ENOENT;
	*status = read;
	return 0;
}

int perf_map_open(int task)
{
	_cleanup_close_ int fd = -1;
	struct task_status status = {0};
	struct stat found;
	char path[64];
	int err = read_status(task, &status);

	if (err)
		return err;
	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", status.group);
	fd = target_file_open_plain(task, path);
	if (fd < 0)
		return TAKE_FD(fd);
	/* A copy does not show its owner. */
	if (file_opener_made(fd))
		return -EACCES;
	if (fstat(fd, &found) < 0)
		return -errno;
	return found.st_uid && found.st_uid != status.user ? -EACCES : TAKE_FD(fd);
}

/* The kernel's own pages are in no file either, but are not compiled by the process. */
static bool may_be_compiled(const struct code_range *range)
{
	const char *path = range->mapping.path;

	if (range->mapping.inode) /* .NET's */
		return !strncmp(path, CODE_MEMFD, strlen(CODE_MEMFD));
	return path[0] != '[' || !strncmp(path, "[anon:", 6);
}

static const struct code_range *find_compiled(const struct process *process)
{
	for (size_t i = 0; i < process->code.count; i++) {
		if (may_be_compiled(&process->code.items[i]))
			return &process->code.items[i];
	}
	return NULL;
}

static void refuse(struct jit_names *names, int task, int err)
{
	static const struct {
		int error;
		const char *why;
	} reasons[] = {
		{-ELOOP, "it is a symbolic link"},
		{-EACCES, "it belongs to another user"},
		{-EINVAL, "it is not a regular file"},
	};
	const char *why = strerror(-err);

	/* The next refresh will find the same. */
	if (err == -ENOENT || err == -ESRCH || err == names->refused)
		return;
	names->refused = err;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error == err)
			why = reasons[i].why;
	}
	log_warning("process %d: its perf map is not used: %s", task, why);
}

/* Opens the map at its place now or, if that is gone, keeps the previous one. */
static void open_map(struct jit_names *names, int task)
{
	int fd = perf_map_open(task);

	if (fd < 0) {
		refuse(names, task, fd);
		return;
	}
	if (names->opened)
		close(names->fd);
	names->fd = fd;
	names->opened = true;
}

bool process_compiles(const struct process *process)
{
	return find_compiled(process);
}

/*
 * Checks whether there is a map, if the process has code that may be in one, and whether it has
 * changed. Returns true if names found before may be wrong, and missing names may be found now.
 * Nothing is read yet.
 */
static bool jit_names_refresh(struct jit_names *names, const struct process *process)
{
	const struct code_range *compiled = find_compiled(process);
	struct file_identity identity;

	if (names->failed || (!compiled && !names->opened))
		return false;
	if (compiled)
		open_map(names, compiled->source.task);
	if (!names->opened || file_identity_read(names->fd, &identity) ||
	    file_identity_equal(&identity, &names->identity))
		return false;
	names->identity = identity;
	names->stale = true;
	return true;
}

static int read_map(struct jit_names *names, struct worker *worker)
{
	struct symbol_table table;
	int err = parse_perf_map(worker, names->fd, &table);
	const char *failure = worker_failure(err);

	if (err == -ENOMEM || err == -EMFILE)
		return err == -ENOMEM ? err : -ENOENT;
	names->stale = false;
	if (err) {
		log_warning("a perf map is not used: %s", failure ? failure : strerror(-err));
		names->failed = true;
		return -ENOENT;
	}
	if (names->identity.size > PERF_MAP_MAX_BYTES && !names->cut)
		log_warning("a perf map is larger than %u MiB, and is read up to there",
			    PERF_MAP_MAX_BYTES >> 20);
	names->cut = names->identity.size > PERF_MAP_MAX_BYTES;
	symbol_table_free(&names->table);
	hash_free(&names->functions);
	names->table = table;
	log_debug("perf map: %zu functions", table.count);
	return 0;
}

/* Finds the function that contains the address of code in no file. Returns 0; -ENOENT; -ENOMEM. */
static int jit_names_find(struct jit_names *names, struct worker *worker, struct intern *intern,
			  uint64_t address, struct module_function *function)
{
	int err = names->stale ? read_map(names, worker) : 0;
	const struct symbol *symbol;
	uint64_t *slot;

	if (err)
		return err;
	symbol = names->table.count ? symbol_table_find(&names->table, address) : NULL;
	if (!symbol)
		return -ENOENT;
	slot = hash_put(&names->functions, (uint64_t)(symbol - names->table.symbols), NULL);
	if (slot && !*slot)
		*slot = (uintptr_t)module_readable_name(intern, names->table.names + symbol->name);
	if (!slot || !*slot)
		return -ENOMEM;
	*function = (struct module_function){(const char *)(uintptr_t)*slot, symbol->address};
	return 0;
}

static void jit_names_free(struct jit_names *names)
{
	if (names->opened)
		close(names->fd);
	symbol_table_free(&names->table);
	hash_free(&names->functions);
	*names = (struct jit_names){0};
}

/* Limit of named addresses cached per process; beyond it the cache starts over. */
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
	/* After an exit, too: the end of its map may still be read. */
	if (jit_names_refresh(&names->jit, process))
		forget(names);
}

/* Returns the address to look up: the byte before a return address belongs to the call. */
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
	struct module_place place = {range->source.task, &range->mapping};
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

/* Code outside files may be in its compiler's list. */
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

/* Returns NULL if no file names it. */
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
		/* Until the file's own address is known. */
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

	/* A fetched debug file may name addresses that had no name. */
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
	*source = module_want_lines(module, &(struct module_place){range->source.task, &mapping},
				    named->vaddr);
	return *source ? 0 : -ENOMEM;
}
