// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/diagnose_beside.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "app/monitor/session.h"
#include "app/monitor/session_threads.h"
#include "base/cleanup.h"
#include "base/page.h"
#include "heap/memory/memory_parts.h"
#include "heap/threads/live_census.h"
#include "process/proc/process_memory.h"

/*
 * Smallest increase of a count that may be the start of a leak: app/diagnose/conclude.h decides at
 * the end.
 */
#define NOTICE_MIN 3
/* Smallest such increase of anonymous memory: less than the conclusion requires in a minute. */
#define NOTICE_BYTES (256u << 10)
/*
 * The share of it that must lie outside malloc, because the session slows all system calls of the
 * machine; and the number of readings of that share.
 */
#define NOTICE_SHARE 0.25
#define NOTICE_READINGS 4
/* Page-map entries per read; and pages examined in all: beyond them, memory counts as resident. */
#define PAGES_STEP 512
#define PAGES_MAX (1u << 20)

struct beside_session {
	pid_t pid;
	enum beside_family family;
	struct session_options options;
	struct session session;
	bool attached;
	/* Set by the last reading. */
	bool examined;
	struct snapshot snapshot;
	struct report report;
	struct thread_census census;
	/* bytes of GROUP_OTHER and MEMORY_FILES_WRITTEN at the opening */
	uint64_t other_first, written_first;
	uint64_t *resident; /* resident bytes of each row of `report`; owned */
};

struct beside_row {
	void (*choose)(struct tracking_options *tracking); /* sets what the session tracks */
	void (*examine)(struct beside_session *beside, const struct memory_process *last,
			struct beside_evidence *evidence);
};

/* -------- descriptors */

static void choose_descriptors(struct tracking_options *tracking)
{
	tracking->no_threads = true;
	tracking->families[FAMILY_DESCRIPTORS] = true;
}

static const struct report *beside_report(struct beside_session *beside)
{
	beside->examined = !session_examine(&beside->session, &beside->snapshot, &beside->report);
	return beside->examined ? &beside->report : NULL;
}

static void examine_descriptors(struct beside_session *beside, const struct memory_process *last,
				struct beside_evidence *evidence)
{
	(void)last;
	evidence->opened = beside_report(beside);
}

/* -------- threads */

static void choose_threads(struct tracking_options *tracking)
{
	tracking->no_threads = false;
}

static int name_created(struct symbolizer *symbolizer, pid_t pid, struct live_group *group)
{
	int error = symbolizer_name(symbolizer, (uint32_t)pid, group->addresses, group->depth,
				    LINES_KNOWN, &group->stack);

	if (!error && group->start_routine)
		error = symbolizer_name_function(symbolizer, (uint32_t)pid, group->start_routine,
						 LINES_KNOWN, &group->start);
	return error;
}

static int take_created(struct beside_session *beside)
{
	_cleanup_(session_threads_free) struct session_threads threads = {.keeps = true};
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	_cleanup_(thread_table_free) struct thread_table table = {0};
	struct session *session = &beside->session;
	int error = session_snapshot(session, &threads, &snapshot);

	for (size_t i = 0; !error && i < threads.censuses.count; i++) {
		if (threads.censuses.items[i].pid != (uint32_t)beside->pid)
			continue;
		beside->census = threads.censuses.items[i];
		threads.censuses.items[i] = (struct thread_census){0};
		error = thread_table_read(&session->bpf, &table);
		if (!error)
			error = live_census_take(&beside->census, &table, &session->bpf,
						 session->stages.worker);
	}
	return error;
}

/* Finds threads that ended and were not joined. */
static void examine_ended(struct beside_session *beside, struct beside_evidence *evidence)
{
	struct symbolizer *symbolizer = beside->session.stages.symbolizer;
	struct thread_group *most = NULL;

	for (size_t i = 0; i < beside->census.groups.count && !most; i++) {
		struct thread_group *group = &beside->census.groups.items[i];

		if (!group->before_attach)
			most = group;
	}
	for (int turn = 0; most && turn < 2; turn++) {
		if (turn)
			symbolizer_find_lines(symbolizer, session_lines_wait_ms(true));
		if (symbolizer_name(symbolizer, (uint32_t)beside->pid, most->addresses, most->depth,
				    LINES_KNOWN, &most->stack) ||
		    (most->start_routine &&
		     symbolizer_name_function(symbolizer, (uint32_t)beside->pid,
					      most->start_routine, LINES_KNOWN, &most->start)))
			return;
	}
	evidence->ended = most;
}

