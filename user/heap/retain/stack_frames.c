// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/stack_frames.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "binary/parse/questions.h"
#include "heap/allocators/data_modules.h"
#include "heap/retain/heap_graph.h"
#include "process/proc/target_file.h"
#include "process/symbol/debuginfod.h"

/* Reads the copied part of the stack: whole words only. */
static int read_stack(const struct heap_image_thread *thread, void *to, size_t size,
		      uint64_t address)
{
	uint64_t distance = address - thread->stack_start, at = distance / sizeof(uint64_t),
		 words = size / sizeof(uint64_t);

	if (address < thread->stack_start || distance % sizeof(uint64_t) ||
	    at >= thread->stack_words || words > thread->stack_words - at)
		return -1;
	memcpy(to, &thread->stack[at], size);
	return 0;
}

#define LM_UNWIND_MEMORY const struct heap_image_thread
#define LM_UNWIND_READ(memory, to, size, address) read_stack(memory, to, size, address)
#include "leakmon_unwind.h"

#define MAX_FRAMES 512

/* The rows of one mapping's file. */
struct code_rows {
	const struct mapping *mapping;
	struct unwind_table table;
	uint64_t bias;
	bool usable;
};

struct unwinder {
	const struct heap_image *heap_image;
	struct worker *worker;
	struct stack_frames *frames;
	VEC(struct code_rows) codes;
};

struct registers {
	struct lm_frame frame;
	bool exact; /* ip is the current instruction, not a return address */
};

static bool compile(struct unwinder *unwinder, struct code_rows *code)
{
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	_cleanup_close_ int fd =
		target_file_open_mapping(unwinder->heap_image->maps.source, code->mapping);

	return fd >= 0 && !parse_unwind(unwinder->worker, fd, &file, &code->table) &&
	       module_bias(&file, memory_page_size(unwinder->heap_image->maps.source),
			   code->mapping, &code->bias);
}

static const struct code_rows *read_code(struct unwinder *unwinder, const struct mapping *mapping)
{
	struct code_rows *code = vec_push(&unwinder->codes);

	if (!code)
		return NULL;
	code->mapping = mapping;
	code->usable = compile(unwinder, code);
	return code;
}

static const struct code_rows *code_at(struct unwinder *unwinder, uint64_t address)
{
	const struct mapping *mapping = maps_find(&unwinder->heap_image->maps, address);

	if (!mapping || !mapping->executable || !mapping->inode)
		return NULL;
	for (size_t i = 0; i < unwinder->codes.count; i++) {
		if (unwinder->codes.items[i].mapping == mapping)
			return &unwinder->codes.items[i];
	}
	return read_code(unwinder, mapping);
}

/* Returns false if the caller is unknown, or there is none. */
static bool leave(const struct heap_image_thread *thread, struct registers *registers,
		  const struct lm_caller *caller)
{
	struct lm_frame *frame = &registers->frame;
	uint64_t ip = frame->link;

	/* A function that has saved nothing may use no stack at all. */
	if (caller->sp < frame->sp || (caller->sp == frame->sp && caller->return_at))
		return false;
	if (caller->return_at && read_stack(thread, &ip, sizeof(ip), caller->return_at))
		return false;
	if (caller->fp_at && read_stack(thread, &frame->fp, sizeof(frame->fp), caller->fp_at))
		return false;
	*registers = (struct registers){
		.frame = {.ip = ip & machine_frame.code_mask, .sp = caller->sp, .fp = frame->fp}};
	return registers->frame.ip >= LM_UNWIND_MIN_ADDRESS;
}

static bool leave_signal(const struct heap_image_thread *thread, struct registers *registers)
{
	struct lm_frame frame = registers->frame;

	if (lm_signal_leave(&machine_frame, thread, &frame))
		return false;
	*registers = (struct registers){frame, true};
	return frame.ip >= LM_UNWIND_MIN_ADDRESS;
}

static bool leave_by_row(const struct heap_image_thread *thread, struct registers *registers,
			 struct lm_unwind_row row)
{
	struct lm_caller caller;

	if (row.kind == LM_UNWIND_SIGNAL)
		return leave_signal(thread, registers);
	return lm_row_apply(&machine_frame, row, &registers->frame, thread, &caller) ==
		       LM_WALK_MAX_ &&
	       leave(thread, registers, &caller);
}

/* *root: there is no caller. Returns false at the end of the walk. */
static bool step(struct unwinder *unwinder, const struct heap_image_thread *thread,
		 struct registers *registers, bool *root)
{
	uint64_t address = registers->exact ? registers->frame.ip : registers->frame.ip - 1;
	const struct code_rows *code = code_at(unwinder, address);
	const struct lm_unwind_row *row = NULL;
	struct lm_caller caller;

