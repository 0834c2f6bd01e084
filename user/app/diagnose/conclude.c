// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/diagnose/conclude.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/diagnose/class_growth.h"
#include "app/diagnose/descriptors.h"
#include "app/diagnose/findings.h"
#include "base/cleanup.h"
#include "heap/memory/conclusion.h"

/* A call stack with a lower certain rate is too slow to report: 1 MiB in four days. */
#define SITE_BYTES_PER_S 3.0
/* If reachable bytes grew by at most 1/N, growth may be attributed to garbage. */
#define HELD_SHARE 20
/* A call stack with this share of all growth is its cause. */
#define MAIN_SHARE 0.5

/* Returns the growth of Rss in bytes per second; 0: none. */
static double rss_rate(const struct diagnosis *diagnosis)
{
	if (!diagnosis->rss.known || diagnosis->rss.now <= diagnosis->rss.before ||
	    diagnosis->seconds <= 0)
		return 0;
	return (double)(diagnosis->rss.now - diagnosis->rss.before) / diagnosis->seconds;
}

const struct profile_report_site *diagnose_site(const struct profile_report_process *profile)
{
	const struct profile_report_site *most = NULL;

	for (size_t i = 0; profile && i < profile->sites.count; i++) {
		const struct profile_report_site *site = &profile->sites.items[i];
		double low = site->judgement.growth_bytes_per_s.low;

		if (low >= SITE_BYTES_PER_S &&
		    (!most || low > most->judgement.growth_bytes_per_s.low))
			most = site;
	}
	return most;
}

/* -------- verdicts */

/* Below 1/N of the memory that malloc or a collector retains, a trend is a side effect of it. */
#define TREND_SHARE 20
static bool is_side_effect(const struct diagnosis_evidence *evidence,
			   const struct diagnosis_finding *finding)
{
	return evidence->conclusion && evidence->conclusion->no_leak &&
	       finding->verdict == DIAGNOSIS_GROWS && finding->bytes < MEMORY_GROWTH_MIN &&
	       finding->bytes * TREND_SHARE < (double)evidence->conclusion->growth.total;
}

static void find_creator(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct diagnosed_count *threads = &evidence->threads;

	diagnosis->creator = evidence->created;
	if (evidence->created && threads->now > threads->before)
		diagnosis->creator_share = fmin((double)evidence->created->count /
							(double)(threads->now - threads->before),
						1);
}

/* Finds the creator of threads that ended and were never joined. */
static void find_ended_creator(const struct diagnosis_evidence *evidence,
			       struct diagnosis *diagnosis)
{
	struct diagnosed_ended *ended = &diagnosis->ended_threads;
	struct diagnosed_count threads = diagnose_ended_threads(evidence);

	*ended = (struct diagnosed_ended){
		.threads = threads,
		.stack_bytes = evidence->last->parts[MEMORY_ENDED_STACKS].resident,
		.group = evidence->ended_threads,
	};
	if (ended->group)
		ended->share = fmin(
			(double)ended->group->count / (double)(threads.now - threads.before), 1);
}

static void conclude_findings(const struct diagnosis_evidence *evidence,
			      struct diagnosis *diagnosis)
{
	const struct diagnosis_finding *first = &diagnosis->findings[0];

	if (!findings_answer(diagnosis) || is_side_effect(evidence, first))
		return;
	diagnosis->verdict = first->verdict;
	diagnosis->part = first->part;
	diagnosis->group = first->group;
	diagnosis->why = first->why;
	diagnosis->site = first->site;
	diagnosis->blocks = first->blocks;
	diagnosis->counted_lost = first->counted_lost;
	if (first->part == DIAGNOSED_OBJECTS && first->has_class) {
		diagnosis->classes[0] = first->class;
		diagnosis->class_count = 1;
	}
	if (first->part == DIAGNOSED_THREADS && first->ended)
		find_ended_creator(evidence, diagnosis);
	else if (first->part == DIAGNOSED_THREADS)
		find_creator(evidence, diagnosis);
	if (first->part == DIAGNOSED_DESCRIPTORS)
		descriptors_judge(&evidence->descriptor_series, &evidence->descriptors,
				  evidence->opened, &diagnosis->opener);
}

