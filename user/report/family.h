/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The description of each family of events for outputs, recordings and `top`: its words, and its
 * figures with all of their names. They loop over these tables. A new family needs a value of enum
 * family_id, a struct of figures in the snapshot, and a row here.
 */
#ifndef LEAKMON_REPORT_FAMILY_H
#define LEAKMON_REPORT_FAMILY_H

#include "process/symbol/symbolizer.h"
#include "report/figures.h"
#include "report/snapshot.h"

/* The purpose of a site's memory: in words, and as far as its call stack shows. */

/* Returns "thread stack", ...; NULL for KIND_NONE. */
const char *kind_name(unsigned kind);
/* Returns why another row counts its bytes, too, as text to follow a comma; NULL: none does. */
const char *kind_note(enum site_kind kind);

/*
 * Determines the purpose from function names. The BPF side knows MAP_STACK and the calls of probed
 * allocators, but not an allocator that maps memory outside any call (a constructor, a background
 * thread), nor a C library that maps stacks without MAP_STACK (musl). Returns `kind` unless the
 * names are more specific. Kinds more specific than KIND_RESERVATION stay.
 */
enum site_kind mapping_purpose(const struct frames *frames, enum site_kind kind);

/*
 * Returns KIND_SLAB_PAGES if the pages were taken for objects of kmalloc and caches, which have
 * their own rows; else KIND_PAGES. `frames` and `allocator` from kernel_symbols_name.
 */
enum site_kind kernel_page_kind(const struct frames *frames, const char *allocator);

#define FAMILY_FIGURES_MAX 16

struct family {
	const char *name;  /* "heap": in JSON, labels and recordings */
	const char *title; /* "Heap", on the page */
	const char *noun;  /* contents of its sites: "Top 10 stacks with outstanding NOUN" */
	const char *unit;  /* unit of their counts */
	const char *taken; /* "mapped": frees are unknown by site; NULL: known */
	/* The unit of its sites, if they hold no bytes: "opened", "closed"; NULL: bytes. */
	const char *counted[2];
	/* its bytes include those of other families, or it has none: never summed together */
	bool overlaps;
	/* Its own sample types for pprof, count and bytes; NULL: the heap's; no bytes. */
	const char *sample_types[2];
	/* Its figures; all of these are NULL or 0 without figures. */
	const char *section; /* their member of JSON */
	const char *balance; /* beginning of the line with the balance; NULL: none */
	const char *table;   /* of recordings, by process */
	/*
	 * Offsets of the figures in struct snapshot, and of the flag for their presence; 0: none,
	 * always.
	 */
	size_t of_snapshot, present;
	/* Offset in struct snapshot_process, and size; 0: none. */
	size_t of_process, size;
	struct figures figures;
};

const struct family *family_get(enum family_id id);
/* Returns the name, as in JSON. */
const char *family_name(unsigned id);

/* Returns whether the snapshot has the family's figures; true if every snapshot has them. */
bool family_is_present(const struct family *family, const struct snapshot *snapshot);
/* Return the figures; NULL: the family has no totals, or none by process. */
const void *family_total(const struct family *family, const struct snapshot *snapshot);
const void *family_of_process(const struct family *family, const struct snapshot_process *process);

#endif
