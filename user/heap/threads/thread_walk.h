/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The threads that a C library has on its lists, read from a process that goes on running.
 *
 * glibc (nptl/allocatestack.c): a thread's descriptor is put on a list before the thread is cloned
 * and taken off when it has been joined, or when it ends detached. The kernel clears `tid` when
 * the thread has ended (man 2 set_tid_address); a join sets it to -1 before it takes the descriptor
 * off. So what is on the list with tid 0 has ended and was not joined, or is still to be cloned:
 * only the former has the exiting bit in its state.
 *
 * Nothing is believed: links must be aligned, lead to memory that can be read and back to where
 * they came from, no descriptor may come twice, each must begin with its own address (psABI:
 * %fs:0), and each list must close at its head. A list that changes while it is read fails such a
 * check, too: so the walk is tried again a few times.
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
	uint32_t tid; /* as the process itself calls it; 0: it has ended */
	bool detached;
	bool own_stack; /* which the program gave */
};

struct listed_threads {
	/* Those that live, or have ended unjoined; the main thread is one. */
	VEC(struct listed_thread) list;
	size_t unfinished; /* others, that are being made or joined right now */
};

/* Reads `size` bytes at `address`: 0 or -errno; -ESRCH: the process has ended. */
struct thread_memory {
	int (*read)(void *context, uint64_t address, void *buffer, size_t size);
	void *context;
};

#define THREAD_WALK_TRIES 8
#define THREAD_WALK_MAX (1u << 20) /* descriptors */

/*
 * `bias`: address in the process minus the same in the library's file.
 * 0; -EBADMSG, and *why says what is wrong (a literal); -ENODATA, likewise: the C library has not
 * set up its lists, so it has made no thread; -errno of the last read; -ENOMEM.
 * *threads is untouched on error. The caller frees it.
 */
int thread_walk(const struct thread_memory *memory, const struct thread_layout *layout,
		uint64_t bias, struct listed_threads *threads, const char **why);
void listed_threads_free(struct listed_threads *threads);

#endif
