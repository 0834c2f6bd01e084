// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/report_push.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "app/monitor/report_otlp.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/serve/handover.h"
#include "base/text.h"
#include "output/json/json.h"
#include "process/proc/container.h"
#include "process/symbol/site_label.h"
#include "report/analyze/site_trend.h"
#include "report/family.h"
#include "report/leak_event.h"
#include "report/profile_report.h"
#include "report/report.h"
#include "report/triage_report.h"

#define HOST_SIZE 65
#define NEWS_MAX 4096

struct report_push {
	struct pusher *pusher;
	struct container_cache *containers;
	char host[HOST_SIZE];
	time_t from; /* time of the previous report */
	struct news news, waiting, limits;
	struct report_otlp *otlp; /* NULL: nothing goes to --otlp */
	struct hash verdicts;	  /* latest logged verdict of each suspect: its words */
};

/* -------- series */

/* Pyroscope allows fewer characters in names and values than targets use. */
static void word_print(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(isalnum((unsigned char)*text) || strchr("._-", *text) ? *text : '_', out);
}

static void label_print(FILE *out, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(out, "%%2C%s%%3D", key);
	word_print(out, value);
}

void push_series_print(FILE *out, const struct push_series *series)
{
	const struct container *container = series->container;

	word_print(out, *series->comm ? series->comm : "unknown");
	fprintf(out, "%%7Bpid%%3D%llu", (unsigned long long)series->pid);
	label_print(out, "host", series->host);
	if (container_proven_id(container)) {
		label_print(out, "namespace", container->namespace);
		label_print(out, "pod", container->pod);
		label_print(out, "container", container->name ? container->name : container->id);
	}
	fputs("%7D", out);
}

/* -------- profiles */

/*
 * The sample types for the server to keep: it drops all others. Amounts of a moment, and of an
 * hour: never sums over reports, as totals since the attach would need.
 */
#define SAMPLE_TYPE(name, unit)                                                                    \
	"\"" name "\":{\"units\":\"" unit "\",\"display-name\":\"" name                            \
	"\",\"aggregation\":\"average\",\"sampled\":false}"

static const char *const sample_types[OUTPUT_KIND_MAX_] = {
	[OUTPUT_REPORT] = "{" SAMPLE_TYPE("inuse_objects", "objects") "," SAMPLE_TYPE(
		"inuse_space", "bytes") "," SAMPLE_TYPE("mapped_ranges",
							"objects") "," SAMPLE_TYPE("mapped_space",
										   "bytes") "}",
	[OUTPUT_PROFILE] = "{" SAMPLE_TYPE("alloc_objects", "objects") "," SAMPLE_TYPE(
		"alloc_space", "bytes") "," SAMPLE_TYPE("growth_objects",
							"objects") "," SAMPLE_TYPE("growth_space",
										   "bytes") "}",
};

static void part_begin(FILE *out, const char *name, const char *file, const char *type)
{
	fprintf(out,
		"--" PUSH_BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"; "
		"filename=\"%s\"\r\nContent-Type: %s\r\n\r\n",
		name, file, type);
}

static int form_write(FILE *out, enum output_kind kind, const void *report)
{
	int error;

	part_begin(out, "profile", "profile.pprof", "application/octet-stream");
	error = output_find("pprof")->write[kind](out, report);
	fputs("\r\n", out);
	part_begin(out, "sample_type_config", "sample_type_config.json", "application/json");
	fprintf(out, "%s\r\n--" PUSH_BOUNDARY "--\r\n", sample_types[kind]);
	return error;
}