/* Finds live threads created since the session began. */
static void examine_threads(struct beside_session *beside, const struct memory_process *last,
			    struct beside_evidence *evidence)
{
	struct symbolizer *symbolizer = beside->session.stages.symbolizer;
	struct live_group *most = NULL;

	(void)last;
	if (take_created(beside))
		return;
	examine_ended(beside, evidence);
	for (size_t i = 0; i < beside->census.live.count; i++) {
		struct live_group *group = &beside->census.live.items[i];

		if (!group->main && !group->before_attach && (!most || group->count > most->count))
			most = group;
	}
	if (!most || name_created(symbolizer, beside->pid, most))
		return;
	symbolizer_find_lines(symbolizer, session_lines_wait_ms(true));
	if (!name_created(symbolizer, beside->pid, most))
		evidence->created = most;
}

/* -------- mappings */

static void choose_mappings(struct tracking_options *tracking)
{
	tracking->no_threads = true;
	tracking->families[FAMILY_MAPPING] = true;
}

/*
 * Returns bytes of anonymous memory between two addresses, including swap; in a file mapping, of
 * its written copies.
 */
static uint64_t count_resident(pid_t pid, int pagemap_fd, const struct block *block, size_t *budget)
{
	uint64_t page = block->address / page_size(), end = page + block->size / page_size();
	uint64_t entries[PAGES_STEP], bytes = 0;

	while (page < end) {
		size_t step = MIN(MIN(end - page, PAGES_STEP), *budget);
		size_t got = step ? pagemap_pread(pid, pagemap_fd, page, entries, step) : 0;

		if (!got)
			return bytes + (*budget ? 0 : (end - page) * page_size());
		for (size_t i = 0; i < got; i++) {
			if (!pagemap_is_shared(entries[i]) &&
			    (pagemap_is_present(entries[i]) || pagemap_is_swapped(entries[i])))
				bytes += page_size();
		}
		page += got;
		*budget -= got;
	}
	return bytes;
}

static bool is_plain(const struct report_site *row)
{
	return row->site->kind == KIND_MAPPING || row->site->kind == KIND_FILE;
}

static int read_resident(struct beside_session *beside, const struct report_process *process)
{
	_cleanup_close_ int pagemap_fd = pagemap_open(live_memory(beside->pid));
	size_t budget = PAGES_MAX;

	if (pagemap_fd < 0)
		return pagemap_fd;
	beside->resident = calloc(process->sites.count + 1, sizeof(*beside->resident));
	if (!beside->resident)
		return -ENOMEM;
	for (size_t i = 0; i < process->sites.count; i++) {
		const struct report_site *row = &process->sites.items[i];

		for (size_t j = 0; is_plain(row) && j < row->blocks.count; j++)
			beside->resident[i] += count_resident(beside->pid, pagemap_fd,
							      &row->blocks.items[j], &budget);
	}
	return 0;
}

static void examine_mappings(struct beside_session *beside, const struct memory_process *last,
			     struct beside_evidence *evidence)
{
	const struct report *report = last ? beside_report(beside) : NULL;
	uint64_t other = last ? memory_group_resident(last, GROUP_OTHER) : 0;
	uint64_t written = last ? last->parts[MEMORY_FILES_WRITTEN].resident : 0;

	if (!report || report->processes.count != 1 ||
	    (other <= beside->other_first && written <= beside->written_first) ||
	    read_resident(beside, &report->processes.items[0]))
		return;
	evidence->mapped = (struct mapped_evidence){
		.report = report,
		.resident = beside->resident,
		.growth = other - MIN(other, beside->other_first),
		.written_growth = written - MIN(written, beside->written_first),
	};
}

/* -------- all families */

static const struct beside_row rows[] = {
	[BESIDE_DESCRIPTORS] = {choose_descriptors, examine_descriptors},
	[BESIDE_THREADS] = {choose_threads, examine_threads},
	[BESIDE_MAPPINGS] = {choose_mappings, examine_mappings},
};
_Static_assert(ARRAY_SIZE(rows) == BESIDE_MAX_, "a row for every family");

