// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/tls_layout.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/elf/elf_abi.h"

#define DESCRIPTOR_WORDS 3

static int read_row(struct glibc_descriptors *descriptors, size_t i, const struct elf_file *file,
		    uint64_t vaddr)
{
	const struct glibc_descriptor *row = &descriptors->rows[i];
	uint32_t words[DESCRIPTOR_WORDS] = {0};
	size_t size = row->bits ? sizeof(words) : sizeof(words[0]);
	uint64_t offset;
	int error = elf_file_offset(file, vaddr, &offset);

	if (!error)
		error = elf_file_read_exact(file, offset, words, size);
	if (error)
		return error;
	if (row->bits && (words[0] != row->bits || words[1] != row->elements))
		return -ENOENT;
	memcpy((char *)descriptors->into + row->field, row->bits ? &words[2] : &words[0],
	       sizeof(words[0]));
	descriptors->found |= 1u << i;
	return 0;
}

int glibc_descriptors_take(struct glibc_descriptors *descriptors, const struct elf_file *file,
			   const struct elf_symbol *object)
{
	for (size_t i = 0; i < descriptors->count; i++) {
		if (!strcmp(object->name, descriptors->rows[i].name))
			return read_row(descriptors, i, file, object->value);
	}
	return 0;
}

#define FIELD(member) offsetof(struct tls_layout, member)

static const struct glibc_descriptor rows[] = {
	{"_thread_db_rtld_global__dl_tls_dtv_slotinfo_list", FIELD(slots_at), 64, 1},
	{"_thread_db_dtv_slotinfo_list_len", FIELD(list_length_at), 64, 1},
	{"_thread_db_dtv_slotinfo_list_next", FIELD(list_next_at), 64, 1},
	{"_thread_db_dtv_slotinfo_list_slotinfo", FIELD(list_slots_at), 8 * TLS_LAYOUT_SLOT_BYTES,
	 0},
	{"_thread_db_dtv_slotinfo_gen", FIELD(slot_generation_at), 64, 1},
	{"_thread_db_dtv_slotinfo_map", FIELD(slot_map_at), 64, 1},
	{"_thread_db_link_map_l_tls_offset", FIELD(map_offset_at), 64, 1},
	{"_thread_db_pthread_dtvp", FIELD(vector_at), 64, 1},
	{"_thread_db_dtv_t_pointer_val", FIELD(vector_pointer_at), 64, 1},
	{"_thread_db_dtv_t_counter", FIELD(vector_counter_at), 64, 1},
	{"_thread_db_sizeof_pthread", FIELD(thread_size), 0, 0},
	/* An array described as a single element. */
	{"_thread_db_pthread_specific", FIELD(keys_at), 64 * TLS_KEYS, 1},
	{"_thread_db_pthread_key_data_data", FIELD(key_value_at), 64, 1},
	{"_thread_db_rtld_global__dl_stack_used", FIELD(used_at), 128, 1},
	{"_thread_db_rtld_global__dl_stack_user", FIELD(user_at), 128, 1},
	{"_thread_db_list_t_next", FIELD(next_at), 64, 1},
	{"_thread_db_list_t_prev", FIELD(prev_at), 64, 1},
	{"_thread_db_pthread_list", FIELD(node_at), 128, 1},
	{"_thread_db_pthread_tid", FIELD(tid_at), 32, 1},
	{"_thread_db_pthread_cancelhandling", FIELD(state_at), 32, 1},
};

#undef FIELD

enum { ROWS_ALL = (1 << ARRAY_SIZE(rows)) - 1 };

static bool is_heads(const struct elf_symbol *object)
{
	return !strcmp(object->name, "__nptl_rtld_global");
}

static bool lists_are_sound(const struct tls_layout *layout)
{
	return layout->used_at <= TLS_LAYOUT_MAX && layout->user_at <= TLS_LAYOUT_MAX &&
	       layout->used_at != layout->user_at && layout->next_at <= 8 && layout->prev_at <= 8 &&
	       layout->next_at != layout->prev_at && layout->node_at <= layout->thread_size - 16 &&
	       layout->tid_at <= layout->thread_size - 4 &&
	       layout->state_at <= layout->thread_size - 4;
}

uint64_t tls_descriptor(const struct tls_abi *abi, uint64_t thread_pointer, uint32_t thread_size)
{
	return abi->is_variant_1 ? thread_pointer - thread_size : thread_pointer;
}

uint64_t tls_block(const struct tls_abi *abi, uint64_t thread_pointer, uint64_t distance,
		   uint64_t size)
{
	if (abi->is_variant_1)
		return distance < abi->head_bytes || distance > UINT64_MAX - thread_pointer
			       ? 0
			       : thread_pointer + distance;
	return distance < size || distance > thread_pointer ? 0 : thread_pointer - distance;
}

/* Drepper, 3.4 and 4.4.2, with PT_TLS at its own alignment. */
uint64_t tls_program_distance(const struct tls_abi *abi, const struct elf_thread_locals *locals)
{
	uint64_t mask = locals->alignment - 1, first = -locals->vaddr & mask;
	uint64_t size = locals->size > first ? locals->size - first : 0;

	if (!locals->size)
		return 0;
	if (abi->is_variant_1)
		return abi->head_bytes + ((locals->vaddr - abi->head_bytes) & mask);
	return ((size + mask) & ~mask) + first;
}

bool tls_layout_is_sound(const struct tls_layout *layout, const struct elf_abi *abi)
{
	/* Relative to struct pthread, not to the thread pointer. */
	uint32_t vector_at = abi->tls.vector_at + (abi->tls.is_variant_1 ? layout->thread_size : 0);

	return layout->heads_at && layout->slots_at <= TLS_LAYOUT_MAX &&
	       layout->list_length_at <= TLS_LAYOUT_MAX && layout->list_next_at <= TLS_LAYOUT_MAX &&
	       layout->list_slots_at <= TLS_LAYOUT_MAX &&
	       layout->slot_generation_at <= TLS_LAYOUT_SLOT_BYTES - 8 &&
	       layout->slot_map_at <= TLS_LAYOUT_SLOT_BYTES - 8 &&
	       layout->map_offset_at <= TLS_LAYOUT_MAX && layout->vector_at == vector_at &&
	       layout->vector_pointer_at == 0 && layout->vector_counter_at == 0 &&
	       layout->thread_size <= TLS_LAYOUT_MAX &&
	       layout->thread_size >= TLS_KEYS * TLS_KEY_BYTES &&
	       layout->keys_at <= layout->thread_size - TLS_KEYS * 8 &&
	       layout->key_value_at <= TLS_KEY_BYTES - 8 && lists_are_sound(layout);
}

bool tls_layout_find(const struct elf_file *file, const struct elf_symbols *objects,
		     struct tls_layout *layout)
{
	struct tls_layout found = {0};
	struct glibc_descriptors descriptors = {
		.rows = rows, .count = ARRAY_SIZE(rows), .into = &found};

	for (size_t i = 0; i < objects->list.count; i++) {
		const struct elf_symbol *object = &objects->list.items[i];

		if (is_heads(object))
			found.heads_at = object->value;
		else if (glibc_descriptors_take(&descriptors, file, object))
			return false;
	}
	if (descriptors.found != ROWS_ALL || !tls_layout_is_sound(&found, file->abi))
		return false;
	*layout = found;
	return true;
}
