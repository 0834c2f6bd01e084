/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of `leakmon diagnose` in a recording, in the table `diagnoses`. They are independent of
 * snapshots and profiles, and written between them. The reader is part of recording.h.
 */
#ifndef LEAKMON_STORE_DIAGNOSIS_ROWS_H
#define LEAKMON_STORE_DIAGNOSIS_ROWS_H

#include "report/store/recorder.h"
#include "report/stored_diagnosis.h"

/* All answers together take at most this share of --keep; the latest one always stays. */
#define DIAGNOSES_SHARE 10
/* Limit of one answer, in bytes. */
#define DIAGNOSIS_BYTES_MAX (1u << 20)

/*
 * Appends `answer`, not `lines`, to an existing recording. Returns 0, or -errno after a message:
 * the file is unchanged.
 */
int diagnosis_rows_append(const char *path, const struct stored_diagnosis *diagnosis,
			  const struct recorder_options *keep);

#endif
