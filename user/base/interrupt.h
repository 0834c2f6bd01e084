/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGINT, SIGTERM and SIGHUP: a request to end, in any phase.
 *
 * The first one is recorded. Loops check interrupt_check(), waits poll interrupt_fd(), and work in
 * progress is undone in order. If there is nothing to undo (interrupt_ends()), and at the second
 * signal, the process ends at once, with 128 + the signal's number as its exit code: the kernel
 * removes probes and resumes stopped processes, as after SIGKILL. A signal that comes twice within
 * a quarter of a second counts once: timeout(1) sends each to the process and to its group, and a
 * closing terminal does, too.
 *
 * The state is process-wide, as signals are: this is the stop flag.
 */
#ifndef LEAKMON_BASE_INTERRUPT_H
#define LEAKMON_BASE_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Handles the three signals, except a SIGHUP that the parent set to be ignored (nohup). Does
 * nothing when called again. Returns 0 or -errno.
 */
int interrupt_open(void);

/* Returns 0; -EINTR once an end was requested. Nearly free. */
int interrupt_check(void);

/* Returns the time of the request: CLOCK_MONOTONIC, or 0 if there was none. */
uint64_t interrupt_time_ns(void);

/*
 * Returns a descriptor that becomes, and stays, readable at the request; -1: not open. Not to be
 * read.
 */
int interrupt_fd(void);

/* Returns 128 + the signal, or `otherwise` if there was none. */
int interrupt_exit_code(int otherwise);

/*
 * After SIGTERM or SIGHUP, writes one line to standard error: the signal and its sender.
 * Async-signal-safe. Ctrl-C needs no explanation.
 */
void interrupt_explain(void);

/*
 * Sets whether the first signal ends the process (`ends`) or is recorded again. With `ends`, a
 * recorded signal ends it now.
 */
void interrupt_ends(bool ends);

/* Sets a file to be removed if the process ends at once; NULL: none. One at a time. */
void interrupt_removes(const char *path);
/*
 * Sets an SQLite database to be removed in the same way, with its files beside it while it is open.
 */
void interrupt_removes_database(const char *path);

/*
 * Ends the process at once with that exit code, for another cause; removes the file set above.
 * Async-signal-safe.
 */
_Noreturn void interrupt_end(int code);

/* Restores the state before interrupt_open(): for tests. */
void interrupt_close(void);

#endif
