/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A running process with a runtime whose memory is read. Of its files, only the runtime's are
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
		own; /* the mappings of files that may contain the runtime; paths are borrowed */
	struct data_modules modules;
	struct target_memory memory;
};

/*
 * Opens a process with the first wanted runtime that has a file among the mappings. *process is
 * zeroed before, must not be moved, and needs runtime_process_close() in any case. 0; -ENOENT: no
 * such runtime; -ESRCH or another -errno; -ENOMEM. `dsos` and `worker` are borrowed until it is
 * closed.
 */
typedef bool runtime_is_wanted(const struct runtime *runtime);
int runtime_process_open(struct runtime_process *process, pid_t pid, runtime_is_wanted *is_wanted,
			 struct worker *worker, struct dso_cache *dsos);
void runtime_process_close(struct runtime_process *process);

/* Returns the wanted runtime that has this file, or NULL. */
const struct runtime *runtime_of_file(const struct mapping *mapping, runtime_is_wanted *is_wanted);

#endif
