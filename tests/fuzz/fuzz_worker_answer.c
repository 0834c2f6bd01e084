// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the monitor's reader of answers. The first byte of the input chooses: a body
 * of one kind, or a series of packets (a length of two bytes, then that many).
 *
 * Seeds: seed_worker_answer.c.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/sandbox/child.h"
#include "binary/parse/questions.h"
#include "fuzz/worker_answer.h"
#include "unit/decode_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ID = 0x01010101, MAX_NAME = 4096, FILE_SIZE = 1 << 20 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void use_description(const struct bytes *body)
{
	struct debug_description description;

	if (decode_description(body, &description))
		return;
	check(strlen(description.link) <= NAME_MAX && !strchr(description.link, '/'));
	check(!strpbrk(description.build_id, "./") && description.lines <= 0);
	check(strlen(description.alternate.name) < PATH_MAX);
}

static void use_image(const struct bytes *body)
{
	_cleanup_(image_free) struct image image = {0};
	uint64_t vaddr;

	if (decode_image(body, &image))
		return;
	elf_file_vaddr(&image.file, 0x1234, &vaddr);
	elf_file_offset(&image.file, 0x1234, &vaddr);
	for (size_t i = 0; i < image.table.count; i++) {
		const struct symbol *symbol = &image.table.symbols[i];
		const struct symbol *found = symbol_table_find(&image.table, symbol->address);

		check(strlen(image.table.names + symbol->name) <= MAX_NAME);
		check(!found || found <= symbol);
	}
}

static void use_lines(const struct bytes *body)
{
	_cleanup_(line_answer_free) struct line_answer answer = {0};
	size_t length = 0;

	if (decode_lines(body, FUZZ_ADDRESSES, &answer))
		return;
	check(answer.count == FUZZ_ADDRESSES);
	for (size_t i = 0; i < FUZZ_ADDRESSES; i++) {
		const struct line_range *range = &answer.ranges[i];

		for (uint32_t k = 0; k < range->count; k++) {
			const struct line_frame *frame = &answer.frames[range->first + k];

			length += frame->file ? strlen(frame->file) : 0;
			length += frame->function ? strlen(frame->function) : 0;
		}
	}
	check(length <= 2ul * FUZZ_ADDRESSES * WIRE_MAX_FRAMES * WIRE_MAX_STRING);
}

static void use_unwind(const struct bytes *body)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};

	if (decode_unwind(body, &file, &table))
		return;
	for (size_t i = 0; i < table.count; i++)
		check(unwind_table_find(&table, table.rows[i].pc) == &table.rows[i]);
}

static void use_plan(const struct bytes *body)
{
	_cleanup_(probe_plan_free) struct probe_plan plan = {0};

	if (decode_plan(body, FILE_SIZE, &plan))
		return;
	check(plan.points.count <= PLAN_MAX_POINTS);
	for (size_t i = 0; i < plan.points.count; i++) {
		const struct probe_point *point = &plan.points.items[i];

		check(point->function < allocator_function_count && point->offset < FILE_SIZE);
		check(point->placement.offset < PLAN_CODE_BYTES);
		check(strlen(point->placement.reason) < sizeof(point->placement.reason));
	}
}

static void receive(const struct bytes *packets)
{
	struct receipt receipt = {.id = ID};
	int ends[2], error = -EAGAIN;
	size_t at = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	while (error == -EAGAIN && packets->size - at >= 2) {
		size_t length = packets->data[at] | packets->data[at + 1] << 8;

		at += 2;
		length = MIN(length, packets->size - at);
		check(send(ends[1], packets->data + at, length, MSG_DONTWAIT) == (ssize_t)length);
		at += length;
		error = child_receive(&(struct child){.fd = ends[0]}, &receipt);
	}
	check(error || receipt.body.size == receipt.header.size);
	check(receipt.body.capacity <= 4 * WORKER_CHUNK_BYTES + 2 * packets->size);
	bytes_free(&receipt.body);
	close(ends[0]);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const uses[])(const struct bytes *) = {
		[FUZZ_DESCRIPTION] = use_description,
		[FUZZ_IMAGE] = use_image,
		[FUZZ_LINES] = use_lines,
		[FUZZ_UNWIND] = use_unwind,
		[FUZZ_PLAN] = use_plan,
		[FUZZ_PACKETS] = receive,
	};
	_Static_assert(ARRAY_SIZE(uses) == FUZZ_USE_MAX_, "a row for every use");
	_cleanup_(bytes_free) struct bytes body = {0};

	if (!size)
		return 0;
	/* Exactly its size, so that the sanitizer sees a read past the end. */
	body.data = malloc(MAX(size - 1, 1u));
	body.size = body.capacity = size - 1;
	memcpy(body.data, data + 1, size - 1);
	uses[data[0] % ARRAY_SIZE(uses)](&body);
	return 0;
}
