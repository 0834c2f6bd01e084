/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals that end leakmon: none of them ends it silently.
 *
 * A crash, a limit on CPU time or a stray SIGUSR1 leaves one line on standard error: the signal,
 * the address or the sender, the build id, the command and its phase. If standard error does not go
 * to the journal, the system log gets the line, too. Then the signal acts as if unhandled: same
 * exit status, same core file. SIGKILL cannot be handled; SIGINT, SIGTERM and SIGHUP are requests
 * (base/interrupt.h); SIGPIPE quietly ends a program without a reader, as usual.
 *
 * All code that runs in the handler is async-signal-safe (POSIX.1-2017, System Interfaces 2.4.3).
 */
#ifndef LEAKMON_BASE_FATAL_SIGNAL_H
#define LEAKMON_BASE_FATAL_SIGNAL_H

#include <sys/types.h>

#include "base/cleanup.h"

/*
 * Handles them on an alternate stack, since the main thread's may have overflowed. `command`:
 * static text, for the line. `log_socket`: the system log's datagram socket, such as /dev/log, or
 * NULL. A signal that the parent ignores stays ignored, unless it is a crash. Returns 0 or -errno.
 */
int fatal_signal_open(const char *command, const char *log_socket);

/*
 * Sets the phase until the end of the scope: static text that reads well after "while". If several
 * threads have phases, the latest one is reported. Costs one atomic exchange.
 */
#define FATAL_SIGNAL_PHASE(text)                                                                   \
	_cleanup_(fatal_signal_phase_end) const char *phase_before_ __attribute__((unused)) =      \
		fatal_signal_phase(text)

const char *fatal_signal_phase(const char *phase); /* returns the previous one, or NULL */
void fatal_signal_phase_end(const char *const *before);

/*
 * Sets `last_act`, called when a signal ends the process, including one of base/interrupt.h, before
 * any line is written; it must be async-signal-safe. NULL: none.
 */
void fatal_signal_calls(void (*last_act)(void));
void fatal_signal_act_last(void);

/* Writes "leakmon: ended by SIGTERM from process 123". Async-signal-safe. `sender` 0: unknown. */
void fatal_signal_explain(int number, pid_t sender);

#endif