/* Pushes a report of one process. */
static void push_profile(struct report_push *push, enum output_kind kind, const void *report,
			 const struct push_series *series)
{
	char query[PUSH_QUERY_SIZE] = "";
	FILE *stream = handover_stream();
	FILE *out = stream ? fmemopen(query, sizeof(query), "w") : NULL;
	time_t now = time(NULL);

	if (!out) {
		log_warning("--push: a profile is lost: %s", strerror(errno));
		if (stream)
			fclose(stream);
		return;
	}
	fputs("name=", out);
	push_series_print(out, series);
	/* The server cannot place a time range of zero length. */
	fprintf(out, "&from=%lld&until=%lld&format=pprof&spyName=leakmon",
		(long long)MIN(push->from, now - 1), (long long)now);
	fclose(out);
	pusher_send(push->pusher, PUSH_PROFILES, query, stream, form_write(stream, kind, report));
}

static void push_report(struct report_push *push, const struct report *report)
{
	for (size_t i = 0; i < MIN(report->processes.count, PUSH_PROCESSES_MAX); i++) {
		struct report_process *process = &report->processes.items[i];
		struct report alone = *report; /* borrowed */

		if (!process->sites.count)
			continue;
		alone.processes.items = process;
		alone.processes.count = 1;
		push_profile(push, OUTPUT_REPORT, &alone,
			     &(struct push_series){.comm = process->process->comm,
						   .host = push->host,
						   .pid = process->process->pid,
						   .container = process->process->container});
	}
}

static void push_profile_report(struct report_push *push, const struct profile_report *report)
{
	for (size_t i = 0; i < MIN(report->processes.count, PUSH_PROCESSES_MAX); i++) {
		struct profile_report_process *process = &report->processes.items[i];
		struct profile_report alone = *report; /* borrowed */
		pid_t pid = (pid_t)process->pid;

		if (!process->sites.count)
			continue;
		alone.processes.items = process;
		alone.processes.count = 1;
		push_profile(
			push, OUTPUT_PROFILE, &alone,
			&(struct push_series){.comm = process->comm,
					      .host = push->host,
					      .pid = process->pid,
					      .container = container_find(push->containers, pid)});
	}
}

/* -------- events */

bool news_is_new(struct news *news, uint64_t key, double now_s)
{
	struct news_seen *seen;
	size_t oldest = 0;

	for (size_t i = 0; i < news->seen.count; i++) {
		seen = &news->seen.items[i];
		if (seen->key == key) {
			bool is_new = now_s >= seen->last_s + PUSH_QUIET_S;

			seen->last_s = now_s;
			return is_new;
		}
		if (seen->last_s < news->seen.items[oldest].last_s)
			oldest = i;
	}
	seen = news->seen.count < NEWS_MAX ? vec_push(&news->seen) : &news->seen.items[oldest];
	if (seen)
		*seen = (struct news_seen){key, now_s};
	return true;
}

static uint64_t key_of(const struct leak_event *event)
{
	uint64_t key = hash_mix(event->limit != NULL);

	if (event->limit)
		return hash_mix(key ^ hash_text(event->limit->path)) ^ event->limit->kind;
	key = hash_mix(key ^ (uint64_t)event->pid);
	if (event->comm)
		key ^= hash_text(event->comm);
	if (!event->pid && event->cgroup)
		key ^= hash_text(event->cgroup);
	if (event->quantity)
		key = hash_mix(key ^ hash_text(event->quantity));
	return hash_mix(key ^ event->site);
}

static void webhook_send(struct report_push *push, const struct leak_event *event)
{
	FILE *stream = handover_stream();

	if (!stream) {
		log_warning("--webhook: an event is lost: %s", strerror(errno));
		return;
	}
	pusher_send(push->pusher, PUSH_EVENTS, "", stream, json_event_write(stream, event));
}

static void webhook_event(struct report_push *push, const struct leak_event *event)
{
	if (pusher_has(push->pusher, PUSH_EVENTS) && event->kind != EVENT_VERDICT &&
	    news_is_new(&push->news, key_of(event), monotonic_s()))
		webhook_send(push, event);
}

