/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser's side of the bodies of answers (protocol.h). 0 or -ENOMEM. */
#ifndef LEAKMON_WORKER_ENCODE_H
#define LEAKMON_WORKER_ENCODE_H

#include "probe/plan.h"
#include "symbol/debug_sections.h"
#include "symbol/image.h"
#include "symbol/lines.h"
#include "unwind/unwind_table.h"
#include "threads/thread_library.h"
#include "worker/bytes.h"
#include "worker/protocol.h"

int encode_description(const struct debug_description *description, struct bytes *body);
int encode_image(const struct image *image, struct bytes *body);
int encode_unwind(const struct elf_file *file, const struct unwind_table *table,
		  struct bytes *body);
int encode_plan(const struct probe_plan *plan, struct bytes *body);
int encode_threads(const struct thread_library *library, struct bytes *body);

/* Lines are collected address by address. */
struct line_encoder {
	uint32_t counts[WORKER_MAX_ADDRESSES];
	uint32_t address_count;
	VEC(struct wire_frame) frames;
	struct bytes strings;
};

/* The next address' frames, innermost first; may be none. Strings are copied. */
int line_encoder_add(struct line_encoder *encoder, const struct line_frame *frames, size_t count);
int line_encoder_finish(const struct line_encoder *encoder, struct bytes *body);
void line_encoder_free(struct line_encoder *encoder);

#endif
