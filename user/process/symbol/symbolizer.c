// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/symbolizer.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "binary/parse/questions.h"
#include "leakmon_abi.h"
#include "process/symbol/debuginfod.h"
#include "process/symbol/module.h"
#include "process/symbol/process_names.h"
#include "process/target/process.h"

struct symbolizer {
	struct intern strings;
	struct modules modules;
	struct hash processes; /* key -> struct process_names * */
	struct worker *own_worker;
	struct frame_namer namer;
	struct code_namer code_namer;
};

int frames_add_rest(struct frames *frames)
{
	struct frame *rest = vec_push(&frames->list);

	if (!rest)
		return -ENOMEM;
	*rest = (struct frame){.why = "callers that were not read"};
	return 0;
}

struct symbolizer *symbolizer_new(struct worker *worker, struct dso_cache *dsos)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));

	if (!symbolizer)
		return NULL;
	if (!worker)
		worker = symbolizer->own_worker = worker_new_local(&parse_kinds);
	if (!worker) {
		free(symbolizer);
		return NULL;
	}
	modules_init(&symbolizer->modules, dsos, worker);
	return symbolizer;
}

static void free_process(uint64_t value)
{
	struct process_names *names = (struct process_names *)(uintptr_t)value;

	process_names_free(names);
	free(names);
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (size_t i = 0; i < symbolizer->processes.capacity; i++) {
		const struct hash_entry *entry = &symbolizer->processes.entries[i];

		if (entry->used)
			free_process(entry->value);
	}
	hash_free(&symbolizer->processes);
	modules_free(&symbolizer->modules);
	debuginfod_free(symbolizer->modules.debuginfod);
	intern_free(&symbolizer->strings);
	worker_free(symbolizer->own_worker);
	free(symbolizer);
}

void symbolizer_use_namer(struct symbolizer *symbolizer, const struct frame_namer *namer)
{
	symbolizer->namer = *namer;
}

void symbolizer_use_code_namer(struct symbolizer *symbolizer, const struct code_namer *namer)
{
	symbolizer->code_namer = *namer;
}

uint64_t symbolizer_place_id(const char *function, const char *file, uint32_t line)
{
	return hash_mix(hash_mix(intern_hash(function) ^ intern_hash(file)) ^ line) >> 16;
}

void symbolizer_release_lines(struct symbolizer *symbolizer)
{
	modules_release_lines(&symbolizer->modules);
}

void symbolizer_forget(struct symbolizer *symbolizer, uint64_t process)
{
	const uint64_t *slot = hash_get(&symbolizer->processes, process);

	if (!slot)
		return;
	free_process(*slot);
	hash_remove(&symbolizer->processes, process);
}

static struct process_names *find_process(const struct symbolizer *symbolizer, uint64_t key)
{
	const uint64_t *slot = hash_get(&symbolizer->processes, key);

	return slot ? (struct process_names *)(uintptr_t)*slot : NULL;
}

static struct process_names *add_process(struct symbolizer *symbolizer, uint64_t key)
{
	struct process_names *names = calloc(1, sizeof(*names));
	uint64_t *slot = names ? hash_put(&symbolizer->processes, key, NULL) : NULL;

	if (!slot) {
		free(names);
		return NULL;
	}
	*slot = (uintptr_t)names;
	return names;
}

int symbolizer_refresh(struct symbolizer *symbolizer, uint64_t key, const struct process *process)
{
	struct process_names *names = find_process(symbolizer, key);

	if (!names)
		names = add_process(symbolizer, key);
	if (!names)
		return -ENOMEM;
	process_names_refresh(names, process);
	return 0;
}

static int find_name(struct symbolizer *symbolizer, struct process_names *names, uint64_t address,
		     struct named **named)
{
	return process_names_find(names, &symbolizer->modules, &symbolizer->strings, address,
				  named);
}

static int want_all_lines(struct symbolizer *symbolizer, struct process_names *names,
			  const uint64_t *addresses, size_t depth)
{
	int err = 0;

	for (size_t i = 0; !err && i < depth; i++) {
		const struct source_lines *ignored;
		struct named *named;

		err = find_name(symbolizer, names, addresses[i], &named);
		if (!err)
			err = named_want_lines(named, &ignored);
	}
	return err;
}

