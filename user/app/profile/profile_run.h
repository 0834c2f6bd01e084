/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon profile`: opens windows, re-reads blocks when they are due, and reports. */
#ifndef LEAKMON_PROFILE_PROFILE_RUN_H
#define LEAKMON_PROFILE_PROFILE_RUN_H

#include "app/profile/profile_options.h"

/* Runs a profile. Returns the exit code. */
int profile_run(const struct profile_options *options);

#endif