/* Concludes if the growing part of memory is known, but not its cause. */
static void conclude_unexplained(const struct diagnosis_evidence *evidence,
				 struct diagnosis *diagnosis)
{
	if (diagnosis->verdict != DIAGNOSIS_UNKNOWN || diagnosis->part != DIAGNOSED_MEMORY ||
	    diagnosis->group == GROUP_MANAGED || diagnosis->group == GROUP_FREE)
		return;
	/* A collector's heap may consist of blocks of malloc, unless the blocks were counted. */
	if (diagnosis->group == GROUP_LIVE && evidence->scan_count &&
	    evidence->scans[0]->runtimes.count &&
	    !(evidence->growth && evidence->growth->counted &&
	      evidence->growth->bytes * 2 >=
		      (double)evidence->conclusion->growth.groups[GROUP_LIVE]))
		return;
	if (!diagnose_goes_on(evidence))
		return;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->why = "memory grew steadily; what was found explains too little of it";
}

/* Concludes from two scans if there was no time for more, and nothing else was found. */
static void conclude_two_scans(const struct diagnosis_evidence *evidence,
			       struct diagnosis *diagnosis)
{
	if (evidence->scan_count >= GROWTH_SCANS_MIN || !diagnosis->class_count ||
	    !diagnose_are_objects_many(diagnosis))
		return;
	/* A small growth of objects while memory is steady does not overrule the answer. */
	if (diagnosis->verdict == DIAGNOSIS_NO_LEAK &&
	    evidence->conclusion->verdict == MEMORY_STEADY &&
	    diagnosis->class_bytes < MEMORY_GROWTH_MIN)
		return;
	diagnosis->verdict = DIAGNOSIS_UNKNOWN;
	diagnosis->part = DIAGNOSED_OBJECTS;
	diagnosis->why = "held objects of this class became more between two scans, which may be "
			 "chance";
}

/* Returns the call stack with the greatest certain growth in a Go program's own heap profile. */
static const struct heap_profile_site *growing_sampled(const struct heap_profile *profile)
{
	const struct heap_profile_site *most = NULL;

	for (size_t i = 0; profile && profile->readings && i < profile->sites.count; i++) {
		const struct heap_profile_site *site = &profile->sites.items[i];

		if (site->growth_limits.low > 0 &&
		    (!most || site->growth_limits.low > most->growth_limits.low))
			most = site;
	}
	return most;
}

static enum memory_group most_grown(const struct memory_growth *growth)
{
	enum memory_group most = GROUP_LIVE;

	for (unsigned i = 0; i < GROUP_MAX_; i++) {
		if (growth->groups[i] > growth->groups[most])
			most = (enum memory_group)i;
	}
	return most;
}

static bool is_wholly_read(const struct retain_result *scan)
{
	for (size_t i = 0; i < scan->runtimes.count; i++) {
		if (scan->runtimes.items[i].why)
			return false;
	}
	return scan->runtimes.count && diagnose_held_bytes(scan);
}

/*
 * Returns whether the growth is garbage: a collector lets the heap grow until its next collection.
 */
static bool is_garbage(const struct diagnosis_evidence *evidence)
{
	const struct retain_result *first, *last;
	uint64_t before;

	if (evidence->scan_count < 2)
		return false;
	first = evidence->scans[0];
	last = evidence->scans[evidence->scan_count - 1];
	before = diagnose_held_bytes(first);
	return is_wholly_read(first) && is_wholly_read(last) &&
	       diagnose_held_bytes(last) <= before + before / HELD_SHARE;
}

/*
 * Returns whether free memory inside malloc, and unmodified file pages, explain almost all growth.
 */
static bool is_kept(const struct diagnosis_evidence *evidence)
{
	const int64_t *groups = evidence->conclusion->growth.groups;
	int64_t kept = MAX(groups[GROUP_FREE], 0) +
		       MAX(groups[GROUP_FILES] - diagnose_written_growth(evidence), 0);
	int64_t all = 0;

	for (unsigned i = 0; i < GROUP_MAX_; i++)
		all += groups[i];
	return kept >= all / 2 && all - kept < MEMORY_GROWTH_MIN;
}

