// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/target.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "binary/arch/machine.h"
#include "binary/parse/questions.h"
#include "process/proc/file_opener.h"
#include "process/proc/process_list.h"
#include "process/proc/target_file.h"
#include "trace/probe/privileges.h"

/* A request to attach the probes of one planned file to one process. */
struct probes_request {
	const struct probe_plan *plan;
	const char *path; /* untrusted, for messages */
	int file_fd;
	pid_t pid;
	enum attach_method method;
	const struct bpf_side *bpf;
};

/*
 * The order in which shapes are attached: programs one after another, and in each link the kernel
 * keeps the order of its places. Returns and results come first (one without a noted entry is
 * ignored), then all shapes that end a block, and only then those that begin one: no block can get
 * on the ledger and miss its end.
 */
static const enum call_shape attach_order[] = {
	SHAPE_FREE,
	SHAPE_RESIZE,
	SHAPE_RESIZE_COUNT,
	SHAPE_HEAP_RESIZE,
	SHAPE_HEAP_RESIZE_COUNT,
	SHAPE_RESIZE_OR_FREE,
	SHAPE_HEAP_RESIZE_OR_FREE,
	SHAPE_RESIZE_IN_PLACE,
	SHAPE_SIZE,
	SHAPE_COUNT_SIZE,
	SHAPE_ALIGN_SIZE,
	SHAPE_OUT_ALIGN_SIZE,
	SHAPE_HEAP_COUNT_SIZE,
	SHAPE_NEW,
	SHAPE_NEW_COUNT,
	SHAPE_HEAP_NEW,
	SHAPE_HEAP_NEW_COUNT,
};
_Static_assert(ARRAY_SIZE(attach_order) == SHAPE_MAX_, "every shape is attached");

struct offsets {
	VEC(uint64_t) offsets;
	VEC(uint64_t) cookies;
};

static int offsets_add(struct offsets *offsets, const struct probe_point *point)
{
	uint64_t *offset = vec_push(&offsets->offsets);
	uint64_t *cookie = vec_push(&offsets->cookies);

	if (!offset || !cookie)
		return -ENOMEM;
	*offset = point->offset;
	*cookie = point->is_result ? point->function | result_cookie(&point->result)
				   : allocator_cookie(point->function, point->placement.registers,
						      point->placement.moved);
	return 0;
}

static enum heap_program program_of(const struct call_shape_info *shape)
{
	if (shape->throws)
		return HEAP_PROGRAM_NEW;
	return shape->returns ? HEAP_PROGRAM_CALL : HEAP_PROGRAM_FREE;
}

static bool is_selected(const struct probe_point *point, enum heap_program program,
			enum call_shape wanted)
{
	enum call_shape shape = allocator_functions[point->function].shape;

	if (!plan_is_used(point) || shape != wanted ||
	    point->is_result != (program == HEAP_PROGRAM_RESULT))
		return false;
	if (program == HEAP_PROGRAM_RETURN)
		return call_shapes[shape].returns;
	return point->is_result || program_of(&call_shapes[shape]) == program;
}

static int select_points(const struct probe_plan *plan, enum heap_program program,
			 struct offsets *selected)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(attach_order); i++) {
		for (size_t j = 0; j < plan->points.count && !error; j++) {
			if (is_selected(&plan->points.items[j], program, attach_order[i]))
				error = offsets_add(selected, &plan->points.items[j]);
		}
	}
	return error;
}

static int attach_program(struct attachments *attachments, const struct probes_request *request,
			  enum heap_program program)
{
	struct attach_request wanted = {.program_fd = request->bpf->heap_fds[program],
					.file_fd = request->file_fd,
					.pid = request->pid};
	struct offsets selected = {0};
	int error = select_points(request->plan, program, &selected);

	if (program == HEAP_PROGRAM_RETURN)
		wanted.point = POINT_RETURN;
	else if (program == HEAP_PROGRAM_CALL && request->method == ATTACH_SESSION)
		wanted.point = POINT_BOTH;
	wanted.offsets = selected.offsets.items;
	wanted.cookies = selected.cookies.items;
	wanted.count = selected.offsets.count;
	if (!error && wanted.count)
		error = attach(attachments, request->method, &wanted);
	vec_free(&selected.offsets);
	vec_free(&selected.cookies);
	return error;
}

/* Adds to *attachments. Returns 0 or -errno; probes attached by then stay in it. */
static int probes_attach(struct attachments *attachments, const struct probes_request *request)
{
	int error = 0;

	for (enum heap_program program = 0; program < HEAP_PROGRAM_MAX_ && !error; program++) {
		if (program != HEAP_PROGRAM_RETURN || request->method != ATTACH_SESSION)
			error = attach_program(attachments, request, program);
	}
	return error;
}

