/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process from its core file: the second implementation of the readers of process/proc/maps.h,
 * process_memory.h and target_file.h. They call it if struct memory_source has a core.
 *
 * Compared with a live process, a core lacks
 *   - residency of pages: a page with anything but zeros counts as resident, one of zeros as
 *     untouched. Pages of files count if they differ from the file.
 *   - protections and names of mappings that were not dumped: a mapping known only from NT_FILE may
 *     be code. The heap, [heap], is found by its place after the program; [stack] by AT_EXECFN.
 *   - contents of files: read from the files themselves, if their first page (ELF header, program
 *     headers and, as a rule, build-id) equals that in the core. Data files are not read, except
 *     .NET's assemblies (*.dll) that are older than the core.
 *
 * A core file is hostile: its tables are parsed in the sandbox (binary/parse/core_layout.h), and
 * its memory is treated like that of a hostile process.
 */
#ifndef LEAKMON_PROC_CORE_H
#define LEAKMON_PROC_CORE_H

#include <time.h>

#include "binary/parse/core_layout.h"
#include "process/proc/maps.h"

struct core;
struct worker;

struct core_options {
	const char *path;
	const char *exe;     /* the program's file; NULL: the path in the core */
	const char *sysroot; /* directory that replaces / in the paths of files; NULL: / */
};

/*
 * Open a core. A compressed file (binary/parse/unpack.h) is unpacked into an unnamed temporary one,
 * in $TMPDIR or /var/tmp, up to half of the free space there. The worker is needed only here.
 * Return 0, or -errno after an error message; the caller frees *core. core_read_file() leaves the
 * message to the caller: -ENOEXEC: not a core file of such a program; -EBADMSG, -EFBIG: invalid
 * tables; errors of open(2) and of base/sandbox/worker.h.
 */
int core_open(const struct core_options *options, struct worker *worker, struct core **core);
int core_read_file(const struct core_options *options, struct worker *worker, struct core **core);
void core_free(struct core *core);

/* Returns the core's tables, which it owns. */
const struct core_layout *core_layout(const struct core *core);
/* Returns the name by which the file was opened; borrowed from the options. */
const char *core_path(const struct core *core);
/* Returns the file's modification time, which is when the process ended. CLOCK_REALTIME. */
struct timespec core_time(const struct core *core);

/* Implements maps_read(); maps->source is the core. Returns 0 or -ENOMEM. */
int core_maps(const struct core *core, enum maps_filter filter, struct maps *maps);
/* Implements memory_read(). */
ssize_t core_read(const struct core *core, uint64_t address, void *buffer, size_t size);
/* Implements pagemap_open(): a file of the same layout, with an entry per MEMORY_PAGE. */
int core_pagemap(const struct core *core);
/* Implements target_file_open_mapping(): -ENOENT: file missing; -ESTALE: another build. */
int core_open_file(const struct core *core, const struct mapping *mapping);
/* Returns the program's entry point; 0: unknown. */
uint64_t core_entry(const struct core *core);
/* Returns the page size in bytes: a power of two, from 4 to 64 KiB. */
uint64_t core_page_size(const struct core *core);

/* The missing parts, which make results that depend on them uncertain. */
struct core_gaps {
	uint64_t cut_bytes;	/* of a truncated file */
	bool cut_packed;	/* of a truncated compressed file, by its own size */
	uint64_t unsaved_bytes; /* of private writable memory that was not dumped */
	size_t other_files;	/* with code: another build than the core's */
	size_t missing_files;	/* with code: not found */
	size_t unchecked_files; /* with code: their first page is not in the core */
	const char *example;	/* a missing file; untrusted; or NULL */
};
struct core_gaps core_gaps(const struct core *core);
/* Returns whether all memory that may hold pointers to blocks is present. */
bool core_is_complete(const struct core *core);
/* Logs warnings about the gaps. */
void core_warn(const struct core *core);

#endif
