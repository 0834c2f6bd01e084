/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file for naming, as plain data: made from a descriptor alone, so that a process without
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
	bool has_symtab;	      /* static functions are in the table, too */
	struct tls_layout tls_layout; /* of image_read_objects(); heads_at 0: unknown */
	struct elf_numbers numbers;   /* of image_read_objects() */
};

/*
 * Reads segments, build-id and functions. Returns 0; -ENOEXEC, -EBADMSG: not a readable ELF file;
 * -EIO; -ENOMEM. *image is untouched on error.
 */
int image_read(int fd, struct image *image);

/*
 * Reads the file's data objects and thread-locals in place of its functions. Returns as
 * image_read().
 */
int image_read_objects(int fd, struct image *image);

/* Reads every symbol with an address. Returns as image_read(). */
int image_read_all_symbols(int fd, struct image *image);

/*
 * Replaces the symbol table by that of a separate debug file, if that has the same build-id and
 * more names: then *debug gets the old one.
 */
void image_take_debug_symbols(struct image *image, struct image *debug);

void image_free(struct image *image);
/* Returns the size of the image's tables in memory, in bytes. */
size_t image_bytes(const struct image *image);

extern const struct parse_kind image_kind;   /* -> struct image */
extern const struct parse_kind objects_kind; /* -> struct image */
extern const struct parse_kind symbols_kind; /* -> struct image */

int encode_image(const struct image *image, struct bytes *body);
int decode_image(const struct bytes *body, struct image *image);

/*
 * Encode and decode header and segments, with room for other answers' data. `image` may be NULL.
 * Only segments, build-id and thread-locals of *file are decoded.
 */
struct cursor;
struct wire_image;
int encode_file(const struct elf_file *file, const struct image *image, size_t room,
		struct bytes *body);
int decode_file(struct cursor *cursor, struct wire_image *wire, struct elf_file *file);

#endif
