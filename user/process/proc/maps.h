/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory mappings of a process, from /proc/PID/maps (man 5 proc).
 *
 * The path in a line is for people. It can contain anything (spaces, escapes, a fake library name),
 * so it never decides which file is mapped: see target_file.h for how to open that file.
 */
#ifndef LEAKMON_PROC_MAPS_H
#define LEAKMON_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/vec.h"
#include "process/proc/process_memory.h"

struct mapping {
	uint64_t start, end;   /* [start, end) in the process */
	uint64_t offset;       /* of start in the file, in bytes */
	uint64_t inode;	       /* 0: no file */
	uint32_t major, minor; /* device, as shown by the kernel here; stat may show another one */
	bool readable, writable, executable, shared;
	bool deleted; /* the path ended in " (deleted)", which was cut off */
	char *path; /* untrusted, newlines still as \012; "" if none; or "[heap]", "[vdso]", ... */
};

/*
 * MAPS_CODE: executable mappings, and the private data of files, which show that these are loaded.
 */
enum maps_filter { MAPS_ALL, MAPS_EXECUTABLE, MAPS_CODE };

struct maps {
	VEC(struct mapping) list; /* by ascending address; paths are owned */
	/*
	 * Their owner. Of a live process, the task is the given pid, or another live thread of it:
	 * a main thread that ended before the others shows no mappings.
	 */
	struct memory_source source;
};

/*
 * Parses one line without its newline. *mapping points into `line`, in which " (deleted)" is cut.
 * Returns 0, or -EINVAL (then *mapping is untouched).
 */
int maps_parse_line(char *line, struct mapping *mapping);

/*
 * The kernel resumes at the end of the mapping it wrote last (fs/proc/task_mmu.c, m_start()): one
 * that has grown since is written again, whole. Frees the paths of the mappings that the one at
 * `start` replaces, `stride` bytes apart, and returns the number that stay.
 */
size_t mappings_drop_rewritten(struct mapping *first, size_t count, size_t stride, uint64_t start);

/*
 * Reads the mappings. Returns 0; -ESRCH: no such process, a zombie or a kernel thread (no user
 * memory); -EACCES; -EBADMSG: malformed; -ENOMEM. *maps is untouched on error.
 */
int maps_read(int pid, enum maps_filter filter, struct maps *maps);
/* Returns whether the filter includes the mapping. */
bool mapping_is_wanted(enum maps_filter filter, const struct mapping *mapping);
/* maps_read(), or a test's replacement. */
typedef int (*maps_reader)(int pid, enum maps_filter filter, struct maps *maps);

/* Reads all mappings like maps_read(); -ETIMEDOUT: not by the deadline, which may be NULL: none. */
int maps_read_until(int pid, struct deadline *deadline, struct maps *maps);
void maps_free(struct maps *maps);

/* Files as mappings show them: known without opening them, but not their version. */
struct mapped_file {
	uint64_t inode;
	uint32_t major, minor;
};
struct mapped_files {
	struct mapped_file *items;
	size_t count, capacity;
};

bool mapped_files_have(const struct mapped_files *files, const struct mapping *mapping);
/* Adds a file. Returns whether it is new; false also when out of memory. */
bool mapped_files_add(struct mapped_files *files, const struct mapping *mapping);

/*
 * Returns whether both show the same file, by the kernel's data. On overlayfs that is the
 * underlying one: two containers' files may be one, although fstat shows two.
 */
bool mapping_same_file(const struct mapping *left, const struct mapping *right);

/*
 * Returns the end of the data of the i-th mapping's module, including the anonymous zeroed memory
 * (.bss) after it.
 */
uint64_t maps_data_end(const struct maps *maps, size_t i);

/* Returns the mapping that contains an address, or NULL. */
const struct mapping *maps_find(const struct maps *maps, uint64_t address);

#endif
