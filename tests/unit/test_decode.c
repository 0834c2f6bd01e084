// SPDX-License-Identifier: GPL-2.0-or-later
/* The monitor's decoding of answers: honest ones pass unchanged, no others do any harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/sandbox/worker_process.h"
#include "binary/arch/machine.h"
#include "binary/parse/questions.h"
#include "unit/decode_answers.h"

enum { TABLE_SYMBOLS = 3, THREAD_SIZE = 2368 };

static struct image small_image(void)
{
	static const struct symbol symbols[] = {{0x100, 0x10, 0}, {0x200, 0, 4}, {0x300, 8, 8}};
	static const char names[] = "one\0two\0three";
	static const struct elf_number numbers[] = {{0x108, 0x20000000}, {0x110, 0x12345678}};
	struct image image = {.file = {.fd = -1, .size = 77, .type = 3, .entry = 0x100}};
	struct elf_segment *segment = vec_push(&image.file.segments);

	*segment = (struct elf_segment){0x1000, 0x2000, 0x300, 0x400, true, false};
	strcpy(image.file.build_id, "0123456789abcdef");
	image.file.thread_locals = (struct elf_thread_locals){0x2000, 48, 16};
	image.tls_layout =
		(struct tls_layout){.heads_at = 0x2100,
				    .slots_at = 4208,
				    .vector_at = machine_abi.tls.vector_at +
						 (machine_abi.tls.is_variant_1 ? THREAD_SIZE : 0),
				    .thread_size = THREAD_SIZE,
				    .keys_at = 1296,
				    .key_value_at = 8,
				    .used_at = 4256,
				    .user_at = 4272,
				    .prev_at = 8,
				    .node_at = 704,
				    .tid_at = 720,
				    .state_at = 776};
	image.has_symtab = true;
	image.table.count = TABLE_SYMBOLS;
	image.table.symbols = memcpy(malloc(sizeof(symbols)), symbols, sizeof(symbols));
	image.table.names = memcpy(malloc(sizeof(names)), names, sizeof(names));
	image.numbers.count = image.numbers.capacity = 2;
	image.numbers.items = memcpy(malloc(sizeof(numbers)), numbers, sizeof(numbers));
	return image;
}

static struct bytes encoded_image(void)
{
	struct image image = small_image();
	struct bytes body = {0};

	assert_int_equal(encode_image(&image, &body), 0);
	image_free(&image);
	return body;
}

static void an_image_comes_through_whole(void **state)
{
	struct image sent = small_image(), got = {0};
	struct bytes body = encoded_image();

	(void)state;
	assert_int_equal(decode_image(&body, &got), 0);
	assert_int_equal(got.file.fd, -1);
	assert_int_equal(got.file.size, 77);
	assert_int_equal(got.file.type, 3);
	assert_int_equal(got.file.entry, 0x100);
	assert_string_equal(got.file.build_id, "0123456789abcdef");
	assert_int_equal(got.file.segments.count, 1);
	assert_memory_equal(got.file.segments.items, sent.file.segments.items,
			    sizeof(struct elf_segment));
	assert_memory_equal(&got.file.thread_locals, &sent.file.thread_locals,
			    sizeof(struct elf_thread_locals));
	assert_memory_equal(&got.tls_layout, &sent.tls_layout, sizeof(struct tls_layout));
	assert_true(got.has_symtab);
	assert_int_equal(got.table.count, TABLE_SYMBOLS);
	assert_memory_equal(got.table.symbols, sent.table.symbols,
			    TABLE_SYMBOLS * sizeof(struct symbol));
	assert_memory_equal(got.table.names, "one\0two\0three", 14);
	assert_int_equal(got.numbers.count, 2);
	assert_memory_equal(got.numbers.items, sent.numbers.items, 2 * sizeof(struct elf_number));
	image_free(&sent);
	image_free(&got);
	bytes_free(&body);
}

static void an_image_without_symbols_is_an_image(void **state)
{
	struct image empty = {.file.fd = -1}, got = {0};
	struct bytes body = {0};

	(void)state;
	assert_int_equal(encode_image(&empty, &body), 0);
	assert_int_equal(decode_image(&body, &got), 0);
	assert_int_equal(got.table.count, 0);
	assert_null(symbol_table_find(&got.table, 0x100));
	image_free(&got);
	bytes_free(&body);
}

/* One lie each about the small image. */
static void broken_images_are_refused(void **state)
{
	enum { SEGMENT = sizeof(struct wire_image) };
	enum { SYMBOLS = SEGMENT + sizeof(struct wire_segment) };
	enum { NAMES = SYMBOLS + TABLE_SYMBOLS * sizeof(struct symbol) };
	static const struct {
		size_t at;
		uint8_t value;
	} lies[] = {
		{offsetof(struct wire_image, symbol_count), 2},
		{offsetof(struct wire_image, symbol_count), 4},
		{offsetof(struct wire_image, symbol_count) + 7, 0x80},
		{offsetof(struct wire_image, names_size), 13},
		{offsetof(struct wire_image, names_size), 15},
		{offsetof(struct wire_image, names_size) + 7, 0xff},
		{offsetof(struct wire_image, segment_count), 0},
		{offsetof(struct wire_image, segment_count) + 3, 0xff},
		{offsetof(struct wire_image, has_symtab), 2},
		{offsetof(struct wire_image, thread_locals.alignment), 24},
		{offsetof(struct wire_image, thread_locals.alignment), 0},
		{offsetof(struct wire_image, tls_layout.slots_at) + 2, 2},
		{offsetof(struct wire_image, tls_layout.vector_at), 16},
		{offsetof(struct wire_image, tls_layout.keys_at) + 1, 9},
		{offsetof(struct wire_image, tls_layout.key_value_at), 9},
		{offsetof(struct wire_image, tls_layout.slot_map_at), 9},
		{offsetof(struct wire_image, tls_layout.thread_size) + 1, 1},
		{offsetof(struct wire_image, tls_layout.user_at) + 2, 2},
		{offsetof(struct wire_image, tls_layout.prev_at), 0},
		{offsetof(struct wire_image, tls_layout.prev_at), 9},
		{offsetof(struct wire_image, tls_layout.node_at) + 1, 10},
		{offsetof(struct wire_image, tls_layout.tid_at) + 1, 10},
		{offsetof(struct wire_image, tls_layout.state_at) + 1, 10},
		{offsetof(struct wire_image, build_id), 'G'},
		{offsetof(struct wire_image, build_id) + 3, '/'},
		{SEGMENT + offsetof(struct wire_segment, vaddr) + 7, 0xff},
		{SEGMENT + offsetof(struct wire_segment, file_size) + 7, 0xff},
		{SEGMENT + offsetof(struct wire_segment, file_size) + 2, 1},
		{SEGMENT + offsetof(struct wire_segment, executable), 2},
		{SYMBOLS + offsetof(struct symbol, address) + 1, 2},
		{SYMBOLS + offsetof(struct symbol, name), 1},
		{SYMBOLS + sizeof(struct symbol) + offsetof(struct symbol, name), 0},
		{SYMBOLS + sizeof(struct symbol) + offsetof(struct symbol, name), 9},
		{NAMES + 3, 'x'},
		{NAMES + 13, 'x'},
		{offsetof(struct wire_image, number_count), 1},
		{offsetof(struct wire_image, number_count), 3},
		{offsetof(struct wire_image, number_count) + 3, 0x80},
		{NAMES + 14 + 1, 2}, /* not in order */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct bytes body = encoded_image();
		struct image got = {.table.count = 99};
		uint8_t *byte = body.data + lies[i].at;

		/* The overflow of vaddr needs the size, that of the file size the memory's. */
		if (lies[i].at == SEGMENT + offsetof(struct wire_segment, vaddr) + 7)
			memset(body.data + SEGMENT + offsetof(struct wire_segment, vaddr), 0xff, 7);
		assert_int_not_equal(*byte, lies[i].value);
		*byte = lies[i].value;
		if (decode_image(&body, &got) != -EPROTO)
			fail_msg("lie %zu was believed", i);
		assert_int_equal(got.table.count, 99);
		bytes_free(&body);
	}
}

