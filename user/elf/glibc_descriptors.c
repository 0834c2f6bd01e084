// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/glibc_descriptors.h"

#include <errno.h>
#include <string.h>

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
