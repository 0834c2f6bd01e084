/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes protocol buffers (protobuf.dev, "Encoding"): varints, strings, packed arrays and nested
 * messages, into memory that grows. A failed allocation is remembered: look at `failed` at the end.
 */
#ifndef LEAKMON_OUTPUT_PPROF_PROFILE_H
#define LEAKMON_OUTPUT_PPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/hash.h"
#include "symbol/symbolizer.h"

struct protobuf {
	uint8_t *bytes; /* owned */
	size_t count, capacity;
	bool failed;
};

/*
 * A profile for pprof (github.com/google/pprof, proto/profile.proto), gzipped.
 *
 * Every module gets one mapping, at a place of its own choosing and of one size, with the frames'
 * file-relative addresses in it. pprof merges and subtracts profiles by mapping size, build id and
 * relative address; where a process happened to map the file would only be in the way.
 */

struct profile_module {
	uint64_t filename, build_id; /* strings */
	bool has_functions, has_files, has_inlines;
};

struct profile {
	struct protobuf out;
	struct protobuf message, part; /* being built */
	struct hash strings, functions, locations, module_rows;
	uint64_t string_count, function_count, location_count;
	VEC(struct profile_module) modules; /* id - 1 */
	bool failed;
};

struct profile_value {
	const char *type, *unit;
};

/* Of a zeroed profile: what each sample has. */
void profile_begin(struct profile *profile, const struct profile_value *values, size_t count);

/* pprof takes the first mapping for the program itself: the frame's module is to be that. */
void profile_program(struct profile *profile, const struct frame *frame);

/* A sample with `count` values; without frames, its stack is one function called `otherwise`. */
void profile_sample_begin(struct profile *profile, const struct frames *frames,
			  const char *otherwise, const uint64_t *values, size_t count);

/* Of the sample begun; nothing for 0 and "". */
void profile_label(struct profile *profile, const char *key, const char *text, uint64_t number);
void profile_sample_end(struct profile *profile);

/* Writes and frees it. `shown`: the type that pprof shows first. 0, -errno or -ENOMEM. */
int profile_write(FILE *out, struct profile *profile, const struct timespec *time,
		  const char *shown);

#endif
