/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one file says of threads: where to probe it, and where it keeps its list of them.
 *
 * When a join has succeeded is seen without a return probe, which a cancellation point must not
 * have (bpf/thread.bpf.c):
 *
 *   glibc  frees a descriptor in one function, __nptl_free_tcb (nptl/pthread_detach.c,
 *          pthread_join_common.c; __free_tcb before 2.34). It has no name in a stripped file. It is
 *          the one function that pthread_detach calls, with its own argument still in its register;
 * so whatever calls it hands it a thread to free, and a call of it that a join function can reach
 * (arch/control_flow.h) is reached by successful joins only. Where the descriptors tell at which
 * offset a thread's tid is, the join must also store -1 there, as glibc does to mark a thread as
 * joined. A `call` is emulated by the kernel: one trap. musl, and a glibc where that cannot be
 * proven the entry of each join function notes the thread, and each `ret` that the function can
 * reach looks at the result. A `ret` is single-stepped: two traps.
 *
 * No proof at all: no points, and a reason.
 */
#ifndef LEAKMON_PARSE_THREAD_LIBRARY_H
#define LEAKMON_PARSE_THREAD_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "parse/thread_layout.h"
#include "parse/thread_probes.h"
#include "sandbox/parse_kind.h"

struct thread_point {
	enum thread_probe probe;
	uint64_t offset; /* in the file */
};

#define THREAD_MAX_POINTS 64

struct thread_library {
	VEC(struct thread_point) points; /* none: not a thread library, or see `why` */
	uint64_t attr_cookie;		 /* LM_ATTR_COOKIE; of THREAD_PROBE_CREATE */
	uint64_t code_shift;		 /* of its code: virtual address minus file offset */
	bool glibc;
	bool has_layout;
	struct thread_layout layout;
	char why[96]; /* it is a thread library, but cannot be followed; "" */
	bool unread;  /* nothing of this is known: its parser failed */
};

/*
 * A file is a thread library when it defines pthread_create, pthread_join and pthread_detach.
 * 0, also for any other file; -errno as elf_file_open(). *library is untouched on error.
 */
int thread_library_read(int fd, struct thread_library *library);
void thread_library_free(struct thread_library *library);

extern const struct parse_kind threads_kind; /* -> struct thread_library */

int encode_threads(const struct thread_library *library, struct bytes *body);
/* Points of known kinds, in their order, inside a file of `file_size` bytes; a sound layout. */
int decode_threads(const struct bytes *body, uint64_t file_size, struct thread_library *library);

#endif
