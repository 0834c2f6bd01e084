/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses that the kernel keeps for a process and uses or returns later: the data of epoll
 * entries (proc(5), /proc/PID/fdinfo), of POSIX timers (/proc/PID/timers), and data that only BPF
 * reads (trace/probe/held_words.h). user/doc/retain.md lists others.
 */
#ifndef LEAKMON_RETAIN_KERNEL_ROOTS_H
#define LEAKMON_RETAIN_KERNEL_ROOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "leakmon_held.h"
#include "process/proc/maps.h"

struct held_words;

/* Kinds of holders: those of BPF's words, then these. */
enum kernel_holder { KERNEL_EPOLL = LM_HELD_MAX_, KERNEL_TIMER, KERNEL_HOLDER_MAX_ };

struct kernel_word {
	uint64_t value;
	uint32_t holder; /* enum lm_held_kind or kernel_holder */
	int number;	 /* of the descriptor, or of the timer; 0: the kind has none */
};

struct kernel_roots {
	VEC(struct kernel_word) list;
	/* Why BPF's words are missing, and the remedy; static; NULL: they were read. */
	const char *why_unread;
	/* Why blocks that look unreachable may be held by the kernel; static; NULL: none may. */
	const char *why_uncertain;
};

/* Returns "epoll", "io_uring request", ...; static. */
const char *kernel_holder_name(uint32_t holder);

/*
 * Reads as many as possible. held: just read; NULL: `error` (-errno) is why nothing was read. maps:
 * the mappings of the process. Returns 0 or -ENOMEM.
 */
int kernel_roots_read(pid_t pid, const struct maps *maps, const struct held_words *held, int error,
		      struct kernel_roots *roots);
void kernel_roots_free(struct kernel_roots *roots);

#endif