static void names_that_overlap_or_never_end_are_refused(void **state)
{
	struct wire_image wire = {.symbol_count = 1, .names_size = 5000};
	struct symbol symbol = {.address = 1};
	struct bytes body = {0};
	struct image got = {0};
	char name[5000];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	bytes_append(&body, &wire, sizeof(wire));
	bytes_append(&body, &symbol, sizeof(symbol));
	bytes_append(&body, name, sizeof(name));
	assert_int_equal(decode_image(&body, &got), -EPROTO);
	bytes_free(&body);
}

static const struct line_frame inlined[] = {
	{"inner", "a.h", 7}, {"middle", "a.h", 70}, {NULL, "b.c", 8}};

static struct bytes encoded_lines(void)
{
	struct line_encoder encoder = {0};
	struct bytes body = {0};

	assert_int_equal(line_encoder_add(&encoder, inlined, 3), 0);
	assert_int_equal(line_encoder_add(&encoder, NULL, 0), 0);
	assert_int_equal(line_encoder_add(&encoder, &inlined[2], 1), 0);
	assert_int_equal(line_encoder_finish(&encoder, &body), 0);
	line_encoder_free(&encoder);
	return body;
}

static void assert_frame(const struct line_frame *got, const struct line_frame *sent)
{
	assert_int_equal(got->line, sent->line);
	assert_string_equal(got->file, sent->file);
	if (sent->function)
		assert_string_equal(got->function, sent->function);
	else
		assert_null(got->function);
}

