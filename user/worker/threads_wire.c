// SPDX-License-Identifier: GPL-2.0-or-later
/* Both ends of the answer to WORKER_THREADS. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "worker/cursor.h"
#include "worker/decode.h"
#include "worker/encode.h"
#include "worker/protocol.h"

#define WIRE_WORDS (sizeof(((struct wire_threads *)0)->layout) / sizeof(uint32_t))
_Static_assert(sizeof(struct thread_layout) >= sizeof(uint64_t) + WIRE_WORDS * sizeof(uint32_t),
	       "the words behind heads_at");

int encode_threads(const struct thread_library *library, struct bytes *body)
{
	struct wire_threads wire = {
		.attr_cookie = library->attr_cookie,
		.code_shift = library->code_shift,
		.glibc = library->glibc,
		.heads_at = library->layout.heads_at,
		.count = (uint32_t)library->points.count,
		.has_layout = library->has_layout,
	};
	int err;

	_Static_assert(sizeof(wire.why) == sizeof(library->why), "the same text");
	memcpy(wire.layout, &library->layout.indirect, sizeof(wire.layout));
	memcpy(wire.why, library->why, sizeof(wire.why));
	err = bytes_append(body, &wire, sizeof(wire));
	for (size_t i = 0; !err && i < library->points.count; i++) {
		struct wire_thread_point point = {.offset = library->points.items[i].offset,
						  .probe = library->points.items[i].probe};

		err = bytes_append(body, &point, sizeof(point));
	}
	return err;
}

static int add_point(const struct wire_thread_point *wire, uint64_t file_size,
		     struct thread_library *library)
{
	size_t count = library->points.count;
	struct thread_point *point;

	if (wire->probe >= THREAD_PROBE_MAX_ || wire->probe == THREAD_PROBE_RETURN ||
	    wire->offset >= file_size)
		return -EPROTO;
	if (count && wire->probe < library->points.items[count - 1].probe)
		return -EPROTO;
	for (size_t i = 0; i < count; i++) {
		if (library->points.items[i].offset == wire->offset)
			return -EPROTO;
	}
	point = vec_push(&library->points);
	if (!point)
		return -ENOMEM;
	*point = (struct thread_point){wire->probe, wire->offset};
	return 0;
}

static int take_header(const struct wire_threads *wire, struct thread_library *library)
{
	if (wire->count > THREAD_MAX_POINTS || wire->has_layout > 1 || wire->glibc > 1 ||
	    !memchr(wire->why, '\0', sizeof(wire->why)))
		return -EPROTO;
	library->attr_cookie = wire->attr_cookie;
	library->code_shift = wire->code_shift;
	library->glibc = wire->glibc;
	library->has_layout = wire->has_layout;
	library->layout.heads_at = wire->heads_at;
	memcpy(&library->layout.indirect, wire->layout, sizeof(wire->layout));
	memcpy(library->why, wire->why, sizeof(library->why));
	return library->has_layout && !thread_layout_is_sound(&library->layout) ? -EPROTO : 0;
}

int decode_threads(const struct bytes *body, uint64_t file_size, struct thread_library *library)
{
	_cleanup_(thread_library_free) struct thread_library read = {0};
	struct cursor cursor = {body->data, body->size};
	struct wire_threads wire;
	int err = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (!err)
		err = take_header(&wire, &read);
	for (uint32_t i = 0; !err && i < wire.count; i++) {
		struct wire_thread_point point;

		err = cursor_take_one(&cursor, &point, sizeof(point));
		if (!err)
			err = add_point(&point, file_size, &read);
	}
	if (err || cursor.left)
		return err ? err : -EPROTO;
	*library = read;
	read = (struct thread_library){0};
	return 0;
}
