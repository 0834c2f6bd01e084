/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals that end leakmon: none of them ends it silently.
 *
 * A crash, a limit on CPU time or a stray SIGUSR1 leaves one line on standard error: the signal,
 * the address or the sender, the build id, the command and its phase. Where standard error is not
 * the journal's, the system log gets the line, too. Then the signal acts as if it had not been
 * handled: same exit status, same core file. SIGKILL cannot be handled; SIGINT, SIGTERM and SIGHUP
 * are requests (base/interrupt.h); SIGPIPE ends a program without a reader quietly, as everywhere.
 *
 * Everything that runs in the handler is async-signal-safe (POSIX.1-2017, System Interfaces 2.4.3).
 */
#ifndef LEAKMON_BASE_FATAL_SIGNAL_H
#define LEAKMON_BASE_FATAL_SIGNAL_H

#include <sys/types.h>

#include "base/cleanup.h"

/* Handles them on a stack of its own, since the main thread's may have overflowed. `command`:
 * static text, for the line. `log_socket`: the system log's datagram socket, such as /dev/log, or
 * NULL. A signal that the parent ignores stays ignored, unless it is a crash. 0 or -errno. */
int fatal_signal_open(const char *command, const char *log_socket);

/* The phase until the end of the scope: static text that reads well behind "while". Of phases in
 * several threads the latest one is named. Costs an exchange. */
#define FATAL_SIGNAL_PHASE(text)                                                                   \
	_cleanup_(fatal_signal_phase_end) const char *phase_before_ __attribute__((unused)) =      \
		fatal_signal_phase(text)

const char *fatal_signal_phase(const char *phase); /* the one before, or NULL */
void fatal_signal_phase_end(const char *const *before);

/* `last_act` is called when a signal ends the process, also one of base/interrupt.h, before any
 * line is written; it must be async-signal-safe. NULL: nothing. */
void fatal_signal_calls(void (*last_act)(void));
void fatal_signal_act_last(void);

/* Writes "leakmon: ended by SIGTERM from process 123". Async-signal-safe. `sender`: 0: not
 * known. */
void fatal_signal_explain(int number, pid_t sender);

#endif
