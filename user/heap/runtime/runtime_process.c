// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/runtime_process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/allocators/heap_image.h"

const struct runtime *runtime_of_file(const struct mapping *mapping, runtime_is_wanted *is_wanted)
{
	const struct runtime *runtime;

	for (size_t i = 0; (runtime = runtime_at(i)); i++) {
		if (is_wanted(runtime) && runtime->detect && runtime->detect(mapping))
			return runtime;
	}
	return NULL;
}

static const struct runtime *find_runtime(const struct maps *maps, runtime_is_wanted *is_wanted)
{
	const struct runtime *runtime = NULL;

	for (size_t i = 0; !runtime && i < maps->list.count; i++)
		runtime = runtime_of_file(&maps->list.items[i], is_wanted);
	return runtime;
}

/* Gets the path of the program's file as shown by mappings; "": unknown. */
static void find_program(const struct maps *maps, char path[PATH_MAX])
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", maps->source.task);
	length = readlink(link, path, PATH_MAX - 1);
	path[MAX(length, 0)] = '\0';
}

static int choose_files(struct runtime_process *process, runtime_is_wanted *is_wanted)
{
	const struct maps *maps = &process->maps;
	const struct runtime *runtime = find_runtime(maps, is_wanted);
	char program[PATH_MAX] = "";

	process->own.source = maps->source;
	process->runtime = runtime;
	if (!runtime)
		return -ENOENT;
	if (runtime->in_program)
		find_program(maps, program);
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		struct mapping *chosen;

		if (runtime_of_file(mapping, is_wanted) != runtime &&
		    !(mapping->inode && !strcmp(mapping->path, program)))
			continue;
		chosen = vec_push(&process->own.list);
		if (!chosen)
			return -ENOMEM;
		*chosen = *mapping;
	}
	return 0;
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
	/* Only its mappings are used. */
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
