/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The monitor's questions about files of targets, each answered by a parser in the sandbox. All can
 * also fail as listed in base/sandbox/worker.h, and then leave their outputs untouched.
 */
#ifndef LEAKMON_PARSE_QUESTIONS_H
#define LEAKMON_PARSE_QUESTIONS_H

#include "base/sandbox/parse_kind.h"
#include "base/sandbox/worker.h"
#include "binary/elf/debug_sections.h"
#include "binary/parse/core_layout.h"
#include "binary/parse/image.h"
#include "binary/parse/lines.h"
#include "binary/parse/perf_map.h"
#include "binary/parse/plan.h"
#include "binary/parse/slots.h"
#include "binary/parse/thread_library.h"
#include "binary/parse/unpack.h"
#include "binary/parse/unwind_table.h"

enum parse_question {
	PARSE_DESCRIPTION,
	PARSE_IMAGE,
	PARSE_OBJECTS,
	PARSE_SYMBOLS,
	PARSE_LINES,
	PARSE_UNWIND,
	PARSE_PLAN,
	PARSE_PERF_MAP,
	PARSE_THREADS,
	PARSE_CORE,
	PARSE_UNPACK,
	PARSE_SLOTS,
	PARSE_QUESTION_MAX_,
};

/* The table of all questions, for worker_new() and worker_process_enter(). */
extern const struct parse_kinds parse_kinds;

/* Reads a file's references to its debug information. Errors as debug_describe(). */
int parse_description(struct worker *worker, int fd, struct debug_description *description);
/* Reads segments, build-id and functions. Errors as image_read(). */
int parse_image(struct worker *worker, int fd, struct image *image);
/* Reads data objects in place of functions. Errors as image_read_objects(). */
int parse_objects(struct worker *worker, int fd, struct image *image);
/* Reads every symbol with an address. Errors as image_read_all_symbols(). */
int parse_symbols(struct worker *worker, int fd, struct image *image);
/*
 * Reads functions by their addresses in the process. Errors as perf_map_read(); the caller frees
 * *table.
 */
int parse_perf_map(struct worker *worker, int fd, struct symbol_table *table);
/*
 * Reads unwind rows, and the file's segments. Errors as elf_file_open() and unwind_table_compile().
 */
int parse_unwind(struct worker *worker, int fd, struct elf_file *file, struct unwind_table *table);

/*
 * Reads the thread functions and lists of a file; the caller frees *library. Errors as
 * thread_library_read().
 */
int parse_threads(struct worker *worker, int fd, struct thread_library *library);
/* Reads the layout of a core file; the caller frees *layout. Errors as core_layout_read(). */
int parse_core(struct worker *worker, int fd, struct core_layout *layout);
/* Reads the next part of a compressed file; the caller frees its bytes. Errors as unpack_kind. */
int parse_unpack(struct worker *worker, int fd, bool first, struct unpacked *part);
/*
 * Chooses where to probe a file; the caller frees *plan. Errors as probe_plan_file();
 * -ENAMETOOLONG.
 */
int parse_plan(struct worker *worker, int fd, const char *symbol_prefix, enum probe_at probe_at,
	       struct probe_plan *plan);

/*
 * Finds the dead words in the frames of up to WIRE_MAX_ADDRESSES instructions, by the debug
 * information in `fd` (see struct line_request). The caller frees *answer. Errors as lines_open();
 * -EINVAL: too many.
 */
int parse_slots(struct worker *worker, int fd, int alternate_fd, const uint64_t *addresses,
		size_t count, struct slot_answer *answer);

struct line_request {
	int fd, alternate_fd; /* borrowed; alternate_fd: the supplementary file of dwz, or -1 */
	uint64_t key;	      /* identifies these files until worker_release() */
	uint64_t addresses[WIRE_MAX_ADDRESSES];
	size_t count;
};

/* Requests lines (WORKER_LANE_BACKGROUND). Returns 0; -EBUSY; -EINVAL: too many addresses. */
int parse_lines_begin(struct worker *worker, const struct line_request *request);
/*
 * Returns as worker_finish(); the caller frees *answer (line_answer_free). Errors as lines_open().
 */
int parse_lines_finish(struct worker *worker, int timeout_ms, struct line_answer *answer);

/* Encodes the answer to PARSE_DESCRIPTION. */
int encode_description(const struct debug_description *description, struct bytes *body);

#endif