	if (!code)
		return false;
	if (code->usable)
		row = unwind_table_find(&code->table,
					(uint32_t)(address - code->bias - code->table.base));
	*root = row && row->kind == LM_UNWIND_END;
	if (row && row->kind != LM_UNWIND_NONE)
		return leave_by_row(thread, registers, *row);
	caller = lm_caller_by_fp(registers->frame.fp);
	return leave(thread, registers, &caller);
}

/* Numbers a thread's frames, the innermost first. */
static void count_depths(struct stack_frames *frames, size_t begun, bool rooted)
{
	for (size_t i = begun; i < frames->list.count; i++) {
		frames->list.items[i].depth = (uint32_t)(frames->list.count - 1 - i);
		frames->list.items[i].rooted = rooted;
	}
}

static int unwind(struct unwinder *unwinder, uint32_t number, struct registers registers)
{
	const struct heap_image_thread *thread = &unwinder->heap_image->threads.items[number];
	bool more = thread->stack_words > 0, root = false;
	size_t begun = unwinder->frames->list.count;

	for (size_t i = 0; more && i < MAX_FRAMES; i++) {
		struct stack_frame *frame;
		struct registers before = registers;

		more = step(unwinder, thread, &registers, &root);
		frame = vec_push(&unwinder->frames->list);
		if (!frame)
			return -ENOMEM;
		*frame = (struct stack_frame){
			.low = before.frame.sp,
			.high = registers.frame.sp > before.frame.sp ? registers.frame.sp
								     : before.frame.sp + 8,
			.address = before.frame.ip + before.exact,
			.thread = number,
			.outermost = root || registers.frame.ip < LM_UNWIND_MIN_ADDRESS,
			.has_cfa = more && !registers.exact,
		};
	}
	count_depths(unwinder->frames, begun, root);
	return 0;
}

static int compare_frames(const void *left_pointer, const void *right_pointer)
{
	const struct stack_frame *left = left_pointer, *right = right_pointer;

	return left->low < right->low ? -1 : left->low > right->low;
}

/* -------- dead slots */

/* Frames of one file to ask about. */
struct slot_request {
	uint64_t addresses[WIRE_MAX_ADDRESSES]; /* as in the file */
	const struct stack_frame *frames[WIRE_MAX_ADDRESSES];
	size_t count;
};

/*
 * Opens the file's own debug information, or its debug file's. Returns a descriptor that the caller
 * closes.
 */
static int open_debug(const struct unwinder *unwinder, const struct code_rows *code,
		      struct debug_description *description)
{
	struct memory_source source = unwinder->heap_image->maps.source;
	_cleanup_close_ int fd = target_file_open_mapping(source, code->mapping);
	struct debug_description own;
	struct debug_request request = {.worker = unwinder->worker,
					.build_id = own.build_id,
					.link = own.link,
					.path = code->mapping->path ? code->mapping->path : "",
					.task = source.task};
	int error = fd < 0 ? fd : parse_description(unwinder->worker, fd, &own);

	if (error)
		return error;
	*description = own;
	if (!own.lines)
		return TAKE_FD(fd);
	return own.lines == -ENOENT ? debug_file_open(&request, description) : own.lines;
}

static int open_alternate(const struct unwinder *unwinder, const struct code_rows *code,
			  const struct debug_description *description)
{
	const struct debug_request request = {
		.worker = unwinder->worker,
		.build_id = description->alternate.build_id,
		.link = description->alternate.name,
		.path = code->mapping->path ? code->mapping->path : "",
		.task = unwinder->heap_image->maps.source.task,
	};

	return description->alternate.name[0] ? debug_file_open_alternate(&request) : -1;
}

static int add_dead(struct stack_frames *frames, const struct stack_frame *frame,
		    const struct slot_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t low = frame->high + (uint64_t)(int64_t)ranges[i].low;
		struct dead_slots *dead;

		/* Words below belong to a called function. */
		if (low < frame->low || low >= frame->high)
			continue;
		dead = vec_push(&frames->dead);
		if (!dead)
			return -ENOMEM;
		*dead = (struct dead_slots){low, frame->high + (uint64_t)(int64_t)ranges[i].high};
	}
	return 0;
}

/* On any failure, these frames have no known dead slots. */
static int ask_slots(struct unwinder *unwinder, int fd, int alternate_fd,
		     struct slot_request *request)
{
	_cleanup_(slot_answer_free) struct slot_answer answer = {0};
	const struct slot_range *ranges;
	int error = 0;

