// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs that sample, and what stands behind them: loaded for as long as somebody is
 * followed. */
#include "command/sampling_state.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "probe/privileges.h"
#include "proc/pid_namespace.h"

/* One sample, with its stack walk: what `make bench` measures for an allocation, and more. */
#define SAMPLE_COST_S 5.0e-6

struct sampled *sampling_find(struct sampling *sampling, pid_t pid)
{
	for (size_t i = 0; i < SAMPLING_SUSPECTS; i++) {
		if (sampling->list[i] && sampling->list[i]->pid == pid)
			return sampling->list[i];
	}
	return NULL;
}

static int on_sample(void *context, void *data, size_t size)
{
	struct sampling *sampling = context;
	const struct lm_sample *from = data;
	struct sampled *sampled;

	if (size < sizeof(*from))
		return 0;
	sampling->triage->sampling_s += SAMPLE_COST_S;
	sampled = sampling_find(sampling, (pid_t)(from->process >> 32));
	if (sampled && sampled->probes == from->kind) {
		struct sample sample = {.address = from->address,
					.length = from->length,
					.weight = (double)from->weight,
					.site = from->site};

		if (from->kind == LM_SAMPLE_FAULT)
			sample.address &= ~UINT64_C(4095);
		samples_add(&sampled->samples, &sample);
	}
	return 0;
}

void sampling_refresh(struct sampling *sampling, pid_t pid)
{
	unwind_store_refresh(sampling->unwind, pid);
	symbolizer_refresh(sampling->symbolizer, (uint64_t)pid, pid);
}

/* Code whose unwind rows are missing. */
static void on_event(const struct lm_event *event, void *context)
{
	struct sampling *sampling = context;
	pid_t pid = (pid_t)(event->process >> 32);

	if (event->type == LM_EVENT_NO_ROWS && sampling_find(sampling, pid))
		sampling_refresh(sampling, pid);
}

void sampling_unload(struct sampling *sampling)
{
	ring_buffer__free(sampling->ring);
	events_free(sampling->events);
	symbolizer_free(sampling->symbolizer);
	worker_free(sampling->worker);
	unwind_store_free(sampling->unwind);
	if (sampling->side.skeleton)
		suspect_loader_close(&sampling->side);
	sampling->ring = NULL;
	sampling->events = NULL;
	sampling->symbolizer = NULL;
	sampling->worker = NULL;
	sampling->unwind = NULL;
	sampling->loaded = false;
}

static int open_stages(struct sampling *sampling)
{
	sampling->worker = worker_new(NULL);
	sampling->symbolizer = sampling->worker ? symbolizer_new(sampling->worker) : NULL;
	sampling->unwind =
		sampling->worker ? unwind_store_new(&sampling->side.bpf, sampling->worker) : NULL;
	sampling->ring = ring_buffer__new(sampling->side.samples_fd, on_sample, sampling, NULL);
	sampling->events = events_new(&sampling->side.bpf, on_event, sampling);
	return sampling->symbolizer && sampling->unwind && sampling->ring && sampling->events
		       ? 0
		       : -ENOMEM;
}

/* Why it cannot be, for the reports; more of it is logged, once. */
static const char *explain(int error)
{
	char missing[128];

	privileges_missing(missing, sizeof(missing));
	if (error == -ENOMEM)
		return "out of memory";
	if (error == -EPERM || *missing) {
		log_warning("call stacks of suspects are not sampled: missing %s; run leakmon as "
			    "root, or give --no-stacks",
			    *missing ? missing : "privileges");
		return "leakmon lacks the privileges";
	}
	log_warning("call stacks of suspects are not sampled: the kernel refused the programs "
		    "(%s); -v shows its own words",
		    strerror(-error));
	return "this kernel refused the programs";
}

int sampling_load(struct sampling *sampling)
{
	int error;

	if (sampling->loaded)
		return 0;
	if (sampling->refusal)
		return -EOPNOTSUPP;
	if (pid_namespace_is_own()) {
		sampling->refusal = "leakmon runs in a PID namespace of its own";
		return -EOPNOTSUPP;
	}
	error = suspect_loader_open(&sampling->side, sampling->options->stack_walk);
	if (!error)
		error = open_stages(sampling);
	sampling->loaded = !error;
	if (!error)
		return 0;
	sampling->refusal = explain(error);
	sampling_unload(sampling);
	return error;
}
