// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/module_bias.h"

#define PAGE_BYTES 4096ull

bool module_bias(const struct elf_file *file, const struct mapping *mapping, uint64_t *bias)
{
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];
		uint64_t start = segment->offset & ~(PAGE_BYTES - 1);

		if (mapping->offset < start ||
		    mapping->offset >= segment->offset + segment->file_size)
			continue;
		*bias = mapping->start - mapping->offset - (segment->vaddr - segment->offset);
		return true;
	}
	return false;
}

bool mapping_same_file(const struct mapping *left, const struct mapping *right)
{
	return left->inode == right->inode && left->major == right->major &&
	       left->minor == right->minor;
}
