/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where glibc keeps its list of threads, as it tells debuggers: since 2.34 libc.so.6 exports
 * descriptors (`_thread_db_*`, nptl_db/structs.def) of the structures that libthread_db reads.
 */
#ifndef LEAKMON_PARSE_THREAD_LAYOUT_H
#define LEAKMON_PARSE_THREAD_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Offsets in bytes. */
struct thread_layout {
	/*
	 * Virtual address, in the file, of what holds the list heads: of a pointer to _rtld_global,
	 * or (not indirect) of the first one itself, in a program that is linked statically.
	 */
	uint64_t heads_at;
	uint32_t indirect;
	uint32_t used_at, user_at; /* list heads: own stacks, given ones */
	uint32_t list_at, tid_at, start_routine_at, state_at; /* in struct pthread */
	uint32_t next_at, prev_at;			      /* in a list node */
	uint32_t descriptor_size;			      /* of struct pthread */
	/*
	 * In struct pthread: who waits for it, itself when it is detached. No descriptor tells it:
	 * thread_library.c finds it in the code of pthread_detach. 0: not found.
	 */
	uint32_t joinid_at;
};

/* In the state word (cancelhandling) of a thread that is ending or has ended: nptl/descr.h,
 * EXITING_BIT, the same since 2003. Only a thread that was made has it. */
#define THREAD_STATE_EXITING 0x10

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
