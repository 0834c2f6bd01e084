/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What crosses the socket between the monitor and its parser process.
 *
 * The monitor sends one packet per request, with descriptors (unix(7), SCM_RIGHTS); one request at
 * a time. The parser answers with a struct worker_answer in a packet of its own, then its body in
 * packets of WORKER_CHUNK_BYTES, the last one shorter. Bodies are copied out of the socket before
 * they are looked at (decode.h), so that a parser that a hostile file took over cannot change them
 * after they were checked, as it could in shared memory.
 *
 * Both ends are the same program: the layout needs no versions.
 */
#ifndef LEAKMON_WORKER_PROTOCOL_H
#define LEAKMON_WORKER_PROTOCOL_H

#include <stdint.h>

#include "elf/tls_layout.h"

enum worker_kind {
	WORKER_DESCRIBE, /* file -> struct debug_description */
	WORKER_IMAGE,	 /* file -> struct wire_image, segments, symbols, names */
	WORKER_LINES,	 /* file [, alternate], key, addresses -> struct wire_lines, ... */
	WORKER_UNWIND,	 /* file -> struct wire_image without symbols, segments, base, rows */
	WORKER_PLAN,	 /* file, symbol prefix, probe_at -> struct wire_plan, points */
	WORKER_PERF_MAP, /* perf map -> struct wire_image of no file, symbols, names */
	WORKER_OBJECTS,	 /* file -> as WORKER_IMAGE, with data objects for functions */
	WORKER_THREADS,	 /* file -> struct wire_threads, struct thread_point */
	WORKER_RELEASE,	 /* gives up what WORKER_LINES keeps open; no body */
	WORKER_KIND_MAX_
};

#define WORKER_MAX_FILES 2
#define WORKER_MAX_ADDRESSES 256
#define WORKER_MAX_PREFIX 256 /* with its NUL */
#define WORKER_CHUNK_BYTES (64u << 10)
#define WORKER_MAX_ANSWER_BYTES (512ull << 20)

struct worker_request {
	uint32_t id; /* not 0 */
	uint32_t kind;
	uint32_t file_count;
	uint32_t address_count;
	uint32_t cpu_seconds; /* after which the parser ends itself */
	uint32_t probe_at;    /* enum probe_at */
	uint64_t key; /* the same for requests about the same files, until a WORKER_RELEASE */
	uint64_t addresses[WORKER_MAX_ADDRESSES];
	char symbol_prefix[WORKER_MAX_PREFIX];
};

/* The first one, with id 0, tells how the sandbox went: 0, and it is closed now; or -errno. */
struct worker_answer {
	uint32_t id;	/* of the request */
	int32_t status; /* 0 or -errno; then there is no body */
	uint64_t size;	/* of the body */
};

struct wire_segment {
	uint64_t offset, vaddr, file_size, memory_size;
	uint8_t executable, writable, padding_[6];
};

/* Then segments, then struct symbol, then their names, each ended by NUL, in the same order. */
struct wire_image {
	uint64_t size, entry, symbol_count, names_size;
	struct elf_thread_locals thread_locals;
	struct tls_layout tls_layout;
	uint32_t segment_count;
	uint16_t type;
	uint8_t has_symtab;
	char build_id[82];
	uint8_t padding_[7];
};

#define WIRE_NO_STRING UINT32_MAX
#define WIRE_MAX_STRING 4096 /* with its NUL */
#define WIRE_MAX_FRAMES 64   /* of one address: how deep functions are inlined into each other */

struct wire_frame {
	uint32_t function, file; /* places in the strings, or WIRE_NO_STRING */
	uint32_t line;
};

/* Then a uint32_t per address (how many frames it has), then the frames, then the strings. */
struct wire_lines {
	uint32_t address_count, frame_count, strings_size;
};

/* After a struct wire_image without symbols. Then struct lm_unwind_row. */
struct wire_unwind {
	uint64_t base, count;
};

struct wire_point {
	uint64_t vaddr, offset;
	uint32_t function, placement_offset;
	uint8_t emulated, refused, needless, is_result;
	uint8_t prefix, number, condition, padding_; /* the latter two of a result */
	uint16_t words;
	uint8_t registers[4], moved, padding_2_; /* where the arguments are */
	char reason[128];
};

/* Then points. */
struct wire_plan {
	char build_id[83];
	uint8_t family;
	uint32_t count;
	uint8_t has_names, is_static, padding_[2];
};

/* Then struct wire_thread_point. */
struct wire_threads {
	uint64_t attr_cookie, code_shift, heads_at;
	uint32_t layout[11]; /* the rest of struct thread_layout, in its order */
	uint32_t count;
	uint8_t has_layout, glibc;
	char why[96];
	uint8_t padding_[6];
};

struct wire_thread_point {
	uint64_t offset;
	uint32_t probe, padding_;
};

_Static_assert(sizeof(struct wire_segment) == 40, "no holes");
_Static_assert(sizeof(struct wire_image) == 216, "no holes");
_Static_assert(sizeof(struct wire_point) == 168, "no holes");
_Static_assert(sizeof(struct wire_plan) == 92, "no holes");

#endif
