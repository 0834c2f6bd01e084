/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser process: the same program, started anew with WORKER_ARGUMENT (child.h does). */
#ifndef LEAKMON_SANDBOX_WORKER_PROCESS_H
#define LEAKMON_SANDBOX_WORKER_PROCESS_H

#include "sandbox/parse_kind.h"

#define WORKER_ARGUMENT "--parse-worker"
#define WORKER_SOCKET 3

/*
 * The first thing that main() calls, in the monitor and in every test that starts parsers: returns
 * unless this process was started to be a parser.
 */
void worker_process_enter(int argc, char **argv, const struct parse_kinds *kinds);

#endif
