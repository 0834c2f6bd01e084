// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by all text: colours, columns, lines that fit a terminal, sizes, short stacks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/output.h"
#include "output/text/text.h"
#include "process/symbol/site_label.h"

#define TAB 8
#define ELLIPSIS "…"

const struct text_style text_styles[2] = {
	[false] = {"", "", "", "", "", ""},
	[true] = {"\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[0m"},
};

size_t text_cut_write(FILE *out, const char *text, size_t width)
{
	_cleanup_free_ char *inert = text_inert(text);
	const char *at = inert ? inert : "?", *end = at;
	size_t used = 0, kept = 0, length;
	uint32_t code;

	while ((length = text_decode_utf8(at + kept, &code)) && used <= width) {
		kept += length;
		if (++used == width - 1)
			end = at + kept;
	}
	if (used <= width) {
		fwrite(at, 1, kept, out);
		return used;
	}
	fwrite(at, 1, (size_t)(end - at), out);
	fputs(ELLIPSIS, out);
	return width;
}

void text_column_write(FILE *out, const char *text, size_t width)
{
	size_t used = text_cut_write(out, text, width);

	fprintf(out, "%*s", (int)(width - used), "");
}

char *text_bytes(char text[TEXT_BYTES_SIZE], const struct text_form *form, uint64_t bytes)
{
	if (form->bytes)
		snprintf(text, TEXT_BYTES_SIZE, "%" PRIu64 " bytes", bytes);
	else
		units_bytes(text, (double)bytes, "");
	return text;
}

char *text_change(char text[TEXT_BYTES_SIZE], const struct text_form *form, int64_t bytes)
{
	if (form->bytes)
		snprintf(text, TEXT_BYTES_SIZE, "%+" PRId64 " bytes", bytes);
	else
		units_bytes(text, (double)bytes, "+");
	return text;
}

char *text_clock(char text[TEXT_TIME_SIZE], time_t time)
{
	struct tm local = {0};

	localtime_r(&time, &local);
	strftime(text, TEXT_TIME_SIZE, "%H:%M:%S", &local);
	return text;
}

char *text_date(char text[TEXT_TIME_SIZE], time_t time)
{
	struct tm local = {0};

	localtime_r(&time, &local);
	strftime(text, TEXT_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &local);
	return text;
}

/* -------- lines */

/* A line being fitted: its remaining text and its indent. */
struct line {
	const char *begin, *end;
	size_t indent;	     /* bytes of leading blanks and tabs */
	size_t indent_width; /* columns */
};

/* Returns the columns of the character at `at`, from `column` on; *length: its bytes. */
static size_t width_at(const struct line *line, const char *at, size_t column, size_t *length)
{
	uint32_t code;

	*length = 1;
	if (*at == '\t')
		return TAB - column % TAB;
	if (*at == '\033') {
		const char *end = memchr(at, 'm', (size_t)(line->end - at));

		*length = end ? (size_t)(end + 1 - at) : 1;
		return 0;
	}
	*length = text_decode_utf8(at, &code);
	if (!*length || *length > (size_t)(line->end - at))
		*length = 1;
	return 1;
}

/*
 * Returns the bytes of the text that fit, and in *rest the bytes consumed: up to the last blank; or
 * without one all, which is then cut.
 */
static size_t fitting(const struct line *line, size_t column, size_t *rest)
{
	size_t all = (size_t)(line->end - line->begin), at = 0, blank = 0, cut = 0, length;

	while (at < all) {
		size_t width = width_at(line, line->begin + at, column, &length);

		if (line->begin[at] == ' ' && at)
			blank = at;
		if (column + width > TEXT_WIDTH)
			break;
		if (column + width < TEXT_WIDTH)
			cut = at + length;
		column += width;
		at += length;
	}
	*rest = at == all ? all : blank ? blank + 1 : all;
	return at == all ? all : blank ? blank : cut;
}

