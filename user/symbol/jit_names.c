// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/jit_names.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "parse/perf_map.h"
#include "parse/questions.h"

/* The kernel's own pages are in no file either, but nobody compiled them. */
static bool may_be_compiled(const struct code_range *range)
{
	const char *path = range->mapping.path;

	/* .NET maps its code from a memfd, to have it writable at another address. */
	if (range->mapping.inode)
		return !strncmp(path, "/memfd:", 7);
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

/* The map at its place now, or, if that is gone, the one that was there. */
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

bool jit_names_refresh(struct jit_names *names, const struct process *process)
{
	const struct code_range *compiled = find_compiled(process);
	struct file_identity identity;

	if (names->failed || (!compiled && !names->opened))
		return false;
	if (compiled)
		open_map(names, compiled->task);
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

int jit_names_find(struct jit_names *names, struct worker *worker, struct intern *intern,
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

void jit_names_free(struct jit_names *names)
{
	if (names->opened)
		close(names->fd);
	symbol_table_free(&names->table);
	hash_free(&names->functions);
	*names = (struct jit_names){0};
}