/* Concludes from the breakdown of memory alone. */
static void conclude_memory(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct memory_conclusion *conclusion = evidence->conclusion;

	if (!conclusion)
		return;
	if (conclusion->verdict == MEMORY_STEADY) {
		diagnosis->verdict = DIAGNOSIS_NO_LEAK;
		diagnosis->why = "nothing grew in this time";
		return;
	}
	diagnosis->part = DIAGNOSED_MEMORY;
	diagnosis->group = most_grown(&conclusion->growth);
	if (conclusion->no_leak) {
		diagnosis->verdict = DIAGNOSIS_NO_LEAK;
		diagnosis->why = conclusion->why ? conclusion->why
				 : diagnosis->group == GROUP_MANAGED
					 ? "collections leave hardly more: the heap grew by garbage"
					 : "malloc, the page cache or the kernel keeps what grew";
	} else if (conclusion->verdict == MEMORY_FILLS) {
		diagnosis->verdict =
			conclusion->filled.shared ? DIAGNOSIS_NO_LEAK : DIAGNOSIS_UNKNOWN;
		diagnosis->why = conclusion->why;
	} else if (is_kept(evidence)) {
		diagnosis->verdict = DIAGNOSIS_NO_LEAK;
		diagnosis->why = "malloc keeps it free, or it is pages of files that were read";
	} else if (conclusion->verdict == MEMORY_FILLS) {
		diagnosis->verdict = DIAGNOSIS_UNKNOWN;
		diagnosis->why = conclusion->why;
	} else if (conclusion->verdict == MEMORY_MIXED) {
		diagnosis->verdict = DIAGNOSIS_UNKNOWN;
		diagnosis->why = "several parts of its memory grew, and none by most of it";
	} else if (diagnosis->group == GROUP_MANAGED && is_garbage(evidence)) {
		diagnosis->verdict = DIAGNOSIS_NO_LEAK;
		diagnosis->why = "held objects did not become more: the heap grew by garbage";
	} else if (diagnosis->group == GROUP_LIVE || diagnosis->group == GROUP_MANAGED ||
		   diagnosis->group == GROUP_FREE || diagnosis->group == GROUP_MALLOC) {
		diagnosis->verdict = DIAGNOSIS_UNKNOWN;
		diagnosis->why = "memory grew, but no call stack and no class surely did";
	} else if (diagnosis->group == GROUP_OTHER && evidence->last && evidence->last->why) {
		diagnosis->verdict = DIAGNOSIS_UNKNOWN;
		diagnosis->why = "this part of its memory grew, and may belong to malloc: its heap "
				 "could not be read";
	} else {
		diagnosis->verdict = DIAGNOSIS_UNKNOWN;
		diagnosis->why = "several parts of its memory grew, and none by most of it";
	}
}

/* Finds the code behind memory that only mappings show. */
static void find_mapper(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	struct diagnosed_mapper mapper = {0};
	const struct memory_growth *growth;
	int64_t grown;

	if (diagnosis->part != DIAGNOSED_MEMORY ||
	    (diagnosis->group != GROUP_OTHER && diagnosis->group != GROUP_FILES) ||
	    diagnosis->verdict == DIAGNOSIS_NO_LEAK ||
	    !mappings_judge(&evidence->mapped, diagnosis->group, &mapper))
		return;
	diagnosis->mapper = mapper;
	growth = &evidence->conclusion->growth;
	grown = diagnosis->group == GROUP_FILES ? diagnose_written_growth(evidence)
						: growth->groups[GROUP_OTHER];
	if (mapper.share * (double)grown < MAIN_SHARE * (double)growth->total)
		return;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->why = "memory that this call stack maps stays mapped, and becomes more";
}

/*
 * Returns whether paths lead to blocks of the answer's call stack: blocks of the one that grew most
 * were looked up, before any class.
 */
static bool is_looked_up(const struct diagnosis_evidence *evidence,
			 const struct diagnosis *diagnosis)
{
	const struct heap_growth *growth = evidence->growth;

	return diagnosis->site && diagnosis->blocks.held && growth && growth->sites.count &&
	       growth->sites.items[0].site == diagnosis->site->index;
}

static const struct retained_path *find_path(const struct diagnosis_evidence *evidence,
					     const struct diagnosis *diagnosis)
{
	const struct retain_result *scan = diagnosis->retention;

	if (!scan || diagnosis->counted_lost)
		return NULL;
	if (diagnosis->part == DIAGNOSED_BLOCKS)
		return is_looked_up(evidence, diagnosis) && scan->paths.count
			       ? &scan->paths.items[0]
			       : NULL;
	return diagnosis->class_count ? diagnose_class_path(scan, diagnosis->classes[0].class)
				      : NULL;
}

/* Finds native memory of garbage objects: their cleaner keeps it until a collection. */
static void find_awaited(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	if (!diagnosis->path || !diagnosis->path->awaited ||
	    !diagnose_garbage_grew(evidence, diagnosis->path->awaited - 1, &diagnosis->awaited))
		return;
	diagnosis->has_awaited = true;
	diagnosis->why =
		"garbage keeps these blocks: a collection would free them, and none has run";
}