static void line_fit(FILE *out, struct line line)
{
	const char *indent = line.begin;
	size_t column = line.indent_width;

	fwrite(indent, 1, line.indent, out);
	line.begin += line.indent;
	for (;;) {
		size_t rest, fits = fitting(&line, column, &rest);

		fwrite(line.begin, 1, fits, out);
		if (fits < rest && rest == (size_t)(line.end - line.begin))
			fputs(ELLIPSIS, out);
		fputc('\n', out);
		line.begin += rest;
		if (line.begin == line.end)
			return;
		fwrite(indent, 1, line.indent, out);
		fprintf(out, "%*s", TEXT_HANGING, "");
		column = line.indent_width + TEXT_HANGING;
	}
}

static struct line line_at(const char *text, size_t length)
{
	struct line line = {.begin = text, .end = text + length};

	while (line.indent < length && strchr(" \t", text[line.indent])) {
		size_t bytes;

		line.indent_width += width_at(&line, text + line.indent, line.indent_width, &bytes);
		line.indent++;
	}
	if (line.indent_width > TEXT_WIDTH / 2)
		line.indent = line.indent_width = 0;
	return line;
}

FILE *text_page_begin(struct text_page *page, FILE *out, const struct text_form *form)
{
	*page = (struct text_page){.out = out};
	if (!form->verbose)
		page->lines = open_memstream(&page->text, &page->size);
	return page->lines ? page->lines : out;
}

int text_page_end(struct text_page *page)
{
	int error = 0;

	if (page->lines) {
		if (ferror(page->lines) | fclose(page->lines))
			error = -ENOMEM;
		for (const char *at = page->text; !error && at && *at;) {
			size_t length = strcspn(at, "\n");

			line_fit(page->out, line_at(at, length));
			at += length + (at[length] == '\n');
		}
		free(page->text);
	}
	return error ? error : output_finish(page->out);
}

/* -------- call stacks, one frame per line */

/* A screen has no room for more, beside other stacks. */
#define FRAMES_SHORT 8
#define FRAME_INDENT ((size_t)2 * TAB)

/* Returns whether the frame's language has its own locations: its code moves. */
static bool is_managed(const struct frame *frame)
{
	return frame->module &&
	       (!strcmp(frame->module, FRAME_PYTHON) || !strcmp(frame->module, FRAME_JAVA) ||
		!strcmp(frame->module, FRAME_JAVASCRIPT) || !strcmp(frame->module, FRAME_DOTNET));
}

/* `full`: print whole paths of Python's files, too, which have no short names. */
static void location_print(FILE *out, const struct frame *frame, bool full)
{
	if (!frame->file)
		return;
	fputc(' ', out);
	text_print_inert(out, is_managed(frame) && !full ? text_path_in_package(frame->file)
							 : frame->file);
	if (frame->line)
		fprintf(out, ":%" PRIu32, frame->line);
}

void text_label_write(FILE *out, const char *function)
{
	_cleanup_free_ char *collapsed = site_label_collapse(function);

	text_print_inert(out, collapsed ? collapsed : function);
}

void text_function_write(FILE *out, const struct frame *frame)
{
	text_label_write(out, frame->function);
	if (!frame->file)
		return;
	fputc(' ', out);
	text_print_inert(out, frame->file);
	if (frame->line)
		fprintf(out, ":%" PRIu32, frame->line);
}

void text_place_write(FILE *out, const struct frames *frames, uint64_t address)
{
	const struct frame *frame = frames->list.count ? &frames->list.items[0] : NULL;

	if (!frame || !frame->function) {
		fprintf(out, "0x%" PRIx64, address);
		return;
	}
	text_function_write(out, frame);
}

static void module_write(FILE *out, const struct text_style *style, const struct frame *frame)
{
	if (!frame->module)
		return;
	fprintf(out, " %s[", style->dim);
	text_print_inert(out, text_path_base(frame->module));
	fprintf(out, "]%s", style->plain);
}

/* An inlined function has no address to count from; a signal handler's caller has no offset. */
static void offset_write(FILE *out, const struct text_style *style, const struct frame *frame)
{
	if (frame->inlined)
		fputs(" (inlined)", out);
	else if (strcmp(frame->function, FRAME_SIGNAL_HANDLER) != 0 && !is_managed(frame))
		fprintf(out, "%s+0x%" PRIx64 "%s", style->dim, frame->offset, style->plain);
}

