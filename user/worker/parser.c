// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/parser.h"

#include <errno.h>
#include <malloc.h>

#include "base/cleanup.h"
#include "symbol/perf_map.h"
#include "worker/encode.h"

/* Files whose line information stays open between requests. Each takes up to two descriptors. */
#define MAX_OPEN_LINES 32

struct open_lines {
	uint64_t key;
	struct lines *lines;
};

struct parser {
	struct open_lines open[MAX_OPEN_LINES];
	size_t oldest; /* the slot that is used next */
};

struct parser *parser_new(void)
{
	return calloc(1, sizeof(struct parser));
}

static void close_all_lines(struct parser *parser)
{
	for (size_t i = 0; i < MAX_OPEN_LINES; i++)
		lines_close(parser->open[i].lines);
	memset(parser, 0, sizeof(*parser));
	/* libdw's many small pieces would otherwise stay with us as free heap. */
	malloc_trim(0);
}

void parser_free(struct parser *parser)
{
	if (parser)
		close_all_lines(parser);
	free(parser);
}

static int run_describe(struct parser *parser, const struct worker_request *request,
			const int *files, struct bytes *body)
{
	struct debug_description description;
	int err = debug_describe(files[0], &description);

	(void)parser;
	(void)request;
	return err ? err : encode_description(&description, body);
}

static int run_image(struct parser *parser, const struct worker_request *request, const int *files,
		     struct bytes *body)
{
	_cleanup_(image_free) struct image image = {.file.fd = -1};
	int err = image_read(files[0], &image);

	(void)parser;
	(void)request;
	return err ? err : encode_image(&image, body);
}

static int run_objects(struct parser *parser, const struct worker_request *request,
		       const int *files, struct bytes *body)
{
	_cleanup_(image_free) struct image image = {.file.fd = -1};
	int err = image_read_objects(files[0], &image);

	(void)parser;
	(void)request;
	return err ? err : encode_image(&image, body);
}

static int run_perf_map(struct parser *parser, const struct worker_request *request,
			const int *files, struct bytes *body)
{
	_cleanup_(image_free) struct image image = {.file.fd = -1};
	int err = perf_map_read(files[0], &image.table);

	(void)parser;
	(void)request;
	return err ? err : encode_image(&image, body);
}

static int run_unwind(struct parser *parser, const struct worker_request *request, const int *files,
		      struct bytes *body)
{
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	int err = elf_file_open(files[0], &file);

	(void)parser;
	(void)request;
	if (!err)
		err = unwind_table_compile(&file, &table);
	return err ? err : encode_unwind(&file, &table, body);
}

static int run_plan(struct parser *parser, const struct worker_request *request, const int *files,
		    struct bytes *body)
{
	_cleanup_(probe_plan_free) struct probe_plan plan = {0};
	int err;

	(void)parser;
	if (request->probe_at > PROBE_AT_ENTRY ||
	    !memchr(request->symbol_prefix, '\0', sizeof(request->symbol_prefix)))
		return -EINVAL;
	err = probe_plan_file(files[0], request->symbol_prefix, request->probe_at, &plan);
	return err ? err : encode_plan(&plan, body);
}

static int run_threads(struct parser *parser, const struct worker_request *request,
		       const int *files, struct bytes *body)
{
	_cleanup_(thread_library_free) struct thread_library library = {0};
	int err = thread_library_read(files[0], &library);

	(void)parser;
	(void)request;
	return err ? err : encode_threads(&library, body);
}

static int find_or_open_lines(struct parser *parser, const struct worker_request *request,
			      const int *files, struct lines **lines)
{
	int alternate = request->file_count > 1 ? files[1] : -1;
	struct open_lines *slot;
	int err;

	for (size_t i = 0; i < MAX_OPEN_LINES; i++) {
		slot = &parser->open[i];
		if (slot->lines && slot->key == request->key) {
			*lines = slot->lines;
			return 0;
		}
	}
	err = lines_open(files[0], alternate, lines);
	if (err == -ENOMEM) {
		/* Perhaps what is open already takes it all. */
		close_all_lines(parser);
		err = lines_open(files[0], alternate, lines);
	}
	if (err)
		return err;
	slot = &parser->open[parser->oldest];
	parser->oldest = (parser->oldest + 1) % MAX_OPEN_LINES;
	lines_close(slot->lines);
	*slot = (struct open_lines){request->key, *lines};
	return 0;
}

static int run_lines(struct parser *parser, const struct worker_request *request, const int *files,
		     struct bytes *body)
{
	_cleanup_(line_encoder_free) struct line_encoder encoder = {0};
	struct line_frame frames[WIRE_MAX_FRAMES];
	struct lines *lines = NULL;
	int err = find_or_open_lines(parser, request, files, &lines);

	for (uint32_t i = 0; !err && i < request->address_count; i++) {
		size_t count = lines_find(lines, request->addresses[i], frames, WIRE_MAX_FRAMES);

		err = line_encoder_add(&encoder, frames, count);
	}
	return err ? err : line_encoder_finish(&encoder, body);
}

static int run_release(struct parser *parser, const struct worker_request *request,
		       const int *files, struct bytes *body)
{
	(void)request;
	(void)files;
	(void)body;
	close_all_lines(parser);
	return 0;
}

static const struct task {
	int (*run)(struct parser *parser, const struct worker_request *request, const int *files,
		   struct bytes *body);
	uint32_t min_files, max_files;
} tasks[] = {
	[WORKER_DESCRIBE] = {run_describe, 1, 1}, [WORKER_IMAGE] = {run_image, 1, 1},
	[WORKER_LINES] = {run_lines, 1, 2},	  [WORKER_UNWIND] = {run_unwind, 1, 1},
	[WORKER_PLAN] = {run_plan, 1, 1},	  [WORKER_PERF_MAP] = {run_perf_map, 1, 1},
	[WORKER_OBJECTS] = {run_objects, 1, 1},	  [WORKER_THREADS] = {run_threads, 1, 1},
	[WORKER_RELEASE] = {run_release, 0, 0},
};
_Static_assert(ARRAY_SIZE(tasks) == WORKER_KIND_MAX_, "a row for every kind");

int parser_run(struct parser *parser, const struct worker_request *request, const int *files,
	       struct bytes *body)
{
	const struct task *task;

	if (request->kind >= WORKER_KIND_MAX_ || request->address_count > WORKER_MAX_ADDRESSES)
		return -EINVAL;
	task = &tasks[request->kind];
	if (request->file_count < task->min_files || request->file_count > task->max_files)
		return -EINVAL;
	return task->run(parser, request, files, body);
}
