/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of a heap image's modules by name: finds the variable at an address. Files are read by
 * the worker, once (the facet DSO_DATA); the separate debug file of a stripped one is used if
 * installed.
 */
#ifndef LEAKMON_HEAP_DATA_MODULES_H
#define LEAKMON_HEAP_DATA_MODULES_H

#include <stdbool.h>

#include "binary/elf/elf_file.h"
#include "binary/parse/image.h"
#include "heap/allocators/heap_image.h"
#include "process/proc/maps.h"
#include "process/symbol/intern.h"
#include "process/target/dso.h"

struct worker;

/* How often a file can be loaded: glibc has this many namespaces (dlmopen(3)). */
#define DATA_MODULE_LOADS_MAX 16

/* One file, once for each place where it is mapped. */
struct data_module {
	const char *path;    /* as mapped; untrusted; borrowed from the heap image's maps */
	uint64_t start, end; /* of all its segments in memory, including zeroed data (.bss) */
	uint64_t bias;	     /* address in memory minus address in the file */
	struct dso *dso;
	const struct image *image;     /* its facet, held */
	const struct mapping *mapping; /* its first one; borrowed from the maps; NULL: in tests */
};

struct data_modules {
	struct dso_cache *dsos;	      /* NULL: no modules */
	struct worker *worker;	      /* reads their files; borrowed */
	struct memory_source source;  /* the process that maps them */
	VEC(struct data_module) list; /* by ascending address */
};

/* Enables reading of these files. */
void data_modules_register(struct dso_cache *dsos);

/* Reads the modules, except those with unreadable files. Returns 0 or -ENOMEM. */
int data_modules_read(const struct heap_image *heap_image, struct worker *worker,
		      struct dso_cache *dsos, struct data_modules *modules);
/*
 * Finds the C library with descriptors that a process, or a core's process, has mapped. Returns 0;
 * -ENOENT: none (musl, a static program, glibc before 2.34); -ENOMEM; -errno as maps_read().
 */
int data_modules_library(pid_t pid, const struct core *core, struct worker *worker,
			 struct dso_cache *dsos, struct c_library *library);
void data_modules_free(struct data_modules *modules);

/*
 * Returns every symbol of a module with an address, including functions and untyped data, from its
 * file: for the few modules that are a language's programs. The table is in *own, which the caller
 * image_free()s in any case, or the module's variables if there are no more symbols.
 */
const struct symbol_table *data_module_symbols(const struct data_modules *modules,
					       const struct data_module *module, struct image *own);

/* Returns the module whose memory contains `address`, or NULL. */
const struct data_module *data_modules_at(const struct data_modules *modules, uint64_t address);

/* Returns the variable at address, and the distance from its start; NULL: none with a name. */
const struct symbol *data_module_object(const struct data_module *module, uint64_t address,
					uint64_t *offset);

/* Returns its readable name, interned; NULL: out of memory. */
const char *data_module_name(const struct data_module *module, const struct symbol *symbol,
			     struct intern *intern);

/* Where a file's own addresses begin in memory. */

/*
 * Computes the difference between an address in memory and in the file. Returns false if the
 * mapping is of none of its segments. `page_bytes`: memory_page_size() of the process.
 */
bool module_bias(const struct elf_file *file, uint64_t page_bytes, const struct mapping *mapping,
		 uint64_t *bias);

#endif