/*
 * A function that ends blocks and cannot be probed makes every number wrong: -EOPNOTSUPP after an
 * error. One that only allocates and may throw is left out, with a warning: its blocks are not
 * seen. *left_out: either has happened.
 */
static int probes_check(const struct probe_plan *plan, const char *path, bool *left_out)
{
	*left_out = false;
	for (size_t i = 0; i < plan->points.count; i++) {
		const struct probe_point *point = &plan->points.items[i];
		const struct allocator_function *function = &allocator_functions[point->function];
		const char *prefix = allocator_prefixes[point->prefix];

		log_debug("%s%s in %s: %s", prefix, function->name, path, point->placement.reason);
		if (!point->placement.refused)
			continue;
		*left_out = true;
		if (call_shapes[function->shape].throws) {
			log_warning(
				"%s%s in %s is not probed: %s; the blocks that it gives are not seen",
				prefix, function->name, path, point->placement.reason);
			continue;
		}
		log_error(
			"%s%s in %s cannot be probed without risk to the process: %s; it is left alone",
			prefix, function->name, path, point->placement.reason);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Returns how many functions get a probe. */
static size_t probes_count(const struct probe_plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->points.count; i++)
		count += plan_is_used(&plan->points.items[i]) && !plan->points.items[i].is_result;
	return count;
}

/* Prints the allocator, and where each probe goes and why, for `leakmon doctor`. */
static void probes_print(FILE *out, const struct probe_plan *plan)
{
	fprintf(out, "    allocator %s\n",
		plan->family ? allocator_families[plan->family - 1].name : "of its own");
	for (size_t i = 0; i < plan->points.count; i++) {
		const struct probe_point *point = &plan->points.items[i];
		const struct allocator_function *function = &allocator_functions[point->function];
		const char *prefix = point->is_result ? "" : allocator_prefixes[point->prefix];

		fprintf(out, "    %s%-*s 0x%llx+%u  ", prefix, 16 - (int)strlen(prefix),
			point->is_result ? "(result)" : function->name,
			(unsigned long long)point->vaddr, point->placement.offset);
		text_print_inert(out, point->placement.reason);
		fputc('\n', out);
	}
}

/* Returns NULL if it was examined before, or out of memory. */
static struct target_file *target_file_note(struct target *target,
					    const struct file_identity *identity, const char *path)
{
	struct target_file *file;

	for (size_t i = 0; i < target->files.count; i++) {
		file = &target->files.items[i];
		if (file->device == identity->device && file->inode == identity->inode)
			return file->postponed || target->execed ? file : NULL;
	}
	file = vec_push(&target->files);
	if (!file)
		return NULL;
	file->device = identity->device;
	file->inode = identity->inode;
	file->path = strdup(path);
	return file;
}

/* -O names a file as the operator sees it, or by the path that the target shows. */
static bool is_wanted(const struct target_config *config, const struct mapping *mapping,
		      const struct file_identity *mapped)
{
	struct stat wanted;

	if (!config->object || !strcmp(config->object, mapping->path))
		return true;
	return !stat(config->object, &wanted) && wanted.st_dev == mapped->device &&
	       wanted.st_ino == mapped->inode;
}

/* A file that contains an allocator, or carries probes. */
struct visited_file {
	int fd;
	size_t place; /* index in target->files */
	struct dso *dso;
	const struct mapping *mapping; /* one of its mappings */
	const struct maps *maps;       /* all of the process */
	const struct probe_plan *plan;
};

/* Returns 0 or -errno. */
typedef int (*file_visit)(const struct visited_file *file, void *context);

static int make_plan(const struct target_config *config, int fd, struct probe_plan *plan)
{
	if (!config->worker)
		return probe_plan_file(fd, config->symbol_prefix, config->probe_at, plan);
	/*
	 * A separate parser for each file: a plan is used for every process that maps the file, and
	 * a hostile file must not influence the plan of another.
	 */
	worker_leave(config->worker, WORKER_LANE_PER_FILE);
	return parse_plan(config->worker, fd, config->symbol_prefix, config->probe_at, plan);
}

static void plan_release(void *value, void *context)
{
	(void)context;
	probe_plan_free(value);
	free(value);
}

void target_plans_register(struct dso_cache *dsos)
{
	dso_cache_register(dsos, DSO_PLAN, &(struct dso_facet_type){.release = plan_release});
}

/* Gets the plan of a file, made once; *plan belongs to the DSO. Returns 0 or -errno. */
static int plan_file(const struct target_config *config, struct dso *dso, int fd,
		     const struct probe_plan **plan)
{
	_cleanup_free_ struct probe_plan *made = NULL;
	int error;

	*plan = dso_facet(dso, DSO_PLAN);
	if (*plan)
		return 0;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	error = make_plan(config, fd, made);
	if (error) {
		probe_plan_free(made);
		return error;
	}
	*plan = dso->facets[DSO_PLAN].value = TAKE_PTR(made);
	return 0;
}

/*
 * A non-ELF file is no allocator, any other makes a gap; returns -errno, after a message, if no
 * file could be read.
 */
static int explain_unread(struct target *target, struct target_file *file, int error)
{
	const char *path = file->path ? file->path : "";
	const char *failure = worker_failure(error);

	if (error == -ECHILD || error == -ENOMEM || error == -EMFILE || error == -ENFILE) {
		log_error("%s could not be read: %s", path, failure ? failure : strerror(-error));
		/* For a launched process, -ECHILD would mean that it has ended. */
		return error == -ECHILD ? -EPERM : error;
	}
	if (error == -EINTR)
		return error;
	if (error == -E2BIG)
		failure = "it has more allocator functions, or more code in them, than any "
			  "allocator";
	if (!failure) {
		log_debug("%s: not read: %s", path, strerror(-error));
		return 0;
	}
	if (!file->postponed || error != -ETIME)
		log_warning("%s is not probed: %s; if it is an allocator, its blocks are not seen",
			    path, failure);
	file->postponed = error == -ETIME; /* next time there is time again */
	if (file->postponed)
		target->seen.count -= target->seen.count > 0;
	else
		target->gaps |= 1u << TARGET_GAP_FILE;
	return 0;
}

/* Its plan is available: if it was awaited, calls have gone unseen. */
static void end_postponement(struct target *target, struct target_file *file,
			     const struct probe_plan *plan)
{
	if (file->postponed && plan->points.count)
		target->gaps |= 1u << TARGET_GAP_FILE;
	file->postponed = false;
}

/*
 * A file that cannot be opened may be an allocator. Returns 0, or -errno, after a message, if the
 * file is not to blame.
 */
static int explain_unopened(struct target *target, const struct target_config *config,
			    const struct mapping *mapping, int error)
{
	const char *path = mapping->path;

	if (error == -ENOMEM || error == -EMFILE || error == -ENFILE) {
		log_error("%s could not be opened: %s", path, strerror(-error));
		return error;
	}
	if (config->object && strcmp(config->object, path) != 0)
		return 0;
	if (!target_file_is_missing(target->pid, mapping, error))
		return 0;
	mapped_files_add(&target->seen, mapping);
	target->gaps |= 1u << TARGET_GAP_FILE;
	if (error == -ENOENT || error == -ESTALE)
		log_warning(
			"%s is not probed: deleted or replaced, it needs CAP_CHECKPOINT_RESTORE to open; an allocator's blocks are not seen",
			path);
	else
		log_warning(
			"%s is not probed: it could not be opened: %s; if it is an allocator, its blocks are not seen",
			path, strerror(-error));
	return 0;
}

/* Returns whether a file carries probes worth reporting. */
static bool carries(const struct stapsdt *carried)
{
	return carried->listed.count || carried->probes.count || carried->refused[0];
}

/* A visit of the files that contain an allocator, or carry probes. */
struct visiting {
	struct target *target;
	const struct process *process;
	const struct target_config *config;
	file_visit visit;
	void *context;
};

static int visit_file(void *context, const struct mapping *mapping, struct dso *dso, int fd)
{
	const struct visiting *visiting = context;
	struct target *target = visiting->target;
	struct visited_file visited = {
		.fd = fd, .dso = dso, .mapping = mapping, .maps = &visiting->process->maps};
	struct target_file *file;
	int error;

	if (fd < 0)
		return explain_unopened(target, visiting->config, mapping, fd);
	/* If out of memory, it is reopened next time: harmless. */
	mapped_files_add(&target->seen, mapping);
	if (!is_wanted(visiting->config, mapping, &dso->identity))
		return 0;
	file = target_file_note(target, &dso->identity, mapping->path);
	if (!file)
		return 0;
	error = plan_file(visiting->config, dso, fd, &visited.plan);
	if (error)
		return explain_unread(target, file, error);
	end_postponement(target, file, visited.plan);
	file->nameless = visited.plan->is_static && !visited.plan->has_names;
	visited.place = (size_t)(file - target->files.items);
	if (!visited.plan->points.count && !carries(&visited.plan->carried))
		return 0;
	return visiting->visit(&visited, visiting->context);
}

static void count_probed(struct target *target, const struct visited_file *file, size_t count)
{
	target->files.items[file->place].functions = count;
	target->functions += count;
}

static int visit_files(struct visiting *visiting)
{
	struct file_visitor visitor = {visit_file, visiting, DSO_PLAN, &visiting->target->seen};

	if (visiting->process->error)
		return visiting->process->error;
	if (visiting->config->worker)
		worker_begin_process(visiting->config->worker, visiting->process->pid);
	return process_visit_files(&visiting->config->processes->dsos, visiting->process, &visitor);
}

/* A file that waits until the kind of probes is determined. */
struct waiting_file {
	struct visited_file file; /* its descriptor is owned, its DSO held */
};

struct attaching {
	struct target *target;
	const struct target_config *config;
	const struct bpf_side *bpf;
	bool rehearsal; /* no probe is set */
	VEC(struct waiting_file) files;
};

static int list_code(const struct visited_file *file, enum target_means means,
		     struct code_file *code)
{
	const struct stapsdt *carried = &file->plan->carried;
	int error = code_file_new(code, file->mapping);

	for (size_t i = 0; means != TARGET_USDT && i < file->plan->points.count && !error; i++) {
		const struct probe_point *point = &file->plan->points.items[i];

		if (plan_is_used(point))
			error = code_file_add(code, point->offset - point->placement.offset,
					      point->offset);
	}
	for (size_t i = 0; means == TARGET_USDT && i < carried->probes.count && !error; i++) {
		const struct usdt_probe *probe = &carried->probes.items[i];

		if (!probe->refused[0])
			error = code_file_add_counted(code, probe->offset, probe->semaphore);
	}
	return error;
}

static int check_code(struct target *target, const struct visited_file *file,
		      const struct code_file *code)
{
	enum code_fault fault;
	int error = code_check(file->maps, code, file->fd, &fault);

	if (error)
		code_explain(target->pid, file->mapping->path, error, fault);
	/* In case it is watched nevertheless, for its other allocators. */
	if (error == -EOPNOTSUPP)
		target->code.faults |= 1u << fault;
	return error;
}

/* If none of its code is left, no probe could do harm, and perhaps none of it runs. */
static void leave_out(struct target *target, const struct visited_file *file)
{
	target->code.faults |= 1u << CODE_MOVED;
	log_warning(
		"process %d has moved code of %s (huge pages?), or runs it specially: no probe is possible; calls are missed",
		target->pid, file->mapping->path);
}

static int explain_attach(struct target *target, const char *path, int error)
{
	/* In case it is watched nevertheless, for its other allocators. */
	if (error)
		target->gaps |= 1u << TARGET_GAP_FUNCTION;
	if (error && error != -ESRCH && error != -EINTR && error != -EDEADLK)
		log_error("the kernel refused the probes on %s: %s%s", path, strerror(-error),
			  privileges_perf_hint(error));
	return error;
}

static int attach_probes(const struct attaching *attaching, const struct visited_file *file)
{
	struct probes_request request = {.plan = file->plan,
					 .path = file->mapping->path,
					 .file_fd = file->fd,
					 .pid = attaching->target->pid,
					 .method = attaching->config->features.method,
					 .bpf = attaching->bpf};
	int error =
		attaching->rehearsal ? 0 : probes_attach(&attaching->target->attachments, &request);

	return explain_attach(attaching->target, request.path, error);
}

/* Its server could hang every fork(2) of this machine: process/proc/file_opener.h. */
static int refuse_copy(struct target *target, const struct visited_file *file)
{
	if (!file_opener_made(file->fd))
		return 0;
	target->gaps |= 1u << TARGET_GAP_FUNCTION;
	log_error(
		"%s is on a FUSE file system (a fork hazard): process %d is not probed; use `memory` or `retain --census`",
		file->mapping->path, target->pid);
	return -EOPNOTSUPP;
}

static int attach_allocator(struct attaching *attaching, const struct visited_file *file)
{
	_cleanup_(code_file_free) struct code_file code = {0};
	struct target *target = attaching->target;
	bool left_out;
	int error = refuse_copy(target, file);

	if (error)
		return error;
	if (!file->mapping->executable) {
		leave_out(target, file);
		return 0;
	}
	error = probes_check(file->plan, file->mapping->path, &left_out);
	if (left_out)
		target->gaps |= 1u << TARGET_GAP_FUNCTION;
	if (!error)
		error = list_code(file, TARGET_ALLOCATOR, &code);
	if (!error)
		error = check_code(target, file, &code);
	if (!error)
		error = attach_probes(attaching, file);
	if (!error)
		count_probed(target, file, probes_count(file->plan));
	return error ? error : code_watch_add(&target->code, &code);
}

/* Gets the index of a spec, for the kernel side. Returns 0; -ENOSPC: too many; -errno. */
static int spec_add(const struct bpf_side *bpf, const struct lm_usdt_spec *spec, uint64_t *index)
{
	struct usdt_specs *specs = bpf->specs;
	uint32_t i = 0;

	while (i < specs->count && memcmp(&specs->items[i], spec, sizeof(*spec)) != 0)
		i++;
	if (i == LM_USDT_MAX_SPECS)
		return -ENOSPC;
	if (i == specs->count) {
		if (bpf_map_update_elem(bpf->usdt_specs_fd, &i, spec, BPF_ANY))
			return -errno;
		specs->items[specs->count++] = *spec;
	}
	*index = i;
	return 0;
}

/* All places of a kind in one file. */
struct usdt_places {
	uint64_t offsets[STAPSDT_MAX_PROBES], cookies[STAPSDT_MAX_PROBES],
		counters[STAPSDT_MAX_PROBES];
	size_t count;
};

static int list_places(const struct attaching *attaching, const struct stapsdt *carried,
		       enum usdt_kind kind, struct usdt_places *places)
{
	int error = 0;

	for (size_t i = 0; i < carried->probes.count && !error; i++) {
		const struct usdt_probe *probe = &carried->probes.items[i];
		struct lm_usdt_spec spec = {.without_free = !attaching->target->frees};

		if (probe->kind != kind || probe->refused[0])
			continue;
		memcpy(spec.arguments, probe->arguments, sizeof(spec.arguments));
		error = spec_add(attaching->bpf, &spec, &places->cookies[places->count]);
		places->offsets[places->count] = probe->offset;
		places->counters[places->count++] = probe->semaphore;
	}
	return error;
}

/* The probe that ends a sample comes first: no sample can get on the ledger and miss its end. */
static int attach_places(const struct attaching *attaching, const struct visited_file *file)
{
	static const enum usdt_kind order[] = {USDT_FREE, USDT_ALLOCATE};
	_cleanup_free_ struct usdt_places *places = calloc(1, sizeof(*places));
	struct attach_request request = {.file_fd = file->fd, .pid = attaching->target->pid};
	int error = places ? refuse_copy(attaching->target, file) : -ENOMEM;

	_Static_assert(ARRAY_SIZE(order) == USDT_KIND_MAX_, "every kind is attached");
	for (size_t i = 0; i < ARRAY_SIZE(order) && !error; i++) {
		places->count = 0;
		error = list_places(attaching, &file->plan->carried, order[i], places);
		request.program_fd = attaching->bpf->usdt_fds[order[i]];
		request.offsets = places->offsets;
		request.cookies = places->cookies;
		request.counters = places->counters;
		request.count = places->count;
		if (!error && places->count && !attaching->rehearsal)
			error = attach(&attaching->target->attachments,
				       attaching->config->features.method, &request);
	}
	return explain_attach(attaching->target, file->mapping->path, error);
}

/* Logs the probes of a file that are not used. */
static void explain_places(struct target *target, const struct visited_file *file)
{
	const struct stapsdt *carried = &file->plan->carried;

	if (carried->refused[0])
		log_warning("the USDT probes of %s are not used: %s", file->mapping->path,
			    carried->refused);
	for (size_t i = 0; i < carried->probes.count; i++) {
		const struct usdt_probe *probe = &carried->probes.items[i];

		if (!probe->refused[0])
			continue;
		if (target->means == TARGET_USDT)
			target->gaps |= 1u << TARGET_GAP_FUNCTION;
		log_warning("otel_memory:%s at 0x%llx of %s is not probed: %s",
			    usdt_kind_name(probe->kind), (unsigned long long)probe->vaddr,
			    file->mapping->path, probe->refused);
	}
}

static int attach_usdt(struct attaching *attaching, const struct visited_file *file)
{
	_cleanup_(code_file_free) struct code_file code = {0};
	const struct stapsdt *carried = &file->plan->carried;
	struct target *target = attaching->target;
	int error;

	explain_places(target, file);
	if (!file->mapping->executable) {
		leave_out(target, file);
		return 0;
	}
	error = list_code(file, TARGET_USDT, &code);
	if (!error)
		error = check_code(target, file, &code);
	if (!error)
		error = attach_places(attaching, file);
	if (!error)
		count_probed(target, file,
			     stapsdt_count(carried, USDT_ALLOCATE) +
				     stapsdt_count(carried, USDT_FREE));
	return error ? error : code_watch_add(&target->code, &code);
}

static int keep_file(const struct visited_file *file, void *context)
{
	struct attaching *attaching = context;
	struct waiting_file *waiting;
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	waiting = vec_push(&attaching->files);
	if (!waiting) {
		close(fd);
		return -ENOMEM;
	}
	waiting->file = *file;
	waiting->file.fd = fd;
	dso_hold(&attaching->config->processes->dsos, file->dso, DSO_PLAN);
	return 0;
}

static void release_files(struct attaching *attaching)
{
	for (size_t i = 0; i < attaching->files.count; i++) {
		struct visited_file *file = &attaching->files.items[i].file;

		close(file->fd);
		dso_release(&attaching->config->processes->dsos, file->dso, DSO_PLAN);
	}
	vec_free(&attaching->files);
}

static size_t count_places(const struct attaching *attaching, enum usdt_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < attaching->files.count; i++) {
		const struct visited_file *file = &attaching->files.items[i].file;

		if (file->mapping->executable)
			count += stapsdt_count(&file->plan->carried, kind);
	}
	return count;
}