/* Concludes if a cache or queue, with a limit in the object itself, explains the growth. */
static void conclude_filling(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	if (diagnosis->part != DIAGNOSED_OBJECTS || diagnosis->verdict == DIAGNOSIS_LEAKS ||
	    diagnosis->verdict == DIAGNOSIS_NO_LEAK ||
	    (diagnosis->finding_count &&
	     (diagnosis->findings[0].has_class || diagnosis->findings[0].has_root)) ||
	    !diagnose_find_filling(evidence, diagnosis))
		return;
	/* The growing objects are no finding any more. */
	if (diagnosis->finding_count && diagnosis->findings[0].part == DIAGNOSED_OBJECTS)
		memmove(&diagnosis->findings[0], &diagnosis->findings[1],
			--diagnosis->finding_count * sizeof(diagnosis->findings[0]));
	diagnosis->verdict = DIAGNOSIS_NO_LEAK;
	diagnosis->why = "a container with a limit of its own fills: it held what became more";
}

/* A steady process for which the kernel's objects were not followed: /proc counts some of them. */
static void conclude_unfollowed(const struct diagnosis_evidence *evidence,
				struct diagnosis *diagnosis)
{
	if (!evidence->kernel.given_up || diagnosis->verdict != DIAGNOSIS_NO_LEAK ||
	    !evidence->conclusion || evidence->conclusion->verdict != MEMORY_STEADY)
		return;
	diagnosis->why = "nothing grew in its memory; the kernel's objects were not followed: the "
			 "machine makes too many";
	if (!kernel_memory_counted(&evidence->kernel, &diagnosis->kernel))
		return;
	diagnosis->verdict = DIAGNOSIS_UNKNOWN;
	diagnosis->part = DIAGNOSED_KERNEL;
	diagnosis->why = "the kernel counts more objects of it; they were not followed by call "
			 "stack: the machine makes too many";
}

static void find_limit(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	double rate = rss_rate(diagnosis);

	diagnosis->limit_bytes = evidence->limit_bytes;
	diagnosis->limit_in_s = -1;
	if (evidence->limit_bytes > evidence->limit_used_bytes && rate > 0 &&
	    diagnosis->verdict != DIAGNOSIS_NO_LEAK)
		diagnosis->limit_in_s =
			(double)(evidence->limit_bytes - evidence->limit_used_bytes) / rate;
}

/* -------- the suggested next step */

static void suggest(struct diagnosis *diagnosis)
{
	enum diagnosis_part part = diagnosis->part;
	const struct runtime_label *runtime =
		diagnosis->memory ? &diagnosis->memory->runtime : NULL;
	const char *const commands[] = {
		[DIAGNOSED_NOTHING] = "leakmon diagnose -p %d --for 600",
		[DIAGNOSED_BLOCKS] = "leakmon -p %d 10 3",
		[DIAGNOSED_OBJECTS] = "leakmon retain -p %d --census 60",
		[DIAGNOSED_GOROUTINES] = "leakmon threads -p %d 10",
		[DIAGNOSED_THREADS] = "leakmon threads -p %d 10",
		[DIAGNOSED_DESCRIPTORS] = "leakmon -p %d --descriptors 60",
		[DIAGNOSED_TMPFS] = "leakmon -p %d --descriptors 60",
		[DIAGNOSED_KERNEL] = "leakmon kernel 10 6",
		[DIAGNOSED_SYSV] = "leakmon memory -p %d 60",
		[DIAGNOSED_MEMORY] = "leakmon memory -p %d 60",
	};

	_Static_assert(ARRAY_SIZE(commands) == DIAGNOSED_MAX_, "a command for each part");
	if (diagnosis->ended)
		return;
	if (part == DIAGNOSED_MEMORY && diagnosis->group == GROUP_LIVE)
		part = DIAGNOSED_BLOCKS;
	if (diagnosis->verdict == DIAGNOSIS_UNKNOWN && diagnosis->part == DIAGNOSED_OBJECTS)
		part = DIAGNOSED_NOTHING;
	if (diagnosis->verdict == DIAGNOSIS_UNKNOWN && diagnosis->part == DIAGNOSED_MEMORY &&
	    diagnosis->group == GROUP_MANAGED && runtime && runtime->key) {
		runtime_label_tool(runtime, diagnosis->pid, diagnosis->next);
		return;
	}
	if (diagnosis->mapper.site) {
		snprintf(diagnosis->next, sizeof(diagnosis->next), "leakmon -p %d --mappings 60",
			 diagnosis->pid);
		return;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(diagnosis->next, sizeof(diagnosis->next), commands[part], diagnosis->pid);
#pragma GCC diagnostic pop
}

static bool counts_lost(const struct retain_result *scan)
{
	return !scan->why_not_walked && !scan->why_not_stopped && !scan->why_kernel_uncertain;
}

static struct diagnosed_count lost(const struct diagnosis_evidence *evidence, bool bytes)
{
	struct retention_total before, now;

	/* Unknown if the heap could not be walked, or if it changed during the reading and no
	 * second look confirmed the result. */
	if (evidence->scan_count < 2 || !counts_lost(evidence->scans[0]) ||
	    !counts_lost(evidence->scans[evidence->scan_count - 1]))
		return (struct diagnosed_count){0};
	before = retain_result_lost(evidence->scans[0]);
	now = retain_result_lost(evidence->scans[evidence->scan_count - 1]);
	return (struct diagnosed_count){.known = true,
					.before = bytes ? before.bytes : before.blocks,
					.now = bytes ? now.bytes : now.blocks};
}

static void add_stops(struct diagnosis *diagnosis, uint64_t count, uint64_t pause_ns)
{
	diagnosis->stops += (unsigned)count;
	diagnosis->longest_stop_ns = MAX(diagnosis->longest_stop_ns, pause_ns);
}

static void count_stops(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < evidence->scan_count; i++) {
		const uint64_t *numbers = evidence->scans[i]->numbers;

		add_stops(diagnosis, numbers[NUMBER_STOPS], numbers[NUMBER_PAUSE_NS]);
	}
	if (evidence->first)
		add_stops(diagnosis, evidence->first->pause_ns != 0, evidence->first->pause_ns);
	if (evidence->last)
		add_stops(diagnosis, evidence->last->pause_ns != 0, evidence->last->pause_ns);
}

