// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/diagnose_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/monitor/session.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "heap/memory/kernel_counts.h"
#include "heap/memory/slab_caches.h"
#include "heap/memory/sysv_segments.h"
#include "process/proc/process_list.h"
#include "process/symbol/kernel_symbols.h"
#include "trace/collect/event_streams.h"
#include "trace/collect/kernel_objects.h"

/* A process with less CPU time since the beginning has hardly called the kernel. */
#define NOTICE_CPU_S 0.001
#define NOTICE_SEGMENT_BYTES (256u << 10)
/*
 * Bytes per second of the kernel's objects that must stay in a trial: less would be below a MiB per
 * minute.
 */
#define TRIAL_BYTES_PER_S 8192.0
/*
 * Limits of the cost: for the process, as a share of a core; and for each CPU of the machine, in
 * frees per second. An object that is not followed costs about 70 ns at its allocation and free
 * (measured here): 1 %.
 */
#define OWN_COST_MAX 0.01
#define FREES_MAX 150000.0
/* Extra seconds of cost allowed for a burst at the beginning. */
#define COST_GRACE_S 2.0
/* When the process loses too much, the rate is divided by eight. */
#define SHIFT_STEP 3
#define SHIFT_MAX 9
/* Rows that get names, the largest first. */
#define ROWS_MAX 64
#define READINGS_MAX 64

struct row_names {
	struct site site;     /* the process's call stack */
	struct frames frames; /* of that stack */
	struct frames kernel; /* the allocating function */
};

struct object_reading {
	double at_s;
	struct kernel_objects objects;
};

struct object_session {
	struct session_options options;
	struct session session;
	bool attached;
	uint64_t begin_ns;
	struct slab_caches caches;		      /* at its beginning */
	struct object_reading readings[READINGS_MAX]; /* ascending in time */
	size_t reading_count;
	struct kernel_symbols *symbols;
	struct kernel_row rows[ROWS_MAX];
	struct row_names names[ROWS_MAX];
	size_t row_count;
};

struct kernel_watch {
	pid_t pid;
	uint64_t begin_ns;
	double cpu_first_s;
	int64_t begin_s; /* since 1970 */
	double trial_s;
	uint64_t segments_first;
	struct sysv_report sysv_first, sysv_last;
	struct kernel_counts first, last;
	struct object_session *session; /* owned; NULL: not opened */
	uint32_t shift;
	bool tried, given_up; /* given_up: also after a trial in which little stayed */
	bool unfollowed;      /* given up because it costs too much, or cannot be done */
};

/* -------- the session */

static void session_free(struct object_session *objects)
{
	if (!objects)
		return;
	for (size_t i = 0; i < objects->reading_count; i++)
		kernel_objects_free(&objects->readings[i].objects);
	for (size_t i = 0; i < objects->row_count; i++) {
		free(objects->names[i].site.addresses);
		vec_free(&objects->names[i].frames.list);
		vec_free(&objects->names[i].kernel.list);
	}
	kernel_symbols_free(objects->symbols);
	slab_caches_free(&objects->caches);
	if (objects->attached)
		session_close(&objects->session);
	vec_free(&objects->options.targets.chosen.pids);
	free(objects);
}

/* Opens a session for these objects only. Returns NULL if it cannot. */
static struct object_session *session_new(pid_t pid, uint32_t shift)
{
	static const struct session_options defaults = SESSION_DEFAULTS;
	struct object_session *objects = calloc(1, sizeof(*objects));
	pid_t *target;

	if (!objects)
		return NULL;
	objects->options = defaults;
	objects->options.tracking.no_heap = true;
	objects->options.tracking.no_threads = true;
	objects->options.tracking.kernel_objects = true;
	objects->options.tracking.object_shift = shift;
	target = vec_push(&objects->options.targets.chosen.pids);
	if (target)
		*target = pid;
	objects->attached = target && !slab_caches_read(&objects->caches) &&
			    !session_open_beside(&objects->session, &objects->options);
	if (!objects->attached || objects->session.bpf.object_sums_fd < 0) {
		session_free(objects);
		return NULL;
	}
	objects->begin_ns = monotonic_ns();
	return objects;
}

