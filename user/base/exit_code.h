/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LEAKMON_BASE_EXIT_CODE_H
#define LEAKMON_BASE_EXIT_CODE_H

/* Exit codes of the process; EXIT_LEAK: more is outstanding than --fail-over allows. */
enum exit_code { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_LEAK = 3 };

#endif
