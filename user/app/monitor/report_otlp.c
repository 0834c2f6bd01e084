// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/report_otlp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/serve/handover.h"
#include "output/otlp/otlp.h"
#include "process/proc/host_file.h"
#include "process/proc/service.h"
#include "report/profile_report.h"
#include "report/report.h"
#include "report/triage_report.h"

#define MACHINE_ID_MAX 64
#define KNOWN_MAX 256
_Static_assert(KNOWN_MAX >= 2 * OTLP_SUBJECTS_MAX, "those of a report stay");

/* A cached resource. */
struct known {
	uint64_t key;
	double read_s, used_s; /* 0: never */
	struct otlp_resource resource;
};

struct report_otlp {
	const char *host; /* borrowed */
	char *machine_id; /* owned; NULL: unknown */
	uint64_t started_ns;
	struct otlp_resource machine;
	struct known known[KNOWN_MAX];
};

/* -------- resources */

/* Reads the machine's id, not that of leakmon's container: process 1 is the host's if visible. */
static char *machine_id_read(void)
{
	static const char *const paths[] = {"/proc/1/root/etc/machine-id", "/etc/machine-id"};
	char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(paths) && !text; i++) {
		if (small_file_read(paths[i], MACHINE_ID_MAX, &text))
			text = NULL;
	}
	if (text)
		text[strcspn(text, "\r\n")] = '\0';
	return text;
}

/*
 * Sets the attributes common to all resources of this machine; OTEL_RESOURCE_ATTRIBUTES of
 * leakmon's own environment names the node and the cluster.
 */
static int machine_set(const struct report_otlp *otlp, struct otlp_resource *resource)
{
	int error = otlp_resource_set(resource, "host.id", otlp->machine_id);

	if (!error)
		error = otlp_resource_set(resource, "host.name", otlp->host);
	return error ? error : otlp_resource_set_list(resource, getenv("OTEL_RESOURCE_ATTRIBUTES"));
}

/* A process, or a control group if pid is 0. */
struct whose {
	pid_t pid;
	const char *comm, *cgroup;
	const struct container *container; /* NULL: none */
};

static int resource_fill(const struct report_otlp *otlp, struct otlp_resource *resource,
			 const struct whose *whose)
{
	_cleanup_(service_free) struct service service = {0};
	int error = whose->pid ? service_find(whose->pid, whose->comm, whose->container, &service)
			       : service_of_place(whose->cgroup, NULL, whose->container, &service);

	for (size_t i = 0; i < SERVICE_ATTRIBUTE_MAX_ && !error; i++)
		error = otlp_resource_set(resource, service_attribute_name(i),
					  service.attributes[i]);
	if (!error)
		error = otlp_resource_set_container(resource, whose->container);
	return error ? error : machine_set(otlp, resource);
}

static uint64_t key_of(const struct whose *whose)
{
	const char *name = whose->pid ? whose->comm : whose->cgroup;

	return hash_mix((uint64_t)whose->pid + 1) ^ hash_text(name ? name : "");
}

/* Returns the entry with that key, or else an unused one, or else the least recently used one. */
static struct known *known_place(struct report_otlp *otlp, uint64_t key)
{
	struct known *oldest = otlp->known;

	for (size_t i = 0; i < KNOWN_MAX; i++) {
		struct known *known = &otlp->known[i];

		if (known->used_s > 0 && known->key == key)
			return known;
		if (known->used_s < oldest->used_s)
			oldest = known;
	}
	return oldest;
}

/*
 * Returns a resource, valid for as many calls as a report has subjects. Out of memory: the
 * machine's.
 */
static const struct otlp_resource *resource_of(struct report_otlp *otlp, const struct whose *whose)
{
	uint64_t key = key_of(whose);
	struct known *known = known_place(otlp, key);
	struct otlp_resource resource = {0};
	double now_s = monotonic_s();

	if (known->used_s > 0 && known->key == key && now_s < known->read_s + RESOURCE_GOOD_S) {
		known->used_s = now_s;
		return &known->resource;
	}
	if (resource_fill(otlp, &resource, whose)) {
		otlp_resource_free(&resource);
		return &otlp->machine;
	}
	otlp_resource_free(&known->resource);
	*known = (struct known){key, now_s, now_s, resource};
	return &known->resource;
}

/* -------- the processes of a report */

struct subjects {
	VEC(struct otlp_subject) list;
};

static int subject_add(struct report_otlp *otlp, struct subjects *subjects,
		       const struct whose *whose)
{
	struct otlp_subject *subject =
		subjects->list.count < OTLP_SUBJECTS_MAX ? vec_push(&subjects->list) : NULL;

	if (!subject)
		return subjects->list.count < OTLP_SUBJECTS_MAX ? -ENOMEM : 0;
	*subject = (struct otlp_subject){whose->comm, whose->container, resource_of(otlp, whose)};
	return 0;
}

