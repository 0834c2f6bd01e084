// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "parse/questions.h"
#include "proc/maps.h"
#include "proc/target_file.h"

struct attaching {
	struct thread_target *target;
	const struct thread_config *config;
};

/* The points of one probe as one request; `which` THREAD_PROBE_RETURN: returns of those that have.
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
	if (!request.count || (returning && session))
		return 0;
	return attach(shared ? &shared->attachments : &attaching->target->attachments,
		      attaching->config->method, &request);
}

static bool is_seen(const struct thread_seen_list *list, const struct mapping *mapping)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct thread_seen *seen = &list->items[i];

		if (seen->inode == mapping->inode && seen->major == mapping->major &&
		    seen->minor == mapping->minor)
			return true;
	}
	return false;
}

/* Whether it was not there before; without memory it is seen as if it had been. */
static bool note_seen(struct thread_seen_list *list, const struct mapping *mapping)
{
	struct thread_seen *seen = is_seen(list, mapping) ? NULL : vec_push(list);

	if (seen)
		*seen = (struct thread_seen){mapping->inode, mapping->major, mapping->minor};
	return seen != NULL;
}

static bool is_refused(const struct thread_shared *shared, const struct mapping *mapping)
{
	return shared && is_seen(&shared->refused, mapping);
}

static bool is_shared_already(struct thread_shared *shared, const struct mapping *mapping)
{
	return shared && !note_seen(&shared->probed, mapping);
}

static int attach_probes(const struct attaching *attaching, const struct thread_library *library,
			 int fd)
{
	int error = 0;

	for (size_t i = 0; i < THREAD_PROBE_MAX_ && !error; i++)
		error = attach_probe(attaching, library, fd, i);
	return error;
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

	target->why_before = library->glibc ? "its C library does not tell where its lists are"
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
	if (is_refused(attaching->config->shared, mapping) && library->points.count) {
		snprintf(target->why, sizeof(target->why),
			 "a process that a debugger traces maps the same library");
		return 0;
	}
	if (library->points.count && !is_shared_already(attaching->config->shared, mapping))
		error = attach_probes(attaching, library, fd);
	if (error)
		return error;
	target->points += library->points.count;
	if (library->points.count)
		find_older(attaching, mapping, library);
	return 0;
}

int thread_shared_refuse(struct thread_shared *shared, pid_t pid)
{
	struct maps maps = {0};
	int error = maps_read(pid, MAPS_EXECUTABLE, &maps);

	for (size_t i = 0; i < maps.list.count; i++)
		note_seen(&shared->refused, &maps.list.items[i]);
	maps_free(&maps);
	return error;
}

void thread_shared_detach(struct thread_shared *shared)
{
	attachments_close(&shared->attachments);
	vec_free(&shared->probed);
	vec_free(&shared->refused);
}

static void library_release(void *value)
{
	thread_library_free(value);
	free(value);
}

struct file_cache *thread_libraries_new(void)
{
	return file_cache_new(library_release);
}

/* What a file says of threads, read once; *library belongs to the cache. 0 or -errno. */
static int library_get(const struct thread_config *config, int fd,
		       const struct thread_library **library)
{
	struct thread_library *read;
	struct stat status;
	int error;

	if (fstat(fd, &status))
		return -errno;
	*library = file_cache_get(config->libraries, &status);
	if (*library)
		return 0;
	read = calloc(1, sizeof(*read));
	if (!read)
		return -ENOMEM;
	/* A parser of its own for each file: see worker.h. */
	worker_leave(config->worker, WORKER_LANE_PER_FILE);
	error = parse_threads(config->worker, fd, read);
	/* What cannot be read now cannot be read later. */
	if (!error || (error != -ENOMEM && error != -ECHILD))
		error = file_cache_put(config->libraries, &status, read);
	if (error)
		library_release(read);
	else
		*library = read;
	return error;
}

static int visit_mapping(const struct attaching *attaching, int task, const struct mapping *mapping)
{
	const struct thread_library *library = NULL;
	_cleanup_close_ int fd = -1;
	int error;

	if (!mapping->inode || !note_seen(&attaching->target->seen, mapping))
		return 0;
	fd = target_file_open_mapping(task, mapping);
	if (fd < 0)
		return 0;
	error = library_get(attaching->config, fd, &library);
	if (error || !library) {
		log_debug("%s: not read: %s", mapping->path, strerror(-error));
		return error == -ENOMEM ? error : 0;
	}
	return attach_library(attaching, mapping, library, fd);
}

int thread_target_attach(struct thread_target *target, const struct thread_config *config)
{
	struct attaching attaching = {target, config};
	struct maps maps = {0};
	int error = maps_read(target->pid, MAPS_EXECUTABLE, &maps);

	for (size_t i = 0; i < maps.list.count && !error; i++)
		error = visit_mapping(&attaching, maps.task, &maps.list.items[i]);
	maps_free(&maps);
	return error;
}

void thread_target_detach(struct thread_target *target)
{
	attachments_close(&target->attachments);
	vec_free(&target->seen);
}