/*
 * A process that samples itself is followed by its samples; one already followed continues
 * unchanged.
 */
static void choose_means(struct attaching *attaching)
{
	struct target *target = attaching->target;
	bool usdt = attaching->bpf->specs && !attaching->config->no_usdt &&
		    count_places(attaching, USDT_ALLOCATE);

	if (target->means == TARGET_ALLOCATOR && usdt)
		log_info(
			"process %d has loaded code that samples itself (otel_memory); its allocator is still tracked: attach again to use the samples",
			target->pid);
	if (target->means != TARGET_UNDECIDED)
		return;
	if (usdt)
		target->means = TARGET_USDT;
	for (size_t i = 0; i < attaching->files.count && !target->means; i++) {
		if (attaching->files.items[i].file.plan->points.count)
			target->means = TARGET_ALLOCATOR;
	}
}

void target_note_exec(struct target *target)
{
	target->execed = target->means == TARGET_USDT;
}

/* Handles an exec, once all files of the new program were examined. */
static void end_means(struct attaching *attaching)
{
	struct target *target = attaching->target;

	if (!target->execed || !attaching->files.count)
		return;
	target->execed = false;
	if (count_places(attaching, USDT_ALLOCATE))
		return;
	log_debug("process %d has become a program that does not sample itself", target->pid);
	attachments_close(&target->attachments);
	code_watch_free(&target->code);
	for (size_t i = 0; i < target->files.count; i++)
		target->files.items[i].functions = 0;
	target->functions = 0;
	target->means = TARGET_UNDECIDED;
	target->frees = false;
}

