// SPDX-License-Identifier: GPL-2.0-or-later
#include "parse/thread_layout.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/tls_layout.h"

static const struct glibc_descriptor rows[] = {
	{"_thread_db_pthread_list", offsetof(struct thread_layout, list_at), 128, 1},
	{"_thread_db_pthread_tid", offsetof(struct thread_layout, tid_at), 32, 1},
	{"_thread_db_pthread_start_routine", offsetof(struct thread_layout, start_routine_at), 64,
	 1},
	{"_thread_db_pthread_cancelhandling", offsetof(struct thread_layout, state_at), 32, 1},
	{"_thread_db_list_t_next", offsetof(struct thread_layout, next_at), 64, 1},
	{"_thread_db_list_t_prev", offsetof(struct thread_layout, prev_at), 64, 1},
	{"_thread_db_sizeof_pthread", offsetof(struct thread_layout, descriptor_size), 0, 0},
	/* A shared libc has them in _rtld_global; in a static program they are variables. */
	{"_thread_db_rtld_global__dl_stack_used", offsetof(struct thread_layout, used_at), 128, 1},
	{"_thread_db_rtld_global__dl_stack_user", offsetof(struct thread_layout, user_at), 128, 1},
};

enum { HEADS = 7, ROWS_ALL = (1 << ARRAY_SIZE(rows)) - 1, ROWS_STATIC = (1 << HEADS) - 1 };

/* Variables of the library. */
enum { VARIABLE_GLOBAL, VARIABLE_USED, VARIABLE_USER, VARIABLE_MAX_ };
static const char *const variables[VARIABLE_MAX_] = {"__nptl_rtld_global", "_dl_stack_used",
						     "_dl_stack_user"};

struct reading {
	const struct elf_file *file;
	struct thread_layout layout;
	struct glibc_descriptors descriptors;
	uint64_t variables[VARIABLE_MAX_];
};

static int take_object(struct reading *reading, const struct elf_symbol *object)
{
	for (size_t i = 0; i < VARIABLE_MAX_; i++) {
		if (!strcmp(object->name, variables[i]))
			reading->variables[i] = object->value;
	}
	return glibc_descriptors_take(&reading->descriptors, reading->file, object);
}

/* Where the heads are. */
static bool find_heads(struct reading *reading)
{
	const uint64_t used = reading->variables[VARIABLE_USED];
	const uint64_t user = reading->variables[VARIABLE_USER];
	struct thread_layout *layout = &reading->layout;

	if (reading->descriptors.found == ROWS_ALL && reading->variables[VARIABLE_GLOBAL]) {
		layout->heads_at = reading->variables[VARIABLE_GLOBAL];
		layout->indirect = 1;
		return true;
	}
	if (reading->descriptors.found != ROWS_STATIC || !used || !user)
		return false;
	layout->heads_at = MIN(used, user);
	if (MAX(used, user) - layout->heads_at > THREAD_LAYOUT_MAX)
		return false;
	layout->used_at = (uint32_t)(used - layout->heads_at);
	layout->user_at = (uint32_t)(user - layout->heads_at);
	return true;
}

bool thread_layout_is_sound(const struct thread_layout *layout)
{
	uint32_t size = layout->descriptor_size;

	return layout->heads_at && layout->indirect <= 1 && size <= THREAD_LAYOUT_MAX &&
	       size >= 64 && layout->used_at <= THREAD_LAYOUT_MAX &&
	       layout->user_at <= THREAD_LAYOUT_MAX && layout->used_at != layout->user_at &&
	       layout->list_at <= size - 16 && layout->tid_at <= size - 4 &&
	       layout->start_routine_at <= size - 8 && layout->state_at <= size - 4 &&
	       layout->joinid_at <= size - 8 && layout->next_at <= 8 && layout->prev_at <= 8 &&
	       layout->next_at != layout->prev_at;
}

int thread_layout_read(const struct elf_file *file, struct thread_layout *layout)
{
	_cleanup_(elf_symbols_free) struct elf_symbols objects = {0};
	struct reading reading = {.file = file};
	int error = elf_objects_read(file, &objects);

	reading.descriptors = (struct glibc_descriptors){
		.rows = rows, .count = ARRAY_SIZE(rows), .into = &reading.layout};
	for (size_t i = 0; i < objects.list.count && !error; i++)
		error = take_object(&reading, &objects.list.items[i]);
	if (error)
		return error;
	if (!find_heads(&reading) || !thread_layout_is_sound(&reading.layout))
		return -ENOENT;
	*layout = reading.layout;
	return 0;
}
