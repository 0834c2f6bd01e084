// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/task_report.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "report/figures.h"

#define NS_PER_MS 1000000
#define READINGS_MIN 3 /* before there is a verdict */

void task_report_free(struct task_report *report)
{
	for (size_t i = 0; i < report->groups.count; i++) {
		vec_free(&report->groups.items[i].stack.list);
		vec_free(&report->groups.items[i].creator.list);
	}
	vec_free(&report->groups);
	vec_free(&report->members);
	intern_free(&report->strings);
}

static int by_count(const void *left_pointer, const void *right_pointer)
{
	const struct task_group *left = left_pointer, *right = right_pointer;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

static int by_number(const void *left_pointer, const void *right_pointer)
{
	const struct task *left = left_pointer, *right = right_pointer;

	return (left->number > right->number) - (left->number < right->number);
}

void task_report_sort(struct task_report *report)
{
	if (report->groups.count)
		qsort(report->groups.items, report->groups.count, sizeof(*report->groups.items),
		      by_count);
	if (report->members.count)
		qsort(report->members.items, report->members.count, sizeof(*report->members.items),
		      by_number);
}

/* Returns whether a frame is the program's own, not the runtime's or its locks'. */
static bool is_own(const struct frame *frame)
{
	static const char *const runtimes[] = {"runtime.", "internal/"};

	return !frame->function ||
	       (!text_begins_with_any(frame->function, runtimes, ARRAY_SIZE(runtimes)) &&
		!strstr(frame->function, ".runtime_"));
}

const struct frame *goroutine_place(const struct frames *frames)
{
	for (size_t i = 0; i < frames->list.count; i++) {
		if (is_own(&frames->list.items[i]))
			return &frames->list.items[i];
	}
	return frames->list.count ? &frames->list.items[0] : NULL;
}

const struct frame *java_thread_place(const struct frames *frames)
{
	static const char *const libraries[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		if (frame->function &&
		    !text_begins_with_any(frame->function, libraries, ARRAY_SIZE(libraries)))
			return frame;
	}
	return frames->list.count ? &frames->list.items[0] : NULL;
}

const struct task_kind task_goroutines = {"goroutine", "goroutines", "Go", true, goroutine_place};
const struct task_kind task_virtual_threads = {"virtual thread", "virtual threads", "JVM", false,
					       java_thread_place};

static uint64_t grown_by(const struct task_group *group)
{
	uint64_t first = group->growth.first_count;

	return group->growth.readings && trend_is_suspect(group->growth.verdict) &&
			       group->count > first
		       ? group->count - first
		       : 0;
}

const struct task_group *task_report_growing(const struct task_report *report, uint64_t least)
{
	const struct task_group *most = NULL;

	for (size_t i = 0; i < report->groups.count; i++) {
		const struct task_group *group = &report->groups.items[i];
		bool leaks = group->growth.verdict == TREND_LEAKING;
		bool other = most && most->growth.verdict == TREND_LEAKING;

		if (!grown_by(group) || grown_by(group) < least || (other && !leaks))
			continue;
		if (!most || leaks > other || grown_by(group) > grown_by(most))
			most = group;
	}
	return most;
}

void task_history_free(struct task_history *history)
{
	vec_free(&history->members);
	vec_free(&history->groups);
	hash_free(&history->index);
}

static struct task_past *past_of(struct task_history *history, uint64_t id)
{
	uint64_t *place = hash_put(&history->index, id, NULL);
	struct task_past *past;

	if (!place)
		return NULL;
	if (*place)
		return &history->groups.items[*place - 1];
	past = vec_push(&history->groups);
	if (!past)
		return NULL;
	past->id = id;
	*place = history->groups.count;
	return past;
}

/* Counts tasks that came to each group and left it since the last reading. */
static int compare(struct task_history *history, const struct task_report *report)
{
	const struct task *old = history->members.items, *new = report->members.items;
	size_t olds = history->members.count, news = report->members.count, i = 0, j = 0;

	while (i < olds || j < news) {
		bool left = j == news || (i < olds && old[i].number < new[j].number);
		bool came = i == olds || (j < news && new[j].number < old[i].number);
		bool moved = !left && !came && old[i].group != new[j].group;
		struct task_past *from = left || moved ? past_of(history, old[i].group) : NULL;
		struct task_past *to;

		if ((left || moved) && !from)
			return -ENOMEM;
		if (from)
			from->gone++;
		to = came || moved ? past_of(history, new[j].group) : NULL;
		if ((came || moved) && !to)
			return -ENOMEM;
		if (to)
			to->come++;
		i += !came;
		j += !left;
	}
	return 0;
}

static enum trend_verdict judge(const struct task_history *history, const struct task_past *past,
				uint64_t now_ns)
{
	if (history->readings < READINGS_MIN)
		return TREND_TOO_EARLY;
	if (!past->come || past->last_count <= past->first_count)
		return TREND_STEADY;
	if (!past->gone && past->grown * 4 >= history->readings * 3 && past->grown_ns == now_ns)
		return TREND_LEAKING;
	return past->gone * 2 > past->come ? TREND_CHURNING : TREND_GROWING;
}

static int take_group(struct task_history *history, const struct task_report *report,
		      struct task_group *group)
{
	struct task_past *past = past_of(history, group->id);

	if (!past)
		return -ENOMEM;
	if (!history->readings)
		past->first_count = group->count;
	else if (group->count > past->last_count) {
		past->grown++;
		past->grown_ns = report->time_ns;
	}
	past->last_count = group->count;
	past->seen_ns = report->time_ns;
	if (history->readings)
		group->growth = (struct task_growth){
			.readings = history->readings,
			.span_ns = report->time_ns - history->first_ns,
			.first_count = past->first_count,
			.come = past->come,
			.gone = past->gone,
			.verdict = judge(history, past, report->time_ns),
		};
	return 0;
}

/* Groups that are absent now count as zero. */
static void drop_counts(struct task_history *history, uint64_t now_ns)
{
	for (size_t i = 0; i < history->groups.count; i++) {
		if (history->groups.items[i].seen_ns != now_ns)
			history->groups.items[i].last_count = 0;
	}
}

int task_history_add(struct task_history *history, struct task_report *report)
{
	int error = history->readings ? compare(history, report) : 0;

	if (!history->readings)
		history->first_ns = report->time_ns;
	for (size_t i = 0; !error && i < report->groups.count; i++)
		error = take_group(history, report, &report->groups.items[i]);
	if (error)
		return error;
	drop_counts(history, report->time_ns);
	history->members.count = 0;
	for (size_t i = 0; i < report->members.count; i++) {
		struct task *kept = vec_push(&history->members);

		if (!kept)
			return -ENOMEM;
		*kept = report->members.items[i];
	}
	history->readings++;
	return 0;
}

static const struct task_group *group_in(const struct task_report *report, uint64_t id)
{
	for (size_t i = 0; i < report->groups.count; i++) {
		if (report->groups.items[i].id == id)
			return &report->groups.items[i];
	}
	return NULL;
}

/* `was` NULL: it is new. */
static void compare_group(const struct task_group *was, struct task_group *is, uint64_t span_ns,
			  bool same_process)
{
	struct task_growth *growth = &is->growth;

	growth->readings = MAX(growth->readings, 1);
	growth->span_ns = span_ns;
	growth->first_count = was ? was->count : 0;
	growth->only_counts = !same_process;
	if (!same_process) {
		growth->come = growth->gone = 0;
		growth->verdict = TREND_TOO_EARLY;
	} else if (was) {
		growth->come -= MIN(was->growth.come, growth->come);
		growth->gone -= MIN(was->growth.gone, growth->gone);
	}
}

/* Adds a group of the earlier reading that has vanished. */
static int add_gone(const struct task_group *was, struct task_report *after, uint64_t span_ns,
		    bool same_process)
{
	struct task_group *gone = vec_push(&after->groups);
	struct frames *stacks[2];
	const struct frames *from[] = {&was->stack, &was->creator};

	if (!gone)
		return -ENOMEM;
	*gone = (struct task_group){.id = was->id, .state = was->state};
	stacks[0] = &gone->stack;
	stacks[1] = &gone->creator;
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		for (size_t j = 0; j < from[i]->list.count; j++) {
			struct frame *frame = vec_push(&stacks[i]->list);

			if (!frame)
				return -ENOMEM;
			*frame = from[i]->list.items[j];
		}
	}
	compare_group(was, gone, span_ns, same_process);
	gone->growth.gone = same_process ? was->count : 0;
	return 0;
}

