/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the parser's answers. A hostile file may have taken the parser over, so every count,
 * place and string is checked here; what passes is safe to use, though it may lie about names.
 *
 * All return 0; -EPROTO: not an answer that an honest parser gives; -ENOMEM. Outputs are untouched
 * on errors.
 */
#ifndef LEAKMON_WORKER_DECODE_H
#define LEAKMON_WORKER_DECODE_H

#include "probe/plan.h"
#include "symbol/debug_sections.h"
#include "symbol/image.h"
#include "unwind/unwind_table.h"
#include "threads/thread_library.h"
#include "worker/bytes.h"
#include "worker/line_answer.h"

int decode_description(const struct bytes *body, struct debug_description *description);
int decode_image(const struct bytes *body, struct image *image);
int decode_lines(const struct bytes *body, size_t addresses, struct line_answer *answer);
/* Of *file only segments and build-id, as in an image. */
int decode_unwind(const struct bytes *body, struct elf_file *file, struct unwind_table *table);
/*
 * Points of known functions, inside a file of `file_size` bytes, near the function they belong to.
 * Whether an instruction begins there, only the parser knows: see worker_end_plans().
 */
int decode_plan(const struct bytes *body, uint64_t file_size, struct probe_plan *plan);

/* Points of known kinds, in their order, inside a file of `file_size` bytes; a sound layout. */
int decode_threads(const struct bytes *body, uint64_t file_size, struct thread_library *library);

#endif
