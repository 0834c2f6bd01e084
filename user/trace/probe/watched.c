// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/watched.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/process_list.h"
#include "trace/probe/map_walk.h"

bool watched_get(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks,
		 struct lm_target *target)
{
	uint32_t tgid = (uint32_t)pid;
	struct lm_target found;

	if (bpf_map_lookup_elem(bpf->targets_fd, &tgid, &found) ||
	    (start_ticks != WATCHED_ANY_START && found.start_ticks != start_ticks))
		return false;
	*target = found;
	return true;
}

int watched_add(const struct bpf_side *bpf, pid_t pid, uint64_t *start_ticks)
{
	struct process_entry process;
	struct lm_target target = {0};
	uint32_t tgid = (uint32_t)pid;
	int error = process_read(pid, &process);

	if (error)
		return error;
	*start_ticks = process.start_ticks;
	/* A forked one may be in the map already, with its own counts. */
	if (watched_get(bpf, pid, process.start_ticks, &target))
		return 0;
	target = (struct lm_target){.start_ticks = process.start_ticks};
	return bpf_map_update_elem(bpf->targets_fd, &tgid, &target, BPF_ANY) ? -errno : 0;
}

void watched_remove(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks)
{
	uint32_t tgid = (uint32_t)pid;
	struct lm_target target;

	if (watched_get(bpf, pid, start_ticks, &target))
		bpf_map_delete_elem(bpf->targets_fd, &tgid);
}

/* The iterator visits every task that shares a target's memory: its output is not needed. */
static int look_at_sharers(const struct bpf_side *bpf)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf->live_threads_fd);
	char buffer[4096];
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	do
		got = read(fd, buffer, sizeof(buffer));
	while (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)));
	return got < 0 ? -errno : 0;
}

int watched_follow(const struct bpf_side *bpf, pid_t pid, uint64_t start_ticks)
{
	uint32_t tgid = (uint32_t)pid;
	struct lm_target target;
	int error = look_at_sharers(bpf);

	if (error)
		return error;
	if (!watched_get(bpf, pid, start_ticks, &target))
		return -ESRCH;
	target.followed = 1;
	return bpf_map_update_elem(bpf->targets_fd, &tgid, &target, BPF_EXIST) ? -errno : 0;
}

static int visit_targets(const void *keys, const void *values, size_t count, void *context)
{
	struct watched_list *list = context;
	const uint32_t *tgids = keys;

	(void)values;
	for (size_t i = 0; i < count; i++) {
		pid_t *pid = vec_push(&list->pids);

		if (!pid)
			return -ENOMEM;
		*pid = (pid_t)tgids[i];
	}
	return 0;
}

int watched_read(const struct bpf_side *bpf, struct watched_list *list)
{
	return map_walk(bpf->targets_fd, sizeof(uint32_t), sizeof(struct lm_target), visit_targets,
			list);
}

void watched_free(struct watched_list *list)
{
	vec_free(&list->pids);
}
