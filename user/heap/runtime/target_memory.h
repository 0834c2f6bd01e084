/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory that walks read: contents kept by a heap image; or the current memory of a process, or
 * a core file, through a cache of recent reads. Absent and swapped-out pages stay so.
 *
 * A heap image is a consistent snapshot of all writable memory: only unmodified pages of files
 * (code, metadata) are then read from the process. Without an image, two reads may see different
 * moments: a walk verifies its findings.
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
	int pagemap;			    /* -1: every page is assumed present */
	struct memory_windows *windows;	    /* cache of recent reads */
	const struct page_table *kept;	    /* contents of its pages; NULL: none kept; borrowed */
	const struct heap_image *image;	    /* image of `kept`, with its threads; NULL: unknown */
	const struct page_range *range;	    /* range of the last read from `kept` */
	uint32_t forgotten;		    /* number of times that the cache was emptied */
	uint64_t unread_bytes;		    /* requested but swapped out, or gone */
	bool uncertain;			    /* some pages may be of another moment than the rest */
	/*
	 * The same memory is mapped several times, at addresses with 1, 2 or 4 in the bits from
	 * this one on, as ZGC's is up to JDK 17; the view that has the page is read. 0: mapped
	 * once.
	 */
	uint32_t view_shift;
	uint64_t occupied; /* bytes of the process in memory or in swap */
	int64_t work_left; /* private; unit: one read of a cached word */
	int64_t work_most;
	/* `changes`: memory may change during a read; `again`: in that case it is read again. */
	bool changes, again;
};

/*
 * Returns why no more memory can be read (static), or NULL while work is left. Hostile memory can
 * lead a walk in circles for hours: the work of a walk, from one target_memory_forget() to the
 * next, is bounded by the memory of the process. Once it is used up, all reads fail.
 */
const char *target_memory_overworked(const struct target_memory *memory);
/* Charges a walk's own work; a unit is one read of a cached word. Returns false if none is left. */
bool target_memory_work(struct target_memory *memory, uint64_t units);
/* Makes all reads fail until target_memory_forget(). */
void target_memory_exhaust(struct target_memory *memory);

/* Opens the memory of a process. `kept`: pages of a heap image of that process; NULL: its current
 * memory is read. 0 or -ENOMEM. All pointers are borrowed until target_memory_close(). */
int target_memory_open(const struct maps *maps, const struct data_modules *modules,
		       const struct page_table *kept, struct target_memory *memory);
void target_memory_close(struct target_memory *memory);

/* Empties the cache and refills the work. */
void target_memory_forget(struct target_memory *memory);
/* Empties the cache, but does not refill the work. */
void target_memory_read_anew(struct target_memory *memory);
/* Empties the cache, refills the work, and frees the cache's memory until the next read. */
void target_memory_release(struct target_memory *memory);

/* Reads all `size` bytes. 0 or -EFAULT. */
int target_read(struct target_memory *memory, uint64_t address, void *buffer, size_t size);
/* Returns how many of the `size` bytes from `address` on are mapped without a gap: an upper bound
 * of the data there. */
uint64_t target_room(struct target_memory *memory, uint64_t address, uint64_t size);
/* Returns a word, or 0 if it cannot be read. */
uint64_t target_word(struct target_memory *memory, uint64_t address);

/*
 * Reads whole pages, bypassing the cache. Pages that were never touched are zeros; unreadable ones
 * are zeros, too, and count as unread. Returns the number of bytes that were present.
 */
uint64_t target_read_pages(struct target_memory *memory, uint64_t address, void *buffer,
			   size_t size);

/* Returns `size` bytes of the heap image, valid until target_memory_close(), or NULL if they are
 * not kept in one piece: then use target_read(). */
const unsigned char *target_kept(struct target_memory *memory, uint64_t address, uint64_t size);

/* Reads a value that changes in a running process, such as its number of collections, bypassing the
 * cache. 0 or -EFAULT. */
int target_read_now(struct target_memory *memory, uint64_t address, void *buffer, size_t size);

/* Returns the address of the variable of this name in a module's symbols, or 0 if not found. */
uint64_t target_variable(const struct data_module *module, const char *name);

#endif
