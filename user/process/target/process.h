/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that are looked at: their identity, their mappings, and those they had before.
 *
 * Each refresh reads the mappings once, for everybody: names, stack walks and probes work on the
 * same ones, and know by the generation whether there is anything new for them. The table owns its
 * processes and the files that they map; pointers are borrowed, and good until a process is
 * forgotten.
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
	struct memory_source source; /* that it is mapped in */
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
	int error;		 /* of the last refresh: 0, or the rest is older */
	struct maps maps;	 /* MAPS_CODE */
	struct code_ranges code; /* by ascending address */
	struct code_ranges past; /* vanished, the latest last; bounded */
};

struct process_table {
	maps_reader read;
	const struct core *core; /* instead of live processes; borrowed; NULL: none */
	struct dso_cache dsos;
	struct hash processes; /* PID -> struct process * */
};

/* keeps_files: of code that was mapped, see dso_cache. NULL: out of memory. */
struct process_table *process_table_new(bool keeps_files);
void process_table_free(struct process_table *table);

/*
 * Reads the mappings of a process, and opens the code that is new. *process is known from then on,
 * whatever comes of it: NULL only without memory. 0, or -errno as maps_read(); then what was known
 * stays.
 */
int process_table_refresh(struct process_table *table, pid_t pid, struct process **process);
/*
 * The same for many, until the monitor is interrupted: `processes`, with room for all, gets those
 * that could be read; others that were not known before are forgotten. How many could be read.
 */
size_t process_table_refresh_all(struct process_table *table, const pid_t *pids, size_t count,
				 struct process **processes);
/* As it was read last; NULL: it never was. */
struct process *process_table_find(const struct process_table *table, pid_t pid);
void process_table_forget(struct process_table *table, pid_t pid);

/* The code that is mapped at address, or was last; NULL: never code there. Good as long as
 * process->generation is the same. */
const struct code_range *process_code_at(const struct process *process, uint64_t address);

/*
 * The DSO of one of process->maps, with a facet held for the caller: as it was when it was mapped,
 * if it is code. NULL: its file cannot be had, or out of memory.
 */
struct dso *process_dso(struct dso_cache *dsos, const struct process *process,
			const struct mapping *mapping, enum dso_kind kind);

/*
 * Called with a file that is mapped, as it is now: if it was written to since, that is another DSO
 * than the code has, for what is set on code must not go by what the file was. `fd` is borrowed;
 * where the file cannot be opened it is -errno, and there is no DSO. 0, or -errno to end the visit.
 */
struct file_visitor {
	int (*visit)(void *context, const struct mapping *mapping, struct dso *dso, int fd);
	void *context;
	enum dso_kind kind;		 /* what is held meanwhile */
	const struct mapped_files *seen; /* those that are passed over */
};

/* Code first: a file with its code moved away is known by its data alone. 0 or -errno. */
int process_visit_files(struct dso_cache *dsos, const struct process *process,
			const struct file_visitor *visitor);

#endif
