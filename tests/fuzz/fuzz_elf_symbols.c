// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness for the readers of symbols and debug sections; the input is a whole ELF file.
 * Their result for any file must pass the monitor's checks, or the honest parser would count as
 * hostile. Seeds: small shared objects, whole, and debug files. -max_len must cover them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/parse/questions.h"
#include "unit/decode_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void read_image(int fd, int (*read)(int fd, struct image *image))
{
	_cleanup_(image_free) struct image image = {0}, decoded = {0};
	_cleanup_(bytes_free) struct bytes body = {0};

	if (read(fd, &image))
		return;
	check(!encode_image(&image, &body) && !decode_image(&body, &decoded));
	check(decoded.table.count == image.table.count);
	check(decoded.file.thread_locals.size == image.file.thread_locals.size);
	check(decoded.tls_layout.heads_at == image.tls_layout.heads_at);
	for (size_t i = 0; i < image.table.count; i++) {
		const struct symbol *symbol = &image.table.symbols[i];

		check(!strcmp(image.table.names + symbol->name,
			      decoded.table.names + decoded.table.symbols[i].name));
		symbol_table_find(&decoded.table, symbol->address + symbol->size);
	}
}

static void read_debug_sections(int fd)
{
	struct debug_description description, decoded;
	_cleanup_(bytes_free) struct bytes body = {0};

	if (debug_describe(fd, &machine_abi, &description))
		return;
	check(!encode_description(&description, &body) && !decode_description(&body, &decoded));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	read_image(fd, image_read);
	read_image(fd, image_read_objects);
	read_image(fd, image_read_all_symbols);
	read_debug_sections(fd);
	return 0;
}
