// SPDX-License-Identifier: GPL-2.0-or-later
/* Targets that nobody named: those that a word selects, that are forked, or that exec. */
#include <errno.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "collect/watched.h"
#include "command/session.h"
#include "proc/process_list.h"

#define REFUSED_MAX 65536

static uint64_t refusal_key(const struct process_entry *process)
{
	return (uint64_t)process->pid << 32 ^ process->start_ticks;
}

/* What is forgotten is tried, and explained, once more. */
static void remember_refusal(struct targets *targets, const struct process_entry *process)
{
	if (targets->refused.count >= REFUSED_MAX)
		hash_free(&targets->refused);
	hash_put(&targets->refused, refusal_key(process), NULL);
}

static bool is_young(const struct process_entry *process)
{
	uint64_t second = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now = {0};

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * second < process->start_ticks + second;
}

/* Attaches to one that is not named, unless it was refused before. */
static void attach_unnamed(struct session *session, pid_t pid, const struct arrival *arrival)
{
	struct process_entry process;
	char name[sizeof(process.comm) + 2];
	bool ended;
	int error;

	if (targets_find(session, pid))
		return;
	if (process_read(pid, &process)) {
		session->targets.missed += arrival->how != NULL;
		return;
	}
	if (session->everywhere && is_young(&process))
		return; /* it may not have mapped its libraries yet: the next report finds it */
	if (!arrival->how && hash_get(&session->targets.refused, refusal_key(&process)))
		return;
	snprintf(name, sizeof(name), "(%s)", process.comm);
	/* Says itself what is wrong; probes that are set on files were checked at the start. */
	error = session->everywhere ? 0 : target_check(pid, &session->target_config, !arrival->how);
	if (!error) {
		error = targets_probe(session, pid, arrival, false);
		if (error && error != -ESRCH && error != -EINTR && !session->everywhere)
			targets_explain_refusal(session, name, pid, error);
		session->targets.starved |= descriptors_are_out(error);
	}
	ended = error && arrival->how && target_is_ending(pid);
	session->targets.missed += ended;
	if (!error || error == -ESRCH || error == -EINTR)
		return;
	session_forget(session, pid);
	if (!ended)
		remember_refusal(&session->targets, &process);
}

static int attach_selection(struct session *session, bool first)
{
	static const struct arrival running;
	struct selection selection = {0};
	int error = selector_list(session->selector, &selection);

	if (error)
		return error;
	if (first)
		error = selection_explain(&selection);
	if (first && !error)
		targets_say_it_takes_time("attaching to", selection.pids.count);
	/* One wait for all: each by itself would wait for the kernel. */
	if (first && !error && !session->everywhere)
		unwind_store_refresh_all(session->unwind, selection.pids.items,
					 selection.pids.count);
	for (size_t i = 0; i < selection.pids.count && !error; i++) {
		error = interrupt_check();
		if (!error)
			attach_unnamed(session, selection.pids.items[i], &running);
	}
	selection_free(&selection);
	return error;
}

int targets_attach_selected(struct session *session)
{
	int error = attach_selection(session, true);

	if (!error && session->everywhere)
		log_info("attached to %zu files for the threads of %zu processes (%s)",
			 session->thread_shared.probed.count, targets_alive(session),
			 attach_method_name(session->target_config.features.method));
	return error;
}

void targets_rescan(struct session *session)
{
	attach_selection(session, false);
}

void targets_recover(struct session *session)
{
	static const struct arrival running;
	uint64_t lost = __atomic_load_n(session->bpf.events_lost, __ATOMIC_ACQUIRE);
	struct watched_list watched = {0};

	if (lost == session->targets.events_lost)
		return;
	log_warning("%llu forks or execs came faster than leakmon could take them: looking for "
		    "what was forked; reports are marked inexact from now on",
		    (unsigned long long)(lost - session->targets.events_lost));
	session->targets.events_lost = lost;
	/* The BPF side has entered the children where they are followed, told or not. */
	if (watched_read(&session->bpf, &watched))
		log_error("out of memory");
	for (size_t i = 0; i < watched.pids.count; i++)
		attach_unnamed(session, watched.pids.items[i], &running);
	watched_free(&watched);
	for (size_t i = 0; i < session->targets.list.count; i++) {
		struct tracked *tracked = &session->targets.list.items[i];

		if (!tracked->ended)
			targets_attach_again(session, tracked);
	}
}

static bool shares_memory(pid_t one, pid_t other)
{
	return !syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);
}

/* Most exec within the next millisecond; those are left to themselves (bpf/sharer.bpf.h). */
void targets_follow_sharer(struct session *session, pid_t pid, pid_t owner)
{
	static const struct arrival running;
	struct tracked *tracked = targets_find(session, owner);

	if (session->everywhere || !tracked || targets_find(session, pid) ||
	    !shares_memory(pid, owner))
		return;
	attach_unnamed(session, pid, &running);
	tracked = targets_find(session, pid);
	if (!tracked)
		return;
	tracked->shares = true;
	if (!shares_memory(pid, owner) || watched_follow(&session->bpf, pid, tracked->start_ticks))
		targets_end(session, tracked);
}

/* Whether a process that execed or was forked belongs to the targets. */
static bool is_wanted(struct session *session, pid_t pid, const struct tracked *tracked)
{
	if (tracked && (tracked->named || session->options->targets.follow_forks))
		return true;
	return session->selector && selector_matches(session->selector, pid) == 1;
}

void targets_consider(struct session *session, pid_t pid, const struct arrival *arrival)
{
	struct tracked *tracked = targets_find(session, pid);
	bool wanted = is_wanted(session, pid, tracked);

	if (tracked && !strcmp(arrival->how, "execed")) {
		code_watch_forgive(&tracked->probes.code);
		code_watch_forgive(&tracked->threads.code);
	}
	if (tracked && wanted) {
		tracked->shares = false; /* an exec gives it memory of its own */
		targets_attach_again(session, tracked);
	} else if (tracked)
		targets_end(session, tracked); /* it became another program */
	else if (wanted ||
		 (session->options->targets.follow_forks && !strcmp(arrival->how, "was forked")))
		attach_unnamed(session, pid, arrival);
	else if (session->selector && kill(pid, 0) && errno == ESRCH)
		session->targets.missed++; /* what it was cannot be told any more */
}
