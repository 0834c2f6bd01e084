// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/cpython/python_reader.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "binary/arch/machine.h"
#include "heap/allocators/data_modules.h"
#include "heap/allocators/heap_image.h"
#include "heap/runtime/cpython/cpython.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/runtime_process.h"
#include "report/figures.h"
#include "report/runtime_figures.h"

#define CODE_UNIT 2	      /* bytes of an instruction */
#define DEPTH_MAX 512	      /* frames of a reported stack */
#define FRAMES_MAX (1u << 18) /* frames of all distinct stacks */

struct python_process {
	struct runtime_process process;
	struct cpython python;
	char version[24];
};

bool python_is_program(const struct maps *maps)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		if (runtime_cpython.detect(&maps->list.items[i]))
			return true;
	}
	return false;
}

static const char unreadable[] = "its memory cannot be read";

static bool is_cpython(const struct runtime *runtime)
{
	return runtime == &runtime_cpython;
}

static int python_open(pid_t pid, struct worker *worker, struct dso_cache *dsos, void **state,
		       const char **why)
{
	struct python_process *process = calloc(1, sizeof(*process));
	int error;

	*state = process;
	*why = unreadable;
	if (!process)
		return -ENOMEM;
	error = runtime_process_open(&process->process, pid, is_cpython, worker, dsos);
	return error ? error
		     : cpython_open(&process->process.memory, &process->python, process->version,
				    why);
}

static void python_close(void *state)
{
	struct python_process *process = state;

	if (!process)
		return;
	cpython_close(&process->python);
	runtime_process_close(&process->process);
	free(process);
}

static const char *python_version(const void *state)
{
	return ((const struct python_process *)state)->version;
}

/* Frames. */

/* Fills a frame; returns false if out of memory. */
static bool make_frame(struct intern *strings, uint64_t code, const struct cpython_place *place,
		       struct frame *frame)
{
	const char *function = intern_string(strings, place->function);
	const char *file = place->file[0] ? intern_string(strings, place->file) : NULL;

	*frame = (struct frame){
		.address = code,
		.function = function,
		.module = FRAME_PYTHON,
		.module_offset = symbolizer_place_id(place->function, place->file, place->line),
		.file = file,
		.line = file ? place->line : 0};
	return function && (file || !place->file[0]);
}

static int python_name(void *state, uint64_t noted, struct intern *strings, struct frame *frame)
{
	struct python_process *process = state;
	uint64_t code = (noted & LM_PYTHON_CODE_MASK) << LM_PYTHON_CODE_SHIFT;
	uint64_t units = noted >> LM_PYTHON_OFFSET_SHIFT & LM_PYTHON_NO_OFFSET;
	uint32_t offset =
		units == LM_PYTHON_NO_OFFSET ? CPYTHON_NO_OFFSET : (uint32_t)units * CODE_UNIT;
	struct cpython_place place;

	/* Different code may have been read at this address before. */
	target_memory_forget(&process->process.memory);
	if (!cpython_place_of(&process->python, code, offset, &place))
		return -ENOENT;
	return make_frame(strings, code, &place, frame) ? 0 : -ENOMEM;
}

/* The layout for the kernel side. */

/* Range around the thread pointer: thread-local variables below, keys of pthread_setspecific()
 * above. */
#define THREAD_BELOW 4096
#define THREAD_ABOVE 2304
#define THREADS_ASKED 16

struct state_search {
	struct cpython *python;
	size_t threads;
	uint64_t words[THREADS_ASKED][(THREAD_BELOW + THREAD_ABOVE) / 8];
	uint64_t states[THREADS_ASKED];
};

static int read_thread(void *context, const struct cpython_thread *thread)
{
	struct state_search *search = context;
	size_t place = search->threads, begin = 0;

	if (place == THREADS_ASKED)
		return 0;
	/* Less may be mapped below. */
	while (begin < THREAD_BELOW &&
	       target_read(search->python->memory, thread->handle - THREAD_BELOW + begin,
			   search->words[place] + begin / 8, 8))
		begin += 8;
	if (target_read(search->python->memory, thread->handle - THREAD_BELOW + begin,
			search->words[place] + begin / 8, THREAD_BELOW + THREAD_ABOVE - begin))
		return 0;
	search->states[place] = thread->address;
	search->threads++;
	return 0;
}

/* Finds the offset at which all threads have their states: the highest one, which is a key's. */
static int find_state(const struct state_search *search, int32_t *state)
{
	for (size_t i = ARRAY_SIZE(search->words[0]); i-- > 0;) {
		bool all = search->threads;

		for (size_t j = 0; all && j < search->threads; j++)
			all = search->words[j][i] == search->states[j];
		if (all) {
			*state = (int32_t)(i * 8) - THREAD_BELOW;
			return 0;
		}
	}
	return -ENOENT;
}

/* Finds the offset of glibc's struct pthread, whose address is a pthread_t: below the thread
 * pointer, or at it. */