static size_t columns_of(const char *text)
{
	size_t columns = 0, length;
	uint32_t code;

	for (; (length = text_decode_utf8(text, &code)); text += length)
		columns++;
	return columns;
}

/* Cuts the name rather than the line or module after it, which identify the code. */
static void frame_write_short(FILE *out, const struct text_style *style, const struct frame *frame)
{
	_cleanup_free_ char *name = site_label_collapse(frame->function), *behind = NULL;
	size_t size, taken;
	FILE *end = open_memstream(&behind, &size);

	if (!end)
		return;
	offset_write(end, &text_styles[false], frame);
	location_print(end, frame, false);
	module_write(end, &text_styles[false], frame);
	fclose(end);
	taken = FRAME_INDENT + (behind ? columns_of(behind) : 0);
	text_cut_write(out, name ? name : frame->function,
		       taken + 20 < TEXT_WIDTH ? TEXT_WIDTH - taken : 20);
	offset_write(out, style, frame);
	location_print(out, frame, false);
	module_write(out, style, frame);
}

static void frame_write_named(FILE *out, const struct text_style *style, const struct frame *frame)
{
	text_print_inert(out, frame->function);
	offset_write(out, style, frame);
	location_print(out, frame, true);
	module_write(out, style, frame);
}

static void frame_write_unnamed(FILE *out, const struct text_style *style,
				const struct frame *frame)
{
	fputs(style->dim, out);
	if (frame->module) {
		fputc('[', out);
		text_print_inert(out, text_path_base(frame->module));
		fprintf(out, "+0x%" PRIx64 "]", frame->module_offset);
	} else if (frame->address) {
		fprintf(out, "0x%" PRIx64, frame->address);
	} else {
		fputc('?', out);
	}
	fputs(style->plain, out);
	if (frame->why) {
		fputs(" (", out);
		text_print_inert(out, frame->why);
		fputc(')', out);
	}
}

static void frame_write(FILE *out, const struct text_form *form, const struct frame *frame)
{
	const struct text_style *style = &text_styles[form->colour];

	fputs("\t\t", out);
	if (!frame->function)
		frame_write_unnamed(out, style, frame);
	else if (form->verbose)
		frame_write_named(out, style, frame);
	else
		frame_write_short(out, style, frame);
	fputc('\n', out);
}

/* Writes the program's own frames; if there are none, all. */
static void frames_write_short(FILE *out, const struct text_form *form, const struct frames *frames)
{
	size_t total = 0, written = 0;
	bool all;

	for (size_t i = 0; i < frames->list.count; i++)
		total += site_label_is_users(frames, &frames->list.items[i]);
	all = !total;
	total = all ? frames->list.count : total;
	for (size_t i = 0; i < frames->list.count && written < FRAMES_SHORT; i++) {
		const struct frame *frame = &frames->list.items[i];

		if (!all && !site_label_is_users(frames, frame))
			continue;
		frame_write(out, form, frame);
		written++;
	}
	if (total > written)
		fprintf(out, "\t\t… %zu more frames (-v)\n", total - written);
}

void text_frames_write(FILE *out, const struct text_form *form, const struct frames *frames)
{
	if (!form->verbose) {
		frames_write_short(out, form, frames);
		return;
	}
	for (size_t i = 0; i < frames->list.count; i++)
		frame_write(out, form, &frames->list.items[i]);
}

void text_stack_write(FILE *out, const struct text_form *form, const struct report_site *ranked)
{
	const struct site *site = ranked->site;

	if (site->lost)
		fprintf(out, site->lost < LM_LOST_BEFORE ? "\t\t[lost: %s]\n" : "\t\t[%s]\n",
			site->lost < LM_LOST_BEFORE ? lost_name(site->lost)
						    : lost_advice(site->lost));
	text_frames_write(out, form, &ranked->frames);
	for (size_t i = 0; !ranked->frames.list.count && i < site->depth; i++)
		frame_write(out, form,
			    &(struct frame){.address = LM_FRAME_ADDRESS(site->addresses[i]),
					    .why = "not looked up"});
	if (site->end != LM_WALK_ROOT)
		fprintf(out, "\t\t[the stack ends early: %s]\n", walk_end_advice(site->end));
}