static void lines_come_through_with_what_was_inlined(void **state)
{
	struct bytes body = encoded_lines();
	struct line_answer got = {0};

	(void)state;
	assert_int_equal(decode_lines(&body, 2, &got), -EPROTO);
	assert_int_equal(decode_lines(&body, 3, &got), 0);
	assert_int_equal(got.count, 3);
	assert_int_equal(got.ranges[0].count, 3);
	assert_int_equal(got.ranges[1].count, 0);
	assert_int_equal(got.ranges[2].count, 1);
	for (size_t i = 0; i < 3; i++)
		assert_frame(&got.frames[got.ranges[0].first + i], &inlined[i]);
	assert_frame(&got.frames[got.ranges[2].first], &inlined[2]);
	line_answer_free(&got);
	bytes_free(&body);
}

static void a_source_file_with_an_endless_name_has_no_name(void **state)
{
	char name[WIRE_MAX_STRING + 1];
	struct line_frame frame = {NULL, name, 5};
	struct line_encoder encoder = {0};
	struct line_answer got = {0};
	struct bytes body = {0};

	(void)state;
	memset(name, 'a', sizeof(name));
	name[WIRE_MAX_STRING] = '\0';
	assert_int_equal(line_encoder_add(&encoder, &frame, 1), 0);
	name[WIRE_MAX_STRING - 1] = '\0';
	assert_int_equal(line_encoder_add(&encoder, &frame, 1), 0);
	assert_int_equal(line_encoder_finish(&encoder, &body), 0);
	assert_int_equal(decode_lines(&body, 2, &got), 0);
	assert_null(got.frames[0].file);
	assert_string_equal(got.frames[1].file, name);
	line_answer_free(&got);
	line_encoder_free(&encoder);
	bytes_free(&body);
}

static struct bytes encoded_unwind(void)
{
	struct lm_unwind_row rows[] = {{0x10, 2, 0, LM_UNWIND_SP}, {0x20, 4, -2, LM_UNWIND_FP}};
	struct unwind_table table = {0x400000, rows, 2};
	struct image image = small_image();
	struct bytes body = {0};

	assert_int_equal(encode_unwind(&image.file, &table, &body), 0);
	image_free(&image);
	return body;
}

static void unwind_rows_come_through_in_order_only(void **state)
{
	struct bytes body = encoded_unwind();
	size_t rows = body.size - 2 * sizeof(struct lm_unwind_row);
	struct unwind_table table = {0};
	struct elf_file file = {0};

	(void)state;
	assert_int_equal(decode_unwind(&body, &file, &table), 0);
	assert_int_equal(table.base, 0x400000);
	assert_int_equal(table.count, 2);
	assert_int_equal(table.rows[1].pc, 0x20);
	assert_int_equal(table.rows[1].fp_words, -2);
	assert_int_equal(file.segments.count, 1);
	assert_int_equal(file.fd, -1);
	free(table.rows);
	elf_file_close(&file);
	body.data[rows] = 0x20; /* the same pc twice */
	assert_int_equal(decode_unwind(&body, &file, &table), -EPROTO);
	body.data[rows] = 0x10;
	body.data[rows + offsetof(struct lm_unwind_row, kind)] = LM_UNWIND_MAX_;
	assert_int_equal(decode_unwind(&body, &file, &table), -EPROTO);
	bytes_free(&body);
}

