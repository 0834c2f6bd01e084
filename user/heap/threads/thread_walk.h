/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads on a C library's own lists, read from a running process.
 *
 * glibc (nptl/allocatestack.c): a thread's descriptor is put on a list before the thread is cloned
 * and taken off when it has been joined, or when it ends detached. The kernel clears `tid` when the
 * thread has ended (man 2 set_tid_address); a join sets it to -1 before it takes the descriptor
 * off. So a listed descriptor with tid 0 has ended and was not joined, or is still to be cloned:
 * only the former has the exiting bit in its state.
 *
 * Nothing is believed: links must be aligned, and lead to readable memory and back to their origin;
 * no descriptor may come twice; each must begin with its own address (psABI: %fs:0); and each list
 * must close at its head. A list that changes while it is read fails such a check, too, so the walk
 * is retried a few times.
 */
#ifndef LEAKMON_THREADS_THREAD_WALK_H
#define LEAKMON_THREADS_THREAD_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "binary/parse/thread_library.h"

struct listed_thread {
	uint64_t handle; /* its pthread_t */
	uint64_t start_routine;
	uint32_t tid; /* in the process's own PID namespace; 0: it has ended */
	bool detached;
	bool own_stack; /* supplied by the program */
};

struct listed_threads {
	/* Live threads, with the main thread, and dead ones that were not joined. */
	VEC(struct listed_thread) list;
	size_t unfinished; /* threads being created or joined right now */
};

/* Reads `size` bytes at `address`. Returns 0 or -errno; -ESRCH: the process has ended. */
struct thread_memory {
	int (*read)(void *context, uint64_t address, void *buffer, size_t size);
	void *context;
};

#define THREAD_WALK_TRIES 8
#define THREAD_WALK_MAX (1u << 20) /* descriptors */

/*
 * Walks the lists. `bias`: address in the process minus address in the library's file. Returns 0;
 * -EBADMSG: the lists contradict themselves; -ENODATA: the C library has not set up its lists, so
 * it has created no thread; -errno of the last read; or -ENOMEM. For the first two errors *why, a
 * literal, says what is wrong. *threads is untouched on error; the caller frees it with
 * listed_threads_free().
 */
int thread_walk(const struct thread_memory *memory, const struct thread_layout *layout,
		uint64_t bias, struct listed_threads *threads, const char **why);
void listed_threads_free(struct listed_threads *threads);

#endif
