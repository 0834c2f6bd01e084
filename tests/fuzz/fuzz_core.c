// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the core reader: the input is a core file, compressed or not. The
 * parser's answer must pass the monitor's checks, and no memory may be read that is missing from
 * the file.
 *
 * Seeds: a small core with all kinds of notes.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/parse/questions.h"
#include "process/proc/core.h"
#include "unit/decode_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_layout(int fd, size_t size)
{
	_cleanup_(core_layout_free) struct core_layout layout = {0}, decoded = {0};
	_cleanup_(bytes_free) struct bytes body = {0};

	if (core_layout_read(fd, &layout))
		return;
	check(!encode_core_layout(&layout, &body));
	check(!decode_core_layout(&body, size, &decoded));
	check(decoded.segments.count == layout.segments.count &&
	      decoded.threads.count == layout.threads.count);
	/* A truncated answer must be rejected. */
	for (size_t i = 0; i < 64 && body.size; i++) {
		_cleanup_(core_layout_free) struct core_layout cut = {0};

		body.size--;
		check(decode_core_layout(&body, size, &cut) == -EPROTO);
	}
}

static void check_mappings(const struct core *core)
{
	_cleanup_(maps_free) struct maps maps = {0};
	uint64_t behind = 0, word;

	check(!core_maps(core, MAPS_ALL, &maps));
	for (size_t i = 0; i < maps.list.count; i++) {
		const struct mapping *mapping = &maps.list.items[i];

		check(mapping->start >= behind && mapping->start < mapping->end);
		behind = mapping->end;
		core_read(core, mapping->start, &word, sizeof(word));
		core_read(core, mapping->end - 4, &word, sizeof(word));
	}
	check(core_read(core, behind, &word, sizeof(word)) == -EFAULT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct worker *worker;
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct core_options options = {.sysroot = "/proc/self/fdinfo"};
	struct core *core = NULL;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	check_layout(fd, size);
	if (!worker)
		worker = worker_new_local(&parse_kinds);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.path = path;
	if (worker && !core_read_file(&options, worker, &core))
		check_mappings(core);
	core_free(core);
	return 0;
}
