// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Translates the document for Prometheus: so both have the same metrics, and the choice of series
 * is in one place. Gauges become Gauge, counters a cumulative Sum.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "output/otlp/otlp.h"
#include "output/output.h"
#include "process/proc/container.h"

/* Field numbers of metrics_service.proto and metrics.proto. */
enum { REQUEST_RESOURCE_METRICS = 1 };
enum { RESOURCE_METRICS_RESOURCE = 1, RESOURCE_METRICS_SCOPE };
enum { SCOPE_METRICS_SCOPE = 1, SCOPE_METRICS_METRIC };
enum { METRIC_NAME = 1, METRIC_DESCRIPTION, METRIC_UNIT, METRIC_GAUGE = 5, METRIC_SUM = 7 };
enum { SUM_POINT = 1, SUM_TEMPORALITY, SUM_IS_MONOTONIC };
enum { TEMPORALITY_CUMULATIVE = 2 };
enum { POINT_START = 2, POINT_TIME, POINT_DOUBLE, POINT_ATTRIBUTES = 7 };

/* Labels that identify the processes of a series. */
enum { LABEL_COMM, LABEL_NAMESPACE, LABEL_POD, LABEL_CONTAINER, LABEL_MAX_ };
static const char *const subject_labels[LABEL_MAX_] = {"comm", "namespace", "pod", "container"};

/* A ResourceMetrics being built. */
struct group {
	char *labels[LABEL_MAX_];      /* owned; NULL: the series lack it */
	struct otlp_resource resource; /* with borrowed strings */
	struct protobuf metrics, points;
};

struct translation {
	const struct otlp_metrics *metrics;
	VEC(struct group) groups;
	const char *name, *help; /* of the metric whose samples follow */
	bool is_counter;
};

static bool same_text(const char *left, const char *right)
{
	return left && right ? !strcmp(left, right) : left == right;
}

/* -------- resources */

static void subject_texts(const struct otlp_subject *subject, const char *texts[LABEL_MAX_])
{
	const struct container *container =
		container_proven_id(subject->container) ? subject->container : NULL;

	texts[LABEL_COMM] = subject->comm;
	texts[LABEL_NAMESPACE] = container ? container->namespace : NULL;
	texts[LABEL_POD] = container ? container->pod : NULL;
	texts[LABEL_CONTAINER] =
		container ? container->name ? container->name : container->id : NULL;
}

/*
 * Returns whether a group matches a subject. `exactly`: a label that the series lack must also be
 * missing in the subject.
 */
static bool group_is_about(const struct group *group, const struct otlp_subject *subject,
			   bool exactly)
{
	const char *texts[LABEL_MAX_];

	subject_texts(subject, texts);
	if (!group->labels[LABEL_COMM])
		return false;
	for (size_t i = 0; i < LABEL_MAX_; i++) {
		_cleanup_free_ char *inert = texts[i] ? text_inert(texts[i]) : NULL;

		if ((group->labels[i] || exactly) && !same_text(group->labels[i], inert))
			return false;
	}
	return true;
}

static bool resource_has(const struct otlp_resource *resource, const struct otlp_attribute *wanted)
{
	for (size_t i = 0; i < resource->list.count; i++) {
		if (!strcmp(resource->list.items[i].key, wanted->key))
			return !strcmp(resource->list.items[i].value, wanted->value);
	}
	return false;
}

/* Sets the attributes that all matching subjects share; *any: whether any match. */
static int resource_agree(struct group *group, const struct otlp_metrics *metrics, bool exactly,
			  bool *any)
{
	for (size_t i = 0; i < metrics->subject_count; i++) {
		const struct otlp_resource *other = metrics->subjects[i].resource;
		size_t kept = 0;

		if (!group_is_about(group, &metrics->subjects[i], exactly))
			continue;
		for (size_t j = 0; !*any && j < other->list.count; j++) {
			struct otlp_attribute *attribute = vec_push(&group->resource.list);

			if (!attribute)
				return -ENOMEM;
			*attribute = other->list.items[j];
		}
		for (size_t j = 0; j < group->resource.list.count; j++) {
			if (resource_has(other, &group->resource.list.items[j]))
				group->resource.list.items[kept++] = group->resource.list.items[j];
		}
		group->resource.list.count = kept;
		*any = true;
	}
	return 0;
}