/* Opens a session for this family only. */
static void beside_open(struct beside_session *beside)
{
	static const struct session_options defaults = SESSION_DEFAULTS;
	pid_t *pid;

	beside->options = defaults;
	beside->options.tracking.no_heap = true;
	beside->options.tracking.older_ns = 0;
	beside->options.output.report.top = 0;
	beside->options.output.report.show_allocs = true; /* for their ages */
	rows[beside->family].choose(&beside->options.tracking);
	pid = vec_push(&beside->options.targets.chosen.pids);
	if (pid)
		*pid = beside->pid;
	beside->attached = pid && !session_open_beside(&beside->session, &beside->options);
}

/* Returns NULL when out of memory. */
static struct beside_session *beside_add(struct diagnose_beside *beside, pid_t pid,
					 enum beside_family family)
{
	struct beside_session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->pid = pid;
	session->family = family;
	beside->sessions[family] = session;
	beside_open(session);
	return session;
}

void diagnose_beside_notice(struct diagnose_beside *beside, pid_t pid, enum beside_family family,
			    const struct diagnosed_count *count)
{
	if (!beside->sessions[family] && count->known && count->now >= count->before + NOTICE_MIN)
		beside_add(beside, pid, family);
}

/* Opens sessions if a reading of memory shows unjoined threads, or growth of mappings. */
static void notice_growth(struct diagnose_beside *beside, const struct memory_process *first,
			  const struct memory_process *now, double anonymous_growth)
{
	uint64_t other = memory_group_resident(now, GROUP_OTHER);
	uint64_t written = now->parts[MEMORY_FILES_WRITTEN].resident;
	double grown = (double)other - (double)memory_group_resident(first, GROUP_OTHER) +
		       (double)written - (double)first->parts[MEMORY_FILES_WRITTEN].resident;
	struct beside_session *session;

	if (!beside->sessions[BESIDE_THREADS] &&
	    now->ended_stacks >= first->ended_stacks + NOTICE_MIN)
		beside_add(beside, now->pid, BESIDE_THREADS);
	if (beside->sessions[BESIDE_MAPPINGS] || grown < NOTICE_BYTES * NOTICE_SHARE ||
	    grown < anonymous_growth * NOTICE_SHARE)
		return;
	session = beside_add(beside, now->pid, BESIDE_MAPPINGS);
	if (!session)
		return;
	session->other_first = other;
	session->written_first = written;
}

void diagnose_beside_notice_memory(struct diagnose_beside *beside,
				   const struct process_reading *reading,
				   const struct memory_process *first)
{
	_cleanup_(memory_process_free) struct memory_process now = {0};
	double anonymous = reading->quantities.values[QUANTITY_HEAP];

	if (!first || isnan(anonymous) ||
	    (beside->sessions[BESIDE_MAPPINGS] && beside->sessions[BESIDE_THREADS]))
		return;
	if (!(beside->anonymous_due > 0)) {
		beside->anonymous_first = anonymous;
		beside->anonymous_due = anonymous + NOTICE_BYTES;
	}
	if (anonymous < beside->anonymous_due || beside->memory_readings == NOTICE_READINGS)
		return;
	beside->memory_readings++;
	beside->anonymous_due = anonymous + (anonymous - beside->anonymous_first);
	if (!memory_process_read(reading->pid, NULL, &now))
		notice_growth(beside, first, &now, anonymous - beside->anonymous_first);
}

void diagnose_beside_examine(struct diagnose_beside *beside, const struct memory_process *last,
			     struct beside_evidence *evidence)
{
	*evidence = (struct beside_evidence){0};
	for (size_t i = 0; i < BESIDE_MAX_; i++) {
		if (beside->sessions[i] && beside->sessions[i]->attached)
			rows[i].examine(beside->sessions[i], last, evidence);
	}
}

static void beside_close(struct beside_session *beside)
{
	if (beside->examined) {
		report_free(&beside->report);
		snapshot_free(&beside->snapshot);
	}
	thread_census_free(&beside->census);
	free(beside->resident);
	if (beside->attached)
		session_close(&beside->session);
	vec_free(&beside->options.targets.chosen.pids);
	free(beside);
}

void diagnose_beside_close(struct diagnose_beside *beside)
{
	for (size_t i = 0; i < BESIDE_MAX_; i++) {
		if (beside->sessions[i])
			beside_close(beside->sessions[i]);
		beside->sessions[i] = NULL;
	}
}
