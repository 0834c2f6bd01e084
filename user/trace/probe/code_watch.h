/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probed code of a process: before probes are set, whether it equals the file; afterwards,
 * whether the probes are still there.
 *
 * A plan is made from the file, and the kernel emulates the file's instruction when a breakpoint is
 * hit: over code that the process has rewritten (a hook, a hot patch) that crashes it. And a
 * breakpoint is only a byte of the process's memory: the kernel writes it into private, read-only
 * mappings of the file when it learns of them (valid_vma(), uprobe_mmap() in
 * kernel/events/uprobes.c), and does not notice when the page is dropped, replaced or moved.
 */
#ifndef LEAKMON_PROBE_CODE_WATCH_H
#define LEAKMON_PROBE_CODE_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "binary/parse/plan.h"
#include "process/proc/maps.h"

/* Reasons for missed calls. */
enum code_fault {
	CODE_CHANGED,  /* the process has rewritten it */
	CODE_MOVED,    /* replaced by other memory: no probe can be there */
	CODE_WRITABLE, /* mapped writable or shared: the kernel sets no probe there */
	CODE_UNPROBED, /* the probes were gone for some time */
	CODE_FAULT_MAX_
};

/* A place of a file that has a probe. */
struct code_point {
	uint64_t entry;	  /* file offset of its function's beginning; or the same as `offset` */
	uint64_t offset;  /* of the probe, in the file */
	uint64_t counter; /* file offset of its counter of listeners; 0: none */
};

/* The probed places of one file, identified as in /proc/PID/maps. */
struct code_file {
	uint64_t inode;
	uint32_t major, minor;
	char *path; /* untrusted; owned */
	VEC(struct code_point) points;
};

/* A point's place in memory; private to code_watch.c. */
struct code_place {
	uint64_t address;
	uint32_t file;
	bool settable; /* the kernel sets probes in that mapping */
	bool probed;
};

/* Zero-initialise it, except for `pid`. */
struct code_watch {
	pid_t pid;
	VEC(struct code_file) files;
	VEC(struct code_place) places; /* the points at the latest reading of the mappings */
	uint32_t faults;	       /* 1 << enum code_fault, at any time since the attach */
};

/* Initialises *file, without points, from a mapping. Returns 0 or -ENOMEM. */
int code_file_new(struct code_file *file, const struct mapping *mapping);
int code_file_add(struct code_file *file, uint64_t entry, uint64_t offset);
/* Adds a probe that the program itself carries. Returns 0 or -ENOMEM. */
int code_file_add_counted(struct code_file *file, uint64_t offset, uint64_t counter);
void code_file_free(struct code_file *file);

/*
 * Checks that the points of a file are, wherever `maps` (MAPS_CODE) has them, mapped from the file
 * and equal to it, from the beginning of the function to the end of the probed instruction.
 * Breakpoints, and their replacements by the kernel, are no difference. Returns 0, or -EOPNOTSUPP
 * and *fault; -ESRCH: the process has ended; -EPERM, -EACCES: its memory may not be read.
 */
int code_check(const struct maps *maps, const struct code_file *file, int file_fd,
	       enum code_fault *fault);

/* Logs the result of code_check(), for processes for which it is final. */
void code_explain(pid_t pid, const char *path, int error, enum code_fault fault);

/* Adds the file to those that code_watch_look() checks. Takes over *file. Returns 0 or -ENOMEM. */
int code_watch_add(struct code_watch *watch, struct code_file *file);

/*
 * Checks every probed byte. If a breakpoint is missing, sets watch->faults for good, after a
 * warning; if the code still equals the file, sets it again. `maps` (MAPS_CODE) may be NULL: then
 * the mappings are read only if something is wrong.
 */
void code_watch_look(struct code_watch *watch, enum attach_method method, const struct maps *maps);

/* Clears the faults after an exec: the new program has none yet. */
void code_watch_reset(struct code_watch *watch);

void code_watch_free(struct code_watch *watch);

#endif