static int resource_find(struct group *group, const struct otlp_metrics *metrics)
{
	bool any = false;
	int error = resource_agree(group, metrics, true, &any);

	if (!error && !any)
		error = resource_agree(group, metrics, false, &any);
	for (size_t i = 0; !error && !any && i < metrics->host->list.count; i++) {
		struct otlp_attribute *attribute = vec_push(&group->resource.list);

		if (!attribute)
			return -ENOMEM;
		*attribute = metrics->host->list.items[i];
	}
	return error;
}

static void groups_free(struct translation *translation)
{
	for (size_t i = 0; i < translation->groups.count; i++) {
		struct group *group = &translation->groups.items[i];

		for (size_t j = 0; j < LABEL_MAX_; j++)
			free(group->labels[j]);
		vec_free(&group->resource.list);
		protobuf_free(&group->metrics);
		protobuf_free(&group->points);
	}
	vec_free(&translation->groups);
}

/* Returns NULL when out of memory. */
static struct group *group_of(struct translation *translation, char *const labels[LABEL_MAX_])
{
	struct group *group;

	for (size_t i = 0; i < translation->groups.count; i++) {
		bool same = true;

		group = &translation->groups.items[i];
		for (size_t j = 0; j < LABEL_MAX_; j++)
			same &= same_text(group->labels[j], labels[j]);
		if (same)
			return group;
	}
	group = vec_push(&translation->groups);
	for (size_t j = 0; group && j < LABEL_MAX_; j++) {
		group->labels[j] = labels[j] ? strdup(labels[j]) : NULL;
		if (labels[j] && !group->labels[j])
			return NULL;
	}
	return group && !resource_find(group, translation->metrics) ? group : NULL;
}

/* -------- metrics */

/* Returns the UCUM unit for the suffix of a name, by Prometheus' naming rules. */
static const char *unit_of(const char *name)
{
	static const struct {
		const char *end, *unit;
	} units[] = {{"_bytes", "By"},
		     {"_bytes_total", "By"},
		     {"_seconds", "s"},
		     {"_seconds_total", "s"},
		     {"_bytes_per_second", "By/s"}};
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t end = strlen(units[i].end);

		if (length > end && !strcmp(name + length - end, units[i].end))
			return units[i].unit;
	}
	return "";
}

/* Ends a metric, when all of its samples have been read. */
static void metric_end(struct translation *translation)
{
	for (size_t i = 0; translation->name && i < translation->groups.count; i++) {
		struct group *group = &translation->groups.items[i];
		struct protobuf metric = {0};

		if (!group->points.count)
			continue;
		protobuf_text(&metric, METRIC_NAME, translation->name);
		protobuf_text(&metric, METRIC_DESCRIPTION, translation->help);
		protobuf_text(&metric, METRIC_UNIT, unit_of(translation->name));
		if (translation->is_counter) {
			protobuf_number(&group->points, SUM_TEMPORALITY, TEMPORALITY_CUMULATIVE);
			protobuf_number(&group->points, SUM_IS_MONOTONIC, true);
		}
		protobuf_message(&metric, translation->is_counter ? METRIC_SUM : METRIC_GAUGE,
				 &group->points);
		protobuf_message(&group->metrics, SCOPE_METRICS_METRIC, &metric);
		protobuf_free(&metric);
	}
}

/*
 * Parses KEY="VALUE" at `at`, and removes quotes and backslashes in place. Returns the position
 * after it; NULL: none.
 */