static int attach_files(struct attaching *attaching)
{
	struct target *target = attaching->target;
	int error = 0;

	if (target->means == TARGET_USDT)
		target->frees |= count_places(attaching, USDT_FREE) > 0;
	for (size_t i = 0; i < attaching->files.count && !error; i++) {
		const struct visited_file *file = &attaching->files.items[i].file;

		/* Probes survive an exec if the same files are mapped. */
		if (target->files.items[file->place].functions)
			continue;
		if (target->means == TARGET_USDT && file->plan->carried.probes.count)
			error = attach_usdt(attaching, file);
		else if (attaching->bpf->specs && !attaching->config->no_usdt)
			explain_places(target, file);
		if (target->means == TARGET_ALLOCATOR && file->plan->points.count)
			error = attach_allocator(attaching, file);
	}
	return error;
}

static int attach_mapped(struct attaching *attaching, const struct process *process)
{
	struct target *target = attaching->target;
	int error;

	if (target->execed)
		target->seen.count = 0;
	error = visit_files(
		&(struct visiting){target, process, attaching->config, keep_file, attaching});
	if (!error) {
		end_means(attaching);
		choose_means(attaching);
		error = attach_files(attaching);
	}
	release_files(attaching);
	return error;
}

int target_rehearse(struct target *target, const struct process *process,
		    const struct target_config *config, const struct bpf_side *bpf)
{
	struct attaching attaching = {
		.target = target, .config = config, .bpf = bpf, .rehearsal = true};
	int error = attach_mapped(&attaching, process);

	code_watch_free(&target->code);
	return error;
}

