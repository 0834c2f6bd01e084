// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/targets.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/pidfd.h>

#include "base/cleanup.h"
#include "base/descriptors.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "collect/watched.h"
#include "command/session.h"
#include "command/session_threads.h"

/* Of descriptors: what a target takes, and what names, reports and the parser need besides. */
#define DESCRIPTORS_NEEDED 64

struct tracked *targets_find(struct session *session, pid_t pid)
{
	struct targets *targets = &session->targets;

	for (size_t i = 0; i < targets->list.count; i++) {
		struct tracked *tracked = &targets->list.items[i];

		if (tracked->probes.pid == pid && !tracked->ended)
			return tracked;
	}
	return NULL;
}

size_t targets_alive(const struct session *session)
{
	size_t alive = 0;

	for (size_t i = 0; i < session->targets.list.count; i++)
		alive += !session->targets.list.items[i].ended;
	return alive;
}

static struct tracked *target_add(struct session *session, pid_t pid)
{
	struct tracked *tracked = vec_push(&session->targets.list);

	if (!tracked) {
		log_error("out of memory");
		return NULL;
	}
	tracked->probes.pid = pid;
	tracked->pidfd = pidfd_open(pid, 0);
	/* That it has ended is noticed elsewhere. */
	if (!session->everywhere &&
	    watched_add(&session->bpf, pid, &tracked->start_ticks) == -E2BIG)
		log_warning("process %d: there is no room to follow what it forks and execs "
			    "(raise --max-processes)",
			    pid);
	return tracked;
}

/* Of the list only: its probes are gone already. */
static void target_remove(struct session *session, size_t i)
{
	struct targets *targets = &session->targets;
	const struct tracked *gone = &targets->list.items[i];

	watched_remove(&session->bpf, gone->probes.pid, gone->start_ticks);
	targets->list.items[i] = targets->list.items[--targets->list.count];
}

int targets_list_pids(struct session *session)
{
	struct targets *targets = &session->targets;

	targets->pids.count = 0;
	for (size_t i = 0; i < targets->list.count; i++) {
		const struct tracked *tracked = &targets->list.items[i];
		int *pid;

		if (tracked->shares || (tracked->ended && !session->collect_options.keep_exited))
			continue;
		pid = vec_push(&targets->pids);
		if (!pid)
			return -ENOMEM;
		*pid = tracked->probes.pid;
	}
	return 0;
}

/* Undoes the addition of the last one. */
static void target_drop_last(struct session *session)
{
	struct targets *targets = &session->targets;
	struct tracked *last = &targets->list.items[targets->list.count - 1];

	target_detach(&last->probes);
	thread_target_detach(&last->threads);
	cleanup_close(&last->pidfd);
	session_forget(session, last->probes.pid);
	target_remove(session, targets->list.count - 1);
}

/*
 * Probes are bound to the task of the main thread. An exec by another thread ends that task: the
 * new program's memory gets no breakpoint, and the probes are of no more use. The old ones go
 * first: while both are there, each call would be counted twice.
 */
static void drop_lost_probes(struct session *session, struct tracked *tracked)
{
	pid_t pid = tracked->probes.pid;
	struct lm_target target;

	if (!watched_get(&session->bpf, pid, tracked->start_ticks, &target) ||
	    target.thread_execs == tracked->thread_execs)
		return;
	log_debug("PID %d: a thread other than the main one replaced the program", pid);
	target_detach(&tracked->probes);
	thread_target_detach(&tracked->threads);
	tracked->probes = (struct target){.pid = pid};
	tracked->threads = (struct thread_target){.pid = pid};
	tracked->thread_execs = target.thread_execs;
}

int targets_probe_mapped(struct session *session, struct tracked *tracked)
{
	drop_lost_probes(session, tracked);
	session_threads_attach(session, tracked);
	if (interrupt_check())
		return -EINTR;
	return session->tracks_heap
		       ? target_attach(&tracked->probes, &session->target_config, &session->bpf)
		       : 0;
}

size_t targets_probed(const struct session *session, const struct tracked *tracked)
{
	return session->tracks_heap ? tracked->probes.functions : tracked->threads.points;
}

