/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads another process's memory without changing it: absent or swapped-out pages stay so.
 *
 * This is the one place that knows two kinds of processes: live ones, and core files
 * (process/proc/core.h). Sources: process_vm_readv(2); Documentation/admin-guide/mm/pagemap.rst.
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
 * The unit in which memory is read and counted: it divides the page size of every kernel
 * (base/page.h) and of every core file, so that no higher layer asks for it.
 */
#define MEMORY_PAGE 4096ull

struct core;

/* A process's or a core's memory. */
struct memory_source {
	pid_t task; /* a thread whose /proc directory shows the address space; 0: a core */
	const struct core *core; /* borrowed; NULL: a live process */
};

static inline struct memory_source live_memory(pid_t task)
{
	return (struct memory_source){.task = task};
}

/* Returns the page size of its mappings: this kernel's, or the core's. */
uint64_t memory_page_size(struct memory_source source);

/*
 * Reads up to `size` bytes: fewer if a page is missing. Returns their number, or -errno if none.
 * Absent pages: absent_pages.h.
 */
ssize_t memory_read(struct memory_source source, uint64_t address, void *buffer, size_t size);
/* Reads pages that pagemap_read() has just shown to be present. Returns as memory_read(). */
ssize_t memory_read_present(struct memory_source source, uint64_t address, void *buffer,
			    size_t size);
/*
 * Reads present pages of a live process, like process_vm_readv(2). Returns bytes, or -errno. A page
 * shared with relatives stays shared (fork_sharing.h).
 */
ssize_t memory_read_pieces(pid_t task, const struct iovec *local, size_t local_count,
			   const struct iovec *remote, size_t remote_count);
/* Reads all `size` bytes. Returns 0; -EFAULT, -ESRCH, -EPERM. */
int memory_read_exact(struct memory_source source, uint64_t address, void *buffer, size_t size);

/*
 * Returns a descriptor that the caller closes, or -errno: then every page must be assumed present.
 */
int pagemap_open(struct memory_source source);
/*
 * Reads raw entries of a live process, one per kernel page, from that page on. Returns their
 * number; 0: unreadable.
 */
size_t pagemap_pread(pid_t task, int fd, uint64_t page, uint64_t *entries, size_t count);
/*
 * Reads one entry per MEMORY_PAGE; with fd -1, or if unreadable: present. The shared page of zeros
 * counts as absent, if frames are visible (CAP_SYS_ADMIN).
 */
void pagemap_read(struct memory_source source, int fd, uint64_t address, uint64_t *entries,
		  size_t count);

/*
 * Finds the ranges between two addresses that contain all pages present or swapped out, ascending;
 * small gaps are included. So a sparse mapping of terabytes takes time only for its used part
 * (PAGEMAP_SCAN of Linux 6.7, admin-guide/mm/pagemap.rst). Returns 0; -ENOTSUP: not in this kernel;
 * -ENOMEM; -ESRCH. For live processes.
 */
struct stretch {
	uint64_t start, end;
};
struct stretches {
	VEC(struct stretch) list; /* the caller's: vec_free() */
};
int pagemap_occupied(pid_t task, int fd, uint64_t start, uint64_t end, struct stretches *occupied);

/*
 * Gives each MEMORY_PAGE the entry of its page, in place. `entries` begins with the entry of the
 * page of part `first`; a page has `parts`.
 */
void pagemap_spread(uint64_t *entries, size_t count, uint64_t first, uint64_t parts);

static inline bool pagemap_is_present(uint64_t entry)
{
	return entry >> 63;
}

/*
 * A guard page (MADV_GUARD_INSTALL: thread stacks of glibc from 2.42 on) has the swap bit, too, and
 * from Linux 6.15 on its own bit; it is empty (admin-guide/mm/pagemap.rst).
 */
static inline bool pagemap_is_swapped(uint64_t entry)
{
	return (entry >> 62 & 1) && !(entry >> 58 & 1);
}

/* Part of a file or of shared memory: in a private mapping, a page that was never written. */
static inline bool pagemap_is_shared(uint64_t entry)
{
	return entry >> 61 & 1;
}

static inline bool pagemap_is_soft_dirty(uint64_t entry)
{
	return entry >> 55 & 1;
}

/* Reads single words at scattered addresses: their pages are cached. */
#define PEEK_PAGES 256
struct peek {
	struct memory_source source;
	int pagemap;		   /* borrowed; -1: none */
	struct deadline *deadline; /* borrowed; NULL: none */
	/*
	 * Returns whether a page is known to be present, without asking the kernel; NULL: nothing
	 * is known.
	 */
	bool (*is_present)(const void *known, uint64_t page);
	const void *known;
	uint64_t *pages[PEEK_PAGES];
	uint64_t addresses[PEEK_PAGES];
	uint64_t absent[PEEK_PAGES]; /* an absent page, + 1; 0: none */
};

/* Returns -ETIMEDOUT once the deadline has passed, else `otherwise`. */
static inline int peek_result(const struct peek *peek, int otherwise)
{
	return peek->deadline && peek->deadline->passed ? -ETIMEDOUT : otherwise;
}

/*
 * Reads `count` words at an 8-aligned address. Returns 0; -EFAULT: not mapped, or absent; -ENOMEM;
 * -ETIMEDOUT: the deadline has passed, as for every later call.
 */
int peek_words(struct peek *peek, uint64_t address, uint64_t *words, size_t count);
/* Reads as many of these pages as possible ahead, all of which are present, with one call. */
#define PEEK_AHEAD 64
void peek_ahead(struct peek *peek, const uint64_t *pages, size_t count);
/* Reads at most `count` pages ahead, by ascending address, some of which may be absent. */
void peek_ahead_present(struct peek *peek, const uint64_t *pages, size_t count);
/*
 * Reads words far apart, at most PEEK_AHEAD of them, by ascending address: with one call, and
 * without caching their pages. got[i]: words[i] was read.
 */
void peek_scattered(struct peek *peek, const uint64_t *addresses, uint64_t *words, bool *got,
		    size_t count);
/* Drops the cache: the process has run meanwhile. */
void peek_forget(struct peek *peek);
void peek_free(struct peek *peek);

#endif
