/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed files, unpacked part by part in the sandbox: systemd-coredump keeps core files so
 * (coredump.conf(5)), and what unpacks a hostile file is no more to be trusted than the file.
 *
 * zstd (RFC 8878), lz4 frames, xz, gzip (RFC 1952); recognised by their first bytes.
 */
#ifndef LEAKMON_PARSE_UNPACK_H
#define LEAKMON_PARSE_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sandbox/bytes.h"
#include "base/sandbox/parse_kind.h"

#define UNPACK_PART_BYTES (8u << 20)

/* The request for the next part. */
struct unpack_question {
	uint64_t first; /* whether it is the first part of a file; else the one behind the last */
};

struct unpacked {
	struct bytes bytes; /* at most UNPACK_PART_BYTES; the caller frees */
	bool more;	    /* there may be another part */
	bool cut;	    /* the file ends within a frame: it is cut off */
};

/* "zstd", ... by a file's first bytes; static; NULL: it is not compressed, as far as is known. */
const char *unpack_kind_of(const uint8_t *bytes, size_t size);

/* -> struct unpacked. -EBADMSG: it contradicts itself; -ENOTSUP: not compressed; -EIO; -ENOMEM. */
extern const struct parse_kind unpack_kind;

#endif
