/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files with unwind rows in the kernel (the facet DSO_ROWS): each version is compiled once, for
 * all processes that map it, and its rows stay for some time after the last of them.
 */
#ifndef LEAKMON_UNWIND_ROW_MODULES_H
#define LEAKMON_UNWIND_ROW_MODULES_H

#include "binary/elf/elf_file.h"
#include "process/target/process.h"
#include "process/unwind/row_sets.h"

struct worker;

/* One file version. */
struct row_module {
	struct row_set *set;	      /* NULL: no usable rows */
	uint64_t base;		      /* rows count from this address of the file */
	struct elf_segment *segments; /* owned: from file offset to address */
	size_t segment_count;
	bool postponed; /* no time to compile its rows: retried for the next process */
};

struct row_modules {
	struct dso_cache *dsos;
	struct worker *worker;
	struct row_sets sets;
	size_t failures; /* files with an unusable .eh_frame */
};

/*
 * Initialises. `worker` compiles files; `map_fd` is the BPF map `unwind_modules`. All are borrowed.
 * Returns 0 or -errno.
 */
int row_modules_init(struct row_modules *modules, int map_fd, struct worker *worker,
		     struct dso_cache *dsos);
void row_modules_free(struct row_modules *modules);

/*
 * Returns the module of a mapping's DSO, with its DSO_ROWS held by the caller; compiles a new one.
 * NULL: it cannot be opened, or out of memory. New rows wait for row_sets_load().
 */
const struct row_module *row_modules_get(struct row_modules *modules, struct dso *dso, int task,
					 const struct mapping *mapping);

/* Finds the file's own address of the mapping's first byte. Returns 0 or -ENOENT. */
int row_module_vaddr(const struct row_module *module, const struct mapping *mapping,
		     uint64_t *vaddr);

#endif