bool verdict_has_changed(struct hash *verdicts, uint64_t key, const char *verdict, bool suspect,
			 const char **was)
{
	uint64_t *known = hash_get(verdicts, key);

	*was = known ? (const char *)(uintptr_t)*known : NULL;
	if (!suspect) {
		hash_remove(verdicts, key);
		return known != NULL;
	}
	if (*was && !strcmp(*was, verdict))
		return false;
	if (!known && verdicts->count < NEWS_MAX)
		known = hash_put(verdicts, key, NULL);
	if (known)
		*known = (uintptr_t)verdict;
	return known != NULL;
}

static void log_event(struct report_push *push, struct leak_event *event, bool suspect)
{
	bool changed;

	if (!push->otlp)
		return;
	if (event->verdict)
		changed = verdict_has_changed(&push->verdicts, key_of(event), event->verdict,
					      suspect, &event->was);
	else
		changed = news_is_new(&push->limits, key_of(event), monotonic_s());
	if (changed)
		report_otlp_event(push->otlp, push->pusher, event);
}

/* `suspect`: it grows or leaks; for any other entry, only the end of its growth is news. */
static void push_event(struct report_push *push, struct leak_event *event, bool suspect)
{
	event->host = push->host;
	if (suspect)
		webhook_event(push, event);
	log_event(push, event, suspect);
}

static struct leak_event event_of(const struct triage_entry *entry, const struct timespec *time)
{
	return (struct leak_event){.time = *time,
				   .pid = entry->pid,
				   .comm = entry->comm,
				   .exe = entry->exe,
				   .cgroup = entry->cgroup,
				   .container = entry->container,
				   .bytes_per_s = NAN,
				   .confidence = NAN};
}

/* An event waits for samples, to name a call stack, but no longer than this. */
#define STACKS_WAIT_S 30.0

static bool waits_for_stacks(struct report_push *push, const struct leak_event *event)
{
	double now_s = monotonic_s();
	uint64_t key = key_of(event);
	struct news_seen *seen;

	for (size_t i = 0; i < push->waiting.seen.count; i++) {
		if (push->waiting.seen.items[i].key == key)
			return now_s - push->waiting.seen.items[i].last_s < STACKS_WAIT_S;
	}
	seen = push->waiting.seen.count < NEWS_MAX ? vec_push(&push->waiting.seen) : NULL;
	if (seen)
		*seen = (struct news_seen){key, now_s};
	return seen;
}

/* Returns the call stack with most of the growth; NULL: unknown. */
static const struct frames *frames_of(const struct triage_entry *entry)
{
	const struct triage_samples *sampled = entry->sampled;

	if (!sampled || !sampled->stacks.count || triage_entry_is_managed(entry) ||
	    sampled->stacks.items[0].share < TRIAGE_SHARE_MIN)
		return NULL;
	return &sampled->stacks.items[0].named.frames;
}

/*
 * Returns whether a line of the program's own code is known; lines may arrive with a later report.
 */
static bool have_a_line(const struct frames *frames)
{
	for (size_t i = 0; frames && i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		if (frame->file && site_label_is_users(frames, frame))
			return true;
	}
	return false;
}

static void triage_entries_events(struct report_push *push, const struct triage_report *report,
				  const struct triage_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct triage_entry *entry = &entries->items[i];
		const struct growth *growth = &entry->growth;
		struct leak_event event = event_of(entry, &report->time);

		bool leaks = growth->verdict == TREND_LEAKING &&
			     !(entry->cause && entry->cause->no_leak);

		event.kind = leaks ? EVENT_LEAKING : EVENT_VERDICT;
		event.verdict = triage_entry_verdict(entry);
		event.frames = frames_of(entry);
		event.quantity = growth_kind_name(growth->kind);
		event.bytes_per_s = growth->memory_per_s;
		event.confidence = growth->confidence;
		if (leaks && report->samples_stacks && entry->pid && !have_a_line(event.frames) &&
		    !triage_entry_is_managed(entry) && waits_for_stacks(push, &event))
			continue;
		push_event(push, &event, trend_is_suspect(growth->verdict));
	}
}

