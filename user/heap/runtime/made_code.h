/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that the runtime of a process makes while it runs (struct code_reader), read from outside
 * without stopping it: how its frames are left, and which functions they are of.
 */
#ifndef LEAKMON_RUNTIME_MADE_CODE_H
#define LEAKMON_RUNTIME_MADE_CODE_H

#include <stdbool.h>
#include <sys/types.h>

#include "binary/parse/unwind_table.h"
#include "process/proc/maps.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"
#include "process/unwind/unwind_store.h"

struct dso_cache;
struct made_code;
struct worker;

/* Whether a mapping is of a runtime that can be read. */
bool made_code_is_file(const struct mapping *mapping);

/* *why is static: what is missing. 0; -ENOENT, -ESRCH and the like; -ENOMEM. `dsos` and `worker`
 * are borrowed for good. */
int made_code_open(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		   struct made_code **opened, const char **why);
void made_code_close(struct made_code *code); /* NULL is nothing */

/* What was read before may have changed. */
void made_code_forget(struct made_code *code);
/* Likewise; it is not used for some time. */
void made_code_release(struct made_code *code);

/* made->table is `table`, which is the caller's, also after an error. 0; -ENOENT: there is no code
 * yet; -EEXIST: its frames need no rows; -errno. */
int made_code_rows(struct made_code *code, struct unwind_table *table, struct unwind_made *made);

/* By what was read since it was forgotten, and more. Appends the frames of a return address, or of
 * an interpreted frame, with interned strings. 0; -ENOENT: it is of no code that is known;
 * -ENOMEM. */
int made_code_name(struct made_code *code, uint64_t address, struct intern *strings,
		   struct frames *frames);

#endif
