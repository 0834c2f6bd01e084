// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/stack_frames.h"

#include <errno.h>
#include <unistd.h>

#include "arch/machine.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "heap/data_modules.h"
#include "parse/questions.h"
#include "proc/target_file.h"
#include "retain/heap_graph.h"

#define MAX_FRAMES 512
#define MIN_ADDRESS 4096ull

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
	uint64_t ip, sp, fp;
	bool exact; /* ip is where it stands, not where it returns to */
};

static bool compile(struct unwinder *unwinder, struct code_rows *code)
{
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	_cleanup_close_ int fd =
		target_file_open_mapping(unwinder->heap_image->maps.source, code->mapping);

	return fd >= 0 && !parse_unwind(unwinder->worker, fd, &file, &code->table) &&
	       module_bias(&file, code->mapping, &code->bias);
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

/* Of the copied part of the stack. */
static bool read_stack(const struct heap_image_thread *thread, uint64_t address, uint64_t *word)
{
	uint64_t distance = address - thread->stack_start;

	if (address < thread->stack_start || distance % 8 || distance / 8 >= thread->stack_words)
		return false;
	*word = thread->stack[distance / 8];
	return true;
}

static bool leave(const struct heap_image_thread *thread, struct registers *registers, uint64_t cfa,
		  uint64_t fp_at)
{
	uint64_t ip;

	if (cfa <= registers->sp || !read_stack(thread, cfa - 8, &ip) ||
	    (fp_at && !read_stack(thread, fp_at, &registers->fp)))
		return false;
	*registers = (struct registers){.ip = ip, .sp = cfa, .fp = registers->fp};
	return ip >= MIN_ADDRESS;
}

static bool leave_signal(const struct heap_image_thread *thread, struct registers *registers)
{
	uint64_t sp, ip, fp;

	if (!read_stack(thread, registers->sp + MACHINE_SIGNAL_SP, &sp) ||
	    !read_stack(thread, registers->sp + MACHINE_SIGNAL_IP, &ip) ||
	    !read_stack(thread, registers->sp + MACHINE_SIGNAL_FP, &fp))
		return false;
	*registers = (struct registers){ip, sp, fp, true};
	return ip >= MIN_ADDRESS;
}

static bool leave_by_row(const struct heap_image_thread *thread, struct registers *registers,
			 struct lm_unwind_row row)
{
	uint64_t offset = (uint64_t)((int64_t)row.cfa_words * 8), cfa;
	uint64_t fp_at;

	switch (row.kind) {
	case LM_UNWIND_SP:
		cfa = registers->sp + offset;
		break;
	case LM_UNWIND_FP:
		cfa = registers->fp + offset;
		break;
	case LM_UNWIND_PLT:
		cfa = registers->sp + 8 + ((registers->ip & 15) >= (uint64_t)row.cfa_words ? 8 : 0);
		break;
	case LM_UNWIND_FP_DEREF:
		if (!read_stack(thread, registers->fp + offset, &cfa))
			return false;
		break;
	case LM_UNWIND_SP_DEREF:
		if (!read_stack(thread, registers->sp + offset, &cfa))
			return false;
		break;
	case LM_UNWIND_SIGNAL:
		return leave_signal(thread, registers);
	default:
		return false;
	}
	fp_at = row.fp_words ? cfa + (uint64_t)((int64_t)row.fp_words * 8) : 0;
	if (row.kind == LM_UNWIND_FP_DEREF && !row.fp_words)
		fp_at = registers->fp;
	return leave(thread, registers, cfa, fp_at);
}

/* *root: there is no caller. False: the walk is over. */
static bool step(struct unwinder *unwinder, const struct heap_image_thread *thread,
		 struct registers *registers, bool *root)
{
	uint64_t address = registers->exact ? registers->ip : registers->ip - 1;
	const struct code_rows *code = code_at(unwinder, address);
	const struct lm_unwind_row *row = NULL;

	if (!code)
		return false;
	if (code->usable)
		row = unwind_table_find(&code->table,
					(uint32_t)(address - code->bias - code->table.base));
	*root = row && row->kind == LM_UNWIND_END;
	if (row && row->kind != LM_UNWIND_NONE)
		return leave_by_row(thread, registers, *row);
	return leave(thread, registers, registers->fp + 16, registers->fp);
}

static int unwind(struct unwinder *unwinder, uint32_t number)
{
	const struct heap_image_thread *thread = &unwinder->heap_image->threads.items[number];
	struct registers registers = {machine_ip(&thread->registers), thread->stack_start,
				      machine_fp(&thread->registers), true};
	bool more = thread->stack_words > 0, root = false;

	for (size_t i = 0; more && i < MAX_FRAMES; i++) {
		struct stack_frame *frame;
		struct registers before = registers;

		more = step(unwinder, thread, &registers, &root);
		frame = vec_push(&unwinder->frames->list);
		if (!frame)
			return -ENOMEM;
		*frame = (struct stack_frame){
			.low = before.sp,
			.high = registers.sp > before.sp ? registers.sp : before.sp + 8,
			.address = before.ip + before.exact,
			.thread = number,
			.outermost = root || registers.ip < MIN_ADDRESS,
		};
	}
	return 0;
}

static int compare_frames(const void *left_pointer, const void *right_pointer)
{
	const struct stack_frame *left = left_pointer, *right = right_pointer;

	return left->low < right->low ? -1 : left->low > right->low;
}

int stack_frames_find(const struct heap_image *heap_image, struct worker *worker,
		      struct stack_frames *frames)
{
	struct unwinder unwinder = {.heap_image = heap_image, .worker = worker, .frames = frames};
	int error = 0;

	for (size_t i = 0; !error && i < heap_image->threads.count; i++)
		error = unwind(&unwinder, (uint32_t)i);
	for (size_t i = 0; i < unwinder.codes.count; i++)
		unwind_table_free(&unwinder.codes.items[i].table);
	vec_free(&unwinder.codes);
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
}
