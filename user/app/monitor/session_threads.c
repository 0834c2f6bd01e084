// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/session_threads.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "heap/threads/thread_census.h"
#include "process/proc/process_list.h"

void session_threads_attach(struct session *session, struct tracked *tracked,
			    const struct process *process)
{
	const struct thread_config config = {
		.bpf = &session->bpf,
		.method = session->target_config.features.method,
		.worker = session->stages.worker,
		.dsos = &session->stages.processes->dsos,
		.shared = session->everywhere ? &session->thread_shared : NULL,
	};
	struct thread_target *target = &tracked->threads;
	int error;

	if (!session->follows_threads || target->why[0])
		return;
	target->pid = tracked->probes.pid;
	error = thread_target_attach(target, process, &config);
	if (!error || error == -ESRCH || error == -EINTR)
		return;
	snprintf(target->why, sizeof(target->why), "the kernel refused the probes: %s",
		 strerror(-error));
	log_warning("threads of process %d are not followed: %s", target->pid, target->why);
}

/* Returns the PID of the tracer; 0: not traced. */
static pid_t tracer_of(pid_t pid)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *status = NULL;
	int tracer = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status) &&
	       sscanf(line, "TracerPid: %d", &tracer) != 1)
		continue;
	return tracer;
}

int session_threads_everywhere(struct session *session)
{
	_cleanup_(pid_list_free) struct pid_list pids = {0};
	int error;

	if (!session->target_config.features.seccomp_safe) {
		log_error(
			"return probes would kill processes under a seccomp filter (tested on this kernel): name others: `leakmon threads -p PID`");
		return -EOPNOTSUPP;
	}
	if (!session->target_config.features.shadow_stack_safe) {
		log_error(
			"return probes would kill processes with a shadow stack (tested on this kernel): name processes: `leakmon threads -p PID`");
		return -EOPNOTSUPP;
	}
	error = pid_list_read(&pids);
	for (size_t i = 0; i < pids.list.count && !error; i++) {
		pid_t pid = pids.list.items[i], tracer = tracer_of(pid);

		if (!tracer)
			continue;
		log_warning(
			"process %d is traced by process %d: threads of all users of its libraries are not followed; end the tracer",
			pid, tracer);
		thread_shared_refuse(&session->thread_shared, pid);
	}
	if (error)
		log_error("cannot list the processes: %s", strerror(-error));
	return error;
}

int session_threads_take(struct session *session, struct session_threads *threads)
{
	int error;

	if (!session->follows_threads)
		return 0;
	error = thread_table_read(&session->bpf, &threads->table);
	if (!error)
		error = thread_table_owners(&threads->table, &threads->owners);
	session->collect_options.owners = error ? NULL : &threads->owners;
	return error;
}

static int keep(struct session_threads *threads, struct thread_census *census)
{
	struct thread_census *kept = vec_push(&threads->censuses);

	if (!kept)
		return -ENOMEM;
	*kept = *census;
	*census = (struct thread_census){0};
	return 0;
}

static int fill_process(struct session *session, struct session_threads *threads,
			const struct thread_target *target, struct snapshot_process *process)
{
	_cleanup_(thread_census_free) struct thread_census census = {0};
	int error;

	memcpy(process->threads.why, target->why, sizeof(process->threads.why));
	census.pid = process->pid;
	census.process = process->key;
	census.why = target->why[0] ? target->why : NULL;
	census.why_before = target->why_before;
	error = thread_census_take(&census, &threads->table, &threads->owners, &session->bpf);
	census.ledger.untracked_ends -= MIN(target->missed.ends, census.ledger.untracked_ends);
	census.ledger.untracked_joins -= MIN(target->missed.joins, census.ledger.untracked_joins);
	if (!error && target->points)
		error = thread_census_figures(&census, monotonic_ns(), &process->threads);
	return !error && threads->keeps ? keep(threads, &census) : error;
}

/* Returns the thread target of a process, even if it is gone but still in the reports. */
static const struct thread_target *target_of(const struct session *session, uint32_t pid)
{
	for (size_t i = 0; i < session->targets.list.count; i++) {
		const struct tracked *tracked = &session->targets.list.items[i];

		if ((uint32_t)tracked->probes.pid == pid)
			return &tracked->threads;
	}
	return NULL;
}

int session_threads_fill(struct session *session, struct session_threads *threads,
			 struct snapshot *snapshot)
{
	/* Probes set on files also fire in processes not yet listed. */
	static const struct thread_target unlisted = {.points = 1};
	int error = 0;

	session->collect_options.owners = NULL; /* the owners end with `threads` */
	for (size_t i = 0; i < snapshot->processes.count && !error; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];
		const struct thread_target *target = target_of(session, process->pid);

		if (!target && session->everywhere)
			target = &unlisted;
		if (session->follows_threads && target)
			error = fill_process(session, threads, target, process);
	}
	return error;
}

int session_threads_ended(void *session, const struct hash *ended)
{
	struct session *of = session;

	return thread_table_purge(&of->bpf, ended);
}

void session_threads_free(struct session_threads *threads)
{
	thread_table_free(&threads->table);
	owners_free(&threads->owners);
	for (size_t i = 0; i < threads->censuses.count; i++)
		thread_census_free(&threads->censuses.items[i]);
	vec_free(&threads->censuses);
}
