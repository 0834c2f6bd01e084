/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads in one file: where to probe it, and where it keeps its list of threads.
 *
 * A successful join is detected without a return probe, which a cancellation point must not have
 * (bpf/thread.bpf.c):
 *
 *   glibc  frees a descriptor in one function, __nptl_free_tcb (nptl/pthread_detach.c,
 *          pthread_join_common.c; __free_tcb before 2.34). It has no name in a stripped file. It is
 *          the one function that pthread_detach calls with its own argument still in its register;
 *          so every caller hands it a thread to free, and a call of it that a join function can
 *          reach (binary/arch/control_flow.h) is reached by successful joins only. If the
 *          descriptors include the offset of a thread's tid, the join must also store -1 there, as
 *          glibc does to mark a thread as joined. The kernel emulates a `call`: one trap.
 *   musl, and a glibc without that proof
 *          the entry of each join function notes the thread, and each `ret` that the function can
 *          reach checks the result. A `ret` is single-stepped: two traps.
 *
 * Without any proof there are no points, and a reason.
 */
#ifndef LEAKMON_PARSE_THREAD_LIBRARY_H
#define LEAKMON_PARSE_THREAD_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sandbox/parse_kind.h"
#include "base/vec.h"
#include "binary/elf/elf_file.h"

/*
 * glibc's list of threads, from its own description: since 2.34 libc.so.6 exports descriptors
 * (`_thread_db_*`, nptl_db/structs.def) of the structures that libthread_db reads.
 */

/* Offsets in bytes. */
struct thread_layout {
	/*
	 * Virtual address, in the file, of a pointer to _rtld_global, which holds the list heads
	 * (`indirect`), or of the first head itself, in a statically linked program.
	 */
	uint64_t heads_at;
	uint32_t indirect;
	uint32_t used_at, user_at; /* list heads: own stacks, supplied ones */
	uint32_t list_at, tid_at, start_routine_at, state_at; /* in struct pthread */
	uint32_t next_at, prev_at;			      /* in a list node */
	uint32_t descriptor_size;			      /* of struct pthread */
	/*
	 * In struct pthread: its joiner, or itself when detached. It has no descriptor:
	 * thread_library.c finds it in the code of pthread_detach. 0: not found.
	 */
	uint32_t joinid_at;
};

/*
 * In the state word (cancelhandling) of a thread that is ending or has ended: nptl/descr.h,
 * EXITING_BIT, the same since 2003. Only threads created by pthread_create have it.
 */
#define THREAD_STATE_EXITING 0x10

/* Upper limit of descriptor offsets: glibc 2.36's descriptor is 2304 bytes, _rtld_global 4336. */
#define THREAD_LAYOUT_MAX 65536

/* The programs that follow threads (bpf/thread.bpf.c), by their places. */

enum thread_probe {
	/* In the order of attaching: ends of threads before their creation. */
	/* without a point: the returns of DETACH and CREATE, without sessions */
	THREAD_PROBE_RETURN,
	THREAD_PROBE_FREED,
	THREAD_PROBE_JOINED,
	THREAD_PROBE_JOIN,
	THREAD_PROBE_DETACH,
	THREAD_PROBE_CREATE,
	THREAD_PROBE_MAX_,
};

struct thread_probe_info {
	const char *program;
	unsigned arguments; /* integer argument registers that the program reads */
	bool returns;	    /* its return is probed, too */
};

extern const struct thread_probe_info thread_probes[THREAD_PROBE_MAX_];

struct thread_point {
	enum thread_probe probe;
	uint64_t offset; /* in the file */
};

#define THREAD_MAX_POINTS 64

struct thread_library {
	VEC(struct thread_point) points; /* empty: not a thread library, or see `why` */
	uint64_t attr_cookie;		 /* LM_ATTR_COOKIE; of THREAD_PROBE_CREATE */
	uint64_t code_shift;		 /* of its code: virtual address minus file offset */
	bool glibc;
	bool has_layout;
	struct thread_layout layout;
	char why[96]; /* why a thread library cannot be followed; "" */
	bool unread;  /* unknown: its parser failed */
};

/*
 * A file is a thread library if it defines pthread_create, pthread_join and pthread_detach. Returns
 * 0, also for any other file; -errno as elf_file_open(). *library is untouched on error.
 */
int thread_library_read(int fd, struct thread_library *library);
void thread_library_free(struct thread_library *library);

extern const struct parse_kind threads_kind; /* -> struct thread_library */

#endif