static double seconds_of(const struct object_session *objects)
{
	return (double)(monotonic_ns() - objects->begin_ns) / 1e9;
}

static const struct object_reading *latest(const struct object_session *objects)
{
	return objects->reading_count ? &objects->readings[objects->reading_count - 1] : NULL;
}

/* Reads the objects; in a full series the reading replaces the last one. */
static bool session_read(struct object_session *objects)
{
	struct object_reading reading = {.at_s = seconds_of(objects)};

	if (kernel_objects_read(&objects->session.bpf, &reading.objects))
		return false;
	if (objects->reading_count == READINGS_MAX)
		kernel_objects_free(&objects->readings[--objects->reading_count].objects);
	objects->readings[objects->reading_count++] = reading;
	return true;
}

/* Return whether the machine, or the process, loses too much. */
static bool costs_machine(const struct object_reading *reading)
{
	return (double)reading->objects.frees >
	       FREES_MAX * (double)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1) *
		       (reading->at_s + COST_GRACE_S);
}

static bool costs_process(const struct object_reading *reading)
{
	return (double)reading->objects.counts.spent_ns / 1e9 >
	       OWN_COST_MAX * (reading->at_s + COST_GRACE_S);
}

static void watch_cost(struct kernel_watch *watch)
{
	const struct object_reading *reading = latest(watch->session);
	bool machine = costs_machine(reading);

	if (!machine && !costs_process(reading))
		return;
	session_free(watch->session);
	watch->session = NULL;
	watch->shift += SHIFT_STEP;
	watch->given_up = machine || watch->shift > SHIFT_MAX;
	watch->unfollowed = watch->given_up;
	if (watch->given_up)
		log_info(
			"PID %d: the kernel allocates too often for its objects to be followed; try `leakmon kernel -s 100`",
			watch->pid);
}

/* -------- readings */

static uint64_t unattached_bytes(const struct sysv_report *sysv)
{
	return sysv->known ? sysv->unattached.bytes : 0;
}

struct kernel_watch *kernel_watch_open(pid_t pid, double trial_s)
{
	struct kernel_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->pid = pid;
	watch->begin_ns = monotonic_ns();
	watch->begin_s = time(NULL);
	watch->cpu_first_s = process_cpu_s(pid);
	watch->trial_s = trial_s;
	kernel_counts_read(pid, &watch->first);
	if (!sysv_segments_read(pid, &watch->sysv_first))
		watch->segments_first = unattached_bytes(&watch->sysv_first);
	return watch;
}

static bool segments_grew(const struct kernel_watch *watch)
{
	struct sysv_report sysv = {0};
	uint64_t bytes;

	if (sysv_segments_read(watch->pid, &sysv))
		return false;
	bytes = unattached_bytes(&sysv);
	sysv_report_free(&sysv);
	return bytes >= watch->segments_first + NOTICE_SEGMENT_BYTES;
}

static double staying_bytes(const struct object_reading *reading)
{
	double bytes = 0;

	for (size_t i = 0; i < reading->objects.list.count; i++)
		bytes += (double)reading->objects.list.items[i].sum.bytes;
	return bytes;
}

/* Decides after the trial whether to continue. */
static void end_trial(struct kernel_watch *watch)
{
	const struct object_reading *reading = latest(watch->session);

	if (watch->tried || reading->at_s < watch->trial_s)
		return;
	watch->tried = true;
	watch->given_up = ldexp(staying_bytes(reading), (int)watch->shift) <
				  TRIAL_BYTES_PER_S * reading->at_s &&
			  !segments_grew(watch);
	if (!watch->given_up)
		return;
	session_free(watch->session);
	watch->session = NULL;
}

