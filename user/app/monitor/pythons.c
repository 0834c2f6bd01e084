// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/pythons.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "heap/runtime/runtime.h"
#include "leakmon_abi.h"
#include "process/symbol/intern.h"

#define NAMES_MAX (1u << 17) /* per process: beyond, they are read again */

/* A process that runs Python. */
struct python {
	/* where its interpreter is mapped: another place means another interpreter */
	uint64_t place;
	uint64_t start_ticks;
	bool told;	   /* the kernel side knows it */
	struct hash names; /* frames -> indexes in pythons->frames, plus 1 */
};

struct pythons {
	const struct runtime *runtime; /* NULL: no process with an interpreter */
	const struct unwind_maps *maps;
	struct worker *worker;
	struct dso_cache *dsos;
	struct symbolizer *symbolizer;
	struct hash processes; /* PID -> struct python * */
	VEC(struct frame) frames;
	struct intern strings;
	/* The process that was read last. */
	pid_t pid;
	void *opened; /* the state of its interpreter's reader */
};

static const struct runtime *runtime_with_interpreter(void)
{
	const struct runtime *runtime = runtime_at(0);

	for (size_t i = 0; runtime && !runtime->interpreter;)
		runtime = runtime_at(++i);
	return runtime;
}

static struct python *find(const struct pythons *pythons, pid_t pid)
{
	const uint64_t *slot = hash_get(&pythons->processes, (uint64_t)pid);

	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return slot ? (struct python *)(uintptr_t)*slot : NULL;
}

static void let_go(struct pythons *pythons)
{
	if (pythons->opened)
		pythons->runtime->interpreter->close(pythons->opened);
	pythons->opened = NULL;
	pythons->pid = 0;
}

/* Returns the process's interpreter, open for reading, or NULL. */
static void *opened(struct pythons *pythons, pid_t pid)
{
	const char *why = NULL;

	if (pythons->opened && pythons->pid == pid)
		return pythons->opened;
	let_go(pythons);
	if (pythons->runtime->interpreter->open(pid, pythons->worker, pythons->dsos,
						&pythons->opened, &why)) {
		log_debug("process %d: Python's frames are not known: %s", pid, why);
		let_go(pythons);
		return NULL;
	}
	pythons->pid = pid;
	return pythons->opened;
}

static void tell(struct pythons *pythons, pid_t pid, struct python *python)
{
	const struct interpreter_reader *reader = pythons->runtime->interpreter;
	void *process = opened(pythons, pid);
	struct lm_python layout;
	uint32_t tgid = (uint32_t)pid;

	if (!process || reader->layout(process, &layout) ||
	    bpf_map_update_elem(pythons->maps->pythons_fd, &tgid, &layout, BPF_ANY))
		return;
	if (!python->told)
		__atomic_add_fetch(pythons->maps->python_count, 1, __ATOMIC_RELAXED);
	python->told = true;
	log_debug("process %d: stacks have Python's frames (%s)", pid, reader->version(process));
}

static void free_python(struct pythons *pythons, pid_t pid, struct python *python)
{
	uint32_t tgid = (uint32_t)pid;

	if (python->told) {
		bpf_map_delete_elem(pythons->maps->pythons_fd, &tgid);
		__atomic_sub_fetch(pythons->maps->python_count, 1, __ATOMIC_RELAXED);
	}
	hash_free(&python->names);
	free(python);
}

void pythons_forget(struct pythons *pythons, pid_t pid)
{
	struct python *python = pythons ? find(pythons, pid) : NULL;

	if (!python)
		return;
	if (pythons->pid == pid)
		let_go(pythons);
	hash_remove(&pythons->processes, (uint64_t)pid);
	free_python(pythons, pid, python);
}

static struct python *add(struct pythons *pythons, pid_t pid)
{
	struct python *python = calloc(1, sizeof(*python));
	uint64_t *slot = python ? hash_put(&pythons->processes, (uint64_t)pid, NULL) : NULL;

	if (!slot) {
		free(python);
		return NULL;
	}
	*slot = (uintptr_t)python;
	return python;
}

/* Returns the address of the interpreter's mapping; 0: none. */
static uint64_t place_of(const struct runtime *runtime, const struct process *process)
{
	for (size_t i = 0; runtime && i < process->code.count; i++) {
		if (runtime->detect(&process->code.items[i].mapping))
			return process->code.items[i].mapping.start;
	}
	return 0;
}

void pythons_refresh(struct pythons *pythons, const struct process *process)
{
	uint64_t place;
	struct python *python;

	/* An ended process keeps the names known so far. */
	if (!pythons || process->error)
		return;
	place = place_of(pythons->runtime, process);
	python = find(pythons, process->pid);
	if (python && (python->place != place || python->start_ticks != process->start_ticks)) {
		pythons_forget(pythons, process->pid);
		python = NULL;
	}
	if (!place)
		return;
	if (!python)
		python = add(pythons, process->pid);
	if (!python)
		return;
	python->place = place;
	python->start_ticks = process->start_ticks;
	if (!python->told)
		tell(pythons, process->pid, python);
}

/* Naming of frames. */

static int keep(struct pythons *pythons, struct python *python, uint64_t address,
		const struct frame *frame)
{
	struct frame *kept = vec_push(&pythons->frames);
	uint64_t *slot = kept ? hash_put(&python->names, address, NULL) : NULL;

	if (!slot)
		return -ENOMEM;
	*kept = *frame;
	*slot = pythons->frames.count;
	return 0;
}

/* Implements `name` of struct frame_namer. */
static int name(void *context, uint64_t pid, uint64_t address, struct frame *frame)
{
	struct pythons *pythons = context;
	struct python *python = find(pythons, (pid_t)pid);
	void *process;
	const uint64_t *slot;

	if (!python)
		return -ENOENT;
	if (python->names.count > NAMES_MAX)
		hash_free(&python->names);
	slot = hash_get(&python->names, address);
	if (slot && *slot) {
		*frame = pythons->frames.items[*slot - 1];
		return 0;
	}
	process = opened(pythons, (pid_t)pid);
	if (!process)
		return -ENOENT;
	if (pythons->runtime->interpreter->name(process, address, &pythons->strings, frame))
		return -ENOENT;
	return keep(pythons, python, address, frame);
}

struct pythons *pythons_new(const struct unwind_maps *maps, struct worker *worker,
			    struct dso_cache *dsos, struct symbolizer *symbolizer)
{
	struct pythons *pythons = calloc(1, sizeof(*pythons));

	if (!pythons)
		return NULL;
	*pythons = (struct pythons){.runtime = runtime_with_interpreter(),
				    .maps = maps,
				    .worker = worker,
				    .dsos = dsos,
				    .symbolizer = symbolizer};
	symbolizer_use_namer(symbolizer, &(struct frame_namer){pythons, name});
	return pythons;
}

void pythons_free(struct pythons *pythons)
{
	if (!pythons)
		return;
	symbolizer_use_namer(pythons->symbolizer, &(struct frame_namer){0});
	let_go(pythons);
	for (size_t i = 0; i < pythons->processes.capacity; i++) {
		const struct hash_entry *entry = &pythons->processes.entries[i];

		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		if (entry->used)
			free_python(pythons, (pid_t)entry->key,
				    (struct python *)(uintptr_t)entry->value);
	}
	hash_free(&pythons->processes);
	vec_free(&pythons->frames);
	intern_free(&pythons->strings);
	free(pythons);
}
