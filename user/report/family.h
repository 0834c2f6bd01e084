/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The description of each family of events for outputs, recordings and `top`: its words, and its
 * figures with all of their names. They loop over these tables. A new family is a value of enum
 * family_id, a struct of figures in the snapshot, and a row here.
 */
#ifndef LEAKMON_REPORT_FAMILY_H
#define LEAKMON_REPORT_FAMILY_H

#include "process/symbol/symbolizer.h"
#include "report/figures.h"
#include "report/snapshot.h"

/* The purpose of a site's memory: in words, and as far as the names on its call stack show. */

/* "thread stack", ...; NULL for KIND_NONE. */
const char *kind_name(unsigned kind);
/* Why its bytes are counted by another row, too: to follow a comma; NULL when they are not. */
const char *kind_note(enum site_kind kind);

/*
 * The BPF side knows MAP_STACK and the calls of probed allocators; what it cannot see is an
 * allocator that maps memory outside of any call (a constructor, a background thread), and a C
 * library that maps stacks without MAP_STACK (musl). `kind`, unless the names say better. Kinds
 * that say more than KIND_RESERVATION stay.
 */
enum site_kind mapping_purpose(const struct frames *frames, enum site_kind kind);

/*
 * KIND_SLAB_PAGES when the pages were taken to cut objects of kmalloc and caches from, which have
 * rows of their own; else KIND_PAGES. `frames` and `allocator` as kernel_symbols_name gave them.
 */
enum site_kind kernel_page_kind(const struct frames *frames, const char *allocator);

#define FAMILY_FIGURES_MAX 16

struct family {
	const char *name;  /* "heap": in JSON, labels and recordings */
	const char *title; /* "Heap", on the page */
	const char *noun;  /* what its sites do: "Top 10 stacks with outstanding NOUN" */
	const char *unit;  /* what their counts are of */
	const char *taken; /* "mapped": frees are not known by site; NULL: they are */
	/* The unit of its sites, for they hold no bytes: "opened", "closed"; NULL: bytes. */
	const char *counted[2];
	bool overlaps; /* its bytes hold those of other families, or it has none: no sum has both */
	/* Sample types of its own for pprof, count and bytes; NULL: the heap's; no bytes. */
	const char *sample_types[2];
	/* Its figures; without any, all of these are NULL or 0. */
	const char *section; /* the member of JSON that has them */
	const char *balance; /* how the line that shows the balance begins; NULL: none */
	const char *table;   /* of recordings, by process */
	/* Where they are in struct snapshot, and whether they are there; 0: nowhere, always. */
	size_t of_snapshot, present;
	/* Where they are in struct snapshot_process, and how large; 0: nowhere. */
	size_t of_process, size;
	struct figures figures;
};

const struct family *family_get(enum family_id id);
/* As in JSON. */
const char *family_name(unsigned id);

/* Whether the snapshot has its figures, if it has any. */
bool family_is_present(const struct family *family, const struct snapshot *snapshot);
/* Where the figures are; NULL: they are not summed up, not known by process. */
const void *family_total(const struct family *family, const struct snapshot *snapshot);
const void *family_of_process(const struct family *family, const struct snapshot_process *process);

#endif
