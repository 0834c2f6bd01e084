// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/questions.h"

#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/sandbox/bytes.h"
#include "base/sandbox/protocol.h"
#include "binary/arch/machine.h"
#include "binary/parse/wire.h"

_Static_assert(sizeof(struct wire_lines_question) <= WORKER_MAX_QUESTION, "it fits");

static const struct parse_kind description_kind;

static const struct parse_kind *const kinds[] = {
	[PARSE_DESCRIPTION] = &description_kind,
	[PARSE_IMAGE] = &image_kind,
	[PARSE_OBJECTS] = &objects_kind,
	[PARSE_SYMBOLS] = &symbols_kind,
	[PARSE_LINES] = &lines_kind,
	[PARSE_UNWIND] = &unwind_kind,
	[PARSE_PLAN] = &plan_kind,
	[PARSE_PERF_MAP] = &perf_map_kind,
	[PARSE_THREADS] = &threads_kind,
	[PARSE_CORE] = &core_layout_kind,
	[PARSE_UNPACK] = &unpack_kind,
	[PARSE_SLOTS] = &slots_kind,
};
_Static_assert(ARRAY_SIZE(kinds) == PARSE_QUESTION_MAX_, "a row for every question");

const struct parse_kinds parse_kinds = {kinds, ARRAY_SIZE(kinds)};

static int ask(struct worker *worker, enum parse_question question, int fd, void *out)
{
	return worker_ask(worker, question,
			  &(struct worker_question){.files = &fd, .file_count = 1}, out);
}

int parse_description(struct worker *worker, int fd, struct debug_description *description)
{
	return ask(worker, PARSE_DESCRIPTION, fd, description);
}

int parse_image(struct worker *worker, int fd, struct image *image)
{
	return ask(worker, PARSE_IMAGE, fd, image);
}

int parse_objects(struct worker *worker, int fd, struct image *image)
{
	return ask(worker, PARSE_OBJECTS, fd, image);
}

int parse_symbols(struct worker *worker, int fd, struct image *image)
{
	return ask(worker, PARSE_SYMBOLS, fd, image);
}

int parse_perf_map(struct worker *worker, int fd, struct symbol_table *table)
{
	return ask(worker, PARSE_PERF_MAP, fd, table);
}

int parse_unwind(struct worker *worker, int fd, struct elf_file *file, struct unwind_table *table)
{
	return ask(worker, PARSE_UNWIND, fd, &(struct unwind_answer){file, table});
}

int parse_threads(struct worker *worker, int fd, struct thread_library *library)
{
	return ask(worker, PARSE_THREADS, fd, library);
}

int parse_core(struct worker *worker, int fd, struct core_layout *layout)
{
	return ask(worker, PARSE_CORE, fd, layout);
}

int parse_unpack(struct worker *worker, int fd, bool first, struct unpacked *part)
{
	struct unpack_question asked = {.first = first};
	struct worker_question question = {
		.files = &fd, .file_count = 1, .data = &asked, .size = sizeof(asked)};

	return worker_ask(worker, PARSE_UNPACK, &question, part);
}

int parse_plan(struct worker *worker, int fd, const char *symbol_prefix, enum probe_at probe_at,
	       struct probe_plan *plan)
{
	struct wire_plan_question wire = {.probe_at = probe_at};
	struct worker_question question = {
		.files = &fd, .file_count = 1, .data = &wire, .size = sizeof(wire)};
	size_t length = strlen(symbol_prefix);

	if (length >= sizeof(wire.symbol_prefix))
		return -ENAMETOOLONG;
	memcpy(wire.symbol_prefix, symbol_prefix, length);
	return worker_ask(worker, PARSE_PLAN, &question, plan);
}

int parse_slots(struct worker *worker, int fd, int alternate_fd, const uint64_t *addresses,
		size_t count, struct slot_answer *answer)
{
	int files[] = {fd, alternate_fd};
	struct worker_question question = {.files = files,
					   .file_count = alternate_fd < 0 ? 1 : 2,
					   .data = addresses,
					   .size = count * sizeof(*addresses)};

	if (!count || count > WIRE_MAX_ADDRESSES)
		return -EINVAL;
	return worker_ask(worker, PARSE_SLOTS, &question, answer);
}

int parse_lines_begin(struct worker *worker, const struct line_request *request)
{
	int files[] = {request->fd, request->alternate_fd};
	struct wire_lines_question wire = {.key = request->key};
	struct worker_question question = {
		.files = files, .file_count = request->alternate_fd < 0 ? 1 : 2, .data = &wire};

	if (request->count > WIRE_MAX_ADDRESSES)
		return -EINVAL;
	memcpy(wire.addresses, request->addresses, request->count * sizeof(wire.addresses[0]));
	question.size = offsetof(struct wire_lines_question, addresses) +
			request->count * sizeof(wire.addresses[0]);
	return worker_begin(worker, PARSE_LINES, &question);
}

int parse_lines_finish(struct worker *worker, int timeout_ms, struct line_answer *answer)
{
	return worker_finish(worker, WORKER_LANE_BACKGROUND, timeout_ms, answer);
}

int encode_description(const struct debug_description *description, struct bytes *body)
{
	return bytes_append(body, description, sizeof(*description));
}

static bool is_error(int status)
{
	return status <= 0 && status > -4096;
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	struct debug_description *description = out;
	struct cursor cursor = {body->data, body->size};
	struct debug_description read;

	(void)origin;
	if (cursor_take_one(&cursor, &read, sizeof(read)) || cursor.left ||
	    !is_hex(read.build_id, sizeof(read.build_id)) ||
	    !is_terminated(read.link, sizeof(read.link)) || strchr(read.link, '/') ||
	    !is_error(read.lines) || !is_terminated(read.alternate.name, PATH_MAX) ||
	    !is_hex(read.alternate.build_id, sizeof(read.alternate.build_id)))
		return -EPROTO;
	*description = read;
	return 0;
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	struct debug_description description;
	int error = debug_describe(input->files[0], &machine_abi, &description);

	return error ? error : encode_description(&description, body);
}

static const struct parse_kind description_kind = {
	.name = "description",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 1,
	.parse = parse,
	.decode = decode,
};
