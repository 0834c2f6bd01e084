/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The capabilities that leakmon needs, and which are missing. */
#ifndef LEAKMON_PROBE_PRIVILEGES_H
#define LEAKMON_PROBE_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Uses of privileges. */
enum privilege_use {
	PRIVILEGES_TO_TRACK,  /* probes on processes */
	PRIVILEGES_TO_TRIAGE, /* accounts of all processes, without probes */
};

/*
 * Returns whether capabilities are the host's: those of another user namespace count in that one
 * only, and BPF requires the host's (user_namespaces(7)).
 */
bool privileges_count(void);

/*
 * Lists the missing ones, comma-separated, or says that those of another user namespace do not
 * count; "" if none is missing.
 */
void privileges_missing(enum privilege_use use, char *text, size_t size);

/* Returns the remedy: "run leakmon as ...". */
const char *privileges_remedy(void);

/*
 * Returns what a kernel that attaches through perf lacks, as the end of a message about `error`;
 * "": another cause (CVE-2025-38466).
 */
const char *privileges_perf_hint(int error);

/* Logs an error if kernel lockdown is why BPF programs were refused. Returns false if it is not. */
bool privileges_explain_lockdown(void);
/* Logs an error that names them and the remedy. */
void privileges_explain(void);

/* Prints one line per capability, for `leakmon doctor`. */
void privileges_print(FILE *out, enum privilege_use use);

#endif
