// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/target.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "proc/maps.h"
#include "proc/target_file.h"
#include "worker/worker.h"

/*
 * The order in which shapes are attached. Returns come before all (a call without a noted
 * beginning is ignored), then whatever ends a block, and only then what begins one: no block can
 * get on the books whose end would be missed.
 */
static const enum call_shape attach_order[] = {
	SHAPE_FREE,	  SHAPE_RESIZE,	    SHAPE_RESIZE_COUNT,	  SHAPE_SIZE,
	SHAPE_COUNT_SIZE, SHAPE_ALIGN_SIZE, SHAPE_OUT_ALIGN_SIZE,
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
	*cookie = point->function;
	return 0;
}

/* The points of one shape; SHAPE_MAX_: of every shape whose return is probed. */
static int offsets_select(struct offsets *offsets, const struct probe_plan *plan,
			  enum call_shape wanted)
{
	int error = 0;

	for (size_t i = 0; i < plan->points.count && !error; i++) {
		const struct probe_point *point = &plan->points.items[i];
		enum call_shape shape = allocator_functions[point->function].shape;
		bool match = wanted == SHAPE_MAX_ ? call_shapes[shape].returns : shape == wanted;

		if (match && !point->placement.refused)
			error = offsets_add(offsets, point);
	}
	return error;
}

/* SHAPE_MAX_: the returns of all shapes that have one. */
static int attach_shape(struct target *target, const struct target_config *config,
			const struct bpf_side *bpf, const struct probe_plan *plan, int fd,
			enum call_shape shape)
{
	bool session = config->trial.method == ATTACH_SESSION;
	struct offsets selected = {0};
	int error = offsets_select(&selected, plan, shape);
	struct attach_request request = {
		.program_fd = shape == SHAPE_MAX_ ? bpf->return_fd : bpf->shape_fds[shape],
		.file_fd = fd,
		.offsets = selected.offsets.items,
		.cookies = selected.cookies.items,
		.count = selected.offsets.count,
		.pid = target->pid,
	};

	if (shape == SHAPE_MAX_)
		request.point = POINT_RETURN;
	else if (session && call_shapes[shape].returns)
		request.point = POINT_BOTH;
	if (!error && request.count && !(session && request.point == POINT_RETURN))
		error = attach(&target->attachments, config->trial.method, &request);
	vec_free(&selected.offsets);
	vec_free(&selected.cookies);
	return error;
}

static int attach_plan(struct target *target, const struct target_config *config,
		       const struct bpf_side *bpf, const struct probe_plan *plan, int fd)
{
	int error = attach_shape(target, config, bpf, plan, fd, SHAPE_MAX_);

	for (size_t i = 0; i < ARRAY_SIZE(attach_order) && !error; i++)
		error = attach_shape(target, config, bpf, plan, fd, attach_order[i]);
	return error;
}

/* A function that ends blocks and cannot be probed makes every number wrong. */
static int plan_check(const struct probe_plan *plan, const char *path)
{
	for (size_t i = 0; i < plan->points.count; i++) {
		const struct probe_point *point = &plan->points.items[i];
		const struct allocator_function *function = &allocator_functions[point->function];

		log_debug("%s in %s: %s", function->name, path, point->placement.reason);
		if (!point->placement.refused)
			continue;
		log_error("%s in %s cannot be probed without risk to the process: %s; it is left "
			  "alone",
			  function->name, path, point->placement.reason);
		return -EOPNOTSUPP;
	}
	return 0;
}

static struct target_file *target_file_note(struct target *target, const struct stat *status,
					    const char *path)
{
	struct target_file *file;

	for (size_t i = 0; i < target->files.count; i++) {
		if (target->files.items[i].device == status->st_dev &&
		    target->files.items[i].inode == status->st_ino)
			return NULL;
	}
	file = vec_push(&target->files);
	if (!file)
		return NULL;
	file->device = status->st_dev;
	file->inode = status->st_ino;
	file->path = strdup(path);
	return file;
}

/* -O names a file as the operator sees it, or by the path that the target shows. */
static bool is_wanted(const struct target_config *config, const struct mapping *mapping,
		      const struct stat *mapped)
{
	struct stat wanted;

	if (!config->object || !strcmp(config->object, mapping->path))
		return true;
	return !stat(config->object, &wanted) && wanted.st_dev == mapped->st_dev &&
	       wanted.st_ino == mapped->st_ino;
}

/* Called for each file that holds an allocator. */
typedef int (*file_visit)(int fd, const char *path, const struct probe_plan *plan, void *context);

static int plan_file(const struct target_config *config, int fd, struct probe_plan *plan)
{
	if (!config->worker)
		return probe_plan_file(fd, config->symbol_prefix, config->probe_at, plan);
	return worker_plan(config->worker, fd, config->symbol_prefix, config->probe_at, plan);
}