void diagnose_conclude(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	/* A later rule yields to an earlier one. */
	void (*const rules[])(const struct diagnosis_evidence *,
			      struct diagnosis *) = {conclude_findings, conclude_memory};

	*diagnosis = (struct diagnosis){
		.pid = evidence->pid,
		.container = evidence->container,
		.seconds = evidence->seconds,
		.ended = evidence->ended,
		.why = "its memory could not be read twice",
		.memory = evidence->last,
		.conclusion = evidence->conclusion,
		.profile = evidence->profile,
		.goroutines = evidence->goroutines
				      ? task_report_growing(evidence->goroutines, OBJECTS_MIN)
				      : NULL,
		.sampled = growing_sampled(evidence->heap_profile),
		.sampled_s =
			evidence->heap_profile ? (double)evidence->heap_profile->span_ns / 1e9 : 0,
		.retention =
			evidence->scan_count ? evidence->scans[evidence->scan_count - 1] : NULL,
		.threads = evidence->threads,
		.descriptors = evidence->descriptors,
		.lost_blocks = lost(evidence, false),
		.lost_bytes = lost(evidence, true),
		.scans = (unsigned)evidence->scan_count,
	};
	count_stops(evidence, diagnosis);
	kernel_memory_judge(&evidence->kernel, &diagnosis->kernel);
	sysv_judge(&evidence->kernel, &diagnosis->sysv);
	snprintf(diagnosis->comm, sizeof(diagnosis->comm), "%s", evidence->comm);
	if (evidence->first && evidence->last)
		diagnosis->rss = (struct diagnosed_count){.known = true,
							  .before = evidence->first->sum.rss,
							  .now = evidence->last->sum.rss};
	if (evidence->profile)
		diagnosis->spent_core = evidence->profile->core;
	diagnose_find_classes(evidence, diagnosis);
	diagnose_find_lost_class(evidence, diagnosis);
	findings_collect(evidence, diagnosis);
	for (size_t i = 0; i < ARRAY_SIZE(rules) && diagnosis->verdict == DIAGNOSIS_UNKNOWN; i++)
		rules[i](evidence, diagnosis);
	if (diagnosis->verdict == DIAGNOSIS_UNKNOWN || diagnosis->verdict == DIAGNOSIS_NO_LEAK)
		conclude_two_scans(evidence, diagnosis);
	conclude_unexplained(evidence, diagnosis);
	conclude_unfollowed(evidence, diagnosis);
	find_mapper(evidence, diagnosis);
	conclude_filling(evidence, diagnosis); /* it may change which class is first */
	diagnosis->path = find_path(evidence, diagnosis);
	find_awaited(evidence, diagnosis);
	find_limit(evidence, diagnosis);
	suggest(diagnosis);
}