static struct bytes encoded_description(void)
{
	struct debug_description description = {
		.build_id = "0af9",
		.link = "x.debug",
		.lines = -ENOENT,
		.alternate = {"/usr/lib/debug/.dwz/y", "ff"},
	};
	struct bytes body = {0};

	assert_int_equal(encode_description(&description, &body), 0);
	return body;
}

static void a_description_leads_nowhere_else(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} lies[] = {
		{offsetof(struct debug_description, build_id), '/'},
		{offsetof(struct debug_description, build_id) + 1, '.'},
		{offsetof(struct debug_description, link), '/'},
		{offsetof(struct debug_description, lines) + 3, 0x7f},
		{offsetof(struct debug_description, alternate.build_id), '/'},
	};
	struct bytes body = encoded_description();
	struct debug_description got = {0};

	(void)state;
	assert_int_equal(decode_description(&body, &got), 0);
	assert_string_equal(got.link, "x.debug");
	assert_int_equal(got.lines, -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		uint8_t honest = body.data[lies[i].at];

		body.data[lies[i].at] = lies[i].value;
		assert_int_equal(decode_description(&body, &got), -EPROTO);
		body.data[lies[i].at] = honest;
	}
	memset(body.data + offsetof(struct debug_description, alternate.name), 'a', PATH_MAX);
	assert_int_equal(decode_description(&body, &got), -EPROTO);
	bytes_free(&body);
}

enum { PLANNED_FILE_SIZE = 0x9000 };

static struct bytes encoded_plan(void)
{
	struct probe_point points[] = {
		{.vaddr = 0x405010,
		 .offset = 0x5010,
		 .placement = {.reason = "at +0", .emulated = true}},
		{.function = 9,
		 .prefix = PREFIX_TC,
		 .vaddr = 0x406020,
		 .offset = 0x6029,
		 .placement = {.offset = 9, .reason = "at +9", .refused = true, .needless = true}},
		{.function = 3,
		 .vaddr = 0x406020,
		 .offset = 0x6020,
		 .placement = {.reason = "known"},
		 .is_result = true,
		 .result = {.vaddr = 0x406020, .number = 11, .condition = 16, .words = 4096}},
	};
	const struct probe_plan plan = {.build_id = "0af9",
					.family = 2,
					.has_names = true,
					.is_static = true,
					.points = {.items = points, .count = ARRAY_SIZE(points)}};
	struct bytes body = {0};

	assert_int_equal(encode_plan(&plan, &body), 0);
	return body;
}

static void a_plan_comes_through_whole(void **state)
{
	_cleanup_(probe_plan_free) struct probe_plan got = {0};
	_cleanup_(bytes_free) struct bytes body = encoded_plan();
	const struct probe_point *point;

	(void)state;
	assert_int_equal(decode_plan(&body, PLANNED_FILE_SIZE, &got), 0);
	assert_string_equal(got.build_id, "0af9");
	assert_int_equal(got.points.count, 3);
	assert_int_equal(got.family, 2);
	assert_true(got.has_names && got.is_static);
	point = &got.points.items[0];
	assert_int_equal(point->function, 0);
	assert_true(point->placement.emulated);
	assert_false(point->placement.refused);
	point = &got.points.items[1];
	assert_int_equal(point->function, 9);
	assert_int_equal(point->vaddr, 0x406020);
	assert_int_equal(point->offset, 0x6029);
	assert_int_equal(point->placement.offset, 9);
	assert_true(point->placement.refused);
	assert_string_equal(point->placement.reason, "at +9");
	assert_true(point->placement.needless);
	assert_int_equal(point->prefix, PREFIX_TC);
	point = &got.points.items[2];
	assert_true(point->is_result);
	assert_int_equal(point->result.vaddr, 0x406020);
	assert_int_equal(point->result.number, 11);
	assert_int_equal(point->result.condition, 16);
	assert_int_equal(point->result.words, 4096);
}