static int find_descriptor(const struct python_process *process, uint16_t *descriptor)
{
	const struct data_modules *modules = &process->process.modules;
	struct c_library library;
	int error;

	*descriptor = 0;
	if (!machine_abi.tls.is_variant_1)
		return 0;
	error = data_modules_library(process->process.pid, NULL, modules->worker, modules->dsos,
				     &library);
	if (!error && library.layout.thread_size > UINT16_MAX)
		error = -ENOENT;
	if (!error)
		*descriptor = (uint16_t)library.layout.thread_size;
	return error;
}

static int python_layout(void *state, struct lm_python *layout)
{
	struct python_process *process = state;
	const struct cpython_frames *frames = &process->python.layout->frames;
	struct state_search *search = calloc(1, sizeof(*search));
	bool objects = frames->kind == FRAMES_OBJECTS;
	int error = search ? 0 : -ENOMEM;

	*layout = (struct lm_python){
		.handle = (uint16_t)frames->handle,
		.frame = (uint16_t)frames->frame,
		.indirect = frames->current != NO_CFRAME,
		.current = frames->current != NO_CFRAME ? (uint16_t)frames->current : 0,
		.kind = (uint16_t)(objects			    ? LM_PYTHON_OBJECTS
				   : frames->kind == FRAMES_ENTERED ? LM_PYTHON_ENTERED
								    : LM_PYTHON_OWNED),
		.code = (uint16_t)frames->code,
		.previous = (uint16_t)frames->previous,
		/* Of several copies of code, the kernel side knows one: an address in no known copy
		 * gets the function's first line. */
		.instruction = (uint16_t)(frames->copies ? frames->code : frames->instruction),
		.owner = (uint16_t)frames->owner,
		.bytecode = (uint16_t)frames->bytecode,
		.shift = frames->line_kind == LINES_STEPS};
	if (!error) {
		search->python = &process->python;
		error = cpython_threads(&process->python, process->python.interpreters.items[0],
					read_thread, search);
	}
	if (!error)
		error = find_state(search, &layout->state);
	if (!error)
		error = find_descriptor(process, &layout->descriptor);
	layout->state -= layout->descriptor;
	free(search);
	return error;
}

/* Stacks of threads. */

struct reading {
	struct cpython *python;
	struct python_stacks *stacks;
	struct hash groups; /* ids -> places in stacks->groups, plus 1 */
	size_t frames;	    /* total number of frames */
};

static int append_frame(struct reading *reading, const struct cpython_frame *frame,
			struct frames *frames)
{
	struct cpython_place place;
	struct frame made, *added;

	if (!cpython_place_of(reading->python, frame->code, frame->offset, &place))
		return 0;
	if (!make_frame(&reading->stacks->strings, frame->code, &place, &made))
		return -ENOMEM;
	added = vec_push(&frames->list);
	if (!added)
		return -ENOMEM;
	*added = made;
	return 0;
}

static int read_stack(struct reading *reading, const struct cpython_thread *thread,
		      struct frames *frames)
{
	size_t most = MIN(DEPTH_MAX, FRAMES_MAX - MIN(reading->frames, FRAMES_MAX));
	struct cpython_frame frame;
	bool more = cpython_frame_first(reading->python, thread, &frame);
	struct loop loop = {0};
	int error = 0;

	for (size_t i = 0; !error && more && i < most && !loop_found(&loop, frame.address); i++) {
		error = append_frame(reading, &frame, frames);
		more = cpython_frame_next(reading->python, &frame);
	}
	return error || !more ? error : frames_add_rest(frames);
}

/* Adds a thread to the group of its stack. The frames are owned by the group from then on, or
 * freed. */
static int join_group(struct reading *reading, const struct cpython_thread *thread,
		      struct frames *frames)
{
	uint64_t id = symbolizer_stack_id(frames);
	uint64_t *place = hash_put(&reading->groups, id, NULL);
	struct python_group *group = NULL;
	uint32_t *tid;

	if (place && *place)
		group = &reading->stacks->groups.items[*place - 1];
	else if (place)
		group = vec_push(&reading->stacks->groups);
	if (group && !*place) {
		*place = reading->stacks->groups.count;
		reading->frames += frames->list.count;
		*group = (struct python_group){.id = id, .stack = *frames};
		*frames = (struct frames){0};
	}
	vec_free(&frames->list);
	tid = group ? vec_push(&group->tids) : NULL;
	if (!tid)
		return -ENOMEM;
	*tid = (uint32_t)thread->native;
	return 0;
}

static int add_thread(void *context, const struct cpython_thread *thread)
{
	struct reading *reading = context;
	struct frames frames = {0};
	int error = read_stack(reading, thread, &frames);

	if (!error)
		return join_group(reading, thread, &frames);
	vec_free(&frames.list);
	return error;
}

