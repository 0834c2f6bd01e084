/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading another process's memory without changing it: what is absent or swapped out stays so.
 *
 * This is the one place that knows two kinds of processes: those that live, and those of which a
 * core file is left (process/proc/core.h). Sources: process_vm_readv(2);
 * Documentation/admin-guide/mm/ pagemap.rst.
 */
#ifndef LEAKMON_PROC_PROCESS_MEMORY_H
#define LEAKMON_PROC_PROCESS_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/vec.h"

/*
 * The unit in which memory is read and counted: it divides the pages of every kernel (base/page.h)
 * and of every core file, so that nothing above asks for their size.
 */
#define MEMORY_PAGE 4096ull

struct core;

/* A process's or a core's memory. */
struct memory_source {
	pid_t task; /* a thread with a /proc directory that shows the address space; 0: of a core */
	const struct core *core; /* borrowed; NULL: the process lives */
};

static inline struct memory_source live_memory(pid_t task)
{
	return (struct memory_source){.task = task};
}

/* Size of the pages that it was mapped in: this kernel's, or the core's. */
uint64_t memory_page_size(struct memory_source source);

/*
 * Up to `size` bytes from the start on: fewer where a page is missing; or -errno if none at all.
 * What is not in memory: absent_pages.h.
 */
ssize_t memory_read(struct memory_source source, uint64_t address, void *buffer, size_t size);
/* Likewise of pages that pagemap_read() has just shown to be present. */
ssize_t memory_read_present(struct memory_source source, uint64_t address, void *buffer,
			    size_t size);
/*
 * As process_vm_readv(2) of a live process, of pages that are there: bytes, or -errno. A page that
 * it shares with relatives stays shared (fork_sharing.h).
 */
ssize_t memory_read_pieces(pid_t task, const struct iovec *local, size_t local_count,
			   const struct iovec *remote, size_t remote_count);
/* All of them: 0; -EFAULT, -ESRCH, -EPERM. */
int memory_read_exact(struct memory_source source, uint64_t address, void *buffer, size_t size);

/* A descriptor that the caller closes, or -errno: then every page must be taken for present. */
int pagemap_open(struct memory_source source);
/* How many entries of a live process's file there are, from that page on: of the kernel's own
 * pages, as they stand there; 0: none can be read. */
size_t pagemap_pread(pid_t task, int fd, uint64_t page, uint64_t *entries, size_t count);
/* One entry per MEMORY_PAGE; fd -1 or what cannot be read: present. The shared page of zeros is
 * not, where frames are shown (CAP_SYS_ADMIN). */
void pagemap_read(struct memory_source source, int fd, uint64_t address, uint64_t *entries,
		  size_t count);

/*
 * Stretches between two addresses in which all pages that are present or swapped out lie,
 * ascending; small gaps are part of them. So a mapping of terabytes of which little is used takes
 * no longer than what is used (PAGEMAP_SCAN of Linux 6.7, admin-guide/mm/pagemap.rst). 0; -ENOTSUP:
 * this kernel cannot; -ENOMEM; -ESRCH. Of a live process.
 */
struct stretch {
	uint64_t start, end;
};
struct stretches {
	VEC(struct stretch) list; /* the caller's: vec_free() */
};
int pagemap_occupied(pid_t task, int fd, uint64_t start, uint64_t end, struct stretches *occupied);

/*
 * Gives each MEMORY_PAGE the entry of the page that it is part of, in place. `entries` begins with
 * the entry of the page of part `first`; a page has `parts`.
 */
void pagemap_spread(uint64_t *entries, size_t count, uint64_t first, uint64_t parts);

static inline bool pagemap_is_present(uint64_t entry)
{
	return entry >> 63;
}

/* A guard page (MADV_GUARD_INSTALL: thread stacks of glibc from 2.42 on) has the bit of swap, too,
 * and from Linux 6.15 on one of its own; it holds nothing (admin-guide/mm/pagemap.rst). */
static inline bool pagemap_is_swapped(uint64_t entry)
{
	return (entry >> 62 & 1) && !(entry >> 58 & 1);
}

/* Part of a file or of shared memory: of a private mapping, a page that was never written. */
static inline bool pagemap_is_shared(uint64_t entry)
{
	return entry >> 61 & 1;
}

static inline bool pagemap_is_soft_dirty(uint64_t entry)
{
	return entry >> 55 & 1;
}

/* Single words here and there: the pages they lie in are kept. */
#define PEEK_PAGES 256
struct peek {
	struct memory_source source;
	int pagemap;		   /* borrowed; -1: none */
	struct deadline *deadline; /* borrowed; NULL: none */
	/* Whether a page is known to be there, without asking the kernel; NULL: of none. */
	bool (*is_present)(const void *known, uint64_t page);
	const void *known;
	uint64_t *pages[PEEK_PAGES];
	uint64_t addresses[PEEK_PAGES];
	uint64_t absent[PEEK_PAGES]; /* a page that was not there, + 1; 0: none */
};

/* -ETIMEDOUT once the deadline has passed, else `otherwise`. */
static inline int peek_result(const struct peek *peek, int otherwise)
{
	return peek->deadline && peek->deadline->passed ? -ETIMEDOUT : otherwise;
}

/* `count` words at an 8-aligned address. 0; -EFAULT: not there, or not present; -ENOMEM;
 * -ETIMEDOUT: the deadline has passed, as for every later call. */
int peek_words(struct peek *peek, uint64_t address, uint64_t *words, size_t count);
/* Reads some of these pages ahead, all of which are there, with one call; as many as it can. */
#define PEEK_AHEAD 64
void peek_ahead(struct peek *peek, const uint64_t *pages, size_t count);
/* Likewise at most so many pages, by ascending address, some of which may not be there. */
void peek_ahead_present(struct peek *peek, const uint64_t *pages, size_t count);
/*
 * Words far apart, at most PEEK_AHEAD of them, by ascending address: with one call, and without the
 * pages that they are in. got[i]: words[i] is there.
 */
void peek_scattered(struct peek *peek, const uint64_t *addresses, uint64_t *words, bool *got,
		    size_t count);
/* Forgets what was read: the process has run meanwhile. */
void peek_forget(struct peek *peek);
void peek_free(struct peek *peek);

#endif
