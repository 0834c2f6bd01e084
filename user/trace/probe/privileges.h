/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the capabilities that leakmon needs are missing. */
#ifndef LEAKMON_PROBE_PRIVILEGES_H
#define LEAKMON_PROBE_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Uses of privileges. */
enum privilege_use {
	PRIVILEGES_TO_TRACK,  /* probes on processes */
	PRIVILEGES_TO_TRIAGE, /* accounts of all processes, without a probe */
};

/* Whether they are the host's: those of another user namespace count in that one only, and BPF asks
 * for the host's (user_namespaces(7)). */
bool privileges_count(void);

/* Names of the missing ones, comma-separated, or that those of another user namespace do not count;
 * "" when none is missing. */
void privileges_missing(enum privilege_use use, char *text, size_t size);

/* How to get them: "run leakmon as ...". */
const char *privileges_remedy(void);

/* What a kernel that attaches through perf lacks, for the end of a message about `error`; "": it is
 * not that (CVE-2025-38466). */
const char *privileges_perf_hint(int error);

/* An error message, if kernel lockdown is why BPF programs were refused; false: it is not. */
bool privileges_explain_lockdown(void);
/* Logs an error that names them and says how to get them. */
void privileges_explain(void);

/* For `leakmon doctor`: one line per capability. */
void privileges_print(FILE *out, enum privilege_use use);

#endif
