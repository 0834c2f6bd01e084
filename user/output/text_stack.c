// SPDX-License-Identifier: GPL-2.0-or-later
/* A call stack, one frame a line. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "output/text_parts.h"

static const struct text_style styles[] = {
	[false] = {"", "", ""},
	[true] = {"\033[1m", "\033[2m", "\033[0m"},
};

const struct text_style *text_style(bool colour)
{
	return &styles[colour];
}

static const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void frame_write_named(FILE *out, const struct text_style *style, const struct frame *frame)
{
	text_print_inert(out, frame->function);
	/* An inlined function has no start to count from; what the kernel called has no offset. */
	if (frame->inlined)
		fputs(" (inlined)", out);
	else if (strcmp(frame->function, FRAME_SIGNAL_HANDLER) != 0)
		fprintf(out, "%s+0x%" PRIx64 "%s", style->dim, frame->offset, style->plain);
	if (frame->file) {
		fputc(' ', out);
		text_print_inert(out, frame->file);
		if (frame->line)
			fprintf(out, ":%" PRIu32, frame->line);
	}
	if (frame->module) {
		fprintf(out, " %s[", style->dim);
		text_print_inert(out, path_base(frame->module));
		fprintf(out, "]%s", style->plain);
	}
}

static void frame_write_unnamed(FILE *out, const struct text_style *style,
				const struct frame *frame)
{
	fputs(style->dim, out);
	if (frame->module) {
		fputc('[', out);
		text_print_inert(out, path_base(frame->module));
		fprintf(out, "+0x%" PRIx64 "]", frame->module_offset);
	} else {
		fprintf(out, "0x%" PRIx64, frame->address);
	}
	fputs(style->plain, out);
	if (frame->why) {
		fputs(" (", out);
		text_print_inert(out, frame->why);
		fputc(')', out);
	}
}

static void frame_write(FILE *out, const struct text_style *style, const struct frame *frame)
{
	fputs("\t\t", out);
	if (frame->function)
		frame_write_named(out, style, frame);
	else
		frame_write_unnamed(out, style, frame);
	fputc('\n', out);
}

void output_text_stack_write(FILE *out, bool colour, const struct report_site *ranked)
{
	const struct text_style *style = text_style(colour);
	const struct site *site = ranked->site;

	if (site->lost)
		fprintf(out, "\t\t[lost: %s]\n", lost_name(site->lost));
	for (size_t i = 0; i < ranked->frames.list.count; i++)
		frame_write(out, style, &ranked->frames.list.items[i]);
	for (size_t i = 0; !ranked->frames.list.count && i < site->depth; i++)
		frame_write(out, style,
			    &(struct frame){.address = LM_FRAME_ADDRESS(site->addresses[i]),
					    .why = "not looked up"});
	if (site->end != LM_WALK_ROOT)
		fprintf(out, "\t\t[the stack ends early: %s]\n", walk_end_advice(site->end));
}

void output_text_frames_write(FILE *out, bool colour, const struct frames *frames)
{
	for (size_t i = 0; i < frames->list.count; i++)
		frame_write(out, text_style(colour), &frames->list.items[i]);
}
