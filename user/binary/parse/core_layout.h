/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The description in a core file: its memory ranges and their places in the file, the mapped files,
 * and the threads' registers. The memory itself is not read (process/proc/core.h reads it).
 *
 * Sources: the gABI (program headers), the kernel's fs/binfmt_elf.c (elf_core_dump,
 * fill_files_note) and <sys/procfs.h>; gdb's gcore writes the same.
 */
#ifndef LEAKMON_PARSE_CORE_LAYOUT_H
#define LEAKMON_PARSE_CORE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sandbox/bytes.h"
#include "base/sandbox/parse_kind.h"
#include "base/vec.h"
#include "binary/arch/machine.h"

/*
 * A PT_LOAD. Addresses are whole pages, ascending, below 1 << MACHINE_USER_BITS, and do not
 * overlap; the part in the file lies within the file.
 */
struct core_segment {
	uint64_t start, end;	  /* in the process */
	uint64_t offset, in_file; /* bytes in the file: in_file <= end - start */
	uint64_t flags;		  /* PF_R, PF_W, PF_X */
};

/* A mapping of a file (NT_FILE); ascending, not overlapping. */
struct core_mapped {
	uint64_t start, end, offset;
	uint64_t path;	/* offset in `paths` */
	uint64_t flags; /* from its ELF header in the core; 0: header missing */
};

struct core_thread {
	int64_t tid;
	struct machine_registers registers;
};

struct core_layout {
	pid_t pid;
	char comm[16];
	uint64_t entry;	     /* AT_ENTRY: the program's entry point; 0: unknown */
	uint64_t stack_top;  /* AT_EXECFN: in the main thread's stack; 0: unknown */
	uint64_t vdso;	     /* AT_SYSINFO_EHDR: the kernel's own code in it; 0: unknown */
	uint64_t page_bytes; /* AT_PAGESZ; if unknown, this machine's */
	uint64_t cut_bytes;  /* of segments beyond the file's end: it is truncated */
	VEC(struct core_segment) segments;
	VEC(struct core_mapped) files;
	VEC(struct core_thread) threads; /* by TID, the process's own first */
	char *paths;			 /* NUL-terminated each; untrusted */
	size_t paths_size;
};

/*
 * Reads the layout. Returns 0; -ENOEXEC: not a core file of this machine; -EBADMSG: its tables are
 * inconsistent or truncated; -EFBIG: they are larger than any process has; -EIO; -ENOMEM. *layout
 * is untouched on error.
 */
int core_layout_read(int fd, struct core_layout *layout);
void core_layout_free(struct core_layout *layout);

int encode_core_layout(const struct core_layout *layout, struct bytes *body);
/* Decodes as parse_kind.decode does. */

extern const struct parse_kind core_layout_kind; /* -> struct core_layout */

#endif
