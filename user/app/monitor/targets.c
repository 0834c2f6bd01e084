// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/targets.h"

#include <elf.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "app/monitor/session.h"
#include "app/monitor/session_threads.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/units.h"
#include "heap/memory/managed_share.h"
#include "heap/runtime/runtime.h"
#include "process/proc/container.h"
#include "process/proc/process_list.h"
#include "trace/probe/watched.h"

/* Messages about processes that are, or are not, attached. */

/* Allocations before an arrival that was handled later than this may be many, and are mentioned. */
#define GAP_WORTH_SAYING_NS 1000000ull

/* Attaching to this many takes seconds, so a message announces it. */
#define MANY_PROCESSES 300

static void what_is_probed(const struct session *session, const struct tracked *tracked,
			   char text[96])
{
	const struct target *target = &tracked->probes;
	size_t files = 0;

	for (size_t i = 0; i < target->files.count; i++)
		files += target->files.items[i].functions > 0;
	if (session->tracks_heap && target->means == TARGET_USDT)
		snprintf(text, 96, "%zu places of otel_memory in %zu file%s%s", target->functions,
			 files, files == 1 ? "" : "s",
			 target->frees ? ": it samples itself"
				       : " without a probe on free: an allocation profile");
	else if (session->tracks_heap)
		snprintf(text, 96, "%zu functions in %zu file%s", target->functions, files,
			 files == 1 ? "" : "s");
	else
		snprintf(text, 96, "%zu places in its thread library", tracked->threads.points);
}

/*
 * Logs that objects of a garbage collector do not come from malloc: their growth is in no report of
 * ours.
 */
static void log_managed_heap(pid_t pid)
{
	const struct runtime *runtime = runtime_of_process(pid);
	_cleanup_(maps_free) struct maps maps = {0};
	struct runtime_label label;
	char tool[RUNTIME_TOOL_SIZE];

	if (!runtime || maps_read(pid, MAPS_ALL, &maps))
		return;
	label = runtime_label_in(runtime, &maps);
	log_info(
		"PID %d has a %s: only native memory is tracked; for its garbage-collected heap, %s",
		pid, label.name, runtime_label_tool(&label, pid, tool));
}

void targets_log_attached(const struct session *session, const struct tracked *tracked,
			  const struct arrival *arrival)
{
	uint64_t gap_ns = arrival && arrival->how ? monotonic_ns() - arrival->event_ns : 0;
	char probed[96], gap[96] = "";

	/* Runs that only follow descriptors set no probes. */
	if (!session->tracks_heap && !session->follows_threads)
		return;
	if (gap_ns > GAP_WORTH_SAYING_NS)
		snprintf(gap, sizeof(gap), "; it %s: %s in the %.1f ms since then were missed",
			 arrival->how, session->tracks_heap ? "allocations" : "threads",
			 (double)gap_ns / 1e6);
	what_is_probed(session, tracked, probed);
	log_info("attached to PID %d: %s (%s)%s", tracked->probes.pid, probed,
		 attach_method_name(session->target_config.features.method), gap);
	if (session->tracks_heap)
		log_managed_heap(tracked->probes.pid);
}

/* A program with all its memory in a runtime's heap needs no allocator: not an error. */
static void explain_no_allocator(const struct session *session, const struct tracked *tracked)
{
	char tool[RUNTIME_TOOL_SIZE], heap[16], all[16];
	struct managed_share share = {0};
	pid_t pid = tracked->probes.pid;

	if (managed_share_read(pid, &share) || !share.runtime.key) {
		target_explain_nothing(&tracked->probes, &session->target_config);
		return;
	}
	log_error("process %d: %s of %s are the heap of its %s, and malloc is not in use; %s", pid,
		  units_bytes(heap, (double)share.heap_bytes, ""),
		  units_bytes(all, (double)share.anonymous_bytes, ""), share.runtime.name,
		  runtime_label_tool(&share.runtime, pid, tool));
}

static int targets_explain_nothing(const struct session *session, const struct tracked *tracked)
{
	/* Reports say why its threads cannot be followed. */
	if (!session->tracks_heap && tracked->threads.why[0])
		return 0;
	if (session->tracks_heap && tracked->named)
		explain_no_allocator(session, tracked);
	else if (tracked->named)
		log_error(
			"process %d maps no file with pthread_create, pthread_join and pthread_detach: its thread library, if it has one, is unknown",
			tracked->probes.pid);
	return -ENOENT;
}

