/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that walks read: the memory of a process as a heap image has kept it; or as it is now,
 * or left a core file, through a cache of what was read lately. Pages that are absent or swapped
 * out stay so.
 *
 * What a heap image has kept is of one moment, and everything that can be written is in it: only
 * what nobody has written is read from the process then (code, metadata of a file). Without one,
 * two readings may be of two moments: a walk proves what it believes.
 */
#ifndef LEAKMON_RUNTIME_TARGET_MEMORY_H
#define LEAKMON_RUNTIME_TARGET_MEMORY_H

#include "process/proc/maps.h"
#include "process/proc/process_memory.h"

struct data_module;
struct data_modules;
struct memory_windows;
struct page_range;
struct heap_image;
struct page_table;

struct target_memory {
	const struct maps *maps;	    /* maps->source is the process; borrowed */
	const struct data_modules *modules; /* its files' variables; borrowed */
	int pagemap;			    /* -1: every page is taken for present */
	struct memory_windows *windows;	    /* what was read lately */
	const struct page_table *kept;	    /* contents of its pages; NULL: none are; borrowed */
	const struct heap_image *image;	    /* they are of, with its threads; NULL: not known */
	const struct page_range *range;	    /* of them, in which was read last */
	uint32_t forgotten;		    /* how often what was read lately has been */
	uint64_t unread_bytes;		    /* of what was asked for: swapped out, or gone */
	bool uncertain; /* something was read that is not surely of the moment of the rest */
	/* The same memory is mapped more than once: at addresses with 1, 2 or 4 in the bits from
	 * this one on, as ZGC's is until 17. It is read wherever it is present. 0: it is not. */
	uint32_t view_shift;
	uint64_t occupied; /* bytes that the process has in memory or in swap */
	int64_t work_left; /* in reads of a word that was read lately; private, as: */
	int64_t work_most;
	/* It may change while it is read; and it will be read again if it has. */
	bool changes, again;
};

/*
 * What is read can be made to lead to the same again and again, for hours: what a walk may cost,
 * from one target_memory_forget() to the next, is bounded by what the process has in memory. Once
 * that is used up nothing can be read any more, and this says so (static); NULL: there is still
 * some left.
 */
const char *target_memory_overworked(const struct target_memory *memory);
/* What a walk does with what it has read; a unit is a read of a word that was read lately. False:
 * none is left. */
bool target_memory_work(struct target_memory *memory, uint64_t units);
/* Nothing more is to be read until target_memory_forget(). */
void target_memory_exhaust(struct target_memory *memory);

/* `kept`: of a heap image of that process; NULL: it is read as it is now. 0 or -ENOMEM. All
 * pointers are borrowed until target_memory_close(). */
int target_memory_open(const struct maps *maps, const struct data_modules *modules,
		       const struct page_table *kept, struct target_memory *memory);
void target_memory_close(struct target_memory *memory);

/* Forgets all that was read. */
void target_memory_forget(struct target_memory *memory);
/* Likewise, and what reading may cost stays as it is. */
void target_memory_read_anew(struct target_memory *memory);
/* As target_memory_forget(), and takes no memory for it until it is used again. */
void target_memory_release(struct target_memory *memory);

/* All `size` bytes, or -EFAULT. */
int target_read(struct target_memory *memory, uint64_t address, void *buffer, size_t size);
/* How many of so many bytes from there on are in mappings: no more can be there. */
uint64_t target_room(struct target_memory *memory, uint64_t address, uint64_t size);
/* A word; 0 if it cannot be read. */
uint64_t target_word(struct target_memory *memory, uint64_t address);

/*
 * Much at once, past the cache: whole pages. Those that were never touched are zeros; others that
 * cannot be read are, too, and count as unread. Returns how many bytes were there.
 */
uint64_t target_read_pages(struct target_memory *memory, uint64_t address, void *buffer,
			   size_t size);

/* So many bytes as they were kept, good until target_memory_close(); NULL: they are not kept one
 * after the other, then they are to be read. */
const unsigned char *target_kept(struct target_memory *memory, uint64_t address, uint64_t size);

/* How many collections there were, and the like: of a process that runs it is read again. All of
 * it, or -EFAULT. */
int target_read_now(struct target_memory *memory, uint64_t address, void *buffer, size_t size);

/* The address of a variable that a module's symbols name; 0: they do not. */
uint64_t target_variable(const struct data_module *module, const char *name);

#endif
