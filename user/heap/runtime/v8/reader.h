/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of V8 from outside while it runs, without stopping it. */
#ifndef LEAKMON_RUNTIME_V8_READER_H
#define LEAKMON_RUNTIME_V8_READER_H

#include "process/proc/maps.h"
#include "report/js_memory.h"

struct data_module;
struct target_memory;

/* Its heaps, and memory outside them; js->why says why that is not known. No file is read, and it
 * may be any process with V8. 0 or -ENOMEM. */
int js_memory_read(const struct maps *maps, struct js_memory *js);
/* Only what js_floor_of() needs, at a cost that does not grow with the heap. */
int js_collections_read(const struct maps *maps, struct js_memory *js);

/* Either of them, of memory that is open and the module in it that has V8; *js is zeros before. */
int js_memory_of(struct target_memory *memory, const struct data_module *module, bool collections,
		 struct js_memory *js);

#endif