/* The code to which a handler returns, which the kernel put on the stack; it contains no call. */
static int append_signal_handler(const struct named *named, struct frames *frames)
{
	struct frame frame = named->frame;

	frame.function = FRAME_SIGNAL_HANDLER;
	frame.offset = 0;
	frame.why = NULL;
	return frames_append(frames, &frame, NULL);
}

/* Returns -ENOENT if it has no name. */
static int append_code(struct symbolizer *symbolizer, uint64_t process, uint64_t address,
		       struct frames *frames)
{
	const struct code_namer *namer = &symbolizer->code_namer;

	return namer->name ? namer->name(namer->context, process, address, frames) : -ENOENT;
}

static int append_interpreted(struct symbolizer *symbolizer, uint64_t process, uint64_t address,
			      struct frames *frames)
{
	const struct frame gone = {.address = LM_INTERPRETED_METHOD(address),
				   .why = "interpreted code that is gone"};
	int err = append_code(symbolizer, process, address, frames);

	return err == -ENOENT ? frames_append(frames, &gone, NULL) : err;
}

/* Neither a file nor a perf map names it: .NET's code is in files of other formats. */
static bool is_nameless(const struct frame *frame)
{
	return !frame->function && frame->why &&
	       (!strcmp(frame->why, CODE_ANONYMOUS) || !strcmp(frame->why, CODE_NOT_ELF) ||
		/* Its mappings may change before they are opened. */
		(frame->module && text_begins(frame->module, CODE_MEMFD)));
}

static int append_address(struct symbolizer *symbolizer, struct process_names *names,
			  uint64_t address, enum frame_lines lines, struct frames *frames)
{
	const struct source_lines *source = NULL;
	struct named *named;
	int err = find_name(symbolizer, names, address, &named);

	if (!err && is_nameless(&named->frame)) {
		err = append_code(symbolizer, names->process->pid, address, frames);
		if (err != -ENOENT)
			return err;
		err = 0;
	}
	if (!err && lines != LINES_NONE)
		err = named_want_lines(named, &source);
	if (err)
		return err;
	return frames_append(frames, &named->frame, source);
}

static int append_handler(struct symbolizer *symbolizer, struct process_names *names,
			  uint64_t address, struct frames *frames)
{
	struct named *named;
	int err = find_name(symbolizer, names, address, &named);

	return err ? err : append_signal_handler(named, frames);
}

/* Python frames to be merged into a stack. */
struct python_frames {
	const uint64_t *addresses;
	size_t depth, used;
	uint64_t process;
};

static int append_python(struct symbolizer *symbolizer, struct python_frames *python,
			 struct frames *frames)
{
	uint64_t address = python->addresses[python->used++];
	struct frame frame = {.address = (address & LM_PYTHON_CODE_MASK) << LM_PYTHON_CODE_SHIFT,
			      .module = FRAME_PYTHON,
			      .why = "Python code that is gone"};
	int err = symbolizer->namer.name ? symbolizer->namer.name(symbolizer->namer.context,
								  python->process, address, &frame)
					 : -ENOENT;

	return err && err != -ENOENT ? err : frames_append(frames, &frame, NULL);
}

/* Appends the Python frames of one call from C. */
static int append_call(struct symbolizer *symbolizer, struct python_frames *python,
		       struct frames *frames)
{
	bool entered = false;
	int err = 0;

	while (!err && !entered && python->used < python->depth) {
		entered = python->addresses[python->used] & LM_PYTHON_FROM_C;
		err = append_python(symbolizer, python, frames);
	}
	return err;
}

static bool runs_python(const struct named *named)
{
	return named->frame.function &&
	       text_begins(named->frame.function, "_PyEval_EvalFrameDefault");
}

/* Appends a native frame, or the Python frames that it runs. */
static int append_native(struct symbolizer *symbolizer, struct process_names *names,
			 uint64_t address, enum frame_lines lines, struct python_frames *python,
			 struct frames *frames)
{
	struct named *named;
	int err = python->used < python->depth ? find_name(symbolizer, names, address, &named)
					       : -ENOENT;

