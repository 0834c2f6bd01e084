// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_sections.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"

#define MAX_SECTIONS (1u << 18)
#define MAX_NAMES_BYTES (16u << 20)

struct section_headers {
	Elf64_Shdr *items;
	size_t count;
	uint32_t names; /* index of the section that holds the names */
};

/* Section 0 takes what does not fit the ELF header (gABI, ELF header, e_shnum and e_shstrndx). */
static int count_headers(const struct elf_file *file, const Elf64_Ehdr *header,
			 struct section_headers *headers)
{
	Elf64_Shdr first;
	uint64_t count = header->e_shnum;
	int err;

	headers->names = header->e_shstrndx;
	if (!header->e_shoff)
		return 0;
	if (header->e_shentsize != sizeof(first))
		return -EBADMSG;
	err = elf_file_read_exact(file, header->e_shoff, &first, sizeof(first));
	if (err)
		return err;
	if (!count)
		count = first.sh_size;
	if (headers->names == SHN_XINDEX)
		headers->names = first.sh_link;
	if (count > MAX_SECTIONS)
		return -EBADMSG;
	headers->count = count;
	return 0;
}

static int read_headers(const struct elf_file *file, struct section_headers *headers)
{
	_cleanup_free_ Elf64_Shdr *items = NULL;
	Elf64_Ehdr header;
	int err;

	err = elf_file_read_exact(file, 0, &header, sizeof(header));
	if (!err)
		err = count_headers(file, &header, headers);
	if (err || !headers->count)
		return err;
	items = calloc(headers->count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	err = elf_file_read_exact(file, header.e_shoff, items, headers->count * sizeof(*items));
	if (err)
		return err;
	headers->items = TAKE_PTR(items);
	return 0;
}

/* A NUL is added, so that every offset below *size starts a string. Without names: "". */
static int read_names(const struct elf_file *file, const struct section_headers *headers,
		      char **names, size_t *size)
{
	const Elf64_Shdr *section = NULL;
	ssize_t got = 0;

	*size = 0;
	if (headers->names < headers->count && headers->items[headers->names].sh_type == SHT_STRTAB)
		section = &headers->items[headers->names];
	if (section && section->sh_offset < file->size)
		*size = MIN(MIN(section->sh_size, file->size - section->sh_offset),
			    MAX_NAMES_BYTES);
	*names = calloc(*size + 1, 1);
	if (!*names)
		return -ENOMEM;
	if (*size)
		got = elf_file_read(file, section->sh_offset, *names, *size);
	return got < 0 ? (int)got : 0;
}

static int fill_list(struct elf_sections *sections, const struct section_headers *headers,
		     size_t names_size)
{
	for (size_t i = 0; i < headers->count; i++) {
		const Elf64_Shdr *header = &headers->items[i];
		struct elf_section *section = vec_push(&sections->list);

		if (!section)
			return -ENOMEM;
		*section = (struct elf_section){
			.name = header->sh_name < names_size ? sections->names + header->sh_name
							     : "",
			.type = header->sh_type,
			.link = header->sh_link,
			.address = header->sh_addr,
			.offset = header->sh_offset,
			.size = header->sh_size,
			.entry_size = header->sh_entsize,
			.compressed = header->sh_flags & SHF_COMPRESSED,
		};
	}
	return 0;
}

int elf_sections_read(const struct elf_file *file, struct elf_sections *sections)
{
	_cleanup_(elf_sections_free) struct elf_sections read = {0};
	struct section_headers headers = {0};
	_cleanup_free_ Elf64_Shdr *items = NULL;
	size_t names_size;
	int err;

	err = read_headers(file, &headers);
	items = headers.items;
	if (!err)
		err = read_names(file, &headers, &read.names, &names_size);
	if (!err)
		err = fill_list(&read, &headers, names_size);
	if (err)
		return err;
	*sections = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

void elf_sections_free(struct elf_sections *sections)
{
	vec_free(&sections->list);
	free(sections->names);
	sections->names = NULL;
}

const struct elf_section *elf_sections_find(const struct elf_sections *sections, const char *name)
{
	for (size_t i = 0; i < sections->list.count; i++) {
		const struct elf_section *section = &sections->list.items[i];

		if (section->type != SHT_NOBITS && !strcmp(section->name, name))
			return section;
	}
	return NULL;
}
