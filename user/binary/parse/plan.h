/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the functions of one file to probe, and the exact places. */
#ifndef LEAKMON_PARSE_PLAN_H
#define LEAKMON_PARSE_PLAN_H

#include "base/sandbox/parse_kind.h"
#include "base/vec.h"
#include "binary/arch/placement.h"
#include "binary/arch/results.h"
#include "binary/parse/allocators.h"
#include "binary/parse/stapsdt.h"

/* The user's options for probes. */

/* The cheapest instruction proven equivalent, or always the first; see placement.h. */
enum probe_at { PROBE_AT_BEST, PROBE_AT_ENTRY };

/* In order of preference; described in attach.h. */
enum attach_method { ATTACH_AUTO, ATTACH_SESSION, ATTACH_MULTI, ATTACH_PERF };

struct probe_point {
	size_t function; /* row of allocator_functions */
	enum allocator_prefix prefix;
	uint64_t vaddr;	 /* of the function, as in the file; of a result: of the place itself */
	uint64_t offset; /* of the probe, in the file */
	struct placement placement;
	bool is_result; /* not an entry: `result` locates the result */
	struct result_site result;
};

/*
 * Bytes of a function that are decoded: jumps back to its beginning may come from anywhere in it.
 */
#define PLAN_CODE_BYTES 8192
/* One function may have several addresses: symbol versions. */
#define PLAN_MAX_POINTS 512

struct probe_plan {
	VEC(struct probe_point)
	points;			/* entries in the order of allocator_functions, then results */
	struct stapsdt carried; /* USDT probes of the file */
	char build_id[83];
	uint8_t family; /* 1 + row of allocator_families; 0: none */
	bool has_names; /* the file has symbols */
	bool is_static; /* it needs no dynamic loader: its allocator would be in it */
};

/*
 * Reads the file's symbols and chooses places. A file is an allocator if it defines both a C
 * function that allocates and one that frees, with the same prefix; otherwise the plan is empty:
 * operator new alone (libstdc++) calls malloc. Names that share an address give one point. Returns
 * 0; -errno if the file cannot be read as ELF; -E2BIG: more than PLAN_MAX_POINTS, or than
 * CODE_MAX_DECODED instructions in them. *plan is untouched on error.
 */
int probe_plan_file(int fd, const char *symbol_prefix, enum probe_at probe_at,
		    struct probe_plan *plan);
void probe_plan_free(struct probe_plan *plan);

/* Returns whether the point gets a probe. */
static inline bool plan_is_used(const struct probe_point *point)
{
	return !point->placement.refused && !point->placement.needless;
}

extern const struct parse_kind plan_kind; /* struct wire_plan_question -> struct probe_plan */

int encode_plan(const struct probe_plan *plan, struct bytes *body);

#endif
