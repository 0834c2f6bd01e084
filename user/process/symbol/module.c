// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/module.h"

#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "binary/parse/questions.h"
#include "process/symbol/debuginfod.h"
#include "process/symbol/demangle.h"
#include "process/target/process.h"

/* Limit of modules with debug files kept open between two batches. */
#define MAX_OPENED 64

const struct source_lines *module_want_lines(struct module *module,
					     const struct module_place *place, uint64_t vaddr)
{
	struct module_lines *lines = &module->lines;
	uint64_t *slot = hash_put(&lines->index, vaddr, NULL);
	struct source_lines *source;
	size_t *wanted = NULL;

	if (!slot)
		return NULL;
	if (*slot)
		return &lines->list.items[*slot - 1];
	source = vec_push(&lines->list);
	if (source && !lines->none)
		wanted = vec_push(&lines->wanted);
	if (!source || (!lines->none && !wanted)) {
		lines->list.count -= source != NULL;
		return NULL;
	}
	*source = (struct source_lines){.vaddr = vaddr, .known = lines->none};
	*slot = lines->list.count;
	if (wanted)
		*wanted = lines->list.count - 1;
	lines->task = place->task;
	lines->mapping = *place->mapping;
	return source;
}

static void close_files(struct modules *modules, struct module_lines *lines)
{
	if (!lines->opened)
		return;
	cleanup_close(&lines->fd);
	cleanup_close(&lines->alternate_fd);
	lines->opened = false;
	modules->opened_lines--;
}

static void close_all_files(struct modules *modules)
{
	for (size_t i = 0; modules->opened_lines && i < modules->dsos->list.count; i++) {
		struct module *module = dso_facet(modules->dsos->list.items[i], DSO_SYMBOLS);

		if (module)
			close_files(modules, &module->lines);
	}
}

/*
 * Opens the file's own line information, or its debug file's. Returns a descriptor that the caller
 * closes, or -errno.
 */
static int open_source(const struct modules *modules, const struct module *module,
		       struct debug_description *description)
{
	const struct module_lines *lines = &module->lines;
	struct module_place place = {lines->task, &lines->mapping};
	_cleanup_close_ int fd = module_open(modules, module, &place);
	struct debug_description own;
	struct debug_request request = {
		.worker = modules->worker,
		.debuginfod = modules->debuginfod,
		.build_id = module->image.file.build_id,
		.link = own.link,
		.path = lines->mapping.path,
		.task = lines->task,
	};
	int err = fd < 0 ? fd : parse_description(modules->worker, fd, &own);

	if (err)
		return err;
	*description = own;
	if (own.lines == -ENOENT) {
		close(fd);
		fd = debug_file_open(&request, description);
	}
	if (fd >= 0 && description->lines)
		return description->lines;
	return TAKE_FD(fd);
}

static int open_files(struct modules *modules, struct module *module)
{
	struct debug_description description = {0};
	_cleanup_close_ int fd = open_source(modules, module, &description);
	struct debug_request request = {
		.worker = modules->worker,
		.debuginfod = modules->debuginfod,
		.build_id = description.alternate.build_id,
		.link = description.alternate.name,
		.path = module->lines.mapping.path,
		.task = module->lines.task,
	};
	int alternate_fd = -1;

	if (fd < 0)
		return TAKE_FD(fd);
	if (description.alternate.name[0]) {
		alternate_fd = debug_file_open_alternate(&request);
		if (alternate_fd < 0)
			return alternate_fd;
	}
	if (modules->opened_lines >= MAX_OPENED)
		close_all_files(modules);
	module->lines.fd = TAKE_FD(fd);
	module->lines.alternate_fd = alternate_fd;
	module->lines.opened = true;
	modules->opened_lines++;
	return 0;
}

static void forget_wanted(struct module_lines *lines, size_t count)
{
	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		lines->list.items[lines->wanted.items[i]].known = true;
	lines->wanted.count -= count;
	memmove(lines->wanted.items, lines->wanted.items + count,
		lines->wanted.count * sizeof(*lines->wanted.items));
}

/* Drops a module's requests, and closes its files: it is no longer mapped. */
static void modules_abandon_lines(struct modules *modules, struct module *module)
{
	forget_wanted(&module->lines, module->lines.wanted.count);
	close_files(modules, &module->lines);
}

static int give_up(struct modules *modules, struct module *module, int err)
{
	struct module_lines *lines = &module->lines;
	const char *failure = worker_failure(err);

	if (err == -ENOMEM)
		return err;
	log_print(failure && err != -ECHILD ? LOG_WARNING : LOG_DEBUG, "%s: no file:line: %s",
		  lines->mapping.path, failure ? failure : strerror(-err));
	lines->none = true;
	forget_wanted(lines, lines->wanted.count);
	close_files(modules, lines);
	return 0;
}

static int ask(struct modules *modules, struct module *module)
{
	struct module_lines *lines = &module->lines;
	struct line_request request = {.key = module->dso->number};
	int err = lines->opened ? 0 : open_files(modules, module);

	request.fd = lines->fd;
	request.alternate_fd = lines->alternate_fd;
	request.count = MIN(lines->wanted.count, WIRE_MAX_ADDRESSES);
	for (size_t i = 0; i < request.count; i++)
		request.addresses[i] = lines->list.items[lines->wanted.items[i]].vaddr;
	if (!err)
		err = parse_lines_begin(modules->worker, &request);
	lines->awaits_file = err == -EAGAIN;
	if (lines->awaits_file)
		return 0;
	if (err)
		return give_up(modules, module, err);
	dso_hold(modules->dsos, module->dso, DSO_SYMBOLS);
	modules->asked = module;
	modules->asked_count = request.count;
	return 0;
}

