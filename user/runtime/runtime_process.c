// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime_process.h"

#include <errno.h>

#include "heap/heap_image.h"

const struct runtime *runtime_of_file(const struct mapping *mapping, runtime_is_wanted *is_wanted)
{
	const struct runtime *runtime;

	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (is_wanted(runtime) && runtime->detect && runtime->detect(mapping))
			return runtime;
	}
	return NULL;
}

static int choose_files(struct runtime_process *process, runtime_is_wanted *is_wanted)
{
	const struct maps *maps = &process->maps;

	process->own.source = maps->source;
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct runtime *runtime = runtime_of_file(&maps->list.items[i], is_wanted);
		struct mapping *chosen;

		if (!runtime || (process->runtime && process->runtime != runtime))
			continue;
		process->runtime = runtime;
		chosen = vec_push(&process->own.list);
		if (!chosen)
			return -ENOMEM;
		*chosen = maps->list.items[i];
	}
	return process->own.list.count ? 0 : -ENOENT;
}

int runtime_process_open(struct runtime_process *process, pid_t pid, runtime_is_wanted *is_wanted,
			 struct worker *worker, struct dso_cache *dsos)
{
	struct heap_image chosen = {.pid = pid};
	int error;

	process->pid = pid;
	process->memory.pagemap = -1;
	error = maps_read(pid, MAPS_ALL, &process->maps);
	if (!error)
		error = choose_files(process, is_wanted);
	/* It is read for its mappings alone. */
	chosen.maps = process->own;
	if (!error)
		error = data_modules_read(&chosen, worker, dsos, &process->modules);
	return error ? error
		     : target_memory_open(&process->maps, &process->modules, NULL,
					  &process->memory);
}

void runtime_process_close(struct runtime_process *process)
{
	target_memory_close(&process->memory);
	data_modules_free(&process->modules);
	vec_free(&process->own.list);
	maps_free(&process->maps);
}
