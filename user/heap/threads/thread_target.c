// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/threads/thread_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "binary/parse/questions.h"
#include "process/proc/maps.h"
#include "process/proc/process_list.h"
#include "process/proc/target_file.h"

/* Lifetime of the cached mappings: a process that hooks its code does so at its start. */
#define MAPPERS_KEPT_NS 1000000000ull

struct attaching {
	struct thread_target *target;
	const struct thread_config *config;
	const struct process *process;
};

/*
 * Attaches all points of one probe in one request; THREAD_PROBE_RETURN: the returns of those
 * functions that get a return probe.
 */
static int attach_probe(const struct attaching *attaching, const struct thread_library *library,
			int fd, enum thread_probe which)
{
	uint64_t offsets[THREAD_MAX_POINTS], cookies[THREAD_MAX_POINTS];
	bool session = attaching->config->method == ATTACH_SESSION;
	bool returning = which == THREAD_PROBE_RETURN;
	struct thread_shared *shared = attaching->config->shared;
	struct attach_request request = {
		.program_fd = attaching->config->bpf->thread_fds[which],
		.file_fd = fd,
		.offsets = offsets,
		.cookies = cookies,
		.pid = shared ? 0 : attaching->target->pid,
		.point = returning				   ? POINT_RETURN
			 : session && thread_probes[which].returns ? POINT_BOTH
								   : POINT_ENTRY,
	};

	for (size_t i = 0; i < library->points.count; i++) {
		const struct thread_point *point = &library->points.items[i];

		if (returning ? !thread_probes[point->probe].returns : point->probe != which)
			continue;
		offsets[request.count] = point->offset;
		cookies[request.count++] = library->attr_cookie;
	}
	/* Sessions have no return program, nor has a kernel where return probes could kill. */
	if (!request.count || (returning && request.program_fd < 0))
		return 0;
	return attach(shared ? &shared->attachments : &attaching->target->attachments,
		      attaching->config->method, &request);
}

static bool is_refused(const struct thread_shared *shared, const struct mapping *mapping)
{
	return shared && mapped_files_have(&shared->refused, mapping);
}

static int attach_probes(const struct attaching *attaching, const struct thread_library *library,
			 int fd)
{
	int error = 0;

	for (size_t i = 0; i < THREAD_PROBE_MAX_ && !error; i++)
		error = attach_probe(attaching, library, fd, i);
	return error;
}

static int list_mappers_of(struct thread_shared *shared, pid_t pid)
{
	struct maps maps = {0};
	int error = maps_read(pid, MAPS_EXECUTABLE, &maps);

	if (error)
		return error == -ENOMEM ? error : 0;
	for (size_t i = 0; i < maps.list.count && !error; i++) {
		const struct mapping *mapping = &maps.list.items[i];
		struct thread_mapper *mapper = mapping->inode ? vec_push(&shared->mappers) : NULL;

		if (mapper)
			*mapper = (struct thread_mapper){
				{mapping->inode, mapping->major, mapping->minor}, pid};
		else if (mapping->inode)
			error = -ENOMEM;
	}
	maps_free(&maps);
	return error;
}

static int list_mappers(struct thread_shared *shared)
{
	_cleanup_(pid_list_free) struct pid_list pids = {0};
	uint64_t now_ns = monotonic_ns();
	int error;

	if (shared->mappers_ns && now_ns - shared->mappers_ns < MAPPERS_KEPT_NS)
		return 0;
	shared->mappers.count = 0;
	error = pid_list_read(&pids);
	for (size_t i = 0; i < pids.list.count && !error; i++)
		error = list_mappers_of(shared, pids.list.items[i]);
	if (!error)
		shared->mappers_ns = monotonic_ns();
	return error;
}

static int check_mapper(pid_t pid, const struct code_file *code, int fd)
{
	struct maps maps = {0};
	enum code_fault fault = CODE_CHANGED;
	int error = maps_read(pid, MAPS_CODE, &maps);

	if (error)
		return 0; /* it has ended */
	error = code_check(&maps, code, fd, &fault);
	maps_free(&maps);
	if (error == -ESRCH || (error && fault == CODE_MOVED))
		return 0; /* moved code gets no probe */
	if (error)
		log_warning(
			"process %d has changed code of %s, or it cannot be compared (%s): threads of its users are not followed",
			pid, code->path, strerror(-error));
	return error ? -EOPNOTSUPP : 0;
}