	if (!err && runs_python(named))
		return append_call(symbolizer, python, frames);
	return err && err != -ENOENT ? err
				     : append_address(symbolizer, names, address, lines, frames);
}

static int append_all(struct symbolizer *symbolizer, struct process_names *names,
		      const uint64_t *addresses, size_t depth, enum frame_lines lines,
		      struct python_frames *python, struct frames *frames)
{
	int err = 0;

	for (size_t i = 0; !err && i < depth; i++) {
		bool interrupted =
			i + 1 < depth && LM_FRAME_ADDRESS(addresses[i + 1]) != addresses[i + 1];

		if (LM_FRAME_IS_INTERPRETED(addresses[i]))
			err = append_interpreted(symbolizer, python->process, addresses[i], frames);
		else if (interrupted)
			err = append_handler(symbolizer, names, addresses[i], frames);
		else
			err = append_native(symbolizer, names, addresses[i], lines, python, frames);
	}
	/* The native stack was truncated. */
	while (!err && python->used < python->depth)
		err = append_python(symbolizer, python, frames);
	return err;
}

static size_t native_depth(const uint64_t *addresses, size_t depth)
{
	while (depth && LM_FRAME_IS_PYTHON(addresses[depth - 1]))
		depth--;
	return depth;
}

static int append_unknown(const uint64_t *addresses, size_t depth, struct frames *frames)
{
	int err = 0;

	for (size_t i = 0; !err && i < depth; i++) {
		struct frame unknown = {.address = LM_FRAME_ADDRESS(addresses[i]),
					.why = "unknown process"};

		err = frames_append(frames, &unknown, NULL);
	}
	return err;
}

static int name_all(struct symbolizer *symbolizer, struct process_names *names, uint64_t process,
		    const uint64_t *addresses, size_t all, enum frame_lines lines,
		    struct frames *frames)
{
	size_t depth = native_depth(addresses, all);
	struct python_frames python = {
		.addresses = addresses + depth, .depth = all - depth, .process = process};
	int err = 0;

	if (!names)
		return append_unknown(addresses, depth, frames);
	if (lines == LINES_WAIT)
		err = want_all_lines(symbolizer, names, addresses, depth);
	if (!err && lines == LINES_WAIT)
		err = symbolizer_find_lines(symbolizer, -1);
	if (err && err != -EAGAIN)
		return err;
	return append_all(symbolizer, names, addresses, depth, lines, &python, frames);
}

int symbolizer_name(struct symbolizer *symbolizer, uint64_t process, const uint64_t *addresses,
		    size_t depth, enum frame_lines lines, struct frames *frames)
{
	struct process_names *known = find_process(symbolizer, process);
	struct frames named = {0};
	int err;

	worker_begin_process(symbolizer->modules.worker, (pid_t)process);
	err = name_all(symbolizer, known, process, addresses, depth, lines, &named);
	if (err) {
		vec_free(&named.list);
		return err;
	}
	vec_free(&frames->list);
	*frames = named;
	return 0;
}

int symbolizer_name_function(struct symbolizer *symbolizer, uint64_t process, uint64_t address,
			     enum frame_lines lines, struct frames *frames)
{
	uint64_t exact = address | LM_FRAME_EXACT;
	int error = symbolizer_name(symbolizer, process, &exact, 1, lines, frames);
	size_t count = frames->list.count;

	if (!error && count > 1) {
		frames->list.items[0] = frames->list.items[count - 1];
		frames->list.count = 1;
	}
	return error;
}

int symbolizer_find_lines(struct symbolizer *symbolizer, int timeout_ms)
{
	return modules_find_lines(&symbolizer->modules, &symbolizer->strings, timeout_ms);
}

int symbolizer_lines_fd(const struct symbolizer *symbolizer)
{
	const struct modules *modules = &symbolizer->modules;
	int fd = worker_fd(modules->worker, WORKER_LANE_BACKGROUND);

	/*
	 * Requests made while the worker is busy are taken after its answer, which has a deadline.
	 */
	return fd < 0 && modules->debuginfod ? debuginfod_fd(modules->debuginfod) : fd;
}