static int triage_subjects(struct report_otlp *otlp, struct subjects *subjects,
			   const struct triage_entries *entries)
{
	int error = 0;

	for (size_t i = 0; i < entries->count && !error; i++) {
		const struct triage_entry *entry = &entries->items[i];

		if (trend_is_suspect(entry->growth.verdict))
			error = subject_add(otlp, subjects,
					    &(struct whose){entry->pid, entry->comm, entry->cgroup,
							    entry->container});
	}
	return error;
}

static int subjects_find(struct report_otlp *otlp, struct subjects *subjects, enum output_kind kind,
			 const void *data)
{
	const struct profile_report *profile = data;
	const struct triage_report *triage = data;
	const struct report *report = data;
	int error = 0;

	if (kind == OUTPUT_TRIAGE) {
		error = triage_subjects(otlp, subjects, &triage->processes);
		return error ? error : triage_subjects(otlp, subjects, &triage->groups);
	}
	if (kind == OUTPUT_PROFILE) {
		for (size_t i = 0; i < profile->processes.count && !error; i++)
			error = subject_add(
				otlp, subjects,
				&(struct whose){.pid = (pid_t)profile->processes.items[i].pid,
						.comm = profile->processes.items[i].comm});
		return error;
	}
	for (size_t i = 0; kind == OUTPUT_REPORT && i < report->processes.count && !error; i++) {
		const struct snapshot_process *process = report->processes.items[i].process;

		error = subject_add(otlp, subjects,
				    &(struct whose){.pid = (pid_t)process->pid,
						    .comm = process->comm,
						    .container = process->container});
	}
	return error;
}

/* -------- requests */

static int metrics_write(struct report_otlp *otlp, FILE *out, char *text,
			 const struct subjects *subjects)
{
	return otlp_metrics_write(out, text,
				  &(struct otlp_metrics){.host = &otlp->machine,
							 .subjects = subjects->list.items,
							 .subject_count = subjects->list.count,
							 .started_ns = otlp->started_ns,
							 .time_ns = clock_ns(CLOCK_REALTIME)});
}

void report_otlp_metrics(struct report_otlp *otlp, struct pusher *pusher, enum output_kind kind,
			 const void *report)
{
	const struct output_format *prometheus = output_find("prom");
	_cleanup_free_ char *text = NULL;
	struct subjects subjects = {0};
	FILE *document, *out;
	size_t size;
	int error;

	if (!output_has(prometheus, kind))
		return;
	document = open_memstream(&text, &size);
	out = document ? handover_stream() : NULL;
	error = out ? prometheus->write[kind](document, report) : -errno;
	if (document && fclose(document) && !error)
		error = -ENOMEM;
	if (!error)
		error = subjects_find(otlp, &subjects, kind, report);
	if (!error)
		error = metrics_write(otlp, out, text, &subjects);
	vec_free(&subjects.list);
	if (out)
		pusher_send(pusher, PUSH_METRICS, "", out, error);
	else
		log_warning("--otlp: metrics are lost: %s", strerror(-error));
}

void report_otlp_event(struct report_otlp *otlp, struct pusher *pusher,
		       const struct leak_event *event)
{
	FILE *out = handover_stream();

	if (!out) {
		log_warning("--otlp: a log record is lost: %s", strerror(errno));
		return;
	}
	pusher_send(pusher, PUSH_LOGS, "", out,
		    otlp_log_write(
			    out, event,
			    resource_of(otlp, &(struct whose){event->pid, event->comm,
							      event->cgroup, event->container})));
}

/* -------- a run */

struct report_otlp *report_otlp_new(const char *host)
{
	struct report_otlp *otlp = calloc(1, sizeof(*otlp));

	if (!otlp)
		return NULL;
	otlp->host = host;
	otlp->machine_id = machine_id_read();
	otlp->started_ns = clock_ns(CLOCK_REALTIME);
	if (!otlp_resource_set(&otlp->machine, "service.name", "leakmon") &&
	    !otlp_resource_set(&otlp->machine, "service.version", LEAKMON_VERSION) &&
	    !machine_set(otlp, &otlp->machine))
		return otlp;
	report_otlp_free(otlp);
	return NULL;
}

void report_otlp_free(struct report_otlp *otlp)
{
	if (!otlp)
		return;
	for (size_t i = 0; i < KNOWN_MAX; i++)
		otlp_resource_free(&otlp->known[i].resource);
	otlp_resource_free(&otlp->machine);
	free(otlp->machine_id);
	free(otlp);
}
