/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process with a runtime, whose memory is read while it runs. Of its files only the runtime's are
 * parsed. */
#ifndef LEAKMON_RUNTIME_RUNTIME_PROCESS_H
#define LEAKMON_RUNTIME_RUNTIME_PROCESS_H

#include <sys/types.h>

#include "heap/allocators/data_modules.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/target_memory.h"

struct runtime_process {
	pid_t pid;
	const struct runtime *runtime;
	struct maps maps;
	struct maps
		own; /* of them those of the files that may have the runtime; paths are borrowed */
	struct data_modules modules;
	struct target_memory memory;
};

/*
 * Of the first runtime that is wanted and has a file among the mappings. *process is zeros before,
 * stays where it is, and is to be closed in any case. 0; -ENOENT: there is none; -ESRCH and the
 * like; -ENOMEM. `dsos` and `worker` are borrowed until then.
 */
typedef bool runtime_is_wanted(const struct runtime *runtime);
int runtime_process_open(struct runtime_process *process, pid_t pid, runtime_is_wanted *is_wanted,
			 struct worker *worker, struct dso_cache *dsos);
void runtime_process_close(struct runtime_process *process);

/* The runtime that is wanted and has this file; NULL: there is none. */
const struct runtime *runtime_of_file(const struct mapping *mapping, runtime_is_wanted *is_wanted);

#endif