static void a_file_without_an_allocator_has_an_empty_plan(void **state)
{
	struct probe_plan got = {.points.count = 99};
	_cleanup_(bytes_free) struct bytes body = {0};

	(void)state;
	assert_int_equal(encode_plan(&(struct probe_plan){0}, &body), 0);
	assert_int_equal(decode_plan(&body, 0, &got), 0);
	assert_int_equal(got.points.count, 0);
	assert_string_equal(got.build_id, "");
}

/* One lie each about the plan above. */
static void no_plan_leads_out_of_its_file_or_function(void **state)
{
	enum {
		FIRST = sizeof(struct wire_plan),
		SECOND = FIRST + sizeof(struct wire_point),
		THIRD = SECOND + sizeof(struct wire_point)
	};
	static const struct {
		size_t at;
		uint8_t value;
	} lies[] = {
		{offsetof(struct wire_plan, build_id), '/'},
		{offsetof(struct wire_plan, count), 2},
		{offsetof(struct wire_plan, count), 4},
		{offsetof(struct wire_plan, family), 0xff},
		{offsetof(struct wire_plan, has_names), 2},
		{offsetof(struct wire_plan, is_static), 2},
		{offsetof(struct wire_plan, count) + 3, 0xff},
		/* no such function; not in the order of the table */
		{FIRST + offsetof(struct wire_point, function), 0xff},
		{FIRST + offsetof(struct wire_point, function), 10},
		{FIRST + offsetof(struct wire_point, function) + 3, 0x80},
		/* after the file; before it; at another offset in its page */
		{FIRST + offsetof(struct wire_point, offset) + 1, 0x90},
		{FIRST + offsetof(struct wire_point, offset) + 7, 0xff},
		{FIRST + offsetof(struct wire_point, offset), 0x11},
		{FIRST + offsetof(struct wire_point, vaddr), 0x18},
		/* far from the function */
		{SECOND + offsetof(struct wire_point, placement_offset), 8},
		{SECOND + offsetof(struct wire_point, placement_offset) + 1, 0x20},
		{SECOND + offsetof(struct wire_point, placement_offset) + 3, 0xf0},
		{FIRST + offsetof(struct wire_point, emulated), 2},
		{FIRST + offsetof(struct wire_point, refused), 2},
		{FIRST + offsetof(struct wire_point, needless), 2},
		{FIRST + offsetof(struct wire_point, is_result), 2},
		{FIRST + offsetof(struct wire_point, prefix), PREFIX_MAX_},
		/* an entry has no result; a result before an entry; an unreadable one */
		{FIRST + offsetof(struct wire_point, number), 1},
		{FIRST + offsetof(struct wire_point, condition), 1},
		{FIRST + offsetof(struct wire_point, words), 1},
		{FIRST + offsetof(struct wire_point, is_result), 1},
		{THIRD + offsetof(struct wire_point, is_result), 0},
		{THIRD + offsetof(struct wire_point, number), 16},
		{THIRD + offsetof(struct wire_point, condition), 17},
		{THIRD + offsetof(struct wire_point, words), 1},
		{THIRD + offsetof(struct wire_point, placement_offset), 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		_cleanup_(bytes_free) struct bytes body = encoded_plan();
		struct probe_plan got = {.points.count = 99};

		body.data[lies[i].at] = lies[i].value;
		if (decode_plan(&body, PLANNED_FILE_SIZE, &got) != -EPROTO)
			fail_msg("lie %zu was believed", i);
		assert_int_equal(got.points.count, 99);
	}
}

static struct bytes encoded_points(size_t count, uint64_t distance)
{
	struct bytes body = {0};
	struct wire_plan wire = {.count = (uint32_t)count};

	bytes_append(&body, &wire, sizeof(wire));
	for (size_t i = 0; i < count; i++) {
		struct wire_point point = {.vaddr = i * distance, .offset = i * distance};

		bytes_append(&body, &point, sizeof(point));
	}
	encode_stapsdt(&(struct stapsdt){0}, &body);
	return body;
}

static void plans_of_too_many_points_or_twice_the_same_are_refused(void **state)
{
	static const struct {
		size_t count;
		uint64_t distance;
		int error;
	} cases[] = {
		{2, 16, 0},
		{2, 0, -EPROTO},
		{PLAN_MAX_POINTS, 16, 0},
		{PLAN_MAX_POINTS + 1, 16, -EPROTO},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(bytes_free) struct bytes body =
			encoded_points(cases[i].count, cases[i].distance);
		_cleanup_(probe_plan_free) struct probe_plan got = {0};

		assert_int_equal(decode_plan(&body, PLANNED_FILE_SIZE, &got), cases[i].error);
	}
}

static void a_reason_without_an_end_is_refused(void **state)
{
	_cleanup_(bytes_free) struct bytes body = encoded_plan();
	struct probe_plan got = {0};

	(void)state;
	memset(body.data + sizeof(struct wire_plan) + offsetof(struct wire_point, reason), 'a',
	       sizeof(((struct wire_point *)0)->reason));
	assert_int_equal(decode_plan(&body, PLANNED_FILE_SIZE, &got), -EPROTO);
}

/* A small generator of our own: the same mutations on every run (Vigna, splitmix64). */
static uint64_t next_random(uint64_t *seed)
{
	uint64_t value = *seed += 0x9e3779b97f4a7c15ull;

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
	return value ^ (value >> 31);
}

static void use_everything(const struct bytes *body)
{
	struct debug_description description;
	struct unwind_table table = {0};
	struct line_answer lines = {0};
	struct image image = {0};
	struct elf_file file = {0};
	struct probe_plan plan = {0};
	uint64_t vaddr = 0;

	decode_description(body, &description);
	if (!decode_plan(body, PLANNED_FILE_SIZE, &plan)) {
		for (size_t i = 0; i < plan.points.count; i++)
			assert_true(plan.points.items[i].offset < PLANNED_FILE_SIZE);
		probe_plan_free(&plan);
	}
	if (!decode_image(body, &image)) {
		elf_file_vaddr(&image.file, 0x1010, &vaddr);
		symbol_table_find(&image.table, vaddr);
		image_free(&image);
	}
	if (!decode_unwind(body, &file, &table)) {
		unwind_table_find(&table, 0x15);
		unwind_table_free(&table);
		elf_file_close(&file);
	}
	if (!decode_lines(body, 3, &lines)) {
		for (size_t i = 0; i < lines.ranges[2].first + lines.ranges[2].count; i++)
			assert_true(!lines.frames[i].file || strlen(lines.frames[i].file) < 9999);
		line_answer_free(&lines);
	}
}

static void mutated_answers_do_no_harm(void **state)
{
	struct bytes (*const makers[])(void) = {encoded_image, encoded_lines, encoded_unwind,
						encoded_description, encoded_plan};
	uint64_t seed = 1;

	(void)state;
	for (size_t turn = 0; turn < 40000; turn++) {
		struct bytes body = makers[turn % ARRAY_SIZE(makers)]();
		struct bytes exact;
		size_t changes = 1 + next_random(&seed) % 4;

		while (changes--)
			body.data[next_random(&seed) % body.size] ^= 1u << next_random(&seed) % 8;
		if (next_random(&seed) % 4 == 0)
			body.size = next_random(&seed) % body.size;
		/* Exactly its size, so that the sanitizer sees a read past the end. */
		exact = (struct bytes){malloc(body.size + !body.size), body.size, body.size};
		memcpy(exact.data, body.data, body.size);
		use_everything(&exact);
		bytes_free(&exact);
		bytes_free(&body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_comes_through_whole),
		cmocka_unit_test(an_image_without_symbols_is_an_image),
		cmocka_unit_test(broken_images_are_refused),
		cmocka_unit_test(names_that_overlap_or_never_end_are_refused),
		cmocka_unit_test(lines_come_through_with_what_was_inlined),
		cmocka_unit_test(a_source_file_with_an_endless_name_has_no_name),
		cmocka_unit_test(unwind_rows_come_through_in_order_only),
		cmocka_unit_test(a_description_leads_nowhere_else),
		cmocka_unit_test(a_plan_comes_through_whole),
		cmocka_unit_test(a_file_without_an_allocator_has_an_empty_plan),
		cmocka_unit_test(no_plan_leads_out_of_its_file_or_function),
		cmocka_unit_test(plans_of_too_many_points_or_twice_the_same_are_refused),
		cmocka_unit_test(a_reason_without_an_end_is_refused),
		cmocka_unit_test(mutated_answers_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