	if (request->count && !parse_slots(unwinder->worker, fd, alternate_fd, request->addresses,
					   request->count, &answer)) {
		ranges = answer.ranges;
		for (size_t i = 0; i < request->count && !error; i++) {
			error = add_dead(unwinder->frames, request->frames[i], ranges,
					 answer.counts[i]);
			ranges += answer.counts[i];
		}
	}
	request->count = 0;
	return error;
}

static bool is_in(const struct stack_frame *frame, const struct code_rows *code)
{
	return frame->has_cfa && frame->address - 1 >= code->mapping->start &&
	       frame->address - 1 < code->mapping->end;
}

static int find_dead_of(struct unwinder *unwinder, const struct code_rows *code)
{
	struct debug_description description = {0};
	_cleanup_close_ int fd = open_debug(unwinder, code, &description);
	_cleanup_close_ int alternate_fd =
		fd >= 0 ? open_alternate(unwinder, code, &description) : -1;
	struct slot_request request = {.count = 0};
	int error = 0;

	if (fd < 0 || description.lines || (description.alternate.name[0] && alternate_fd < 0))
		return 0;
	for (size_t i = 0; i < unwinder->frames->list.count && !error; i++) {
		const struct stack_frame *frame = &unwinder->frames->list.items[i];

		if (!is_in(frame, code))
			continue;
		request.addresses[request.count] = frame->address - 1 - code->bias;
		request.frames[request.count++] = frame;
		if (request.count == WIRE_MAX_ADDRESSES)
			error = ask_slots(unwinder, fd, alternate_fd, &request);
	}
	return error ? error : ask_slots(unwinder, fd, alternate_fd, &request);
}

static int compare_dead(const void *left_pointer, const void *right_pointer)
{
	const struct dead_slots *left = left_pointer, *right = right_pointer;

	return left->low < right->low ? -1 : left->low > right->low;
}

static int find_dead(struct unwinder *unwinder)
{
	struct stack_frames *frames = unwinder->frames;
	int error = 0;

	for (size_t i = 0; i < unwinder->codes.count && !error; i++) {
		if (unwinder->codes.items[i].usable)
			error = find_dead_of(unwinder, &unwinder->codes.items[i]);
	}
	if (frames->dead.count)
		qsort(frames->dead.items, frames->dead.count, sizeof(*frames->dead.items),
		      compare_dead);
	return error;
}

bool stack_frames_is_dead(const struct stack_frames *frames, uint64_t address)
{
	size_t count =
		SORTED_BEFORE(range, frames->dead.items, frames->dead.count, range->low <= address);

	return count && address < frames->dead.items[count - 1].high;
}

static void unwinder_free(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->codes.count; i++)
		unwind_table_free(&unwinder->codes.items[i].table);
	vec_free(&unwinder->codes);
}

static struct registers registers_of(const struct heap_image_thread *thread)
{
	return (struct registers){.frame = {.ip = machine_ip(&thread->registers),
					    .sp = thread->stack_start,
					    .fp = machine_fp(&thread->registers),
					    .link = machine_link(&thread->registers)},
				  .exact = true};
}

int stack_frames_walk(const struct heap_image *heap_image, const struct stack_starts *starts,
		      struct worker *worker, struct stack_frames *frames)
{
	struct unwinder unwinder = {.heap_image = heap_image, .worker = worker, .frames = frames};
	int error = 0;

	for (size_t i = 0; !error && i < starts->count; i++)
		error = unwind(&unwinder, (uint32_t)i,
			       (struct registers){
				       .frame = {.ip = starts->items[i],
						 .sp = heap_image->threads.items[i].stack_start},
				       .exact = true});
	unwinder_free(&unwinder);
	return error;
}

int stack_frames_find(const struct heap_image *heap_image, struct worker *worker,
		      struct stack_frames *frames)
{
	struct unwinder unwinder = {.heap_image = heap_image, .worker = worker, .frames = frames};
	int error = 0;

	for (size_t i = 0; !error && i < heap_image->threads.count; i++)
		error = unwind(&unwinder, (uint32_t)i, registers_of(&heap_image->threads.items[i]));
	if (!error)
		error = find_dead(&unwinder);
	unwinder_free(&unwinder);
	if (frames->list.count)
		qsort(frames->list.items, frames->list.count, sizeof(*frames->list.items),
		      compare_frames);
	return error;
}

const struct stack_frame *stack_frames_at(const struct stack_frames *frames, uint64_t address)
{
	size_t begun =
		SORTED_BEFORE(frame, frames->list.items, frames->list.count, frame->low <= address);

	return begun ? &frames->list.items[begun - 1] : NULL;
}

void stack_frames_free(struct stack_frames *frames)
{
	vec_free(&frames->list);
	vec_free(&frames->dead);
}
