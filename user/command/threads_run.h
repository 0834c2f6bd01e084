/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon threads`: from a session to a named report of dead threads. */
#ifndef LEAKMON_COMMAND_THREADS_RUN_H
#define LEAKMON_COMMAND_THREADS_RUN_H

#include "command/session.h"

/* A session_reporter; `options` is a struct threads_options. Takes a census, names it and writes
 * it. 0, or -errno after an error message. */
int threads_run_report(struct session *session, const void *options, bool last);

#endif