int task_report_compare(const struct task_report *before, struct task_report *after,
			uint64_t span_ns, bool same_process)
{
	size_t count = after->groups.count;
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		struct task_group *is = &after->groups.items[i];

		compare_group(group_in(before, is->id), is, span_ns, same_process);
	}
	for (size_t i = 0; i < before->groups.count && !error; i++) {
		const struct task_group *was = &before->groups.items[i];

		if (was->count && !group_in(after, was->id))
			error = add_gone(was, after, span_ns, same_process);
	}
	return error;
}

/* -------- figures */

static bool is_known(const void *report)
{
	return !((const struct task_report *)report)->why;
}

#define REPORT(member) offsetof(struct task_report, member)
static const struct figure report_figures[] = {
	FIGURE("version", NULL, NOTE, REPORT(version)),
	FIGURE("cannot_tell", NULL, TEXT, REPORT(why)),
	FIGURE("count", NULL, NUMBER, REPORT(count)),
	FIGURE("system", NULL, NUMBER, REPORT(system)),
	FIGURE("ended", NULL, NUMBER, REPORT(ended)),
	FIGURE("unread", NULL, NUMBER, REPORT(unread)),
	FIGURE("moved", NULL, FLAG, REPORT(moved)),
	FIGURE("stack_bytes", NULL, NUMBER, REPORT(stack_bytes)),
	FIGURE(NULL, NULL, NUMBER, REPORT(count), .shown = is_known, .metric = METRIC_GAUGE,
	       .metric_name = "process_goroutines",
	       .help = "All goroutines but the runtime's own."),
};
const struct figures task_report_figures = FIGURES(report_figures);

