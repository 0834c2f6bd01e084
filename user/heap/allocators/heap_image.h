/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap image of a process's memory at one moment: which words in it may be pointers, how glibc's
 * heaps are cut into chunks, where its threads stand. Contents are not kept.
 *
 * Most is read while the process runs; then it is stopped, and what changed is read again: the
 * heap image is that of the stop. Where that would take too long, see pages.h: blocks in pages of
 * which nobody knows when they changed must not be called lost. Without a stop it is a blurred one,
 * in which a pointer that moved at the wrong moment is missing: two of them must agree before
 * anything is concluded (double_scan.c).
 */
#ifndef LEAKMON_HEAP_HEAP_IMAGE_H
#define LEAKMON_HEAP_HEAP_IMAGE_H

#include "binary/elf/tls_layout.h"
#include "heap/allocators/heap.h"
#include "heap/allocators/pages.h"
#include "process/pause/stop.h"
#include "process/proc/maps.h"

/* Memory of which the caller knows that nobody uses it: words left there hold nothing. */
struct idle_range {
	uint64_t start, end;
};

/* Where a process has the C library with its list of threads. */
struct c_library {
	struct tls_layout layout;
	uint64_t bias; /* address in memory minus address in the file */
};

struct heap_image_options {
	const struct core *core; /* instead of a live process; borrowed; NULL: none */
	bool no_stop;
	bool keep; /* contents of pages, unless they are a core file's */
	/* Whether a process that stands is to be read; else it goes on, and is stopped again, a few
	 * times. It is asked while the process stands. NULL: it is. */
	bool (*is_ready)(void *context);
	void *context;
	/* Called while the process stands, when it has been read: what must be of the same moment
	 * and is not in its memory. Must not wait for anything. NULL: nothing. */
	void (*at_stop)(void *context);
	void *at_stop_context;
	uint64_t max_pause_ns;	       /* 0: 100 ms per GiB of writable memory, at least 100 ms */
	unsigned int threads;	       /* that read while the process stands; 0: one per CPU */
	const struct idle_range *idle; /* stacks of dead threads; borrowed */
	size_t idle_count;
	const struct c_library *library; /* NULL: not known; borrowed */
};

/* Leftovers of an ended thread: see ended_stacks.h. */
struct ended_stack {
	uint64_t start, end; /* without its guard */
	uint64_t descriptor; /* struct pthread, in it */
	uint64_t vector_at;  /* from there to the pointer to its vector */
	bool cached;	     /* kept for the next thread; else it can still be joined */
};

/* Where a thread's copies of modules' thread-locals are: see thread_blocks.h. */
struct thread_vector {
	uint64_t address, generation;
	uint64_t *blocks; /* of module 1, 2, ...; owned */
	size_t count;	  /* 0: not known */
};

/* A thread's stack, for naming its frames. */
struct heap_image_thread {
	pid_t tid;
	char comm[16];
	struct machine_registers registers;
	uint64_t stack_start, stack_end; /* in use; 0: nowhere known */
	bool in_call;			 /* it waits in a system call, or is just leaving it */
	uint64_t *stack;		 /* copied from stack_start on; owned */
	size_t stack_words;
	struct thread_vector vector;
};

enum zone_kind {
	ZONE_STACK, /* of a thread, from its red zone up (heap_image_thread.in_call), thread-locals
		       at its end included */
	ZONE_TLS,   /* thread-locals that do not lie on a stack, and what ld.so keeps there */
	ZONE_ENDED, /* what the C library still needs of threads that have ended */
	ZONE_NOTHING,	/* unused stack: left-over words */
	ZONE_ALLOCATOR, /* what malloc keeps for itself */
	ZONE_HEAP,
};

/* The purpose of a stretch of memory. */
struct zone {
	uint64_t start, end;
	enum zone_kind kind;
	uint32_t thread; /* of ZONE_STACK and ZONE_TLS */
};

struct heap_image {
	pid_t pid;
	struct maps maps; /* maps.source.core: it is that of a core file */
	struct page_table pages;
	struct filter pointers;	    /* what words are looked for in pages that are kept */
	struct heaps heaps;	    /* with certain blocks: by row of heap_readers.c */
	const char *why_not_walked; /* another one's, or all; static; NULL: none */
	VEC(struct heap_image_thread) threads;
	VEC(struct ended_stack) ended;
	const char *why_not_ended; /* static; NULL: all are known */
	VEC(struct zone) zones;	   /* ascending, not overlapping */

	bool stopped;		     /* what follows is of one moment */
	const char *why_not_stopped; /* static; NULL if it was, or was not to be */
	unsigned stops_repeated;     /* at those before it, it was not to be read */
	bool unready;		     /* nor was it at the last one */
	bool soft_dirty, pagemap_readable;
	uint64_t pause_ns, max_pause_ns, read_ns, started_ns;
	uint64_t writable_bytes, read_bytes, swapped_bytes;
	size_t pages_checked, pages_changed;
	VEC(uint64_t) late;	 /* addresses of pages that are PAGE_LATE; ascending */
	size_t stacks_missing;	 /* of threads, for want of time: functions on them have no names */
	size_t arenas;		 /* of the C library's malloc */
	size_t broken_spans;	 /* walks of heaps that ended early */
	uint64_t broken_address; /* where the first one did */
	const char *why_broken;	 /* which check failed there; static */
	size_t broken_lists;	 /* of free blocks */
};

/*
 * For a core file the heap image is that of the moment at which it was written, and nothing is done
 * to any process: the PID is only shown. 0; -ESRCH: the process is gone, or none; -EPERM, -EACCES:
 * it must not be read; -ENOMEM; -EFBIG: see ranges_from_maps(). A process that cannot be stopped is
 * read without (see why_not_stopped). *heap image is untouched on failure.
 */
int heap_image_take(pid_t pid, const struct heap_image_options *options,
		    struct heap_image *heap_image);
void heap_image_free(struct heap_image *heap_image);

/*
 * A part of heap_image_take(): adds blocks with mappings of their own to the heaps, of those that
 * pages.mapped has by what looks like their headers. Where these are more than the allocator
 * counts, only those stay that fill a mapping from its start, or to its end. 0 or -ENOMEM.
 */
int heap_image_add_mapped(struct heap_image *heap_image);

/* The name of the allocator with known blocks; of several, of the one that is not the C
 * library's. NULL: none. */
const char *heap_image_allocator(const struct heap_image *heap_image);

/* The zone at address, or NULL: nothing known. */
const struct zone *heap_image_zone(const struct heap_image *heap_image, uint64_t address);

#endif