void targets_explain_refusal(const struct session *session, const char *name, pid_t pid, int error)
{
	const char *space = *name ? " " : "";

	if (error == -ENOENT)
		log_warning("process %d%s%s has no %s that leakmon knows: it is not traced", pid,
			    space, name, session->tracks_heap ? "allocator" : "thread library");
	else if (descriptors_are_out(error))
		log_warning(
			"process %d%s%s is not traced: out of file descriptors; raise `ulimit -n` (its hard limit), or watch fewer processes",
			pid, space, name);
	else
		log_warning("process %d%s%s is not traced: %s", pid, space, name, strerror(-error));
}

/* For each probe on a file, the kernel visits all processes that map it. */
static void targets_say_it_takes_time(const char *what, size_t processes)
{
	if (processes >= MANY_PROCESSES)
		log_info("%s %zu processes: this takes a while", what, processes);
}

void targets_say_missed(struct session *session)
{
	size_t missed = session->targets.missed, unknown = session->targets.unknown;

	session->targets.missed = session->targets.unknown = 0;
	if (missed)
		log_info("%zu matching %s exited before attach: not reported", missed,
			 missed == 1 ? "process" : "processes");
	if (unknown && !session->targets.said_unknown)
		log_info("%zu %s exited before a match could be checked: not reported; logged once",
			 unknown, unknown == 1 ? "process" : "processes");
	session->targets.said_unknown |= unknown != 0;
}

/* Targets that were not named: selected by a pattern, forked, or execed. */

#define REFUSED_MAX 65536

static uint64_t refusal_key(const struct process_entry *process)
{
	return (uint64_t)process->pid << 32 ^ process->start_ticks;
}

/* Forgotten refusals are retried and explained once more. */
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

/* A loader needs some milliseconds; an emulated or starved processor needs longer. */
#define LOADING_MS 1000
#define LOADING_STEP_MS 5

/* Returns whether it was known. */
static bool loading_forget(struct targets *targets, pid_t pid)
{
	size_t before = targets->loading.count;

	for (size_t i = targets->loading.count; i-- > 0;) {
		if (targets->loading.items[i].pid == pid)
			targets->loading.items[i] =
				targets->loading.items[--targets->loading.count];
	}
	return targets->loading.count < before;
}

/* Returns whether to retry the process before giving up; the pause grows with its age. */
static bool loading_wait(struct targets *targets, const struct process_entry *process,
			 const struct arrival *arrival)
{
	uint64_t now_ns = monotonic_ns(), age_ns = now_ns - arrival->event_ns;
	struct loading *loading;

	/* Without a loader no more libraries will be mapped. */
	if (!arrival->how || age_ns > LOADING_MS * 1000000ull ||
	    !process_auxiliary(process->pid, AT_BASE))
		return false;
	loading = vec_push(&targets->loading);
	if (!loading)
		return false;
	*loading = (struct loading){.pid = process->pid,
				    .start_ticks = process->start_ticks,
				    .arrival = *arrival,
				    .due_ns = now_ns + age_ns / 2 + 1000000};
	return true;
}

/* Attaches to a process that was not named, unless it was refused before. */
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
		return; /* its libraries may not be mapped yet: the next report finds it */
	if (!arrival->how && hash_get(&session->targets.refused, refusal_key(&process)))
		return;
	snprintf(name, sizeof(name), "(%s)", process.comm);
	/* target_check() logs its own errors; probes on files were checked at the start. */
	error = session->everywhere ? 0
				    : target_check(pid, &session->target_config, arrival->at_start);
	if (!error) {
		error = targets_probe(session, pid, arrival, false);
		if (error == -ENOENT && loading_wait(&session->targets, &process, arrival))
			return;
		if (error && error != -ESRCH && error != -EINTR && !session->everywhere)
			targets_explain_refusal(session, name, pid, error);
		session->targets.starved |= descriptors_are_out(error);
	}
	ended = error && arrival->how && target_is_ending(pid, &session->target_config);
	session->targets.missed += ended;
	if (!error)
		return;
	stages_forget(&session->stages, pid);
	if (!ended && error != -ESRCH && error != -EINTR)
		remember_refusal(&session->targets, &process);
}

