/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file for naming, as plain data: made from a descriptor alone, so that a process with no
 * rights can make it.
 */
#ifndef LEAKMON_PARSE_IMAGE_H
#define LEAKMON_PARSE_IMAGE_H

#include <stdbool.h>

#include "base/sandbox/parse_kind.h"
#include "binary/elf/elf_file.h"
#include "binary/elf/elf_numbers.h"
#include "binary/elf/symbol_table.h"
#include "binary/elf/tls_layout.h"

struct image {
	struct elf_file file; /* its fd is -1: segments and build-id only */
	struct symbol_table table;
	bool has_symtab;	      /* static functions are in the table too */
	struct tls_layout tls_layout; /* of image_read_objects(); heads_at 0: unknown */
	struct elf_numbers numbers;   /* likewise */
};

/* 0; -ENOEXEC, -EBADMSG: not an ELF file we can read; -EIO; -ENOMEM. *image untouched on error. */
int image_read(int fd, struct image *image);

/* The same with the file's data objects and thread-locals in place of its functions. */
int image_read_objects(int fd, struct image *image);

/* The same with every symbol that has an address. */
int image_read_all_symbols(int fd, struct image *image);

/*
 * Replaces the symbol table by that of a separate debug file, if that has the same build-id and
 * names more: then *debug gets the old one.
 */
void image_take_debug_symbols(struct image *image, struct image *debug);

void image_free(struct image *image);
/* What its tables take. */
size_t image_bytes(const struct image *image);

extern const struct parse_kind image_kind;   /* -> struct image */
extern const struct parse_kind objects_kind; /* -> struct image */
extern const struct parse_kind symbols_kind; /* -> struct image */

int encode_image(const struct image *image, struct bytes *body);
int decode_image(const struct bytes *body, struct image *image);

/*
 * Header and segments, with room for what follows, for other answers that have them. `image` may be
 * NULL. Of *file only segments, build-id and thread-locals come back.
 */
struct cursor;
struct wire_image;
int encode_file(const struct elf_file *file, const struct image *image, size_t room,
		struct bytes *body);
int decode_file(struct cursor *cursor, struct wire_image *wire, struct elf_file *file);

#endif
