// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon retain --census` on a large heap: its duration, and the target's pause. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bench.h"
#include "monitor.h"

static const struct heap {
	const char *blocks, *writers; /* writers NULL: lists and trees, figures by node */
	enum figure all, pause, rss;  /* FIGURE_MAX_: not wanted */
	uint64_t memory;	      /* bytes that must be free: then it is measured once */
} heaps[] = {
	{"1000000", "0", RETAIN_SMALL_ALL, RETAIN_SMALL_PAUSE, FIGURE_MAX_, 0},
	{"10000000", "0", RETAIN_ALL, RETAIN_PAUSE, RETAIN_RSS, 0},
	{"10000000", "1", RETAIN_BUSY_ALL, RETAIN_BUSY_PAUSE, FIGURE_MAX_, 0},
	{"1000000", NULL, RETAIN_LINKED_ALL, FIGURE_MAX_, RETAIN_LINKED_BYTES, 0},
	{"10000000", NULL, RETAIN_LINKED_LARGE_ALL, FIGURE_MAX_, RETAIN_LINKED_LARGE_BYTES, 0},
	{"100000000", NULL, RETAIN_LINKED_HUGE_ALL, FIGURE_MAX_, RETAIN_LINKED_HUGE_BYTES,
	 16ull << 30},
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
	double nodes = heap->writers ? 0 : strtod(heap->blocks, NULL);
	json_t *report = json_loads(line, 0, NULL);
	json_t *heap_image = json_object_get(report, "picture");

	if (!json_is_true(json_object_get(heap_image, "stopped"))) {
		json_decref(report);
		return child_fail(monitor, -EPROTO, "could not stop its target for long enough");
	}
	add(bench, heap_image, "total_ns", heap->all, nodes ? nodes : 1e6);
	add(bench, heap_image, "pause_ns", heap->pause, 1e6);
	add(bench, heap_image, "own_peak_bytes", heap->rss, nodes ? nodes : 1 << 20);
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

static bool has_room(const struct heap *heap)
{
	return (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) >=
	       heap->memory;
}

static int heap_run(struct bench *bench, const struct heap *heap)
{
	_cleanup_(child_cleanup) struct child *target = NULL;
	int repetitions = heap->memory ? 1 : bench->repetitions;
	pid_t pid;
	int error;

	if (!has_room(heap)) {
		snprintf(bench->results.why.text, sizeof(bench->results.why.text),
			 "it needs 16 GiB of free memory");
		return -ENOMEM;
	}
	error = heap->writers ? workload_start(&target,
					       ARGUMENTS("build/bench/graph_many", heap->blocks,
							 "192", heap->writers),
					       &pid, &bench->results.why)
			      : workload_start(&target,
					       ARGUMENTS("build/bench/graph_linked", heap->blocks),
					       &pid, &bench->results.why);

	if (!error)
		error = child_do(target, "go");
	for (int i = 0; i < repetitions && !error; i++) {
		progress("retain", i, repetitions);
		error = look(bench, heap, pid);
	}
	return error;
}

int section_retain(struct bench *bench)
{
	size_t huge = ARRAY_SIZE(heaps) - 1;
	int error = 0;

	for (size_t i = 0; i < huge && !error; i++)
		error = heap_run(bench, &heaps[i]);
	error = results_settle(&bench->results, RETAIN_SMALL_ALL, RETAIN_LINKED_LARGE_BYTES, error);
	if (error)
		return error;
	error = heap_run(bench, &heaps[huge]);
	return results_settle(&bench->results, RETAIN_LINKED_HUGE_ALL, RETAIN_LINKED_HUGE_BYTES,
			      error);
}