void targets_load(struct session *session)
{
	uint64_t now_ns = monotonic_ns();

	for (size_t i = session->targets.loading.count; i-- > 0;) {
		struct loading loading = session->targets.loading.items[i];
		struct process_entry process;

		if (loading.due_ns > now_ns)
			continue;
		loading_forget(&session->targets, loading.pid);
		if (!process_read(loading.pid, &process) &&
		    process.start_ticks == loading.start_ticks)
			attach_unnamed(session, loading.pid, &loading.arrival);
		else
			session->targets.missed++;
	}
}

int targets_load_in_ms(const struct session *session)
{
	uint64_t now_ns = monotonic_ns(), due_ns = UINT64_MAX;

	for (size_t i = 0; i < session->targets.loading.count; i++)
		due_ns = MIN(due_ns, session->targets.loading.items[i].due_ns);
	if (due_ns == UINT64_MAX)
		return -1;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000 + 1) : 0;
}

static int attach_selection(struct session *session, bool first)
{
	const struct arrival running = {.at_start = first};
	struct selection selection = {0};
	int error = selector_list(session->selector, &selection);

	if (error)
		return error;
	if (first)
		error = selection_explain(&selection);
	if (first && !error)
		targets_say_it_takes_time("attaching to", selection.pids.count);
	/* Wait once for all: each by itself would wait for the kernel. */
	if (first && !error && !session->everywhere)
		stages_load_rows(&session->stages, selection.pids.items, selection.pids.count);
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

/* Probes first: names and rows follow when needed. */
static void read_and_attach_again(struct session *session, struct tracked *tracked)
{
	struct process *process;

	process_table_refresh(session->stages.processes, tracked->probes.pid, &process);
	targets_attach_again(session, tracked);
}

void targets_recover(struct session *session)
{
	static const struct arrival running;
	uint64_t lost = __atomic_load_n(session->bpf.events_lost, __ATOMIC_ACQUIRE);
	struct watched_list watched = {0};

	if (lost == session->targets.events_lost)
		return;
	log_warning(
		"%llu forks or execs came faster than they were handled: searching for the processes; reports are inexact from now on",
		(unsigned long long)(lost - session->targets.events_lost));
	session->targets.events_lost = lost;
	/* Where children are followed, the BPF side has entered them, whether or not their events
	 * arrived. */
	if (watched_read(&session->bpf, &watched))
		log_error("out of memory");
	for (size_t i = 0; i < watched.pids.count; i++)
		attach_unnamed(session, watched.pids.items[i], &running);
	watched_free(&watched);
	for (size_t i = 0; i < session->targets.list.count; i++) {
		struct tracked *tracked = &session->targets.list.items[i];

		if (!tracked->ended)
			read_and_attach_again(session, tracked);
	}
}

static bool shares_memory(pid_t one, pid_t other)
{
	return !syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0);
}

/* Most sharers exec within the next millisecond; they are left alone (bpf/sharer.bpf.h). */
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

/* Returns whether a process that execed or was forked belongs to the targets. */
static bool is_wanted(struct session *session, pid_t pid, const struct tracked *tracked)
{
	if (tracked && (tracked->named || session->options->targets.follow_forks))
		return true;
	return session->selector && selector_matches(session->selector, pid) == 1;
}

/* Counts a process that has ended and can no longer be examined. */
static void note_missed(struct session *session, const struct arrival *arrival)
{
	int matched = *arrival->comm ? selector_matched(session->selector, arrival->comm) : 1;

	if (matched > 0)
		session->targets.missed++;
	else if (matched < 0)
		session->targets.unknown++;
}

void targets_consider(struct session *session, pid_t pid, const struct arrival *arrival)
{
	struct tracked *tracked = targets_find(session, pid);
	bool wanted = is_wanted(session, pid, tracked);

	/* A child of a target that execed before it could be probed is still one. */
	wanted |= loading_forget(&session->targets, pid) && session->options->targets.follow_forks;
	if (tracked && !strcmp(arrival->how, "execed")) {
		code_watch_reset(&tracked->probes.code);
		code_watch_reset(&tracked->threads.code);
		target_note_exec(&tracked->probes);
	}
	if (tracked && wanted) {
		tracked->shares = false; /* after an exec it has its own memory */
		read_and_attach_again(session, tracked);
	} else if (tracked)
		targets_end(session, tracked); /* now another program */
	else if (wanted ||
		 (session->options->targets.follow_forks && !strcmp(arrival->how, "was forked")))
		attach_unnamed(session, pid, arrival);
	else if (session->selector && kill(pid, 0) && errno == ESRCH)
		note_missed(session, arrival);
}