void kernel_watch_notice(struct kernel_watch *watch)
{
	if (!watch || watch->given_up)
		return;
	if (watch->session && session_read(watch->session))
		watch_cost(watch);
	if (watch->session && watch->session->reading_count)
		end_trial(watch);
	if (watch->session || watch->given_up ||
	    (process_cpu_s(watch->pid) < watch->cpu_first_s + NOTICE_CPU_S &&
	     !segments_grew(watch)))
		return;
	watch->session = session_new(watch->pid, watch->shift);
	watch->given_up = watch->unfollowed = !watch->session;
}

/* -------- objects, at the end */

static const struct kernel_object_row *row_find(const struct object_reading *reading,
						const struct lm_object_key *key)
{
	for (size_t i = 0; i < reading->objects.list.count; i++) {
		const struct kernel_object_row *row = &reading->objects.list.items[i];

		if (row->key.caller == key->caller && row->key.site == key->site)
			return row;
	}
	return NULL;
}

/* Returns the latest reading up to that time. */
static const struct object_reading *reading_at(const struct object_session *objects, double at_s)
{
	const struct object_reading *found = &objects->readings[0];

	for (size_t i = 1; i < objects->reading_count && objects->readings[i].at_s <= at_s; i++)
		found = &objects->readings[i];
	return found;
}

static int by_bytes(const void *left, const void *right)
{
	const struct kernel_object_row *const *a = left, *const *b = right;

	return ((*a)->sum.bytes < (*b)->sum.bytes) - ((*a)->sum.bytes > (*b)->sum.bytes);
}

static bool name_row(struct kernel_watch *watch, const struct lm_object_key *key,
		     struct row_names *names)
{
	struct object_session *objects = watch->session;
	const struct bpf_side *bpf = &objects->session.bpf;
	uint64_t caller = key->caller;
	const char *allocator;

	if (key->site >= bpf->max_sites ||
	    event_stack_copy(bpf, bpf->sites[key->site].process, key->site, &names->site) ||
	    names->site.lost)
		return false;
	if (symbolizer_name(objects->session.stages.symbolizer, (uint32_t)watch->pid,
			    names->site.addresses, names->site.depth, LINES_KNOWN, &names->frames))
		return false;
	if (objects->symbols)
		kernel_symbols_name(objects->symbols, &caller, 1, &names->kernel, &allocator);
	return true;
}

static void fill_row(const struct object_session *objects, const struct kernel_object_row *from,
		     const struct slab_caches *caches, uint32_t shift, struct kernel_row *row,
		     const struct row_names *names)
{
	double end_s = latest(objects)->at_s;

	*row = (struct kernel_row){
		.cache = from->sum.cache,
		.frames = &names->frames,
		.function = names->kernel.list.count ? names->kernel.list.items[0].function : NULL,
		.count = (uint64_t)MAX(from->sum.count, 0) << shift,
		.reclaimable = slab_cache_is_reclaimable(from->sum.cache),
		.cache_bytes = slab_caches_growth(&objects->caches, caches, from->sum.cache),
	};
	for (size_t i = 0; i < KERNEL_TIMES; i++) {
		const struct object_reading *reading =
			reading_at(objects, end_s * (double)(i + 1) / KERNEL_TIMES);
		const struct kernel_object_row *then = row_find(reading, &from->key);

		row->bytes[i] = then ? (double)(MAX(then->sum.bytes, 0) << shift) : 0;
	}
}

static void name_rows(struct kernel_watch *watch, const struct kernel_object_row *const *sorted,
		      size_t count)
{
	_cleanup_(slab_caches_free) struct slab_caches caches = {0};
	struct object_session *objects = watch->session;

	if (slab_caches_read(&caches))
		return;
	for (size_t i = 0; i < count; i++) {
		struct row_names *names = &objects->names[objects->row_count];

		if (sorted[i]->sum.bytes <= 0 || !name_row(watch, &sorted[i]->key, names)) {
			free(names->site.addresses);
			*names = (struct row_names){0};
			continue;
		}
		fill_row(objects, sorted[i], &caches, watch->shift,
			 &objects->rows[objects->row_count], names);
		objects->row_count++;
	}
	/* Name them again, with the lines that were found. */
	symbolizer_find_lines(objects->session.stages.symbolizer, session_lines_wait_ms(true));
	for (size_t i = 0; i < objects->row_count; i++) {
		struct row_names *names = &objects->names[i];

		symbolizer_name(objects->session.stages.symbolizer, (uint32_t)watch->pid,
				names->site.addresses, names->site.depth, LINES_KNOWN,
				&names->frames);
	}
}

