/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Generated code of a process's runtime (struct code_reader), read from outside without stopping
 * it: how its frames are unwound, and which functions they belong to.
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

/* Returns whether a mapping belongs to a runtime whose code can be read. */
bool made_code_is_file(const struct mapping *mapping);

/* Opens the generated code of a process. 0; -ENOENT, -ESRCH or another -errno with *why, static;
 * -ENOMEM. `dsos` and `worker` are borrowed until made_code_close(). */
int made_code_open(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		   struct made_code **opened, const char **why);
void made_code_close(struct made_code *code); /* NULL: does nothing */

/* Empties the cache of read memory, which may have changed. */
void made_code_forget(struct made_code *code);
/* Empties the cache and frees it, for a time without use. */
void made_code_release(struct made_code *code);

/* Reads how the frames are unwound. made->table is `table`, owned by the caller, also after an
 * error. 0; -ENOENT: no code yet; -EEXIST: its frames need no rows; -errno. */
int made_code_rows(struct made_code *code, struct unwind_table *table, struct unwind_made *made);

/*
 * Appends the frames of a return address, or of an interpreted frame, with interned strings. Uses
 * cached memory since the last made_code_forget(), and reads more. 0; -ENOENT: the address belongs
 * to no known code; -ENOMEM.
 */
int made_code_name(struct made_code *code, uint64_t address, struct intern *strings,
		   struct frames *frames);

#endif
