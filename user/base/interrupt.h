/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIGINT, SIGTERM and SIGHUP: the wish that all of this ends, in whatever phase it comes.
 *
 * The first one is noted. Loops look at interrupt_check(), waits poll interrupt_fd(), and what was
 * begun is undone in order. Where nothing needs to be undone (interrupt_ends()), and at the second
 * one, the process ends at once, with 128 + the signal's number as its exit code: the kernel takes
 * probes and stops back, as after SIGKILL. A signal that comes twice within a quarter of a second
 * counts once: timeout(1) sends each to the process and to its group, and a terminal that closes
 * does the like.
 *
 * The state is the process's own, as signals are: this is the stop flag.
 */
#ifndef LEAKMON_BASE_INTERRUPT_H
#define LEAKMON_BASE_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* Handles the three signals, but SIGHUP if whoever started us ignores it (nohup). Does nothing when
 * it was done. 0 or -errno. */
int interrupt_open(void);

/* 0; -EINTR: the end is wished for. Costs next to nothing. */
int interrupt_check(void);

/* When that was: CLOCK_MONOTONIC, or 0. */
uint64_t interrupt_time_ns(void);

/* Becomes readable then, and stays so; -1: not open. Not to be read. */
int interrupt_fd(void);

/* 128 + the signal, or `otherwise` when there was none. */
int interrupt_exit_code(int otherwise);

/* After SIGTERM or SIGHUP, one line on standard error: the signal and its sender.
 * Async-signal-safe. Whoever types Ctrl-C needs no word. */
void interrupt_explain(void);

/* From now on the first signal ends the process (`ends`), or is noted again. One that was noted
 * ends it now. */
void interrupt_ends(bool ends);

/* A file that must not be left behind, if the process ends at once; NULL: none. One at a time. */
void interrupt_removes(const char *path);
/* Likewise an SQLite database, with what stands beside it while it is open. */
void interrupt_removes_database(const char *path);

/* Ends the process at once with that exit code, for another cause: no file of those above is left
 * behind. Async-signal-safe. */
_Noreturn void interrupt_end(int code);

/* As before interrupt_open(): for tests. */
void interrupt_close(void);

#endif
