/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watched processes: their identity, and their present and past mappings.
 *
 * Each refresh reads the mappings once, for all users: names, stack walks and probes work on the
 * same ones, and tell by the generation whether anything is new. The table owns its processes and
 * the files that they map; pointers are borrowed, and valid until a process is forgotten.
 */
#ifndef LEAKMON_TARGET_PROCESS_H
#define LEAKMON_TARGET_PROCESS_H

#include <sys/types.h>

#include "process/target/dso.h"

/* Why code in no file has no names. */
#define CODE_ANONYMOUS "anonymous code"
#define CODE_NOT_ELF "not an ELF file"
/* Path prefix of code that is mapped twice, to be written at another address. */
#define CODE_MEMFD "/memfd:"

/* Executable memory. */
struct code_range {
	struct mapping mapping;	     /* its path is owned */
	struct memory_source source; /* the process that maps it */
	struct dso *dso;	     /* its DSO_SYMBOLS is held; NULL: see `why` */
	const char *why;	     /* CODE_ANONYMOUS, "file gone", ...; static */
};

struct code_ranges {
	struct code_range *items;
	size_t count, capacity;
};

struct process {
	pid_t pid;
	uint64_t start_ticks;	 /* as process_entry.start_ticks; 0: never seen */
	uint64_t generation;	 /* raised when the code that is mapped has changed */
	int error;		 /* of the last refresh; if not 0, the fields below are older */
	struct maps maps;	 /* MAPS_CODE */
	struct code_ranges code; /* by ascending address */
	struct code_ranges past; /* unmapped, the latest last; bounded */
};

struct process_table {
	maps_reader read;
	const struct core *core; /* instead of live processes; borrowed; NULL: none */
	struct dso_cache dsos;
	struct hash processes; /* PID -> struct process * */
};

/* Returns a new table. keeps_files: see dso_cache. NULL: out of memory. */
struct process_table *process_table_new(bool keeps_files);
void process_table_free(struct process_table *table);

/*
 * Reads the mappings of a process, and opens new code. *process is known from then on, even on
 * failure: NULL only if out of memory. Returns 0, or -errno as maps_read(); then the previous state
 * stays.
 */
int process_table_refresh(struct process_table *table, pid_t pid, struct process **process);
/*
 * Refreshes many, until the monitor is interrupted: `processes`, with room for all, gets those that
 * could be read; unreadable ones not known before are forgotten. Returns the number read.
 */
size_t process_table_refresh_all(struct process_table *table, const pid_t *pids, size_t count,
				 struct process **processes);
/* Returns its latest state; NULL: never read. */
struct process *process_table_find(const struct process_table *table, pid_t pid);
void process_table_forget(struct process_table *table, pid_t pid);

/*
 * Returns the code that is, or was last, mapped at address; NULL: none ever. Valid while
 * process->generation is unchanged.
 */
const struct code_range *process_code_at(const struct process *process, uint64_t address);

/*
 * Returns the DSO of one of process->maps, with a facet held for the caller; code in the version
 * that was mapped. NULL: its file is unavailable, or out of memory.
 */
struct dso *process_dso(struct dso_cache *dsos, const struct process *process,
			const struct mapping *mapping, enum dso_kind kind);

/*
 * Called with each mapped file in its present version: if it was written to since, that is another
 * DSO than the code's, because probes must not rely on the file's old contents. `fd` is borrowed;
 * if the file cannot be opened it is -errno, and there is no DSO. Returns 0, or -errno to end the
 * visit.
 */
struct file_visitor {
	int (*visit)(void *context, const struct mapping *mapping, struct dso *dso, int fd);
	void *context;
	enum dso_kind kind;		 /* facet held meanwhile */
	const struct mapped_files *seen; /* files to skip */
};

/*
 * Visits files, code first: if its code was moved away, only its data reveals a file. Returns 0 or
 * -errno.
 */
int process_visit_files(struct dso_cache *dsos, const struct process *process,
			const struct file_visitor *visitor);

#endif
