// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_library.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "leakmon_thread.h"
#include "threads/thread_reader.h"

static const struct {
	const char *name;
	enum thread_probe probe;
} functions[] = {
	{"pthread_create", THREAD_PROBE_CREATE},
	{"pthread_detach", THREAD_PROBE_DETACH},
	{"pthread_join", THREAD_PROBE_JOIN},
	{"pthread_tryjoin_np", THREAD_PROBE_JOIN},
	{"pthread_timedjoin_np", THREAD_PROBE_JOIN},
	{"pthread_clockjoin_np", THREAD_PROBE_JOIN},
	{"pthread_timedjoin_np64", THREAD_PROBE_JOIN},
	{"pthread_clockjoin_np64", THREAD_PROBE_JOIN},
	{"thrd_join", THREAD_PROBE_JOIN},
};

/* Functions that only glibc has, in a static program too. */
static const char *const glibc_names[] = {"gnu_get_libc_version", "__libc_fatal",
					  "__nptl_deallocate_stack", "__nptl_create_event"};

/* struct pthread_attr: flags are at 8; ATTR_FLAG_DETACHSTATE 1, ATTR_FLAG_STACKADDR 8. */
#define GLIBC_ATTR LM_ATTR_COOKIE(8, 1, 8, 8)
/* pthread_attr_t: _a_detach is int 6, _a_stackaddr is long 2 (any bit of it). */
#define MUSL_ATTR LM_ATTR_COOKIE(24, 0xffff, 16, 0xffff)

static void reader_free(struct thread_reader *reader)
{
	elf_file_close(&reader->file);
	elf_symbols_free(&reader->symbols);
	code_close(&reader->code);
	vec_free(&reader->functions);
	thread_library_free(&reader->library);
}

/* --- functions by name --- */

static bool has_function(const struct thread_reader *reader, uint64_t vaddr)
{
	for (size_t i = 0; i < reader->functions.count; i++) {
		if (reader->functions.items[i].vaddr == vaddr)
			return true;
	}
	return false;
}

static int take_symbol(struct thread_reader *reader, const struct elf_symbol *symbol)
{
	struct thread_function *function;

	if (symbol->binding == STB_LOCAL || symbol->type != STT_FUNC)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(glibc_names); i++)
		reader->glibc |= !strcmp(symbol->name, glibc_names[i]);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (strcmp(symbol->name, functions[i].name) != 0 ||
		    has_function(reader, symbol->value))
			continue;
		if (reader->functions.count == THREAD_MAX_POINTS)
			return -E2BIG;
		function = vec_push(&reader->functions);
		if (!function)
			return -ENOMEM;
		*function =
			(struct thread_function){functions[i].probe, symbol->value, symbol->size};
	}
	return 0;
}

static bool is_thread_library(const struct thread_reader *reader)
{
	return thread_reader_first(reader, THREAD_PROBE_CREATE) &&
	       thread_reader_first(reader, THREAD_PROBE_DETACH) &&
	       thread_reader_first(reader, THREAD_PROBE_JOIN);
}

/* --- points --- */

static int add_entries(struct thread_reader *reader, enum thread_probe probe)
{
	int error = 0;

	for (size_t i = 0; i < reader->functions.count && !error; i++) {
		if (reader->functions.items[i].probe == probe)
			error = thread_reader_add_entry(reader, &reader->functions.items[i]);
	}
	return error;
}

/* --- all of it --- */

static int by_probe(const void *left, const void *right)
{
	const struct thread_point *a = left, *b = right;

	if (a->probe != b->probe)
		return a->probe < b->probe ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int read_code_shift(struct thread_reader *reader)
{
	uint64_t vaddr = thread_reader_first(reader, THREAD_PROBE_CREATE)->vaddr, offset;

	if (elf_file_offset(&reader->file, vaddr, &offset))
		return -EBADMSG;
	reader->library.code_shift = vaddr - offset;
	return 0;
}

static int plan(struct thread_reader *reader)
{
	struct thread_library *library = &reader->library;
	int error;

	library->glibc = reader->glibc;
	library->attr_cookie = reader->glibc ? GLIBC_ATTR : MUSL_ATTR;
	library->has_layout = !thread_layout_read(&reader->file, &library->layout);
	error = read_code_shift(reader);
	if (!error)
		error = thread_joins_add(reader);
	if (!error)
		error = add_entries(reader, THREAD_PROBE_DETACH);
	if (!error)
		error = add_entries(reader, THREAD_PROBE_CREATE);
	if (!error)
		qsort(library->points.items, library->points.count, sizeof(*library->points.items),
		      by_probe);
	if (error == -EOPNOTSUPP) {
		library->points.count = 0;
		snprintf(library->why, sizeof(library->why),
			 "the code of its join functions cannot be followed to its end");
		return 0;
	}
	return error;
}

int thread_library_read(int fd, struct thread_library *library)
{
	_cleanup_(reader_free) struct thread_reader reader = {.file = {.fd = -1}};
	int error = elf_file_open(fd, &reader.file);

	if (!error)
		error = elf_symbols_read(&reader.file, &reader.symbols);
	for (size_t i = 0; i < reader.symbols.list.count && !error; i++)
		error = take_symbol(&reader, &reader.symbols.list.items[i]);
	if (!error && is_thread_library(&reader)) {
		error = code_open(&reader.file, &reader.symbols, &reader.code);
		if (!error)
			error = plan(&reader);
	}
	if (error)
		return error;
	*library = reader.library;
	reader.library = (struct thread_library){0};
	return 0;
}

void thread_library_free(struct thread_library *library)
{
	vec_free(&library->points);
}