/* Probes on a file reach every process that maps it: none may have changed the code. */
static int check_all(struct thread_shared *shared, const struct code_file *code, int fd)
{
	int error = list_mappers(shared);
	pid_t last = 0;

	for (size_t i = 0; i < shared->mappers.count && !error; i++) {
		const struct thread_mapper *mapper = &shared->mappers.items[i];

		if (mapper->file.inode != code->inode || mapper->file.major != code->major ||
		    mapper->file.minor != code->minor || mapper->pid == last)
			continue;
		last = mapper->pid;
		error = check_mapper(mapper->pid, code, fd);
	}
	return error;
}

static int list_code(const struct mapping *mapping, const struct thread_library *library,
		     struct code_file *code)
{
	int error = code_file_new(code, mapping);

	for (size_t i = 0; i < library->points.count && !error; i++)
		error = code_file_add(code, library->points.items[i].offset,
				      library->points.items[i].offset);
	return error;
}

/* Applies the rules of no harm, as for allocators. */
static int check_code(const struct attaching *attaching, const struct code_file *code, int fd)
{
	static const char *const whys[] = {
		[CODE_CHANGED] = "the process has changed its thread library in memory",
		[CODE_MOVED] = "the process has moved its thread library to other memory",
		[CODE_WRITABLE] = "",
		[CODE_UNPROBED] = "",
	};
	struct thread_target *target = attaching->target;
	enum code_fault fault;
	int error = code_check(&attaching->process->maps, code, fd, &fault);

	if (error != -EOPNOTSUPP)
		return error;
	snprintf(target->why, sizeof(target->why), "%s", whys[fault]);
	log_warning("threads of process %d are not followed: %s: %s", target->pid, code->path,
		    target->why);
	return error;
}

static int attach_shared(const struct attaching *attaching, const struct mapping *mapping,
			 const struct thread_library *library, const struct code_file *code, int fd)
{
	struct thread_shared *shared = attaching->config->shared;
	int error;

	if (mapped_files_have(&shared->probed, mapping))
		return 0;
	error = check_all(shared, code, fd);
	if (error == -EOPNOTSUPP)
		mapped_files_add(&shared->refused, mapping);
	if (error)
		return error;
	mapped_files_add(&shared->probed, mapping);
	return attach_probes(attaching, library, fd);
}

/* Returns 0; -EOPNOTSUPP: unsafe, and target->why says why; or -errno. */
static int probe_library(const struct attaching *attaching, const struct mapping *mapping,
			 const struct thread_library *library, int fd)
{
	_cleanup_(code_file_free) struct code_file code = {0};
	struct thread_target *target = attaching->target;
	int error = list_code(mapping, library, &code);

	if (!error)
		error = check_code(attaching, &code, fd);
	if (error)
		return error;
	if (attaching->config->shared)
		error = attach_shared(attaching, mapping, library, &code, fd);
	else
		error = attach_probes(attaching, library, fd);
	if (error == -EOPNOTSUPP)
		snprintf(target->why, sizeof(target->why),
			 "a process that maps the same library has changed it in memory");
	return error ? error : code_watch_add(&target->code, &code);
}

static void find_older(const struct attaching *attaching, const struct mapping *mapping,
		       const struct thread_library *library)
{
	struct thread_target *target = attaching->target;
	struct thread_seed seed = {
		.pid = target->pid,
		.layout = &library->layout,
		.bias = mapping->start - mapping->offset - library->code_shift,
		.next_id = &target->seeded,
	};

	target->why_before = library->glibc ? "its C library does not say where its lists are"
					    : "its C library keeps no list of them";
	if (!library->has_layout || !library->layout.joinid_at)
		return;
	target->why_before = NULL;
	thread_seed(attaching->config->bpf, &seed, &target->missed, &target->why_before);
}