int target_attach(struct target *target, const struct process *process,
		  const struct target_config *config, const struct bpf_side *bpf)
{
	struct attaching attaching = {.target = target, .config = config, .bpf = bpf};
	int error = attach_mapped(&attaching, process);

	if (process->error)
		return error;
	target->code.pid = target->pid;
	code_watch_look(&target->code, config->features.method, &process->maps);
	return error;
}

uint32_t target_gaps(const struct target *target)
{
	uint32_t gaps = target->gaps;

	for (size_t i = 0; i < target->files.count; i++) {
		if (target->files.items[i].postponed)
			gaps |= 1u << TARGET_GAP_FILE;
	}
	return gaps;
}

static void explain_file(const struct target_file *file)
{
	if (!file->nameless) {
		log_error("  %s", file->path);
		return;
	}
	log_error(
		"  %s is linked statically and stripped: no allocator can be found in it; run an unstripped build (or `strip --strip-debug`)",
		file->path);
}

void target_explain_nothing(const struct target *target, const struct target_config *config)
{
	log_error(
		"process %d has no allocator that leakmon knows%s%s%s; looked for %smalloc, %sfree and their kin in:",
		target->pid, config->object ? " in " : "", config->object ? config->object : "",
		target->files.count ? "" : " (no such file is mapped)", config->symbol_prefix,
		config->symbol_prefix);
	for (size_t i = 0; i < target->files.count; i++)
		explain_file(&target->files.items[i]);
	log_error("for an allocator with other names, give -O FILE -S PREFIX");
}

