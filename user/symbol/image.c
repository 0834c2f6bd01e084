// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/image.h"

#include <errno.h>

#include "base/cleanup.h"
#include "symbol/debug_sections.h"

static int add_all(struct elf_symbols *symbols, const struct elf_symbols *more)
{
	for (size_t i = 0; i < more->list.count; i++) {
		struct elf_symbol *symbol = vec_push(&symbols->list);

		if (!symbol)
			return -ENOMEM;
		*symbol = more->list.items[i];
	}
	return 0;
}

static int read_table(struct image *image)
{
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0}, mini = {0};
	int err = elf_symbols_read(&image->file, &symbols);

	if (err == -ENOMEM || err == -EIO)
		return err;
	/* With broken tables, segments and build-id are still worth having. */
	image->has_symtab = symbols.has_symtab;
	if (!image->has_symtab && !mini_debug_read(&image->file, &mini)) {
		image->has_symtab = mini.has_symtab;
		err = add_all(&symbols, &mini);
		if (err)
			return err;
	}
	return symbol_table_build(&symbols, &image->table);
}

int image_read(int fd, struct image *image)
{
	_cleanup_(image_free) struct image read = {.file.fd = -1};
	int err = elf_file_open(fd, &read.file);

	if (!err)
		err = read_table(&read);
	if (err)
		return err;
	*image = read;
	image->file.fd = -1;
	memset(&read, 0, sizeof(read));
	return 0;
}

int image_read_objects(int fd, struct image *image)
{
	_cleanup_(image_free) struct image read = {.file.fd = -1};
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0};
	int err = elf_file_open(fd, &read.file);

	if (err)
		return err;
	err = elf_objects_read(&read.file, &symbols);
	if (err == -ENOMEM || err == -EIO)
		return err;
	read.has_symtab = symbols.has_symtab;
	tls_layout_find(&read.file, &symbols, &read.tls_layout);
	err = symbol_table_build(&symbols, &read.table);
	if (err)
		return err;
	*image = read;
	image->file.fd = -1;
	memset(&read, 0, sizeof(read));
	return 0;
}

void image_take_debug_symbols(struct image *image, struct image *debug)
{
	struct symbol_table replaced = image->table;

	if (!image->file.build_id[0] || strcmp(image->file.build_id, debug->file.build_id) != 0 ||
	    debug->table.count <= image->table.count)
		return;
	image->table = debug->table;
	image->has_symtab = debug->has_symtab;
	debug->table = replaced;
}

void image_free(struct image *image)
{
	elf_file_close(&image->file);
	symbol_table_free(&image->table);
	image->has_symtab = false;
}