static const struct figure virtual_metrics[] = {
	FIGURE(NULL, NULL, NUMBER, REPORT(count), .shown = is_known, .metric = METRIC_GAUGE,
	       .metric_name = "process_virtual_threads",
	       .help = "All virtual threads of a JVM that have not ended."),
};
const struct figures task_virtual_metrics = FIGURES(virtual_metrics);

static bool has_waits(const void *group)
{
	return ((const struct task_group *)group)->waits_known;
}

static bool has_growth(const void *group)
{
	return ((const struct task_group *)group)->growth.readings;
}

/* Unknown between two processes. */
static bool has_counts(const void *group)
{
	return has_growth(group) && !((const struct task_group *)group)->growth.only_counts;
}

static const char *verdict_name(unsigned verdict)
{
	return trend_verdict_name((enum trend_verdict)verdict);
}

#define GROUP(member) offsetof(struct task_group, member)
static const struct figure group_figures[] = {
	FIGURE("id", NULL, ID, GROUP(id)),
	FIGURE("count", NULL, NUMBER, GROUP(count)),
	FIGURE("state", NULL, TEXT, GROUP(state)),
	FIGURE("longest_wait_ms", NULL, NUMBER, GROUP(longest_ns), .per = NS_PER_MS,
	       .shown = has_waits),
	FIGURE("shortest_wait_ms", NULL, NUMBER, GROUP(shortest_ns), .per = NS_PER_MS,
	       .shown = has_waits),
	FIGURE("first_count", NULL, NUMBER, GROUP(growth.first_count), .shown = has_growth),
	FIGURE("since_ms", NULL, NUMBER, GROUP(growth.span_ns), .per = NS_PER_MS,
	       .shown = has_growth),
	FIGURE("come", NULL, NUMBER, GROUP(growth.come), .shown = has_counts),
	FIGURE("gone", NULL, NUMBER, GROUP(growth.gone), .shown = has_counts),
	FIGURE("verdict", NULL, NAME, GROUP(growth.verdict), .name = verdict_name,
	       .names = TREND_MAX_, .shown = has_counts),
};
const struct figures task_group_figures = FIGURES(group_figures);

