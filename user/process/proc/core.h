/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process as its core file has it: the second implementation of what process/proc/maps.h,
 * process_memory.h and target_file.h read of a live one. They come here where struct memory_source
 * has a core.
 *
 * What a core has not, in comparison:
 *   - which pages are resident: a page with anything but zeros in it counts as such, one of zeros
 *     as one that was never touched. Of files' pages those count that differ from the file.
 *   - protections and names of mappings that were not dumped: where NT_FILE alone knows one, it may
 *     hold code. The heap, [heap], is found by its place behind the program; [stack] by AT_EXECFN.
 *   - contents of files: read from the files themselves, if their first page (ELF header, program
 *     headers and, as a rule, build-id) is the one that the core has. Data files are not read, but
 *     for .NET's assemblies (*.dll) that are older than the core.
 *
 * A core file is hostile: its tables are parsed in the sandbox (binary/parse/core_layout.h), and
 * its memory is as good as that of a hostile process.
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
	const char *exe;     /* the program's file; NULL: where the core says it was */
	const char *sysroot; /* the directory below which files are where they were; NULL: / */
};

/*
 * A compressed file (binary/parse/unpack.h) is unpacked into a temporary one without a name, in
 * $TMPDIR or /var/tmp, as far as half of what is free there has room. The worker is needed only
 * here. 0, or -errno after an error message; the caller frees *core. The second one leaves the
 * message to the caller: -ENOEXEC: no core file of such a program; -EBADMSG, -EFBIG: tables that
 * cannot be; errors of open(2) and of base/sandbox/worker.h.
 */
int core_open(const struct core_options *options, struct worker *worker, struct core **core);
int core_read_file(const struct core_options *options, struct worker *worker, struct core **core);
void core_free(struct core *core);

/* Tables of the core; good as long as it is. */
const struct core_layout *core_layout(const struct core *core);
/* The name that the file was opened by; borrowed from the options. */
const char *core_path(const struct core *core);
/* When the file was written last, which is when the process ended. CLOCK_REALTIME. */
struct timespec core_time(const struct core *core);

/* As maps_read(); maps->source is the core. 0 or -ENOMEM. */
int core_maps(const struct core *core, enum maps_filter filter, struct maps *maps);
/* As memory_read(). */
ssize_t core_read(const struct core *core, uint64_t address, void *buffer, size_t size);
/* As pagemap_open(): a file of the same layout, with an entry for each MEMORY_PAGE. */
int core_pagemap(const struct core *core);
/* As target_file_open_mapping(): -ENOENT: it is not there; -ESTALE: it is another build. */
int core_open_file(const struct core *core, const struct mapping *mapping);
/* Where the program begins to run; 0: not known. */
uint64_t core_entry(const struct core *core);
/* A power of two, from 4 to 64 KiB. */
uint64_t core_page_size(const struct core *core);

/* The missing parts: nothing that depends on its contents is certain. */
struct core_gaps {
	uint64_t cut_bytes;	/* of a file that is cut off */
	bool cut_packed;	/* the same of a compressed one, as the file says itself */
	uint64_t unsaved_bytes; /* of private writable memory that was not dumped */
	size_t other_files;	/* with code: of another build than the core says */
	size_t missing_files;	/* with code: not found */
	size_t unchecked_files; /* with code: the core has not got their first page */
	const char *example;	/* of a file that is not there; untrusted; or NULL */
};
struct core_gaps core_gaps(const struct core *core);
/* Whether all memory is there that pointers to blocks can stand in. */
bool core_is_complete(const struct core *core);
/* Says so in warnings. */
void core_warn(const struct core *core);

#endif
