/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What kind of memory a site holds. Families are ranked and counted apart: their bytes overlap. */
#ifndef LEAKMON_COLLECT_FAMILY_H
#define LEAKMON_COLLECT_FAMILY_H

enum site_family { FAMILY_HEAP, FAMILY_MAPPING, FAMILY_KERNEL, FAMILY_MAX_ };

/* What the memory of a site is for, within its family. */
enum site_kind {
	KIND_NONE, /* the heap family has no kinds */
	/* mapping: KIND_MAPPING + enum lm_mapping_kind */
	KIND_MAPPING,
	KIND_FILE,
	KIND_RESERVATION,
	KIND_THREAD_STACK,
	KIND_ARENA,
	KIND_BRK,
	/* kernel: KIND_KMALLOC + enum lm_kernel_kind */
	KIND_KMALLOC,
	KIND_CACHE,
	KIND_PAGES,
	KIND_SLAB_PAGES,
	KIND_MAX_,
};

/* "heap", "mapping", "kernel": as in JSON. */
const char *family_name(enum site_family family);
/* "thread stack", ...; NULL for KIND_NONE. */
const char *kind_name(enum site_kind kind);
/* Why its bytes are counted by another row, too: to follow a comma; NULL when they are not. */
const char *kind_note(enum site_kind kind);

#endif
