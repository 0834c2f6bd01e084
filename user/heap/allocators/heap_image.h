/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap image of a process's memory at one moment: its possible pointers, the chunks of its heaps,
 * and its threads' stacks. Contents are not kept.
 *
 * Most is read while the process runs; then it is stopped, and changes are reread: the heap image
 * is that of the stop. If that would take too long, see pages.h: blocks in pages whose time of
 * change is unknown must not be called lost. Without a stop the image is blurred, and a pointer
 * that moved at the wrong moment is missing: two images must agree before any conclusion
 * (double_scan.c).
 */
#ifndef LEAKMON_HEAP_HEAP_IMAGE_H
#define LEAKMON_HEAP_HEAP_IMAGE_H

#include "binary/elf/tls_layout.h"
#include "heap/allocators/heap.h"
#include "heap/allocators/pages.h"
#include "process/pause/stop.h"
#include "process/proc/maps.h"

/* Memory known to the caller to be unused: words in it hold nothing. */
struct idle_range {
	uint64_t start, end;
};

/* The C library with its list of threads, in a process. */
struct c_library {
	struct tls_layout layout;
	uint64_t bias; /* address in memory minus address in the file */
};

struct heap_image_options {
	const struct core *core; /* instead of a live process; borrowed; NULL: none */
	bool no_stop;
	bool keep; /* keep contents of pages, unless they are a core file's */
	/*
	 * Returns whether a stopped process is to be read; else it is resumed, and stopped again, a
	 * few times. Called during the stop. NULL: always.
	 */
	bool (*is_ready)(void *context);
	void *context;
	/*
	 * Called during the stop, after the memory was read: for data of the same moment outside
	 * its memory. Must not wait. NULL: none.
	 */
	void (*at_stop)(void *context);
	void *at_stop_context;
	uint64_t max_pause_ns;	       /* 0: 100 ms per GiB of writable memory, at least 100 ms */
	unsigned int threads;	       /* readers during the stop; 0: one per CPU */
	const struct idle_range *idle; /* stacks of dead threads; borrowed */
	size_t idle_count;
	const struct c_library *library; /* NULL: unknown; borrowed */
};

/* Leftovers of an ended thread: see ended_stacks.h. */
struct ended_stack {
	uint64_t start, end; /* without its guard */
	uint64_t descriptor; /* the struct pthread in it */
	uint64_t vector_at;  /* from there to the pointer to its vector */
	bool cached;	     /* kept for the next thread; else still joinable */
};

/* The addresses of a thread's copies of modules' thread-locals: see thread_blocks.h. */
struct thread_vector {
	uint64_t address, generation;
	uint64_t *blocks; /* of module 1, 2, ...; owned */
	size_t count;	  /* 0: unknown */
};

/* A thread's stack, for naming its frames. */
struct heap_image_thread {
	pid_t tid;
	char comm[16];
	struct machine_registers registers;
	uint64_t stack_start, stack_end; /* in use; 0: unknown */
	bool in_call;			 /* it waits in a system call, or is just leaving one */
	uint64_t *stack;		 /* copied from stack_start on; owned */
	size_t stack_words;
	struct thread_vector vector;
};

enum zone_kind {
	/*
	 * of a thread, from its red zone up (heap_image_thread.in_call), including thread-locals at
	 * its end
	 */
	ZONE_STACK,
	ZONE_TLS,	/* thread-locals outside stacks, and ld.so's data there */
	ZONE_ENDED,	/* data of ended threads that the C library still needs */
	ZONE_NOTHING,	/* unused stack: leftovers */
	ZONE_ALLOCATOR, /* malloc's own data */
	ZONE_HEAP,
};

/* The purpose of a memory range. */
struct zone {
	uint64_t start, end;
	enum zone_kind kind;
	uint32_t thread; /* of ZONE_STACK and ZONE_TLS */
};

struct heap_image {
	pid_t pid;
	struct maps maps; /* maps.source.core: of a core file */
	struct page_table pages;
	struct filter pointers;	    /* words to look for in kept pages */
	struct heaps heaps;	    /* with certain blocks: by row of heap_readers.c */
	const char *why_not_walked; /* of another heap, or all; static; NULL: none */
	VEC(struct heap_image_thread) threads;
	VEC(struct ended_stack) ended;
	const char *why_not_ended; /* static; NULL: all are known */
	VEC(struct zone) zones;	   /* ascending, not overlapping */

	bool stopped;		     /* the rest is of one moment */
	const char *why_not_stopped; /* static; NULL if it was, or was not to be */
	unsigned stops_repeated;     /* at earlier stops, it was not ready */
	bool unready;		     /* nor at the last one */
	bool soft_dirty, pagemap_readable;
	uint64_t pause_ns, max_pause_ns, read_ns, started_ns;
	uint64_t writable_bytes, read_bytes, swapped_bytes;
	size_t pages_checked, pages_changed;
	VEC(uint64_t) late; /* addresses of pages that are PAGE_LATE; ascending */
	/* threads' stacks not copied in time: functions on them have no names */
	size_t stacks_missing;
	size_t arenas;		 /* of the C library's malloc */
	size_t broken_spans;	 /* walks of heaps that ended early */
	uint64_t broken_address; /* end of the first one */
	const char *why_broken;	 /* the check that failed there; static */
	size_t broken_lists;	 /* of free blocks */
};

/*
 * Takes a heap image. For a core file it is of the moment at which the file was written, and no
 * process is touched: the PID is only displayed. Returns 0; -ESRCH: the process is gone, or none;
 * -EPERM, -EACCES: it must not be read; -ENOMEM; -EFBIG: see ranges_from_maps(). A process that
 * cannot be stopped is read without a stop (see why_not_stopped). *heap_image is untouched on
 * failure.
 */
int heap_image_take(pid_t pid, const struct heap_image_options *options,
		    struct heap_image *heap_image);
void heap_image_free(struct heap_image *heap_image);

/*
 * A part of heap_image_take(): adds blocks with their own mappings to the heaps, from the possible
 * headers in pages.mapped. If these exceed the allocator's count, only blocks that fill a mapping
 * from its start, or to its end, are kept. Returns 0 or -ENOMEM.
 */
int heap_image_add_mapped(struct heap_image *heap_image);

/*
 * Returns the name of the allocator with known blocks; of several, the one that is not the C
 * library's. NULL: none.
 */
const char *heap_image_allocator(const struct heap_image *heap_image);

/* Returns the zone at address, or NULL: unknown. */
const struct zone *heap_image_zone(const struct heap_image *heap_image, uint64_t address);

#endif
