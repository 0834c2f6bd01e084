/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses that the kernel keeps for one process: alternate signal stacks, requests of io_uring
 * and AIO in flight, values of pending signals, ... (enum lm_held_kind). BPF iterators read them;
 * nothing is attached to the process.
 */
#ifndef LEAKMON_PROBE_HELD_WORDS_H
#define LEAKMON_PROBE_HELD_WORDS_H

#include <stddef.h>
#include <sys/types.h>

#include "leakmon_held.h"

struct held_words;

/* Result of one reading. Zero-initialise. */
struct held_list {
	struct lm_held_word *words; /* owned; each one once */
	size_t count;
	/*
	 * Requests in flight that were counted but not found; SIZE_MAX: they could not be counted,
	 * or there was no room for all words.
	 */
	size_t uring_unknown, aio_unknown;
};

/*
 * Loads the programs, for any number of readings. Returns 0; -errno without a message: -EPERM:
 * privileges; -ENOMEM: also if leakmon's own control group has no room; -ENOENT: the kernel lacks
 * type information.
 */
int held_words_open(struct held_words **held);
/* Prepares to read this process in place of the previous one. Returns the same errors. */
int held_words_aim(struct held_words *held, pid_t pid);
void held_words_close(struct held_words *held); /* NULL is allowed */
static inline void held_words_closep(struct held_words **held)
{
	held_words_close(*held);
}

/*
 * Reads the words, in some ten microseconds and one more for every few requests; keeps the result.
 * May be called while the process is stopped: allocates nothing and logs nothing. Returns 0 or
 * -errno.
 */
int held_words_read(struct held_words *held);

/* Copies the result of the last reading. *list is untouched on failure. Returns 0 or -ENOMEM. */
int held_words_list(const struct held_words *held, struct held_list *list);
void held_list_free(struct held_list *list);

/* Sorts words, and drops duplicates, for held_words_list(). Returns the number that stays. */
size_t held_words_unique(struct lm_held_word *words, size_t count);

#endif
