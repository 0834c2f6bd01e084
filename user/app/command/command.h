/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands: one file each, with its help, options and entry function; one row each in the
 * table. Options beyond those of an engine are here.
 */
#ifndef LEAKMON_COMMAND_COMMAND_H
#define LEAKMON_COMMAND_COMMAND_H

#include "report/diff.h"
#include "app/command/options.h"
#include "trace/probe/privileges.h"

extern const struct command_table commands;

extern const struct command command_profile, command_triage, command_watch, command_record,
	command_report, command_diff, command_retain, command_threads, command_top, command_kernel,
	command_memory, command_diagnose, command_doctor, command_merge, command_help;

struct doctor_options {
	struct selector_config targets;
	enum privilege_use purpose; /* the use to check for */
	bool quiet;		    /* print nothing: only the exit code counts */
	struct probe_options probes;
	struct output_options output; /* only no_color, without effect */
};

#endif