static void triage_events(struct report_push *push, const struct triage_report *report)
{
	triage_entries_events(push, report, &report->processes);
	triage_entries_events(push, report, &report->groups);
	for (size_t i = 0; i < report->limits.count; i++) {
		const struct triage_limit *near = &report->limits.items[i];
		struct leak_event event = event_of(&near->entry, &report->time);

		event.kind = EVENT_LIMIT_NEAR;
		event.limit = near->limit;
		if (near->container)
			event.container = near->container;
		if (near->limit->left.known)
			event.bytes_per_s = near->limit->left.per_s;
		push_event(push, &event, true);
	}
}

static void profile_process_events(struct report_push *push, const struct profile_report *report,
				   const struct profile_report_process *process)
{
	for (size_t i = 0; i < MIN(process->sites.count, PUSH_SITES_MAX); i++) {
		const struct profile_report_site *site = &process->sites.items[i];
		bool leaks = site->judgement.verdict == PROFILE_LEAKING;
		struct leak_event event = {
			.kind = leaks ? EVENT_LEAKING : EVENT_VERDICT,
			.verdict = profile_verdict_name(site->judgement.verdict),
			.time = report->time,
			.pid = (pid_t)process->pid,
			.comm = process->comm,
			.exe = process->exe,
			.quantity = growth_kind_name(QUANTITY_HEAP),
			.bytes_per_s = site->judgement.growth_bytes_per_s.estimate,
			.confidence = NAN,
			.site = site->id,
			.frames = &site->frames,
		};

		if (leaks)
			event.container = container_find(push->containers, event.pid);
		push_event(push, &event, leaks);
	}
}

static void report_process_events(struct report_push *push, const struct report *report,
				  const struct report_process *process)
{
	for (size_t i = 0; i < MIN(process->sites.count, PUSH_SITES_MAX); i++) {
		const struct report_site *site = &process->sites.items[i];
		struct site_trend trend;
		struct leak_event event = {
			.time = report->snapshot->time,
			.pid = (pid_t)process->process->pid,
			.comm = process->process->comm,
			.exe = process->process->exe,
			.container = process->process->container,
			.quantity = family_name(site->site->family),
			.site = site->id,
			.frames = &site->frames,
		};

		if (!report->history || !site->series)
			continue;
		site_trend_of(&trend, report->history, site->series);
		event.kind = trend.verdict == TREND_LEAKING ? EVENT_LEAKING : EVENT_VERDICT;
		event.verdict = trend_verdict_name(trend.verdict);
		event.bytes_per_s = trend.trend.slope;
		event.confidence = trend.trend.confidence;
		push_event(push, &event, trend_is_suspect(trend.verdict));
	}
}

/* -------- answers of diagnose */