/* Recordings have everything that reports are made from. */
static const struct figure report_records[] = {
	FIGURE("version", NULL, CHARS, REPORT(version),
	       .size = sizeof(((struct task_report *)0)->version)),
	FIGURE("count", NULL, NUMBER, REPORT(count)),
	FIGURE("system", NULL, NUMBER, REPORT(system)),
	FIGURE("ended", NULL, NUMBER, REPORT(ended)),
	FIGURE("unread", NULL, NUMBER, REPORT(unread)),
	FIGURE("left_groups", NULL, NUMBER, REPORT(left_groups)),
	FIGURE("left_count", NULL, NUMBER, REPORT(left_count)),
	FIGURE("stack_bytes", NULL, NUMBER, REPORT(stack_bytes)),
	FIGURE("monotonic_ns", NULL, NUMBER, REPORT(time_ns)),
};
const struct figures task_report_records = FIGURES(report_records);

static const struct figure group_records[] = {
	FIGURE("id", "group_id", ID, GROUP(id)),
	FIGURE("state", NULL, TEXT, GROUP(state)),
	FIGURE("count", NULL, NUMBER, GROUP(count)),
	FIGURE("waits_known", NULL, NUMBER, GROUP(waits_known)),
	FIGURE("longest_ns", NULL, NUMBER, GROUP(longest_ns)),
	FIGURE("shortest_ns", NULL, NUMBER, GROUP(shortest_ns)),
	FIGURE("readings", NULL, NUMBER, GROUP(growth.readings)),
	FIGURE("span_ns", NULL, NUMBER, GROUP(growth.span_ns)),
	FIGURE("first_count", NULL, NUMBER, GROUP(growth.first_count)),
	FIGURE("come", NULL, NUMBER, GROUP(growth.come)),
	FIGURE("gone", NULL, NUMBER, GROUP(growth.gone)),
	FIGURE("verdict", NULL, NAME, GROUP(growth.verdict), .name = verdict_name,
	       .names = TREND_MAX_),
};
const struct figures task_group_records = FIGURES(group_records);

int task_series_put(struct task_series *series, uint64_t id, size_t time, uint64_t count)
{
	uint64_t *place = hash_put(&series->index, id, NULL);
	struct task_counts *group;

	if (!place)
		return -ENOMEM;
	if (!*place) {
		group = vec_push(&series->groups);
		if (!group)
			return -ENOMEM;
		group->id = id;
		*place = series->groups.count;
		group->counts = calloc(series->times.count, sizeof(*group->counts));
	}
	group = &series->groups.items[*place - 1];
	if (!group->counts)
		return -ENOMEM;
	group->counts[time] = count;
	return 0;
}

const uint64_t *task_series_find(const struct task_series *series, uint64_t id)
{
	const uint64_t *place = hash_get(&series->index, id);

	return place && *place ? series->groups.items[*place - 1].counts : NULL;
}

void task_series_free(struct task_series *series)
{
	for (size_t i = 0; i < series->groups.count; i++)
		free(series->groups.items[i].counts);
	vec_free(&series->groups);
	vec_free(&series->times);
	hash_free(&series->index);
}