struct describing {
	FILE *out;
	struct target *target;
};

static int describe_file(const struct visited_file *file, void *context)
{
	_cleanup_(code_file_free) struct code_file code = {0};
	struct describing *describing = context;
	FILE *out = describing->out;
	enum code_fault fault;

	fputs("  ", out);
	text_print_inert(out, file->mapping->path);
	fprintf(out, "\n    build-id %s\n",
		file->plan->build_id[0] ? file->plan->build_id : "none");
	if (file->plan->points.count)
		probes_print(out, file->plan);
	stapsdt_print(out, &file->plan->carried);
	count_probed(describing->target, file,
		     probes_count(file->plan) + stapsdt_count(&file->plan->carried, USDT_ALLOCATE));
	if (!list_code(file, TARGET_ALLOCATOR, &code) &&
	    code_check(file->maps, &code, file->fd, &fault))
		fprintf(out, "    NOT PROBED: the process has %s\n",
			fault == CODE_MOVED ? "moved some of this code to other memory"
					    : "changed some of this code in its memory");
	return 0;
}

int target_describe(FILE *out, const struct process *process, const struct target_config *config)
{
	struct target target = {.pid = process->pid};
	struct describing describing = {out, &target};
	int error = visit_files(
		&(struct visiting){&target, process, config, describe_file, &describing});

	if (!error && !target.functions)
		target_explain_nothing(&target, config);
	target_detach(&target);
	return error;
}

