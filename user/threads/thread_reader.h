/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread library while thread_library_read() reads it. */
#ifndef LEAKMON_THREADS_THREAD_READER_H
#define LEAKMON_THREADS_THREAD_READER_H

#include "probe/code.h"
#include "threads/thread_library.h"

struct thread_function {
	enum thread_probe probe;
	uint64_t vaddr, size;
};

struct thread_reader {
	struct elf_file file;
	struct elf_symbols symbols;
	struct code *code;
	VEC(struct thread_function) functions;
	bool glibc;
	struct thread_library library;
};

const struct thread_function *thread_reader_first(const struct thread_reader *reader,
						  enum thread_probe probe);

/* Adds a point. 0; -EOPNOTSUPP: another probe is there; -EBADMSG; -E2BIG; -ENOMEM. */
int thread_reader_add(struct thread_reader *reader, enum thread_probe probe, uint64_t vaddr);
/* Where the return address and the arguments are still as the caller left them. */
int thread_reader_add_entry(struct thread_reader *reader, const struct thread_function *function);

/* The points where joins have succeeded. 0; -EOPNOTSUPP: none can be proven; -errno. */
int thread_joins_add(struct thread_reader *reader);

#endif
