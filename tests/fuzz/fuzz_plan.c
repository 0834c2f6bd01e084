// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the planning of probes (symbols, and the decoding of code): the input is a
 * whole ELF file. The answer about any file must pass the monitor's checks.
 *
 * Seeds: small shared objects with an allocator, whole. -max_len must cover them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/parse/questions.h"
#include "unit/decode_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void plan(int fd, size_t size, const char *prefix, enum probe_at probe_at)
{
	_cleanup_(probe_plan_free) struct probe_plan planned = {0}, decoded = {0};
	_cleanup_(bytes_free) struct bytes body = {0};

	if (probe_plan_file(fd, prefix, probe_at, &planned))
		return;
	check(!encode_plan(&planned, &body) && !decode_plan(&body, size, &decoded));
	check(decoded.points.count == planned.points.count);
	for (size_t i = 0; i < planned.points.count; i++)
		check(!strcmp(decoded.points.items[i].placement.reason,
			      planned.points.items[i].placement.reason));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	plan(fd, size, "", PROBE_AT_BEST);
	plan(fd, size, "je_", PROBE_AT_ENTRY);
	return 0;
}