static void examine_objects(struct kernel_watch *watch, struct kernel_evidence *evidence)
{
	_cleanup_free_ const struct kernel_object_row **sorted = NULL;
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	struct object_session *objects = watch->session;
	const struct kernel_objects *last;

	if (!session_read(objects))
		return;
	last = &latest(objects)->objects;
	sorted = calloc(last->list.count + 1, sizeof(struct kernel_object_row *));
	if (!sorted)
		return;
	for (size_t i = 0; i < last->list.count; i++)
		sorted[i] = &last->list.items[i];
	qsort(sorted, last->list.count, sizeof(*sorted), by_bytes);
	objects->symbols = last->list.count ? kernel_symbols_read(file) : NULL;
	name_rows(watch, sorted, MIN(last->list.count, ROWS_MAX));
	log_debug(
		"PID %d: %llu objects counted, %llu missed, %llu dropped, one in %u; %llu frees of all processes in %.0f s",
		watch->pid, last->counts.births, last->counts.missed, last->counts.dropped,
		1u << watch->shift, (unsigned long long)last->frees, latest(objects)->at_s);
	evidence->rows = objects->rows;
	evidence->row_count = objects->row_count;
	evidence->seconds = latest(objects)->at_s;
	evidence->exact = !watch->shift && !last->counts.missed && !last->counts.dropped;
}

/* -------- segments, at the end */

static bool is_new(const struct kernel_watch *watch, const struct sysv_segment *segment)
{
	for (size_t i = 0; i < watch->sysv_first.list.count; i++) {
		if (watch->sysv_first.list.items[i].id == segment->id &&
		    watch->sysv_first.list.items[i].creator == segment->creator)
			return false;
	}
	return true;
}

static void examine_segments(struct kernel_watch *watch, struct kernel_evidence *evidence)
{
	double all_s = (double)(monotonic_ns() - watch->begin_ns) / 1e9;

	if (!watch->sysv_first.known || watch->sysv_first.partial ||
	    sysv_segments_read(watch->pid, &watch->sysv_last) || watch->sysv_last.partial)
		return;
	for (size_t i = 0; i < watch->sysv_last.list.count; i++) {
		const struct sysv_segment *segment = &watch->sysv_last.list.items[i];
		bool own = segment->creator == watch->pid && *segment->comm;
		bool child =
			!own && watch->session &&
			kernel_objects_has_child(&watch->session->session.bpf, segment->creator);
		double age_s = (double)(segment->created_s - watch->begin_s);

		if (segment->attached || (!own && !child) || !is_new(watch, segment))
			continue;
		evidence->sysv.by_children |= child;
		evidence->sysv.bytes += segment->resident + segment->swapped;
		for (size_t j = 0; j < KERNEL_TIMES; j++)
			evidence->sysv.segments[j] +=
				j == KERNEL_TIMES - 1 ||
				age_s < all_s * (double)(j + 1) / KERNEL_TIMES;
	}
}

void kernel_watch_examine(struct kernel_watch *watch, struct kernel_evidence *evidence)
{
	*evidence = (struct kernel_evidence){.exact = true};
	if (!watch)
		return;
	evidence->given_up = watch->unfollowed;
	kernel_counts_read(watch->pid, &watch->last);
	evidence->first = &watch->first;
	evidence->last = &watch->last;
	if (watch->session)
		examine_objects(watch, evidence);
	examine_segments(watch, evidence);
}

void kernel_watch_close(struct kernel_watch *watch)
{
	if (!watch)
		return;
	session_free(watch->session);
	sysv_report_free(&watch->sysv_first);
	sysv_report_free(&watch->sysv_last);
	free(watch);
}
