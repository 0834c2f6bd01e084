// SPDX-License-Identifier: GPL-2.0-or-later
#include "parse/description.h"

#include <errno.h>

#include "base/cleanup.h"
#include "parse/wire.h"
#include "sandbox/bytes.h"

int encode_description(const struct debug_description *description, struct bytes *body)
{
	return bytes_append(body, description, sizeof(*description));
}

static bool is_error(int status)
{
	return status <= 0 && status > -4096;
}

int decode_description(const struct bytes *body, struct debug_description *description)
{
	struct cursor cursor = {body->data, body->size};
	struct debug_description read;

	if (cursor_take_one(&cursor, &read, sizeof(read)) || cursor.left ||
	    !is_hex(read.build_id, sizeof(read.build_id)) ||
	    !is_terminated(read.link, sizeof(read.link)) || strchr(read.link, '/') ||
	    !is_error(read.lines) || !is_terminated(read.alternate.name, PATH_MAX) ||
	    !is_hex(read.alternate.build_id, sizeof(read.alternate.build_id)))
		return -EPROTO;
	*description = read;
	return 0;
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	struct debug_description description;
	int error = debug_describe(input->files[0], &description);

	return error ? error : encode_description(&description, body);
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	(void)origin;
	return decode_description(body, out);
}

const struct parse_kind description_kind = {
	.name = "description",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 1,
	.parse = parse,
	.decode = decode,
};
