/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The description in a core file: where in it which memory is, which files were mapped, how the
 * threads stood. The memory itself is not looked at (process/proc/core.h reads it).
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

/* A PT_LOAD. Addresses are whole pages, ascending, below 1 << MACHINE_USER_BITS, and do not
 * overlap; what of it is in the file lies within the file. */
struct core_segment {
	uint64_t start, end;	  /* in the process */
	uint64_t offset, in_file; /* bytes that are in the file: in_file <= end - start */
	uint64_t flags;		  /* PF_R, PF_W, PF_X */
};

/* A mapping of a file (NT_FILE); ascending, not overlapping. */
struct core_mapped {
	uint64_t start, end, offset;
	uint64_t path;	/* place in `paths` */
	uint64_t flags; /* as its ELF header in the core has them; 0: it is not there */
};

struct core_thread {
	int64_t tid;
	struct machine_registers registers;
};

struct core_layout {
	pid_t pid;
	char comm[16];
	uint64_t entry;	     /* AT_ENTRY: where the program begins to run; 0: not known */
	uint64_t stack_top;  /* AT_EXECFN: in the main thread's stack; 0: not known */
	uint64_t vdso;	     /* AT_SYSINFO_EHDR: the kernel's own code in it; 0: not known */
	uint64_t page_bytes; /* AT_PAGESZ; not known: as of this machine */
	uint64_t cut_bytes;  /* of segments, behind the file's end: it is truncated */
	VEC(struct core_segment) segments;
	VEC(struct core_mapped) files;
	VEC(struct core_thread) threads; /* by number, that of the process first */
	char *paths;			 /* each ended by NUL; untrusted */
	size_t paths_size;
};

/* 0; -ENOEXEC: no core file of this machine; -EBADMSG: its tables contradict each other, or are cut
 * off; -EFBIG: they are larger than any process has; -EIO; -ENOMEM. *layout is untouched then. */
int core_layout_read(int fd, struct core_layout *layout);
void core_layout_free(struct core_layout *layout);

int encode_core_layout(const struct core_layout *layout, struct bytes *body);
/* As parse_kind.decode. */

extern const struct parse_kind core_layout_kind; /* -> struct core_layout */

#endif