static int attach_library(const struct attaching *attaching, const struct mapping *mapping,
			  const struct thread_library *library, int fd)
{
	struct thread_target *target = attaching->target;
	int error = 0;

	if (library->why[0]) {
		log_warning("threads of process %d are not followed: %s: %s", target->pid,
			    mapping->path, library->why);
		snprintf(target->why, sizeof(target->why), "%s", library->why);
	}
	if (!library->points.count)
		return 0;
	if (is_refused(attaching->config->shared, mapping)) {
		snprintf(target->why, sizeof(target->why),
			 "another process that maps the same library is traced by a debugger, or "
			 "has changed it in memory");
		return 0;
	}
	error = probe_library(attaching, mapping, library, fd);
	if (error)
		return error == -EOPNOTSUPP ? 0 : error;
	target->points += library->points.count;
	if (mapping->executable)
		find_older(attaching, mapping, library);
	return 0;
}

int thread_shared_refuse(struct thread_shared *shared, pid_t pid)
{
	struct maps maps = {0};
	int error = maps_read(pid, MAPS_EXECUTABLE, &maps);

	for (size_t i = 0; i < maps.list.count; i++)
		mapped_files_add(&shared->refused, &maps.list.items[i]);
	maps_free(&maps);
	return error;
}

void thread_shared_detach(struct thread_shared *shared)
{
	attachments_close(&shared->attachments);
	vec_free(&shared->probed);
	vec_free(&shared->refused);
	vec_free(&shared->mappers);
}

static void library_release(void *value, void *context)
{
	(void)context;
	thread_library_free(value);
	free(value);
}

void thread_libraries_register(struct dso_cache *dsos)
{
	dso_cache_register(dsos, DSO_THREADS, &(struct dso_facet_type){.release = library_release});
}

/*
 * Returns the file's thread library, parsed once; *library belongs to the DSO. Returns 0 or -errno.
 */
static int library_get(const struct thread_config *config, struct dso *dso, int fd,
		       const struct thread_library **library)
{
	struct thread_library *read;
	int error;

	*library = dso_facet(dso, DSO_THREADS);
	if (*library)
		return 0;
	read = calloc(1, sizeof(*read));
	if (!read)
		return -ENOMEM;
	/* Use a fresh parser for each file: see worker.h. */
	worker_leave(config->worker, WORKER_LANE_PER_FILE);
	error = parse_threads(config->worker, fd, read);
	read->unread = worker_failure(error);
	/* An unreadable file stays unreadable, unless it was not even tried. */
	if (error == -ENOMEM || error == -ECHILD || error == -ETIME || error == -EINTR) {
		library_release(read, NULL);
		return error;
	}
	*library = dso->facets[DSO_THREADS].value = read;
	return 0;
}

static int visit_file(void *context, const struct mapping *mapping, struct dso *dso, int fd)
{
	const struct attaching *attaching = context;
	struct thread_target *target = attaching->target;
	const struct thread_library *library = NULL;
	int error;

	if (!mapped_files_add(&target->seen, mapping))
		return 0;
	if (fd < 0) {
		target->unread |= target_file_is_missing(target->pid, mapping, fd);
		return 0;
	}
	error = library_get(attaching->config, dso, fd, &library);
	if (error == -ETIME) /* retry in the next round */
		target->seen.count--;
	target->postponed |= error == -ETIME;
	if (error) {
		log_debug("%s: not read: %s", mapping->path, strerror(-error));
		return error == -ENOMEM || error == -EINTR ? error : 0;
	}
	target->unread |= library->unread;
	return attach_library(attaching, mapping, library, fd);
}

int thread_target_attach(struct thread_target *target, const struct process *process,
			 const struct thread_config *config)
{
	struct attaching attaching = {target, config, process};
	struct file_visitor visitor = {visit_file, &attaching, DSO_THREADS, &target->seen};
	int error;

	if (process->error)
		return process->error;
	if (config->worker)
		worker_begin_process(config->worker, target->pid);
	target->postponed = false;
	error = process_visit_files(config->dsos, process, &visitor);
	target->code.pid = target->pid;
	code_watch_look(&target->code, config->method, &process->maps);
	return error;
}

void thread_target_detach(struct thread_target *target)
{
	attachments_close(&target->attachments);
	code_watch_free(&target->code);
	vec_free(&target->seen);
}
