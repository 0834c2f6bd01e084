/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readers of allocators' heaps: one file and one row of the table in heap_readers.c each.
 *
 * A reader finds its allocator's state in the data of modules by its structure, and accepts it only
 * if all parts fit together. Inconsistencies are counted, never guessed around. Each reader keeps
 * its own state between calls of find.
 */
#ifndef LEAKMON_HEAP_HEAP_READER_H
#define LEAKMON_HEAP_HEAP_READER_H

#include "heap/allocators/heap.h"
#include "heap/allocators/pointer_filter.h"
#include "process/proc/maps.h"
#include "process/proc/process_memory.h"

struct page_table;
struct stop;

/* The process as a reader now sees it. */
struct heap_view {
	struct peek *peek;		/* keeps to its deadline, if it has one */
	const struct filter *heaps;	/* anonymous writable memory: possible blocks */
	const struct maps *maps;	/* of the same moment */
	const struct stop *stop;	/* NULL: the process runs */
	const struct page_table *pages; /* with a stop: changes since it ran */
};

/* Ways to make an allocator return memory; each text may be NULL. */
struct heap_advice {
	const char *trim;     /* the call: "malloc_trim(3)" */
	const char *retained; /* follows the amount it would return */
	const char *caches;   /* about free blocks in threads' caches: a sentence */
	const char *arenas;   /* about free blocks in many arenas, after the number of arenas */
};

struct heap_reader {
	const char *name;    /* "glibc": heap.name begins with it */
	const char *library; /* prefix of its shared library's file name, or NULL */
	/*
	 * the library is mapped, but the state was not found; without a library: no state was found
	 */
	const char *why_not;
	const char *why_changing; /* find() or read() failed at every attempt */
	bool libc;		  /* the C library's own malloc */
	/* Searches every module; else none after the first match. */
	bool several;
	struct heap_advice advice;

	size_t state_size; /* of the state, zeroed before the first find */
	/*
	 * Searches [start, end) of one module's data. Returns 0; -ENOENT: not there; -EAGAIN:
	 * there, but just changing, or pointing outside the mappings, which should then be reread;
	 * -ENOMEM; -ETIMEDOUT: by the deadline of the peek.
	 */
	int (*find)(void *state, const struct heap_view *view, uint64_t start, uint64_t end);
	/*
	 * Reads the present heap into a zeroed one; may be called repeatedly. The caller frees it
	 * in any case. Returns 0; -ENOENT: not there (any more); -ENOMEM; -ETIMEDOUT; -ESRCH.
	 */
	int (*read)(void *state, const struct heap_view *view, struct heap *heap);
	/* Frees the state's allocations; NULL: none. */
	void (*release)(void *state);

	/*
	 * Optional, for a heap that must be walked block by block, for longer than a process may be
	 * stopped. While the process runs, a walk is begun, fed with the memory that is read
	 * anyway, by ascending address, and ended; read() repairs it at the stop. Return 0;
	 * -ENOMEM; -ESRCH.
	 */
	int (*walk_begin)(void *state, const struct heap_view *view);
	int (*walk_feed)(void *state, uint64_t address, const uint64_t *words, size_t count);
	int (*walk_end)(void *state, const struct heap_view *view);
	/* The part of a read() that can wait until the process runs again. Returns 0 or -ENOMEM. */
	int (*settle)(void *state, struct heap *heap);
	/* Reads figures, arenas and trims that only `memory` needs. Returns 0 or -ENOMEM. */
	int (*account)(void *state, const struct heap_view *view, struct heap *heap);
	/* Returns whether a block with its own mapping begins in a page; its end: at most `end`. */
	bool (*find_mapped)(uint64_t page, const uint64_t *words, uint64_t end,
			    struct mapped_block *block);
};

/* Returns the n-th row of the table, the C library's first; NULL: no more. */
const struct heap_reader *heap_reader_at(size_t n);
/* Returns the reader of a heap.name ("jemalloc 5.3"); NULL: none. */
const struct heap_reader *heap_reader_of(const char *name);
/*
 * If no heap, or only the C library's, was found: returns the text of a reader whose library is
 * mapped. Static; NULL: none.
 */
const char *heap_readers_why_not(const struct maps *maps);
/* Tries all rows. */
bool heap_readers_find_mapped(uint64_t page, const uint64_t *words, uint64_t end,
			      struct mapped_block *block);

#define HEAP_READERS_MAX 8

/* The allocators found in a process: by row, a state, or NULL. */
struct heap_finds {
	void *states[HEAP_READERS_MAX]; /* owned */
};

/*
 * Looks for all allocators in the data of all modules, again. Returns 0, also if there is none;
 * errors as find(). After -EAGAIN the finds are valid, too: read() retries.
 */
int heap_finds_make(struct heap_finds *finds, const struct heap_view *view);
void heap_finds_free(struct heap_finds *finds);
/* Number of attempts worthwhile after -EAGAIN, with the mappings reread each time. */
#define HEAP_FIND_TRIES 3

int heap_finds_walk_begin(struct heap_finds *finds, const struct heap_view *view);
int heap_finds_walk_feed(struct heap_finds *finds, uint64_t address, const uint64_t *words,
			 size_t count);
int heap_finds_walk_end(struct heap_finds *finds, const struct heap_view *view);

/* For readers. */

/*
 * Visits every present page of a module's data [start, end), until a call returns true: enough.
 * Returns whether one did.
 */
bool heap_data_visit(struct peek *peek, uint64_t start, uint64_t end,
		     bool (*visit)(void *context, uint64_t page, const uint64_t *words),
		     void *context);
/* Reads like peek_words(), but words of pages never touched, or given back, are 0. */
int heap_words(struct peek *peek, uint64_t address, uint64_t *words, size_t count);
/* Returns whether the page that contains a word is unreadable because it is swapped out. */
bool heap_is_swapped(const struct peek *peek, uint64_t address);

/*
 * An allocator's own version, for display only: the structure of memory decides what is accepted.
 */
#define HEAP_VERSION_MAX 16

/* Minor versions of one major version. */
struct heap_version_range {
	unsigned int major, from, to;
};

/* Copies the version number that a text begins with. Returns its length. */
size_t heap_version_copy(const char *text, char version[HEAP_VERSION_MAX]);
/*
 * Looks for a version in the read-only data of the module with data at an address. match() is
 * called at every byte of it, with a text of at least HEAP_VERSION_ROOM bytes and a 0; `version` is
 * empty if it never matches, or if those pages are not in memory.
 */
#define HEAP_VERSION_ROOM 64
void heap_version_find(const struct heap_view *view, uint64_t data,
		       bool (*match)(const char *text, char version[HEAP_VERSION_MAX]),
		       char version[HEAP_VERSION_MAX]);
/* Sets the name "tcmalloc 2.18.1", followed by "(version not tested)" if in none of the ranges. */
void heap_name(struct heap *heap, const char *name, const char *version,
	       const struct heap_version_range *tested, size_t count);

#endif
