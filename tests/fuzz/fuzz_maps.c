// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the reader of /proc/PID/maps lines: the input is the whole text.
 *
 * Seeds: /proc/PID/maps of anything.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const uint8_t *text, size_t length)
{
	_cleanup_free_ char *line = malloc(length + 1);
	struct mapping mapping = {0};

	memcpy(line, text, length);
	line[length] = '\0';
	if (maps_parse_line(line, &mapping)) {
		/* A refusal leaves everything as it was. */
		if (mapping.path || mapping.end || memcmp(line, text, length) != 0)
			abort();
		return;
	}
	if (mapping.start >= mapping.end || mapping.path < line ||
	    mapping.path + strlen(mapping.path) > line + length)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t length = end ? (size_t)(end - data) : size;

		check_line(data, length);
		data += length + (end != NULL);
		size -= length + (end != NULL);
	}
	return 0;
}