/* Descriptors kept free for one target, and for names, reports and the parser. */
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
	cgroup_place_read(&tracked->place, pid);
	/* Keep the container of a process that may end before the first report. */
	tracked->container = container_copy(container_find(session->containers, pid));
	/* Its end is noticed elsewhere. */
	if (!session->everywhere &&
	    watched_add(&session->bpf, pid, &tracked->start_ticks) == -E2BIG)
		log_warning(
			"process %d: there is no room to follow what it forks and execs (raise --max-processes)",
			pid);
	return tracked;
}

/* Removes it from the list only: its probes are already gone. */
static void target_remove(struct session *session, size_t i)
{
	struct targets *targets = &session->targets;
	struct tracked *gone = &targets->list.items[i];

	watched_remove(&session->bpf, gone->probes.pid, gone->start_ticks);
	cgroup_place_free(&gone->place);
	container_free(gone->container);
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

/*
 * Moves descriptors to *closing, and closes those that cannot be moved; the caller closes *closing
 * at once.
 */
static void tracked_part(struct tracked *tracked, struct attachments *closing)
{
	attachments_move(closing, &tracked->probes.attachments);
	attachments_move(closing, &tracked->threads.attachments);
	target_detach(&tracked->probes);
	thread_target_detach(&tracked->threads);
}

static void tracked_detach(struct tracked *tracked)
{
	struct attachments closing = {0};

	tracked_part(tracked, &closing);
	attachments_close(&closing);
}

/* Undoes the latest addition. */
static void target_drop_last(struct session *session)
{
	struct targets *targets = &session->targets;
	struct tracked *last = &targets->list.items[targets->list.count - 1];

	tracked_detach(last);
	cleanup_close(&last->pidfd);
	stages_forget(&session->stages, last->probes.pid);
	target_remove(session, targets->list.count - 1);
}

/*
 * Probes are bound to the task of the main thread. An exec by another thread ends that task: the
 * new program's memory gets no breakpoint, and the probes are useless. Remove the old ones first:
 * with both, each call would be counted twice.
 */
static void drop_lost_probes(struct session *session, struct tracked *tracked)
{
	pid_t pid = tracked->probes.pid;
	struct lm_target target;

	if (!watched_get(&session->bpf, pid, tracked->start_ticks, &target) ||
	    target.thread_execs == tracked->thread_execs)
		return;
	log_debug("PID %d: a thread other than the main one replaced the program", pid);
	tracked_detach(tracked);
	tracked->probes = (struct target){.pid = pid};
	tracked->threads = (struct thread_target){.pid = pid};
	tracked->thread_execs = target.thread_execs;
}

int targets_probe_mapped(struct session *session, struct tracked *tracked)
{
	const struct process *process =
		process_table_find(session->stages.processes, tracked->probes.pid);

	if (!process)
		return -ENOMEM;
	/* Probes are set by windows: see app/profile/profile_window.h. */
	if (session->options->tracking.windowed)
		return tracked->probes.functions
			       ? 0
			       : target_rehearse(&tracked->probes, process, &session->target_config,
						 &session->bpf);
	drop_lost_probes(session, tracked);
	session_threads_attach(session, tracked, process);
	if (interrupt_check())
		return -EINTR;
	return session->tracks_heap ? target_attach(&tracked->probes, process,
						    &session->target_config, &session->bpf)
				    : 0;
}

size_t targets_probed(const struct session *session, const struct tracked *tracked)
{
	return session->tracks_heap ? tracked->probes.functions : tracked->threads.points;
}

/* Probes a process that was checked; undoes all steps on failure. */
int targets_probe(struct session *session, pid_t pid, const struct arrival *arrival, bool named)
{
	struct process *process;
	struct tracked *tracked;
	int error;

	if (targets_alive(session) && !descriptors_left(DESCRIPTORS_NEEDED))
		return -EMFILE;
	tracked = target_add(session, pid);
	if (!tracked)
		return -ENOMEM;
	tracked->named = named;
	if (session->everywhere) /* the rest follows when a walk needs it */
		process_table_refresh(session->stages.processes, pid, &process);
	else
		stages_load(&session->stages, process_table_find(session->stages.processes, pid));
	error = targets_probe_mapped(session, tracked);
	/* Streams of events need no probes. */
	if (!error && !targets_probed(session, tracked) && session->streams.fd <= 0 &&
	    !session->options->tracking.kernel_objects)
		error = targets_explain_nothing(session, tracked);
	if (error) {
		target_drop_last(session);
		return error;
	}
	event_streams_follow(&session->streams, pid);
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
	/* The remaining targets are still watched. */
	return targets_alive(session) ? 0 : error;
}

int targets_add_launched(struct session *session, pid_t pid)
{
	struct tracked *tracked = target_add(session, pid);

	if (!tracked)
		return -ENOMEM;
	tracked->named = true;
	event_streams_follow(&session->streams, pid);
	return 0;
}

static void tracked_end(struct session *session, struct tracked *tracked,
			struct attachments *closing)
{
	if (tracked->named)
		log_info("PID %d has ended", tracked->probes.pid);
	else
		log_debug("PID %d has ended", tracked->probes.pid);
	event_streams_forget(&session->streams, tracked->probes.pid);
	tracked_part(tracked, closing);
	cleanup_close(&tracked->pidfd);
	tracked->pidfd = -1;
	tracked->ended = true;
	/* Its descriptors are free now: retry processes refused for lack of them. */
	if (session->targets.starved)
		hash_free(&session->targets.refused);
	session->targets.starved = false;
}

void targets_end(struct session *session, struct tracked *tracked)
{
	struct attachments closing = {0};

	tracked_end(session, tracked, &closing);
	attachments_close(&closing);
}

/*
 * After an exec by another thread, no probe is left to announce libraries as they are mapped; and
 * at the exec's event the C library is not yet mapped.
 */
static int probe_when_loaded(struct session *session, struct tracked *tracked)
{
	static const struct timespec step = {.tv_nsec = LOADING_STEP_MS * 1000000};
	int error = 0;

	for (int waited_ms = 0; !error && !interrupt_check() && waited_ms < LOADING_MS &&
				!targets_probed(session, tracked);
	     waited_ms += LOADING_STEP_MS) {
		nanosleep(&step, NULL);
		stages_refresh(&session->stages, tracked->probes.pid);
		error = targets_probe_mapped(session, tracked);
	}
	return error;
}

void targets_attach_again(struct session *session, struct tracked *tracked)
{
	uint32_t execs = tracked->thread_execs;
	size_t before = targets_probed(session, tracked);
	int error = targets_probe_mapped(session, tracked);

	if (!error && tracked->thread_execs != execs)
		error = probe_when_loaded(session, tracked);
	if (error)
		return;
	if (tracked->thread_execs != execs && !targets_probed(session, tracked))
		log_warning(
			"PID %d: a thread replaced the program, and no known library is mapped yet: rescanned before the next report",
			tracked->probes.pid);
	else if (tracked->thread_execs != execs)
		log_info(
			"PID %d was replaced by a thread other than the main one: probed it again; earlier %s were missed",
			tracked->probes.pid, session->tracks_heap ? "allocations" : "threads");
	else if (targets_probed(session, tracked) > before)
		log_info("PID %d has mapped another %s: probed %zu more %s; earlier %s were missed",
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
	struct attachments closing = {0};

	for (size_t i = 0; i < targets->list.count; i++) {
		if (is_readable(targets->list.items[i].pidfd))
			tracked_end(session, &targets->list.items[i], &closing);
	}
	attachments_close(&closing);
}

void targets_drop_ended(struct session *session)
{
	struct targets *targets = &session->targets;

	for (size_t i = targets->list.count; i-- > 0;) {
		struct tracked *tracked = &targets->list.items[i];

		if (!tracked->ended || session->collect_options.keep_exited)
			continue;
		if (!targets_find(session, tracked->probes.pid))
			stages_forget(&session->stages, tracked->probes.pid);
		target_remove(session, i);
	}
}

void targets_close(struct session *session)
{
	struct targets *targets = &session->targets;
	struct attachments all = {0};

	targets_say_it_takes_time("detaching from", targets_alive(session));
	for (size_t i = 0; i < targets->list.count; i++) {
		tracked_part(&targets->list.items[i], &all);
		cleanup_close(&targets->list.items[i].pidfd);
		cgroup_place_free(&targets->list.items[i].place);
		container_free(targets->list.items[i].container);
	}
	attachments_close(&all);
	vec_free(&targets->list);
	vec_free(&targets->loading);
	vec_free(&targets->pids);
	hash_free(&targets->refused);
}