static int by_count(const void *left, const void *right)
{
	const struct python_group *a = left, *b = right;

	if (a->tids.count != b->tids.count)
		return a->tids.count > b->tids.count ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int read_threads(struct reading *reading)
{
	struct cpython *python = reading->python;
	struct python_stacks *stacks = reading->stacks;
	int error = 0;

	stacks->interpreters = python->interpreters.count;
	for (size_t i = 0; !error && i < python->interpreters.count; i++)
		error = cpython_threads(python, python->interpreters.items[i], add_thread, reading);
	if (stacks->groups.count)
		qsort(stacks->groups.items, stacks->groups.count, sizeof(*stacks->groups.items),
		      by_count);
	return error;
}

int python_stacks_of(struct target_memory *memory, struct python_stacks *stacks)
{
	struct cpython python = {0};
	struct reading reading = {.python = &python, .stacks = stacks};
	int error = cpython_open(memory, &python, stacks->version, &stacks->why);

	stacks->untested = python.untested;
	if (!error) {
		error = read_threads(&reading);
		stacks->why = target_memory_overworked(memory);
	}
	for (size_t i = 0; i < stacks->groups.count; i++)
		stacks->threads += stacks->groups.items[i].tids.count;
	hash_free(&reading.groups);
	cpython_close(&python);
	return stacks->why && error != -ENOMEM ? 0 : error;
}

int python_stacks_read(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		       struct python_stacks *stacks)
{
	struct runtime_process process = {0};
	int error = runtime_process_open(&process, pid, is_cpython, worker, dsos);

	if (!error)
		error = python_stacks_of(&process.memory, stacks);
	else if (error != -ENOMEM)
		stacks->why = unreadable, error = 0;
	runtime_process_close(&process);
	return error;
}

/* -------- as reports have them */

const struct interpreter_reader python_interpreter_reader = {.open = python_open,
							     .close = python_close,
							     .layout = python_layout,
							     .name = python_name,
							     .version = python_version};

void python_stacks_free(struct python_stacks *stacks)
{
	for (size_t i = 0; i < stacks->groups.count; i++) {
		vec_free(&stacks->groups.items[i].stack.list);
		vec_free(&stacks->groups.items[i].tids);
	}
	vec_free(&stacks->groups);
	intern_free(&stacks->strings);
}

static bool is_untested(const void *stacks)
{
	return ((const struct python_stacks *)stacks)->untested;
}

#define GROUP(member) offsetof(struct python_group, member)
static const struct figure group_rows[] = {
	FIGURE("id", NULL, ID, GROUP(id)),
	FIGURE("count", NULL, NUMBER, GROUP(tids.count)),
	FIGURE("tids", NULL, NUMBERS, GROUP(tids), .size = sizeof(uint32_t)),
	FIGURE("stack", NULL, STACK, GROUP(stack)),
};
static const struct figures group_figures = FIGURES(group_rows);

#define STACKS(member) offsetof(struct python_stacks, member)
static const struct figure stacks_rows[] = {
	FIGURE("version", NULL, NOTE, STACKS(version)),
	FIGURE("version_untested", NULL, FLAG, STACKS(untested), .shown = is_untested,
	       .left_out = true),
	FIGURE("cannot_tell", NULL, TEXT, STACKS(why)),
	FIGURE("threads", NULL, NUMBER, STACKS(threads)),
	FIGURE("interpreters", NULL, NUMBER, STACKS(interpreters)),
	FIGURE("groups", NULL, LIST, STACKS(groups), .size = sizeof(struct python_group),
	       .items = &group_figures),
};
static const struct figures stacks_figures = FIGURES(stacks_rows);

static const struct figure_words group_words[] = {
	SAY_FROM(1, "stack", "\t{count} in Python:\n{stack}"),
	SAY_UNLESS("stack", "\t{count} outside of Python's code\n{stack}"),
};
static const struct list_words groups_words = {.name = "groups",
					       .most = 20,
					       .all = true,
					       .more = "\t… and at {more} more places\n",
					       FIGURE_WORDS(group_words)};

static const struct figure_words stacks_words[] = {
	SAY(": {threads} threads"),
	SAY_FROM(2, "interpreters", " of {interpreters} interpreters"),
	SAY("\n"),
	{.list = &groups_words},
};

static void free_stacks(void *figures)
{
	python_stacks_free(figures);
}

static const struct runtime_view view = {.key = "python",
					 .name = "Python",
					 .unknown = "its frames are not known",
					 .figures = &stacks_figures,
					 FIGURE_WORDS(stacks_words),
					 .size = sizeof(struct python_stacks),
					 .free = free_stacks};

static int read_stacks(pid_t pid, struct worker *worker, struct dso_cache *dsos, void *figures,
		       struct task_report *tasks)
{
	(void)tasks;
	return python_stacks_read(pid, worker, dsos, figures);
}

const struct thread_reader python_thread_reader = {&view, read_stacks};
