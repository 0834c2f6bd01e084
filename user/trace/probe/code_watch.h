/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of a process where probes stand: before they are set, whether it is what the file says;
 * afterwards, whether they are still there.
 *
 * A plan is made from the file, and the kernel emulates the file's instruction when a breakpoint is
 * hit: over code that the process has rewritten (a hook, a hot patch) that kills it. And a
 * breakpoint is a byte of the process's memory, nothing more: the kernel writes it into private,
 * read-only mappings of the file when it learns of them (valid_vma(), uprobe_mmap() in
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

/* Why calls may have gone unseen. */
enum code_fault {
	CODE_CHANGED,  /* the process has rewritten it */
	CODE_MOVED,    /* other memory has taken its place: no probe can be there */
	CODE_WRITABLE, /* mapped writable or shared: the kernel sets no probe there */
	CODE_UNPROBED, /* the probes were gone for some time */
	CODE_FAULT_MAX_
};

/* A place of a file that has a probe. */
struct code_point {
	uint64_t entry;	  /* where its function begins, in the file; or the same as `offset` */
	uint64_t offset;  /* of the probe, in the file */
	uint64_t counter; /* where the kernel counts its listeners; 0: nowhere */
};

/* The probed places of one file, which is known as /proc/PID/maps shows it. */
struct code_file {
	uint64_t inode;
	uint32_t major, minor;
	char *path; /* untrusted; owned */
	VEC(struct code_point) points;
};

/* Where a point lies in memory; of code_watch.c. */
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
	VEC(struct code_place) places; /* where the points lay when the mappings were read last */
	uint32_t faults;	       /* 1 << enum code_fault, of any moment since the attach */
};

/* *file without points, of a mapping. 0 or -ENOMEM. */
int code_file_new(struct code_file *file, const struct mapping *mapping);
int code_file_add(struct code_file *file, uint64_t entry, uint64_t offset);
/* The same of a probe that the program carries. */
int code_file_add_counted(struct code_file *file, uint64_t offset, uint64_t counter);
void code_file_free(struct code_file *file);

/*
 * Whether the points of a file are, wherever `maps` (MAPS_CODE) has them, mapped from the file and
 * the same as in it, from the beginning of the function to the end of the probed instruction.
 * Breakpoints, and what the kernel makes of them, are no difference. 0, or -EOPNOTSUPP and
 * *fault; -ESRCH: the process has ended; -EPERM, -EACCES: its memory may not be read.
 */
int code_check(const struct maps *maps, const struct code_file *file, int file_fd,
	       enum code_fault *fault);

/* The processes for which the result of code_check() is final. */
void code_explain(pid_t pid, const char *path, int error, enum code_fault fault);

/* From now on code_watch_look() looks at it, too. Takes *file over. 0 or -ENOMEM. */
int code_watch_add(struct code_watch *watch, struct code_file *file);

/*
 * Looks at every probed byte. Where there is no breakpoint, watch->faults says so from then on,
 * after a warning; where the code is still the file's, it is set again. `maps` (MAPS_CODE) may be
 * NULL: then the mappings are read only if something is amiss.
 */
void code_watch_look(struct code_watch *watch, enum attach_method method, const struct maps *maps);

/* After an exec: no fault is known of the new program. */
void code_watch_reset(struct code_watch *watch);

void code_watch_free(struct code_watch *watch);

#endif
