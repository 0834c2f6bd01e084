/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading ELF and DWARF of files that may be hostile.
 *
 * All parsing happens in sandboxed child processes (sandbox.h), which get descriptors and answer
 * in a bounded format. Each request has a deadline, each child a limit of memory. A file at which a
 * child crashes, hangs or runs out of memory costs that file: the child is replaced, the pair of
 * file (its identity, not its name) and kind of request is marked, and asking again gives the same
 * error at once.
 *
 * There are three children, each started when first needed: one names, and is waited for; one finds
 * lines, which can take seconds and need not be waited for; one plans probes.
 *
 * Besides what they list, all requests can fail with
 *   -ECONNRESET  the file made the parser crash           -EPROTO  the parser's answer is broken
 *   -ETIMEDOUT   parsing took longer than the deadline    -EDQUOT  it took too much memory
 *   -ECHILD      no sandbox can be had on this machine    -ENOMEM  we are out of memory, -EMFILE
 * and leave their outputs untouched then. Not for use in signal handlers.
 */
#ifndef LEAKMON_WORKER_WORKER_H
#define LEAKMON_WORKER_WORKER_H

#include <sys/types.h>

#include "probe/plan.h"
#include "symbol/debug_sections.h"
#include "symbol/image.h"
#include "unwind/unwind_table.h"
#include "worker/decode.h"
#include "worker/protocol.h"

struct worker;

enum worker_lane { WORKER_LANE_NAMES, WORKER_LANE_LINES, WORKER_LANE_PLANS, WORKER_LANE_MAX_ };

struct worker_limits {
	uint64_t memory_bytes; /* of each child's address space; 0: 1 GiB */
	uint32_t deadline_ms;  /* for one request, halved by each that hangs; 0: 5000 */
};

/* `limits` may be NULL. NULL: out of memory. Starts nothing yet. */
struct worker *worker_new(const struct worker_limits *limits);
/* Parses in this very process, without any protection: for the parsers' own tests. */
struct worker *worker_new_local(void);
void worker_free(struct worker *worker);

/* What a file says about itself and its debug information. Errors as debug_describe(). */
int worker_describe(struct worker *worker, int fd, struct debug_description *description);
/* Segments, build-id and functions. Errors as image_read(). */
int worker_read_image(struct worker *worker, int fd, struct image *image);
/* The same with data objects in place of functions. Errors as image_read_objects(). */
int worker_read_objects(struct worker *worker, int fd, struct image *image);
/* Functions by their addresses in the process. Errors as perf_map_read(); the caller frees. */
int worker_read_perf_map(struct worker *worker, int fd, struct symbol_table *table);
/* Unwind rows, and the file's segments. Errors as elf_file_open() and unwind_table_compile(). */
int worker_compile_unwind(struct worker *worker, int fd, struct elf_file *file,
			  struct unwind_table *table);

/* What a file says of threads; the caller frees *library. Errors as thread_library_read(). */
int worker_read_threads(struct worker *worker, int fd, struct thread_library *library);

/* Where to probe a file; the caller frees *plan. Errors as probe_plan_file(); -ENAMETOOLONG. */
int worker_plan(struct worker *worker, int fd, const char *symbol_prefix, enum probe_at probe_at,
		struct probe_plan *plan);
/*
 * Ends the child that plans: the next plan starts another. A file that took the child over could
 * have a probe put into the middle of an instruction of the next file; call this between files.
 */
void worker_leave_planner(struct worker *worker);
/* The same, and waits for all that are ending. */
void worker_end_plans(struct worker *worker);

struct line_request {
	int fd, alternate_fd; /* borrowed; alternate_fd: what dwz moved out of fd, or -1 */
	uint64_t key;	      /* stands for these files until worker_release_lines() */
	uint64_t addresses[WORKER_MAX_ADDRESSES];
	size_t count;
};

/* Asks for lines; at most one such request at a time. 0; -EBUSY; -EINVAL: too many addresses. */
int worker_start_lines(struct worker *worker, const struct line_request *request);
/*
 * Waits for the answer, at most timeout_ms (0: just looks; -1: until the deadline). The caller
 * frees *answer (line_answer_free). 0; -EAGAIN: not yet; errors as lines_open(); -ENOENT also when
 * nothing was asked.
 */
int worker_finish_lines(struct worker *worker, int timeout_ms, struct line_answer *answer);
/* Becomes readable when there is something to finish; -1: nothing was asked, or no need to wait. */
int worker_lines_fd(const struct worker *worker);
/* Gives up the line information that the parser keeps open; not while a request is under way. */
void worker_release_lines(struct worker *worker);

/* What to tell people about a failed file, as a static string; NULL: not one of those above. */
const char *worker_failure(int error);

/* The process behind a lane, or 0: none runs now. */
pid_t worker_pid(const struct worker *worker, enum worker_lane lane);

#endif
