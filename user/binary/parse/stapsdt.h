/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that programs carry (USDT): the memory probes in the notes of a file (.note.stapsdt).
 * Source of the layout: "User Space Probe Implementation" of SystemTap; of otel_memory's meaning:
 * OpenTelemetry's eBPF profiler, design document 00003:
 *
 *   alloc(ptr, size, weight)  a sampled allocation; `weight` estimates the bytes it represents
 *   free(ptr)                 the end of a sampled one
 */
#ifndef LEAKMON_PARSE_STAPSDT_H
#define LEAKMON_PARSE_STAPSDT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/sandbox/bytes.h"
#include "base/vec.h"
#include "binary/elf/elf_file.h"
#include "leakmon_usdt.h"

/* Limits of the notes read from a file, in number and in bytes. */
#define STAPSDT_MAX_NOTES 65536
#define STAPSDT_MAX_BYTES (16u << 20)
/* Limit of places of otel_memory: a macro may be in much inlined code. */
#define STAPSDT_MAX_PROBES 512
#define STAPSDT_MAX_LISTED 64
#define STAPSDT_MAX_REASON 112

enum usdt_kind { USDT_ALLOCATE, USDT_FREE, USDT_KIND_MAX_ };

/* One place of otel_memory's. */
struct usdt_probe {
	uint64_t vaddr, offset; /* of its instruction; offset: in the file */
	uint64_t semaphore;	/* its offset in the file; 0: none */
	enum usdt_kind kind;
	struct lm_usdt_operand arguments[LM_USDT_ARGUMENTS];
	char refused[STAPSDT_MAX_REASON]; /* not "": why it gets no probe; then the rest is 0 */
};

/* For people: providers of memory probes, otel_memory's and allocators' own. */
struct usdt_listed {
	char provider[32], name[64];
	uint32_t places;
};

struct stapsdt {
	VEC(struct usdt_probe) probes; /* by kind, then by offset */
	VEC(struct usdt_listed) listed;
	char refused[STAPSDT_MAX_REASON]; /* not "": why the notes were not read, or not all */
};

/*
 * Reads the notes. Returns 0, also if there are none, or they are refused; -EIO; -ENOMEM. *notes is
 * untouched on error.
 */
int stapsdt_read(const struct elf_file *file, struct stapsdt *notes);
void stapsdt_free(struct stapsdt *notes);

/* Returns how many of a kind can be probed. */
size_t stapsdt_count(const struct stapsdt *notes, enum usdt_kind kind);

/* "alloc", "free" */
const char *usdt_kind_name(enum usdt_kind kind);

/* For `leakmon doctor`. */
void stapsdt_print(FILE *out, const struct stapsdt *notes);

/* Encode and decode a part of the plan's answer (binary/parse/plan.h). */
int encode_stapsdt(const struct stapsdt *notes, struct bytes *body);
int decode_stapsdt(struct cursor *cursor, uint64_t file_size, struct stapsdt *notes);

#endif
