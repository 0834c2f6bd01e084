// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_layout.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_dynamic.h"

#define MAX_SYMBOLS (1u << 20)
#define MAX_STRINGS (16u << 20)

/* A descriptor: {size in bits, number of elements, offset}. */
#define DESCRIPTOR_WORDS 3

static const struct {
	const char *name;
	size_t field;  /* in struct thread_layout */
	uint32_t bits; /* what it must describe; 0: one word that is the value itself */
} rows[] = {
	{"_thread_db_rtld_global__dl_stack_used", offsetof(struct thread_layout, used_at), 128},
	{"_thread_db_rtld_global__dl_stack_user", offsetof(struct thread_layout, user_at), 128},
	{"_thread_db_pthread_list", offsetof(struct thread_layout, list_at), 128},
	{"_thread_db_pthread_tid", offsetof(struct thread_layout, tid_at), 32},
	{"_thread_db_pthread_start_routine", offsetof(struct thread_layout, start_routine_at), 64},
	{"_thread_db_list_t_next", offsetof(struct thread_layout, next_at), 64},
	{"_thread_db_list_t_prev", offsetof(struct thread_layout, prev_at), 64},
	{"_thread_db_sizeof_pthread", offsetof(struct thread_layout, descriptor_size), 0},
};

static const char pointer_name[] = "__nptl_rtld_global";

struct reading {
	const struct elf_file *file;
	struct thread_layout layout;
	unsigned found; /* bit per row; the pointer is the one above */
};

static int read_row(struct reading *reading, size_t row, uint64_t vaddr)
{
	uint32_t words[DESCRIPTOR_WORDS] = {0};
	size_t size = rows[row].bits ? sizeof(words) : sizeof(words[0]);
	uint64_t offset;
	int error = elf_file_offset(reading->file, vaddr, &offset);

	if (!error)
		error = elf_file_read_exact(reading->file, offset, words, size);
	if (error)
		return error;
	if (rows[row].bits && (words[0] != rows[row].bits || words[1] != 1))
		return -ENOENT;
	memcpy((char *)&reading->layout + rows[row].field, rows[row].bits ? &words[2] : &words[0],
	       sizeof(words[0]));
	reading->found |= 1u << row;
	return 0;
}

static int take_symbol(struct reading *reading, const char *name, uint64_t vaddr)
{
	if (!strcmp(name, pointer_name)) {
		reading->layout.rtld_global_at = vaddr;
		reading->found |= 1u << ARRAY_SIZE(rows);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strcmp(name, rows[i].name))
			return read_row(reading, i, vaddr);
	}
	return 0;
}

static int read_symbols(struct reading *reading, const struct elf_symbol_place *place)
{
	_cleanup_free_ char *strings = calloc(1, place->strings_size + 1);
	_cleanup_free_ Elf64_Sym *symbols = calloc(place->count + 1, sizeof(*symbols));
	int error;

	if (!strings || !symbols)
		return -ENOMEM;
	error = elf_file_read_exact(reading->file, place->strings_offset, strings,
				    place->strings_size);
	if (!error)
		error = elf_file_read_exact(reading->file, place->offset, symbols,
					    place->count * sizeof(*symbols));
	for (size_t i = 0; !error && i < place->count; i++) {
		const Elf64_Sym *symbol = &symbols[i];

		if (symbol->st_shndx != SHN_UNDEF && symbol->st_name < place->strings_size &&
		    ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT)
			error = take_symbol(reading, strings + symbol->st_name, symbol->st_value);
	}
	return error;
}

bool thread_layout_is_sound(const struct thread_layout *layout)
{
	uint32_t size = layout->descriptor_size;

	return layout->rtld_global_at && size <= THREAD_LAYOUT_MAX && size >= 64 &&
	       layout->used_at <= THREAD_LAYOUT_MAX && layout->user_at <= THREAD_LAYOUT_MAX &&
	       layout->used_at != layout->user_at && layout->list_at <= size - 16 &&
	       layout->tid_at <= size - 4 && layout->start_routine_at <= size - 8 &&
	       layout->next_at <= 8 && layout->prev_at <= 8 && layout->next_at != layout->prev_at;
}

int thread_layout_read(const struct elf_file *file, struct thread_layout *layout)
{
	struct reading reading = {.file = file};
	struct elf_symbol_place place;
	int error = elf_dynamic_symbols(file, &place);

	if (error)
		return error;
	if (place.count > MAX_SYMBOLS || place.strings_size > MAX_STRINGS)
		return -ENOENT;
	error = read_symbols(&reading, &place);
	if (error)
		return error;
	if (reading.found != (2u << ARRAY_SIZE(rows)) - 1 ||
	    !thread_layout_is_sound(&reading.layout))
		return -ENOENT;
	*layout = reading.layout;
	return 0;
}
