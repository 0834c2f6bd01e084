/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files whose unwind rows the kernel has. Each version of a file is compiled once, for all
 * processes that map it, and for some time after the last of them.
 */
#ifndef LEAKMON_UNWIND_ROW_MODULES_H
#define LEAKMON_UNWIND_ROW_MODULES_H

#include "base/file_identity.h"
#include "elf/elf_file.h"
#include "proc/maps.h"
#include "unwind/row_sets.h"

struct worker;

/* One file version. */
struct row_module {
	struct file_identity identity;
	uint64_t key;		      /* of row_modules.index */
	size_t place;		      /* in row_modules.list */
	size_t users;		      /* processes that map it */
	uint64_t unused_since;	      /* while there are none: row_modules.releases then */
	struct row_set *set;	      /* NULL: it has no usable rows */
	uint64_t base;		      /* rows count from this address of the file */
	struct elf_segment *segments; /* owned: from file offset to address */
	size_t segment_count;
	bool postponed; /* there was no time to compile its rows: the next process tries again */
};

struct row_modules {
	struct worker *worker;
	VEC(struct row_module *) list;
	struct hash index; /* of identities -> struct row_module * */
	struct row_sets sets;
	size_t unused; /* in list */
	uint64_t releases;
	size_t failures; /* files whose .eh_frame could not be used */
	int vdso_fd;	 /* one for all processes, so that it is one module; -1: not yet */
};

/* Files are compiled by `worker`; `map_fd` is the BPF map `unwind_modules`. Both are borrowed. */
int row_modules_init(struct row_modules *modules, int map_fd, struct worker *worker);
void row_modules_free(struct row_modules *modules);

/*
 * The module of a mapping with a file, compiled if it is new, held for the caller. NULL: it cannot
 * be opened, or out of memory. New rows wait for row_sets_load().
 */
struct row_module *row_modules_hold(struct row_modules *modules, int task,
				    const struct mapping *mapping);
/* Undoes a hold. Of the files that nobody maps, the rows of the latest 256 are kept. */
void row_modules_release(struct row_modules *modules, struct row_module *module);

/* Where the mapping's first byte lies, as the file counts addresses. 0 or -ENOENT. */
int row_module_vaddr(const struct row_module *module, const struct mapping *mapping,
		     uint64_t *vaddr);

#endif
