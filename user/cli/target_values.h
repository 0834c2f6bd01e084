/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values that name a target: one parse function per kind, as in option_values.h. */
#ifndef LEAKMON_CLI_TARGET_VALUES_H
#define LEAKMON_CLI_TARGET_VALUES_H

#include "cli/option_values.h"

/* Appended to the struct option_words at row->offset. */
option_parse option_add_word;	   /* not empty */
option_parse option_add_container; /* a name or digits of an id; containerd://ID, too */
option_parse option_add_pod;	   /* NAME, NAMESPACE/NAME */

option_parse option_set_pids;	 /* into pids, each once */
option_parse option_set_command; /* into command, split as a shell would */

#endif
