// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a call stack on one line, in the steps that process/symbol/site_label.h chooses. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/text/text.h"

static void name_print(FILE *out, const struct frame *frame)
{
	_cleanup_free_ char *name = frame->function ? site_label_collapse(frame->function) : NULL;

	if (frame->function)
		fputs(name ? name : frame->function, out);
	else if (frame->module)
		fprintf(out, "[%s+0x%" PRIx64 "]", text_path_base(frame->module),
			frame->module_offset);
	else if (frame->address)
		fprintf(out, "0x%" PRIx64, frame->address);
	else
		fputc('?', out);
}

void text_step_print(FILE *out, const struct label_step *step)
{
	const struct frame *frame = step->frame;

	name_print(out, frame);
	if (!step->placed || !frame->file)
		return;
	fprintf(out, " %s", text_path_in_package(frame->file));
	if (frame->line)
		fprintf(out, ":%" PRIu32, frame->line);
}

static void steps_print(FILE *out, const struct label_step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fputs(!i ? "" : steps[i].skips ? " ← … ← " : " ← ", out);
		text_step_print(out, &steps[i]);
	}
}

void text_code_print(FILE *out, const struct frames *frames, enum label_room room)
{
	struct label_step steps[LABEL_STEPS_MAX];
	size_t count = site_label_steps(frames, room, steps);

	steps_print(out, steps, count);
	if (!count)
		fputs("an unknown stack", out);
}

/* Prints all frames from the first step on. */
static void all_print(FILE *out, const struct frames *frames)
{
	const struct frame *end = frames->list.items + frames->list.count;
	struct label_step steps[LABEL_STEPS_MAX];
	size_t count = site_label_steps(frames, LABEL_LONG, steps);

	for (const struct frame *frame = count ? steps[0].frame : end; frame < end; frame++) {
		fputs(frame == steps[0].frame ? "" : " ← ", out);
		text_step_print(out,
				&(struct label_step){.frame = frame,
						     .placed = site_label_is_users(frames, frame)});
	}
}

void text_code_write(FILE *out, const struct text_form *form, const struct frames *frames)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *raw = open_memstream(&text, &size);

	if (!raw)
		return;
	if (form->verbose)
		all_print(raw, frames);
	else
		text_code_print(raw, frames, LABEL_LONG);
	if (!fclose(raw))
		text_print_inert(out, text);
}
