/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where glibc keeps its list of threads, as it tells debuggers: since 2.34 libc.so.6 exports
 * descriptors (`_thread_db_*`, nptl_db/structs.def) of the structures that libthread_db reads.
 */
#ifndef LEAKMON_THREADS_THREAD_LAYOUT_H
#define LEAKMON_THREADS_THREAD_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Offsets in bytes. */
struct thread_layout {
	uint64_t rtld_global_at;   /* virtual address, in libc, of the pointer to _rtld_global */
	uint32_t used_at, user_at; /* list heads in _rtld_global: own stacks, given ones */
	uint32_t list_at, tid_at, start_routine_at; /* in struct pthread */
	uint32_t next_at, prev_at;		    /* in a list node */
	uint32_t descriptor_size;		    /* of struct pthread */
};

/* No field of a descriptor lies further away: glibc 2.36's is 2304 bytes, _rtld_global 4336. */
#define THREAD_LAYOUT_MAX 65536

/*
 * 0; -ENOENT: the file has not all of the descriptors, or they contradict each other; -EBADMSG;
 * -EIO; -ENOMEM. *layout is untouched on error.
 */
int thread_layout_read(const struct elf_file *file, struct thread_layout *layout);

/* Whether every field lies where it can: for a layout that comes from elsewhere. */
bool thread_layout_is_sound(const struct thread_layout *layout);

#endif
