// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon retain --census` on a large heap: how long it takes, how long the target stands. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

static const struct heap {
	const char *blocks, *writers;
	enum figure all, pause, rss; /* FIGURE_MAX_: not wanted */
} heaps[] = {
	{"1000000", "0", RETAIN_SMALL_ALL, RETAIN_SMALL_PAUSE, FIGURE_MAX_},
	{"10000000", "0", RETAIN_ALL, RETAIN_PAUSE, RETAIN_RSS},
	{"10000000", "1", RETAIN_BUSY_ALL, RETAIN_BUSY_PAUSE, FIGURE_MAX_},
};

static void add(struct bench *bench, json_t *heap_image, const char *key, enum figure figure,
		double unit)
{
	if (figure < FIGURE_MAX_)
		results_add(&bench->results, figure,
			    (double)json_integer_value(json_object_get(heap_image, key)) / unit);
}

static int take_figures(struct bench *bench, const struct heap *heap, const struct child *monitor,
			const char *line)
{
	json_t *report = json_loads(line, 0, NULL);
	json_t *heap_image = json_object_get(report, "picture");

	if (!json_is_true(json_object_get(heap_image, "stopped"))) {
		json_decref(report);
		return child_fail(monitor, -EPROTO, "could not stop its target for long enough");
	}
	add(bench, heap_image, "total_ns", heap->all, 1e6);
	add(bench, heap_image, "pause_ns", heap->pause, 1e6);
	add(bench, heap_image, "own_peak_bytes", heap->rss, 1 << 20);
	json_decref(report);
	return 0;
}

static int look(struct bench *bench, const struct heap *heap, pid_t pid)
{
	_cleanup_(child_cleanup) struct child *monitor = NULL;
	char text[16], *line;
	int error;

	snprintf(text, sizeof(text), "%d", pid);
	error = child_start(&monitor,
			    ARGUMENTS(monitor_program(), "retain", "-p", text, "--census",
				      "--format=json", "--top=3"),
			    &bench->results.why);
	if (!error)
		error = child_line(monitor, &monitor->out, "{", &line, NULL);
	if (!error)
		error = take_figures(bench, heap, monitor, line);
	return error ? error : child_end(monitor);
}

static int heap_run(struct bench *bench, const struct heap *heap)
{
	_cleanup_(child_cleanup) struct child *target = NULL;
	pid_t pid;
	int error = workload_start(
		&target, ARGUMENTS("build/bench/graph_many", heap->blocks, "192", heap->writers),
		&pid, &bench->results.why);

	if (!error)
		error = child_do(target, "go");
	for (int i = 0; i < bench->repetitions && !error; i++) {
		progress("retain", i, bench->repetitions);
		error = look(bench, heap, pid);
	}
	return error;
}

int section_retain(struct bench *bench)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(heaps) && !error; i++)
		error = heap_run(bench, &heaps[i]);
	return results_settle(&bench->results, RETAIN_SMALL_ALL, RETAIN_BUSY_PAUSE, error);
}
