/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bodies of the parser's questions and answers (base/sandbox/protocol.h), as sent through the
 * socket. Each module has both ends: the encoder for the sandbox, and the checking decoder for the
 * monitor.
 */
#ifndef LEAKMON_PARSE_WIRE_H
#define LEAKMON_PARSE_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "binary/elf/elf_file.h"
#include "binary/elf/tls_layout.h"

#define WIRE_MAX_ADDRESSES 256
#define WIRE_MAX_PREFIX 256 /* with its NUL */

/* Returns whether a text field of an answer is terminated. */
static inline bool is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static inline bool is_hex(const char *text, size_t size)
{
	return is_terminated(text, size) && text[strspn(text, "0123456789abcdef")] == '\0';
}

/* The question for lines: as many addresses as fit. */
struct wire_lines_question {
	uint64_t key; /* the same for questions about the same files, until they are released */
	uint64_t addresses[WIRE_MAX_ADDRESSES];
};

/* The question for dead slots: as many addresses as fit. */
struct wire_slots_question {
	uint64_t addresses[WIRE_MAX_ADDRESSES];
};

struct wire_plan_question {
	uint32_t probe_at; /* enum probe_at */
	char symbol_prefix[WIRE_MAX_PREFIX];
};

struct wire_segment {
	uint64_t offset, vaddr, file_size, memory_size;
	uint8_t executable, writable, padding_[6];
};

/* Followed by segments, then struct symbol, then their NUL-terminated names, in the same order. */
struct wire_image {
	uint64_t size, entry, symbol_count, names_size;
	struct elf_thread_locals thread_locals;
	struct tls_layout tls_layout;
	uint32_t segment_count, number_count;
	uint16_t type;
	uint8_t has_symtab;
	char build_id[82];
	uint8_t padding_[3];
};

#define WIRE_NO_STRING UINT32_MAX
#define WIRE_MAX_STRING 4096 /* with its NUL */
#define WIRE_MAX_FRAMES 64   /* per address: limit of nested inlined functions */

struct wire_frame {
	uint32_t function, file; /* offsets in the strings, or WIRE_NO_STRING */
	uint32_t line;
};

/* Followed by a uint32_t per address (its number of frames), then the frames, then the strings. */
struct wire_lines {
	uint32_t address_count, frame_count, strings_size;
};

/* Follows a struct wire_image without symbols. Followed by struct lm_unwind_row. */
struct wire_unwind {
	uint64_t base, count;
};

struct wire_point {
	uint64_t vaddr, offset;
	uint32_t function, placement_offset;
	uint8_t emulated, refused, needless, is_result;
	uint8_t prefix, number, condition, padding_; /* the latter two of a result */
	uint16_t words;
	uint8_t registers[4], moved, padding_2_; /* of the arguments */
	char reason[128];
};

/* Followed by points, then a struct wire_stapsdt. */
struct wire_plan {
	char build_id[83];
	uint8_t family;
	uint32_t count;
	uint8_t has_names, is_static, padding_[2];
};

/* Follows the points of a plan. Followed by struct usdt_probe, then struct usdt_listed. */
struct wire_stapsdt {
	uint32_t probes, listed;
	char refused[112];
};

/* Followed by struct wire_thread_point. */
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
_Static_assert(sizeof(struct wire_image) == 240, "no holes");
_Static_assert(sizeof(struct wire_point) == 168, "no holes");
_Static_assert(sizeof(struct wire_plan) == 92, "no holes");

#endif