const char *symbolizer_use_debuginfod(struct symbolizer *symbolizer, uint32_t deadline_ms)
{
	const char *obstacle = fetch_obstacle();

	if (obstacle)
		return obstacle;
	symbolizer->modules.debuginfod = debuginfod_new(deadline_ms);
	return symbolizer->modules.debuginfod ? NULL : "out of memory or file descriptors";
}

int symbolizer_wait_for_files(struct symbolizer *symbolizer, int timeout_ms)
{
	struct debuginfod *debuginfod = symbolizer->modules.debuginfod;

	return debuginfod ? debuginfod_wait(debuginfod, timeout_ms) : 0;
}

void symbolizer_progress(const struct symbolizer *symbolizer, char *text, size_t size)
{
	const struct debuginfod *debuginfod = symbolizer->modules.debuginfod;
	struct fetch_progress progress;

	text[0] = '\0';
	if (debuginfod && debuginfod_progress(debuginfod, &progress))
		snprintf(text, size, "debuginfod: %u of at most %u s, %zu more files wanted: %s",
			 progress.seconds, progress.of_seconds, progress.others, progress.path);
}

static int append(struct frames *frames, const struct frame *frame,
		  const struct source_frame *source)
{
	struct frame *place = vec_push(&frames->list);

	if (!place)
		return -ENOMEM;
	*place = *frame;
	if (source && source->file) {
		place->file = source->file;
		place->line = source->line;
	}
	return 0;
}

static int append_inlined(struct frames *frames, const struct frame *frame,
			  const struct source_frame *source)
{
	struct frame inlined = *frame;

	/* Too many names for one answer: a missing frame is better than a nameless one. */
	if (!source->function)
		return 0;
	inlined.function = source->function;
	inlined.offset = 0;
	inlined.inlined = true;
	inlined.why = NULL;
	return append(frames, &inlined, source);
}

int frames_append(struct frames *frames, const struct frame *frame,
		  const struct source_lines *source)
{
	uint32_t count = source ? source->count : 0;
	int err = 0;

	for (uint32_t i = 0; !err && i + 1 < count; i++)
		err = append_inlined(frames, frame, &source->frames[i]);
	return err ? err : append(frames, frame, count ? &source->frames[count - 1] : NULL);
}

/* Returns whether a frame's places are those of its source code, compiled or not. */
static bool is_managed(const struct frame *frame)
{
	return frame->module &&
	       (!strcmp(frame->module, FRAME_JAVA) || !strcmp(frame->module, FRAME_JAVASCRIPT) ||
		!strcmp(frame->module, FRAME_DOTNET));
}

static uint64_t id_of_first(const struct frames *frames, size_t count)
{
	uint64_t id = 0;

	for (size_t i = 0; i < count; i++) {
		const struct frame *frame = &frames->list.items[i];
		const char *module = frame->build_id ? frame->build_id : frame->module;

		/* Compiled code has another address in each run, and may get its name later. */
		if (module && !strcmp(module, FRAME_JIT))
			module = NULL;

		/*
		 * A stack has one number with and without debug information. Stacks of managed
		 * languages have one number however they are compiled.
		 */
		if (frame->inlined && !is_managed(frame))
			continue;
		id = hash_mix(id ^ intern_hash(module ? module : ""));
		id = hash_mix(id ^ frame->module_offset);
	}
	return id;
}

uint64_t symbolizer_stack_id(const struct frames *frames)
{
	return id_of_first(frames, frames->list.count);
}

static bool is_compiled(const struct frame *frame)
{
	if (frame->module)
		return !strcmp(frame->module, FRAME_JIT) ||
		       !strncmp(frame->module, CODE_MEMFD, strlen(CODE_MEMFD));
	return frame->why && !strcmp(frame->why, CODE_ANONYMOUS);
}

uint64_t symbolizer_native_id(const struct frames *frames)
{
	bool managed = false;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		/* It is one place however it is compiled. */
		managed |= is_managed(frame);
		if (!is_managed(frame) && is_compiled(frame))
			return id_of_first(frames, i);
	}
	return managed ? id_of_first(frames, frames->list.count) : 0;
}
