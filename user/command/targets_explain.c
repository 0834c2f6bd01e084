// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said of a target that is attached to, and of one that is not. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "command/session.h"

/* An arrival that was seen later than this may have allocated much before. */
#define GAP_WORTH_SAYING_NS 1000000ull
/* From here on the user waits for seconds, and is told. */
#define MANY_PROCESSES 300

static void what_is_probed(const struct session *session, const struct tracked *tracked,
			   char text[96])
{
	const struct target *target = &tracked->probes;
	size_t files = 0;

	for (size_t i = 0; i < target->files.count; i++)
		files += target->files.items[i].functions > 0;
	if (session->tracks_heap)
		snprintf(text, 96, "%zu functions in %zu file%s", target->functions, files,
			 files == 1 ? "" : "s");
	else
		snprintf(text, 96, "%zu places in its thread library", tracked->threads.points);
}

void targets_log_attached(const struct session *session, const struct tracked *tracked,
			  const struct arrival *arrival)
{
	uint64_t gap_ns = arrival && arrival->how ? monotonic_ns() - arrival->event_ns : 0;
	char probed[96], gap[96] = "";

	if (gap_ns > GAP_WORTH_SAYING_NS)
		snprintf(gap, sizeof(gap), "; it %s %.1f ms before, and what it %s was not seen",
			 arrival->how, (double)gap_ns / 1e6,
			 session->tracks_heap ? "allocated in them" : "did in them");
	what_is_probed(session, tracked, probed);
	log_info("attached to PID %d: %s (%s)%s", tracked->probes.pid, probed,
		 attach_method_name(session->target_config.features.method), gap);
}

int targets_explain_nothing(const struct session *session, const struct tracked *tracked)
{
	/* Why its threads cannot be followed stands in the reports. */
	if (!session->tracks_heap && tracked->threads.why[0])
		return 0;
	if (session->tracks_heap && tracked->named)
		target_explain_nothing(&tracked->probes, &session->target_config);
	else if (tracked->named)
		log_error(
			"process %d maps no file with pthread_create, pthread_join and "
			"pthread_detach: if it has threads, leakmon does not know by what library",
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
		log_warning("process %d%s%s is not traced: out of file descriptors; raise "
			    "`ulimit -n` (its hard limit), or watch fewer processes",
			    pid, space, name);
	else
		log_warning("process %d%s%s is not traced: %s", pid, space, name, strerror(-error));
}

/* The kernel goes through all processes that map a file, for every one that is probed there. */
void targets_say_it_takes_time(const char *what, size_t processes)
{
	if (processes >= MANY_PROCESSES)
		log_info("%s %zu processes: this takes a while", what, processes);
}

void targets_say_missed(struct session *session)
{
	size_t missed = session->targets.missed;

	session->targets.missed = 0;
	if (missed)
		log_info(
			"%zu %s that a target had forked ended before leakmon could look: what was "
			"allocated there is in no report",
			missed, missed == 1 ? "process" : "processes");
}