/* What is no ELF file is no allocator; -errno, after a message, when no file could be read. */
static int explain_unread(const char *path, int error)
{
	const char *failure = worker_failure(error);

	if (error == -ECHILD || error == -ENOMEM || error == -EMFILE || error == -ENFILE) {
		log_error("%s could not be read: %s", path, failure ? failure : strerror(-error));
		/* Of a process that is launched, -ECHILD would say that it has ended. */
		return error == -ECHILD ? -EPERM : error;
	}
	if (failure)
		log_warning("%s is not probed: %s; if it is an allocator, its blocks are not seen",
			    path, failure);
	else
		log_debug("%s: not read: %s", path, strerror(-error));
	return 0;
}

static int visit_mapping(struct target *target, const struct target_config *config, int task,
			 const struct mapping *mapping, file_visit visit, void *context)
{
	_cleanup_close_ int fd = target_file_open_mapping(task, mapping);
	struct probe_plan plan = {0};
	struct target_file *file;
	struct stat status;
	int error;

	if (fd < 0 || fstat(fd, &status) || !is_wanted(config, mapping, &status))
		return 0;
	file = target_file_note(target, &status, mapping->path);
	if (!file)
		return 0;
	error = plan_file(config, fd, &plan);
	if (error)
		return explain_unread(mapping->path, error);
	error = plan.points.count ? visit(fd, mapping->path, &plan, context) : 0;
	if (!error) {
		file->functions = plan.points.count;
		target->functions += plan.points.count;
	}
	probe_plan_free(&plan);
	return error;
}

static int visit_files(struct target *target, const struct target_config *config, file_visit visit,
		       void *context)
{
	struct maps maps = {0};
	int error = maps_read(target->pid, MAPS_EXECUTABLE, &maps);

	if (config->worker)
		worker_start_plans(config->worker, target->pid);
	for (size_t i = 0; i < maps.list.count && !error; i++) {
		if (maps.list.items[i].inode)
			error = visit_mapping(target, config, maps.task, &maps.list.items[i], visit,
					      context);
	}
	maps_free(&maps);
	return error;
}

struct attaching {
	struct target *target;
	const struct target_config *config;
	const struct bpf_side *bpf;
};

static int attach_file(int fd, const char *path, const struct probe_plan *plan, void *context)
{
	struct attaching *attaching = context;
	int error = plan_check(plan, path);

	if (error)
		return error;
	error = attach_plan(attaching->target, attaching->config, attaching->bpf, plan, fd);
	if (error && error != -ESRCH)
		log_error("the kernel refused the probes on %s: %s", path, strerror(-error));
	return error;
}

int target_attach(struct target *target, const struct target_config *config,
		  const struct bpf_side *bpf)
{
	struct attaching attaching = {target, config, bpf};

	return visit_files(target, config, attach_file, &attaching);
}

void target_explain_nothing(const struct target *target, const struct target_config *config)
{
	log_error("process %d has no allocator that leakmon knows%s%s%s; looked for %smalloc, "
		  "%sfree and their kin in:",
		  target->pid, config->object ? " in " : "", config->object ? config->object : "",
		  target->files.count ? "" : " (no such file is mapped)", config->symbol_prefix,
		  config->symbol_prefix);
	for (size_t i = 0; i < target->files.count; i++)
		log_error("  %s", target->files.items[i].path);
	log_error("a stripped static binary has no names to find them by; a private allocator can "
		  "be named with -O FILE -S PREFIX");
}

static int describe_file(int fd, const char *path, const struct probe_plan *plan, void *context)
{
	FILE *out = context;

	(void)fd;
	fputs("  ", out);
	text_print_inert(out, path);
	fprintf(out, "\n    build-id %s\n", plan->build_id[0] ? plan->build_id : "none");
	for (size_t i = 0; i < plan->points.count; i++) {
		const struct probe_point *point = &plan->points.items[i];

		fprintf(out, "    %-16s 0x%llx+%u  ", allocator_functions[point->function].name,
			(unsigned long long)point->vaddr, point->placement.offset);
		text_print_inert(out, point->placement.reason);
		fputc('\n', out);
	}
	return 0;
}

int target_describe(FILE *out, pid_t pid, const struct target_config *config)
{
	struct target target = {.pid = pid};
	int error = visit_files(&target, config, describe_file, out);

	if (!error && !target.functions)
		target_explain_nothing(&target, config);
	target_detach(&target);
	return error;
}

void target_detach(struct target *target)
{
	attachments_close(&target->attachments);
	for (size_t i = 0; i < target->files.count; i++)
		free(target->files.items[i].path);
	vec_free(&target->files);
}