static int keep_frame(struct intern *intern, const struct line_frame *frame,
		      struct source_frame *kept)
{
	kept->line = frame->line;
	kept->file = intern_string(intern, frame->file);
	kept->function = frame->function ? module_readable_name(intern, frame->function) : NULL;
	return !kept->file != !frame->file || !kept->function != !frame->function ? -ENOMEM : 0;
}

static int keep_lines(struct intern *intern, const struct line_answer *answer, size_t i,
		      struct source_lines *source)
{
	const struct line_range *range = &answer->ranges[i];
	int err = 0;

	if (!range->count)
		return 0;
	source->frames = calloc(range->count, sizeof(*source->frames));
	if (!source->frames)
		return -ENOMEM;
	for (uint32_t k = 0; !err && k < range->count; k++)
		err = keep_frame(intern, &answer->frames[range->first + k], &source->frames[k]);
	source->count = err ? 0 : range->count;
	return err;
}

static int keep_answer(const struct modules *modules, struct intern *intern,
		       const struct line_answer *answer, struct module_lines *lines)
{
	int err = 0;

	for (size_t i = 0; !err && i < answer->count; i++)
		err = keep_lines(intern, answer, i, &lines->list.items[lines->wanted.items[i]]);
	forget_wanted(lines, modules->asked_count);
	return err;
}

static int take_answer(struct modules *modules, struct intern *intern, int timeout_ms)
{
	_cleanup_(line_answer_free) struct line_answer answer = {0};
	struct module *module = modules->asked;
	int err = parse_lines_finish(modules->worker, timeout_ms, &answer);

	if (err == -EAGAIN)
		return err;
	modules->asked = NULL;
	err = err ? give_up(modules, module, err)
		  : keep_answer(modules, intern, &answer, &module->lines);
	dso_release(modules->dsos, module->dso, DSO_SYMBOLS);
	return err;
}

/* *waiting: some module waits for its file. */
static struct module *find_wanting(const struct modules *modules, bool *waiting)
{
	*waiting = false;
	for (size_t i = 0; i < modules->dsos->list.count; i++) {
		struct module *module = dso_facet(modules->dsos->list.items[i], DSO_SYMBOLS);

		if (!module || !module->lines.wanted.count)
			continue;
		if (!module->lines.awaits_file)
			return module;
		*waiting = true;
	}
	return NULL;
}

static int64_t now_ms(void)
{
	return (int64_t)(monotonic_ns() / 1000000);
}

void modules_release_lines(struct modules *modules)
{
	if (modules->asked || !modules->opened_lines)
		return;
	close_all_files(modules);
	worker_release(modules->worker, WORKER_LANE_BACKGROUND);
}

static void module_lines_free(struct module_lines *lines)
{
	for (size_t i = 0; i < lines->list.count; i++)
		free(lines->list.items[i].frames);
	vec_free(&lines->list);
	vec_free(&lines->wanted);
	hash_free(&lines->index);
	if (lines->opened) {
		cleanup_close(&lines->fd);
		cleanup_close(&lines->alternate_fd);
	}
}

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

static size_t bytes_of(const void *value)
{
	const struct module *module = value;

	return image_bytes(&module->image) +
	       module->lines.list.count * sizeof(*module->lines.list.items);
}

static void abandon_lines(void *value, void *context)
{
	modules_abandon_lines(context, value);
}

void modules_init(struct modules *modules, struct dso_cache *dsos, struct worker *worker)
{
	*modules = (struct modules){.dsos = dsos, .worker = worker};
	dso_cache_register(dsos, DSO_SYMBOLS,
			   &(struct dso_facet_type){free_module, abandon_lines, modules, bytes_of});
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

/* Takes the names of a separate debug file, if it has more. Takes ownership of the descriptor. */
static bool take_debug_file(struct modules *modules, struct module *module, int fd)
{
	_cleanup_(image_free) struct image debug = {.file.fd = -1};
	_cleanup_close_ int owned = fd;
	size_t before = module->image.table.count;

	if (owned >= 0 && !parse_image(modules->worker, owned, &debug))
		image_take_debug_symbols(&module->image, &debug);
	return module->image.table.count != before;
}

/* A stripped file names only its exports; its debug file, if any, names the rest. */
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
 * Checks whether the awaited debug file has come, and takes its names. Returns whether there were
 * any: names found before may then be wrong.
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

/*
 * Takes the files that debuginfod has fetched, and increments `fetched` if they name anything.
 * debuginfod_wait() tells whether more may come.
 */
static void modules_take_fetched(struct modules *modules)
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

int modules_find_lines(struct modules *modules, struct intern *intern, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;
	bool waiting = false;
	int err = 0;

	modules_take_fetched(modules);
	while (!err) {
		struct module *module = modules->asked ? NULL : find_wanting(modules, &waiting);

		if (module)
			err = ask(modules, module);
		else if (!modules->asked)
			return waiting ? -EAGAIN : 0;
		else
			err = take_answer(modules, intern,
					  timeout_ms < 0 ? -1 : (int)MAX(end - now_ms(), 0));
	}
	return err;
}

static const char *why_no_image(int err)
{
	const char *failure = worker_failure(err);

	if (failure)
		return failure;
	return err == -EIO ? "unreadable file" : CODE_NOT_ELF;
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