/* Probes what was checked; what was begun is undone on failure. */
int targets_probe(struct session *session, pid_t pid, const struct arrival *arrival, bool named)
{
	struct tracked *tracked;
	int error;

	if (targets_alive(session) && !descriptors_left(DESCRIPTORS_NEEDED))
		return -EMFILE;
	tracked = target_add(session, pid);
	if (!tracked)
		return -ENOMEM;
	tracked->named = named;
	if (!session->everywhere) /* there, by and by: when a walk comes to it */
		session_refresh(session, pid);
	error = targets_probe_mapped(session, tracked);
	if (!error && !targets_probed(session, tracked))
		error = targets_explain_nothing(session, tracked);
	if (error) {
		target_drop_last(session);
		return error;
	}
	if (session->mappings)
		mapping_stream_follow(session->mappings, pid);
	if (!session->everywhere)
		targets_log_attached(session, tracked, arrival);
	return 0;
}

int targets_attach_named(struct session *session, pid_t pid)
{
	static const struct arrival running;
	int error = target_check(pid, &session->target_config, true);

	if (!error)
		error = targets_probe(session, pid, &running, true);
	if (error == -ESRCH)
		log_error("process %d ended while leakmon was attaching to it", pid);
	if (!descriptors_are_out(error))
		return error;
	targets_explain_refusal(session, "", pid, error);
	/* The others are watched all the same. */
	return targets_alive(session) ? 0 : error;
}

int targets_add_launched(struct session *session, pid_t pid)
{
	struct tracked *tracked = target_add(session, pid);

	if (!tracked)
		return -ENOMEM;
	tracked->named = true;
	if (session->mappings)
		mapping_stream_follow(session->mappings, pid);
	return 0;
}

void targets_end(struct session *session, struct tracked *tracked)
{
	if (tracked->named)
		log_info("PID %d has ended", tracked->probes.pid);
	else
		log_debug("PID %d has ended", tracked->probes.pid);
	if (session->mappings)
		mapping_stream_forget(session->mappings, tracked->probes.pid);
	target_detach(&tracked->probes);
	thread_target_detach(&tracked->threads);
	cleanup_close(&tracked->pidfd);
	tracked->pidfd = -1;
	tracked->ended = true;
	/* Its descriptors are free: who got none is tried once more. */
	if (session->targets.starved)
		hash_free(&session->targets.refused);
	session->targets.starved = false;
}

void targets_attach_again(struct session *session, struct tracked *tracked)
{
	uint32_t execs = tracked->thread_execs;
	size_t before = targets_probed(session, tracked);
	int error = targets_probe_mapped(session, tracked);

	if (error)
		return;
	if (tracked->thread_execs != execs)
		log_info("PID %d was replaced by a thread other than the main one: probed it "
			 "again; %s before this moment were not seen",
			 tracked->probes.pid, session->tracks_heap ? "allocations" : "threads");
	else if (targets_probed(session, tracked) > before)
		log_info("PID %d has mapped another %s: probed %zu more %s; %s before this moment "
			 "were not seen",
			 tracked->probes.pid, session->tracks_heap ? "allocator" : "thread library",
			 targets_probed(session, tracked) - before,
			 session->tracks_heap ? "functions" : "places",
			 session->tracks_heap ? "allocations" : "threads");
}

static bool is_readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&poll_fd, 1, 0) == 1;
}

void targets_notice_ends(struct session *session)
{
	struct targets *targets = &session->targets;

	for (size_t i = 0; i < targets->list.count; i++) {
		if (is_readable(targets->list.items[i].pidfd))
			targets_end(session, &targets->list.items[i]);
	}
}

void targets_drop_ended(struct session *session)
{
	struct targets *targets = &session->targets;

	for (size_t i = targets->list.count; i-- > 0;) {
		struct tracked *tracked = &targets->list.items[i];

		if (!tracked->ended || session->collect_options.keep_exited)
			continue;
		if (!targets_find(session, tracked->probes.pid))
			session_forget(session, tracked->probes.pid);
		target_remove(session, i);
	}
}

void targets_close(struct session *session)
{
	struct targets *targets = &session->targets;
	struct attachments all = {0};

	targets_say_it_takes_time("detaching from", targets_alive(session));
	for (size_t i = 0; i < targets->list.count; i++) {
		attachments_move(&all, &targets->list.items[i].probes.attachments);
		attachments_move(&all, &targets->list.items[i].threads.attachments);
		target_detach(&targets->list.items[i].probes);
		thread_target_detach(&targets->list.items[i].threads);
		cleanup_close(&targets->list.items[i].pidfd);
	}
	attachments_close(&all);
	vec_free(&targets->list);
	vec_free(&targets->pids);
	hash_free(&targets->refused);
}