void target_detach(struct target *target)
{
	attachments_close(&target->attachments);
	code_watch_free(&target->code);
	for (size_t i = 0; i < target->files.count; i++)
		free(target->files.items[i].path);
	vec_free(&target->files);
	vec_free(&target->seen);
}

/* -------- the rules of no harm */

struct process_status {
	int tracer_pid;
	int threads;
	int seccomp; /* 0 none, 1 strict, 2 filter */
	char state;
	bool shadow_stack;
};

static int status_read(pid_t pid, struct process_status *status)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *stream = NULL;
	struct process_status read = {0};

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	stream = fopen(path, "re");
	if (!stream)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), stream)) {
		sscanf(line, "TracerPid: %d", &read.tracer_pid);
		sscanf(line, "Seccomp: %d", &read.seccomp);
		sscanf(line, "Threads: %d", &read.threads);
		sscanf(line, "State: %c", &read.state);
		read.shadow_stack |= machine_status_has_shadow_stack(line);
	}
	*status = read;
	return 0;
}

static bool lacks_privileges(void)
{
	char missing[128];

	privileges_missing(PRIVILEGES_TO_TRACK, missing, sizeof(missing));
	return missing[0];
}

/* Also if the trial was not permitted. */
static bool is_refused_by_trial(const struct process_status *status,
				const struct kernel_features *features)
{
	return (status->seccomp && !features->seccomp_safe) ||
	       (status->shadow_stack && !features->shadow_stack_safe);
}

static int check_status(pid_t pid, const struct process_status *status,
			const struct target_config *config, enum log_level if_ended)
{
	if (status->state == 'Z' && status->threads > 1) {
		log_error(
			"the main thread of process %d has ended: the kernel cannot attach to the others; watch it from its start",
			pid);
		return -EOPNOTSUPP;
	}
	if (status->state == 'Z' || status->state == 'X') {
		log_print(if_ended,
			  "process %d has already ended (it is a zombie): it holds no memory", pid);
		return -ESRCH;
	}
	if (status->tracer_pid) {
		log_error(
			"process %d is traced by process %d: two sets of breakpoints can kill it; skipped: end the tracer first",
			pid, status->tracer_pid);
		return -EBUSY;
	}
	/* Without privileges nothing was tried, and nothing will be probed. */
	if (config->features.method == ATTACH_AUTO)
		return 0;
	if (is_refused_by_trial(status, &config->features) && lacks_privileges()) {
		privileges_explain();
		return -EPERM;
	}
	if (status->seccomp && !config->features.seccomp_safe) {
		log_error(
			"process %d runs under a seccomp filter: return probes of this kernel would kill it; update to 6.14 or cf6cb56ef244",
			pid);
		return -EOPNOTSUPP;
	}
	if (status->shadow_stack && !config->features.shadow_stack_safe) {
		log_error(
			"process %d has a shadow stack: return probes of this kernel would kill it; update to 6.11 or 488af8ea7131",
			pid);
		return -EOPNOTSUPP;
	}
	return 0;
}

