/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compressed files, unpacked part by part in the sandbox: systemd-coredump compresses core files
 * (coredump.conf(5)), and the decompressor of a hostile file is no more to be trusted than the
 * file.
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
	uint64_t first; /* whether it is the first part of a file; else the next one */
};

struct unpacked {
	struct bytes bytes; /* at most UNPACK_PART_BYTES; the caller frees */
	bool more;	    /* there may be another part */
	bool cut;	    /* the file ends within a frame: it is truncated */
};

/* Returns "zstd", ... by a file's first bytes; static; NULL: not in a known compressed format. */
const char *unpack_kind_of(const uint8_t *bytes, size_t size);

/* -> struct unpacked. -EBADMSG: malformed; -ENOTSUP: not compressed; -EIO; -ENOMEM. */
extern const struct parse_kind unpack_kind;

#endif
