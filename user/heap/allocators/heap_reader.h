/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readers of allocators' heaps: one file and one row of the table in heap_readers.c each.
 *
 * A reader finds its allocator's state in the data of modules by how it looks, and takes nothing
 * for it unless all of it fits together. What contradicts itself is counted, never guessed. It
 * keeps a state of its own, from one find to the next.
 */
#ifndef LEAKMON_HEAP_HEAP_READER_H
#define LEAKMON_HEAP_HEAP_READER_H

#include "heap/allocators/heap.h"
#include "heap/allocators/pointer_filter.h"
#include "process/proc/maps.h"
#include "process/proc/process_memory.h"

struct page_table;
struct stop;

/* The process as a reader sees it now. */
struct heap_view {
	struct peek *peek;		/* keeps to its deadline, if it has one */
	const struct filter *heaps;	/* anonymous writable memory: where blocks can be */
	const struct maps *maps;	/* of the same time */
	const struct stop *stop;	/* NULL: the process runs */
	const struct page_table *pages; /* with a stop: what has changed since it ran */
};

/* Ways to make an allocator give back what it keeps; each text may be NULL. */
struct heap_advice {
	const char *trim;     /* the call that does: "malloc_trim(3)" */
	const char *retained; /* behind how much that would be */
	const char *caches;   /* of free blocks in the caches of threads: a sentence */
	const char *arenas;   /* of free blocks in many arenas, behind how many there are */
};

struct heap_reader {
	const char *name;	  /* "glibc": heap.name begins with it */
	const char *library;	  /* how the name of its shared library's file begins, or NULL */
	const char *why_not;	  /* the library is mapped, but the state was not found; without a
				   * library: nobody's state was */
	const char *why_changing; /* find() or read() failed as often as they were tried */
	bool libc;		  /* the C library's own malloc */
	/* Asked of every module; else of none behind the one in which it was found. */
	bool several;
	struct heap_advice advice;

	size_t state_size; /* of the state, zeroed before the first find */
	/*
	 * In [start, end) of one module's data. 0; -ENOENT: it is not there; -EAGAIN: it is, and
	 * was just being changed, or leads out of the mappings, so that these should be read again;
	 * -ENOMEM; -ETIMEDOUT: by the deadline of the peek.
	 */
	int (*find)(void *state, const struct heap_view *view, uint64_t start, uint64_t end);
	/*
	 * The heap as it is now, from zeros; for as often as wanted. It is freed in any case by the
	 * caller. 0; -ENOENT: it is not there (any more); -ENOMEM; -ETIMEDOUT; -ESRCH.
	 */
	int (*read)(void *state, const struct heap_view *view, struct heap *heap);
	/* Frees what the state owns; NULL: nothing. */
	void (*release)(void *state);

	/*
	 * Optional, for a heap that must be walked block by block: longer than a process may stand.
	 * While it runs, a walk is begun, fed with the memory that is read anyhow, by ascending
	 * address, and ended; read() mends it at the stop. 0; -ENOMEM; -ESRCH.
	 */
	int (*walk_begin)(void *state, const struct heap_view *view);
	int (*walk_feed)(void *state, uint64_t address, const uint64_t *words, size_t count);
	int (*walk_end)(void *state, const struct heap_view *view);
	/* The part of a read() that can wait until the process runs again. 0 or -ENOMEM. */
	int (*settle)(void *state, struct heap *heap);
	/* Figures, arenas and trims that only `memory` asks for; reads more. 0 or -ENOMEM. */
	int (*account)(void *state, const struct heap_view *view, struct heap *heap);
	/* Whether a block with a mapping of its own begins in a page; its end: at most `end`. */
	bool (*find_mapped)(uint64_t page, const uint64_t *words, uint64_t end,
			    struct mapped_block *block);
};

/* The n-th row of the table, the C library's first; NULL: there are no more. */
const struct heap_reader *heap_reader_at(size_t n);
/* By a name that begins with the reader's ("jemalloc 5.3"); NULL: none. */
const struct heap_reader *heap_reader_of(const char *name);
/* Where nothing, or only the C library's heap was found: the text of a reader with its library
 * mapped. Static; NULL: of none. */
const char *heap_readers_why_not(const struct maps *maps);
/* Asks all rows. */
bool heap_readers_find_mapped(uint64_t page, const uint64_t *words, uint64_t end,
			      struct mapped_block *block);

#define HEAP_READERS_MAX 8

/* The allocators that were found in a process: by row, a state, or NULL. */
struct heap_finds {
	void *states[HEAP_READERS_MAX]; /* owned */
};

/*
 * Looks for all allocators in the data of all modules, again. 0, also when there is none; errors as
 * find(). After -EAGAIN the finds are good, too: read() tries again.
 */
int heap_finds_make(struct heap_finds *finds, const struct heap_view *view);
void heap_finds_free(struct heap_finds *finds);
/* After -EAGAIN it is worth as many tries, with the mappings as they are then. */
#define HEAP_FIND_TRIES 3

int heap_finds_walk_begin(struct heap_finds *finds, const struct heap_view *view);
int heap_finds_walk_feed(struct heap_finds *finds, uint64_t address, const uint64_t *words,
			 size_t count);
int heap_finds_walk_end(struct heap_finds *finds, const struct heap_view *view);

/* For readers. */

/*
 * Calls with every page of a module's data [start, end) that is there, until one call says that it
 * is enough: true.
 */
bool heap_data_visit(struct peek *peek, uint64_t start, uint64_t end,
		     bool (*visit)(void *context, uint64_t page, const uint64_t *words),
		     void *context);
/* As peek_words(), but words of pages that have never been touched, or given back, are 0. */
int heap_words(struct peek *peek, uint64_t address, uint64_t *words, size_t count);
/* Whether the page that holds a word cannot be read because it is in swap. */
bool heap_is_swapped(const struct peek *peek, uint64_t address);

/*
 * An allocator's own version, for its name only: what is believed follows from what memory looks
 * like.
 */
#define HEAP_VERSION_MAX 16

/* Minor versions of one major one. */
struct heap_version_range {
	unsigned int major, from, to;
};

/* Copies the numbers and points that a text begins with; how many. */
size_t heap_version_copy(const char *text, char version[HEAP_VERSION_MAX]);
/*
 * Looks for a version in the read-only data of the module with data at an address. match() is asked
 * at every byte of it, with a text of at least HEAP_VERSION_ROOM bytes and a 0; `version` is empty
 * if it never says so, or if those pages are not in memory.
 */
#define HEAP_VERSION_ROOM 64
void heap_version_find(const struct heap_view *view, uint64_t data,
		       bool (*match)(const char *text, char version[HEAP_VERSION_MAX]),
		       char version[HEAP_VERSION_MAX]);
/* "tcmalloc 2.18.1", with "(version not tested)" behind one that is in none of the ranges. */
void heap_name(struct heap *heap, const char *name, const char *version,
	       const struct heap_version_range *tested, size_t count);

#endif
