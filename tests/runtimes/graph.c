// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * graph PID: prints the graph of a process as `leakmon retain --census` builds it, for comparisons
 * with a runtime's own. One line per node: its address, its class or "-" or, for memory of an
 * object, "+", and the addresses of the nodes that it refers to. Run as root.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sandbox/worker.h"
#include "binary/parse/questions.h"
#include "heap/retain/heap_graph.h"
#include "heap/runtime/runtime.h"
#include "process/target/dso.h"

static void print_node(const struct heap_graph *graph, uint32_t node)
{
	uint32_t what = heap_graph_what(graph, node);

	printf("%llx %s", (unsigned long long)graph->starts[node],
	       !node_has_class(what) ? "-"
	       : what & NODE_PART    ? "+"
				     : graph->managed.classes.items[what & NODE_CLASS].name);
	for (uint32_t i = graph->graph.first[node]; i < graph->graph.first[node + 1]; i++)
		printf(" %llx", (unsigned long long)graph->starts[graph->graph.targets[i]]);
	printf("\n");
}

static int print_graph(pid_t pid)
{
	struct worker *worker = worker_new_local(&parse_kinds);
	struct dso_cache dsos = {.vdso_fd = -1};
	struct heap_image_options options = {0};
	struct heap_image image = {0};
	struct data_modules modules = {0};
	struct thread_blocks locals = {0};
	struct intern strings = {0};
	struct heap_graph graph = {0};
	const struct graph_sources sources = {.heap_image = &image,
					      .modules = &modules,
					      .locals = &locals,
					      .walk = runtime_walk_heaps,
					      .strings = &strings};
	int error = worker ? 0 : -ENOMEM;

	data_modules_register(&dsos);
	if (!error)
		error = runtime_take_image(pid, &options, worker, &dsos, &image);
	if (!error)
		error = data_modules_read(&image, worker, &dsos, &modules);
	if (!error)
		error = heap_graph_build(&sources, &graph);
	for (uint32_t i = 0; !error && i < graph.blocks; i++)
		print_node(&graph, i);
	if (!error && !image.stopped)
		error = -EAGAIN;
	heap_graph_free(&graph);
	heap_image_free(&image);
	data_modules_free(&modules);
	dso_cache_free(&dsos);
	intern_free(&strings);
	worker_free(worker);
	return error;
}

int main(int argc, char **argv)
{
	int error = argc == 2 ? print_graph(atoi(argv[1])) : -EINVAL;

	if (error)
		fprintf(stderr, "graph: %s\n", strerror(-error));
	return error != 0;
}