/*
 * A session program declines the return of each call by such a thread, so one that begins to
 * dispatch later is not harmed. But if another tool has a return probe on the same function, even
 * for another process, the kernel makes it in any process with a breakpoint there: so a process
 * known to dispatch gets none.
 */
static int check_dispatch(pid_t pid, const struct kernel_features *features)
{
	int dispatches;

	if (features->dispatch_safe || features->method == ATTACH_AUTO)
		return 0;
	dispatches = feature_probe_dispatches(features, pid);
	/* Without type information or a function nothing can be loaded: the loader reports that. */
	if (!dispatches || (dispatches < 0 &&
			    (access("/sys/kernel/btf/vmlinux", R_OK) || feature_probe_missing())))
		return 0;
	if (dispatches == -EPERM) {
		privileges_explain();
		return dispatches;
	}
	if (dispatches < 0) {
		log_error(
			"cannot find out whether process %d is under Syscall User Dispatch: %s; skipped",
			pid, strerror(-dispatches));
		return dispatches;
	}
	log_error(
		"process %d is under Syscall User Dispatch (an emulator?): return probes of this kernel would kill it; skipped",
		pid);
	return -EOPNOTSUPP;
}

/* Its words, system calls and files have another size and ABI. */
static int check_width(pid_t pid)
{
	if (!process_is_32bit(pid))
		return 0;
	log_error(
		"process %d runs a 32-bit program: leakmon tracks 64-bit ones; skipped (`leakmon memory -p %d` shows where its memory goes)",
		pid, pid);
	return -EOPNOTSUPP;
}

/* Counts the mappings of code. Returns 0, or -errno as maps_read(). */
static int count_code(pid_t pid, const struct target_config *config, size_t *count)
{
	struct process *process;
	int error = process_table_refresh(config->processes, pid, &process);

	*count = error ? 0 : process->code.count;
	return error;
}

/* Not a general lack of privileges: this process is inaccessible. */
static void explain_hidden(pid_t pid, int error)
{
	if (lacks_privileges())
		privileges_explain();
	else
		log_error(
			"/proc/%d/maps: %s; the process is in another user namespace, or a security module or sandbox protects it",
			pid, strerror(-error));
}

static int check_memory(pid_t pid, const struct target_config *config, enum log_level if_ended)
{
	size_t count;
	int error = count_code(pid, config, &count);

	if (error == -EACCES || error == -EPERM) {
		explain_hidden(pid, error);
		return error;
	}
	if (error == -ESRCH || (!error && !count)) {
		log_print(if_ended,
			  "process %d has no user memory: it is a kernel thread, or it is just "
			  "ending; leakmon watches programs",
			  pid);
		return -EINVAL;
	}
	if (error)
		log_error("cannot read the mappings of process %d: %s", pid, strerror(-error));
	return error;
}

bool target_is_ending(pid_t pid, const struct target_config *config)
{
	size_t count;
	int error = count_code(pid, config, &count);

	/* Unreadable processes are left to target_check() to report. */
	return error ? error == -ESRCH : !count;
}

static void explain_absence(pid_t pid)
{
	if (kill(pid, 0) && errno == ESRCH)
		log_error(
			"there is no process %d; `ps -e` lists all (PIDs inside a container differ from those outside)",
			pid);
	else
		log_error(
			"process %d is hidden (hidepid): run leakmon as root, or with CAP_SYS_PTRACE",
			pid);
}

int target_check(pid_t pid, const struct target_config *config, bool named)
{
	enum log_level if_ended = named ? LOG_ERROR : LOG_DEBUG;
	struct process_status status = {0};
	int error = status_read(pid, &status);

	if (error == -ESRCH) {
		if (named)
			explain_absence(pid);
		return error;
	}
	if (error) {
		log_error("cannot read the status of process %d: %s", pid, strerror(-error));
		return error;
	}
	error = check_status(pid, &status, config, if_ended);
	if (!error)
		error = check_memory(pid, config, if_ended);
	if (!error)
		error = check_width(pid);
	return error ? error : check_dispatch(pid, &config->features);
}