static const char *member_text(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Returns the answer's line that begins with a label, without it; NULL: none. */
static const char *line_of(json_t *lines, const char *label)
{
	json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
	{
		const char *text = json_string_value(line);

		text += text ? strspn(text, " ") : 0;
		if (text && text_begins(text, label))
			return text + strlen(label) + strspn(text + strlen(label), " ");
	}
	return NULL;
}

static const char *class_of(json_t *object)
{
	json_t *class = json_array_get(json_object_get(object, "classes"), 0);

	return member_text(class ? class : json_object_get(object, "lost_class"), "name");
}

/* Returns the headline without "PID 12 (NAME): ", which the sentence already has. */
static const char *headline_of(json_t *lines)
{
	const char *line = json_string_value(json_array_get(lines, 0));
	const char *answer = line && text_begins(line, "PID ") ? strstr(line, "): ") : NULL;

	return answer ? answer + strlen("): ") : line ? line : "";
}

void report_push_answer(struct report_push *push, const char *answer)
{
	json_t *object = push ? json_loads(answer, 0, NULL) : NULL;
	json_t *lines = json_object_get(object, "text");
	struct leak_event event = {
		.kind = EVENT_DIAGNOSED,
		.pid = (pid_t)json_integer_value(json_object_get(object, "pid")),
		.comm = member_text(object, "comm"),
		.quantity = member_text(object, "part"),
		.verdict = member_text(object, "verdict"),
		.class = class_of(object),
		.holder = line_of(lines, "held by"),
		.answer = headline_of(lines),
		.answer_json = answer,
		.bytes_per_s = NAN,
		.confidence = NAN,
	};

	if (object && event.comm) {
		clock_gettime(CLOCK_REALTIME, &event.time);
		event.host = push->host;
		event.container = container_find(push->containers, event.pid);
		if (pusher_has(push->pusher, PUSH_EVENTS))
			webhook_send(push, &event);
		if (push->otlp)
			report_otlp_event(push->otlp, push->pusher, &event);
		pusher_tend(push->pusher);
	}
	json_decref(object);
}

/* -------- a run */

static bool has_events(const struct report_push *push)
{
	return pusher_has(push->pusher, PUSH_EVENTS) || push->otlp;
}

int report_push_open(struct report_push **push, const struct push_options *options)
{
	struct report_push *made;
	int error;

	*push = NULL;
	if (!push_is_wanted(options))
		return 0;
	made = calloc(1, sizeof(*made));
	if (made)
		made->containers = container_cache_new();
	error = made && made->containers ? pusher_open(&made->pusher, options) : -ENOMEM;
	if (!error) {
		gethostname(made->host, sizeof(made->host) - 1);
		if (pusher_has(made->pusher, PUSH_LOGS))
			made->otlp = report_otlp_new(made->host);
		error = pusher_has(made->pusher, PUSH_LOGS) && !made->otlp ? -ENOMEM : 0;
	}
	if (error) {
		report_push_close(made);
		return error;
	}
	made->from = time(NULL);
	*push = made;
	return 0;
}

static void take_report(struct report_push *push, const struct report *report)
{
	if (pusher_has(push->pusher, PUSH_PROFILES))
		push_report(push, report);
	for (size_t i = 0; i < report->processes.count && has_events(push); i++)
		report_process_events(push, report, &report->processes.items[i]);
}

static void take_profile(struct report_push *push, const struct profile_report *report)
{
	if (pusher_has(push->pusher, PUSH_PROFILES))
		push_profile_report(push, report);
	for (size_t i = 0; i < report->processes.count && has_events(push); i++)
		profile_process_events(push, report, &report->processes.items[i]);
}

void report_push_take(struct report_push *push, enum output_kind kind, const void *report)
{
	if (!push)
		return;
	if (kind == OUTPUT_REPORT)
		take_report(push, report);
	else if (kind == OUTPUT_PROFILE)
		take_profile(push, report);
	else if (kind == OUTPUT_TRIAGE && has_events(push))
		triage_events(push, report);
	if (push->otlp)
		report_otlp_metrics(push->otlp, push->pusher, kind, report);
	push->from = time(NULL);
	pusher_tend(push->pusher);
}

static struct pushed_lane lane_state(const struct pusher *pusher, enum push_lane lane)
{
	const struct push_counts counts = pusher_counts(pusher, lane);

	return (struct pushed_lane){pusher_has(pusher, lane), counts.delivered, counts.lost,
				    counts.waiting};
}

struct pushed report_push_state(const struct report_push *push)
{
	const struct pusher *pusher = push ? push->pusher : NULL;

	if (push)
		pusher_tend(push->pusher);
	return (struct pushed){lane_state(pusher, PUSH_PROFILES), lane_state(pusher, PUSH_EVENTS),
			       lane_state(pusher, PUSH_METRICS), lane_state(pusher, PUSH_LOGS)};
}

uint64_t report_push_close(struct report_push *push)
{
	uint64_t lost = push ? pusher_close(push->pusher) : 0;

	if (!push)
		return 0;
	container_cache_free(push->containers);
	vec_free(&push->news.seen);
	vec_free(&push->waiting.seen);
	vec_free(&push->limits.seen);
	report_otlp_free(push->otlp);
	hash_free(&push->verdicts);
	free(push);
	return lost;
}
