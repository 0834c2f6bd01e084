/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon record`: writes the reports of a session, or of a profile, to a recording. */
#ifndef LEAKMON_RUNS_RECORD_RUN_H
#define LEAKMON_RUNS_RECORD_RUN_H

#include "app/monitor/session.h"

struct record_options {
	struct session_options session;
	const char *path;	      /* file to create */
	uint64_t keep_bytes, keep_ns; /* see report/store/recorder.h */
	const char *label;	      /* of snapshots requested by SIGUSR1, or NULL */
	bool profile;		      /* windows instead of exact tracking */
	double overhead;	      /* with `profile`; see struct profile_options */
	bool diagnose;		      /* see record_diagnose.h */
};

_Static_assert(!offsetof(struct record_options, session), "a session's options stand first");

/* Runs it. Returns the exit code. */
int record_run(const struct record_options *options);

#endif
