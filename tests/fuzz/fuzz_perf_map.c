// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the perf-map reader: the input is a map. Its answer about any map must
 * pass the monitor's checks, and each address must have the name of the newest line that covers
 * it, or none.
 *
 * Seeds: maps of node --perf-basic-prof, and lines that overlap.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/parse/perf_map.h"
#include "binary/parse/questions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_table(const struct symbol_table *table, size_t size)
{
	size_t names = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct symbol *symbol = &table->symbols[i];
		const char *name = table->names + symbol->name;

		check(symbol->size > 0 && symbol->name == names && *name);
		names += strlen(name) + 1;
		/* Nothing newer covers its first byte. */
		check(symbol_table_find(table, symbol->address) == symbol);
	}
	check(names <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(image_free) struct image image = {.file.fd = -1}, decoded = {.file.fd = -1};
	_cleanup_(bytes_free) struct bytes body = {0};
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	check(!perf_map_read(fd, &image.table));
	check_table(&image.table, size);
	check(!encode_image(&image, &body) && !decode_image(&body, &decoded));
	check(decoded.table.count == image.table.count);
	return 0;
}