static char *label_take(char *at, char **key, char **value)
{
	char *to = strstr(at, "=\"");

	if (!to)
		return NULL;
	*key = at;
	*to = '\0';
	to += strlen("=\"");
	*value = to;
	for (at = to; *at && *at != '"'; at++) {
		at += *at == '\\' && at[1];
		*to++ = *at;
	}
	if (!*at)
		return NULL;
	*to = '\0';
	return at + 1;
}

static int labels_take(char **line, struct protobuf *point, char *subject[LABEL_MAX_])
{
	char *at = *line + 1, *key, *value;

	while (*at != '}') {
		at = label_take(at, &key, &value);
		if (!at)
			return -EBADMSG;
		otlp_text(point, POINT_ATTRIBUTES, key, value);
		for (size_t i = 0; i < LABEL_MAX_; i++) {
			if (!strcmp(key, subject_labels[i]))
				subject[i] = value;
		}
		at += *at == ',';
	}
	*line = at + 1;
	return 0;
}

static int sample_take(struct translation *translation, char *line)
{
	const struct otlp_metrics *metrics = translation->metrics;
	_cleanup_(protobuf_free) struct protobuf point = {0};
	char *subject[LABEL_MAX_] = {NULL}, *end;
	struct group *group;
	double value;
	int error = 0;

	line += strcspn(line, "{ ");
	if (*line == '{')
		error = labels_take(&line, &point, subject);
	if (error)
		return error;
	value = strtod(line, &end);
	if (end == line || *end)
		return -EBADMSG;
	group = group_of(translation, subject);
	if (!group)
		return -ENOMEM;
	if (translation->is_counter)
		protobuf_fixed(&point, POINT_START, metrics->started_ns);
	protobuf_fixed(&point, POINT_TIME, metrics->time_ns);
	protobuf_double(&point, POINT_DOUBLE, value);
	protobuf_message(&group->points, SUM_POINT, &point);
	return 0;
}

static int line_take(struct translation *translation, char *line)
{
	static const char help[] = "# HELP ", type[] = "# TYPE ";
	char *space;

	if (text_begins(line, help)) {
		metric_end(translation);
		translation->name = line + strlen(help);
		space = strchr(translation->name, ' ');
		if (!space)
			return -EBADMSG;
		*space = '\0';
		translation->help = space + 1;
		return 0;
	}
	if (text_begins(line, type)) {
		translation->is_counter = strstr(line, " counter") != NULL;
		return 0;
	}
	return translation->name ? sample_take(translation, line) : -EBADMSG;
}

/* -------- the request */

static void group_encode(struct protobuf *request, struct group *group)
{
	struct protobuf all = {0}, scope = {0};

	otlp_scope(&scope, SCOPE_METRICS_SCOPE);
	/* Concatenated messages of one field are a valid encoding of that field. */
	otlp_resource_encode(&all, RESOURCE_METRICS_RESOURCE, &group->resource);
	protobuf_append(&scope, &group->metrics);
	protobuf_message(&all, RESOURCE_METRICS_SCOPE, &scope);
	protobuf_message(request, REQUEST_RESOURCE_METRICS, &all);
	protobuf_free(&scope);
	protobuf_free(&all);
}

int otlp_metrics_write(FILE *out, char *prometheus, const struct otlp_metrics *metrics)
{
	struct translation translation = {.metrics = metrics};
	_cleanup_(protobuf_free) struct protobuf request = {0};
	char *line;
	int error = 0;

	while (!error && (line = strsep(&prometheus, "\n"))) {
		if (*line)
			error = line_take(&translation, line);
	}
	metric_end(&translation);
	for (size_t i = 0; i < translation.groups.count && !error; i++)
		group_encode(&request, &translation.groups.items[i]);
	groups_free(&translation);
	if (error || request.failed)
		return error ? error : -ENOMEM;
	fwrite(request.bytes, 1, request.count, out);
	return output_finish(out);
}
