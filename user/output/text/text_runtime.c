// SPDX-License-Identifier: GPL-2.0-or-later
/* Figures of a runtime as text, by the words that its folder gives for them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"
#include "process/symbol/symbolizer.h"
#include "report/figures.h"
#include "report/runtime_figures.h"

#define NS_PER_S 1e9
#define NUMBER_SIZE 24

static bool is_bytes(const struct figure *figure)
{
	const char *name = figure->json ? figure->json : figure->column;
	size_t length = strlen(name);

	return length >= 5 && !strcmp(name + length - 5, "bytes");
}

static const char *number_text(char text[NUMBER_SIZE], const struct figure *figure, uint64_t value)
{
	if (figure->per)
		return units_time(text, (double)value / NS_PER_S);
	if (is_bytes(figure))
		return units_bytes(text, (double)value, "");
	if (figure->type == FIGURE_SIGNED)
		snprintf(text, NUMBER_SIZE, "%" PRId64, (int64_t)value);
	else
		snprintf(text, NUMBER_SIZE, "%" PRIu64, value);
	return text;
}

/* NULL: it has none. */
static const char *text_of(const struct figure *figure, const void *row)
{
	const char *at = (const char *)row + figure->offset, *text;

	if (figure->type != FIGURE_TEXT)
		return at;
	memcpy(&text, at, sizeof(text));
	return text;
}

/* "shop.Cart.add Cart.java:31" */
static void frame_write(FILE *out, const struct frame *frame)
{
	if (frame->function)
		text_function_write(out, frame);
	else
		fputs(frame->why ? frame->why : "a method that cannot be read", out);
}

#define LINES_SHOWN 8

static void lines_write(FILE *out, const struct text_form *form, const struct frames *frames)
{
	size_t count = frames->list.count,
	       shown = form->verbose ? count : MIN(count, (size_t)LINES_SHOWN);

	for (size_t i = 0; i < shown; i++) {
		fputs("\t\t", out);
		frame_write(out, &frames->list.items[i]);
		fputc('\n', out);
	}
	if (count > shown)
		fprintf(out, "\t\t… %zu more frames (-v)\n", count - shown);
}

static void stack_write(FILE *out, const struct text_form *form, const struct figure *figure,
			const void *row, const char *style)
{
	const char *at = (const char *)row + figure->offset;
	const struct frames *frames = (const struct frames *)(const void *)at;

	if (text_begins(style, "lines"))
		lines_write(out, form, frames);
	else if (!text_begins(style, "place"))
		text_frames_write(out, form, frames);
	else if (figure->place(frames))
		frame_write(out, figure->place(frames));
}

/* State of writing a struct of figures. */
struct writing {
	FILE *out;
	const struct text_form *form;
	const struct figures *figures;
	const void *row; /* of them */
};

static void value_write(const struct writing *writing, const struct figure *figure,
			const char *style)
{
	const void *row = writing->row;
	char number[NUMBER_SIZE];
	const char *text;

	switch (figure->type) {
	case FIGURE_TEXT:
	case FIGURE_CHARS:
	case FIGURE_NOTE:
		text = text_of(figure, row);
		if (text && text_begins(style, "label"))
			text_label_write(writing->out, text);
		else
			text_print_inert(writing->out, text ? text : "");
		break;
	case FIGURE_STACK:
		stack_write(writing->out, writing->form, figure, row, style);
		break;
	case FIGURE_LIST:
		fprintf(writing->out, "%zu", figure_list_count(figure, row));
		break;
	default:
		fprintf(writing->out, "%*s", atoi(style),
			number_text(number, figure, figure_value(figure, row)));
	}
}

/* "{name}" or "{name:style}", behind the brace. Returns what follows it. */
static const char *figure_write(const struct writing *writing, const char *name)
{
	size_t length = strcspn(name, ":}");
	const struct figure *figure = figures_find(writing->figures, name, length);
	const char *style = name[length] == ':' ? name + length + 1 : "", *end = strchr(name, '}');

	if (figure)
		value_write(writing, figure, style);
	return end ? end + 1 : name + length;
}

static void words_write(const struct writing *writing, const char *text)
{
	while (*text) {
		size_t plain = strcspn(text, "{");

		fwrite(text, 1, plain, writing->out);
		text += plain;
		if (*text)
			text = figure_write(writing, text + 1);
	}
}

static uint64_t amount(const struct figure *figure, const void *row)
{
	const char *at = (const char *)row + figure->offset;

	switch (figure->type) {
	case FIGURE_TEXT:
		return text_of(figure, row) != NULL;
	case FIGURE_STACK:
		return ((const struct frames *)(const void *)at)->list.count;
	case FIGURE_LIST:
		return figure_list_count(figure, row);
	default:
		return figure_value(figure, row);
	}
}

static bool is_known(const struct writing *writing, const char *name, uint64_t least)
{
	const struct figure *figure = figures_find(writing->figures, name, strlen(name));

	return figure && figure_is_shown(figure, writing->row) &&
	       amount(figure, writing->row) >= least;
}

static bool is_said(const struct writing *writing, const struct figure_words *words)
{
	if (words->known && is_known(writing, words->known, words->least) == words->unless)
		return false;
	return !words->shown || words->shown(writing->row);
}

static const struct figure more_row[] = {FIGURE("more", NULL, NUMBER, 0)};
static const struct figures more_figures = FIGURES(more_row);

static void list_write(const struct writing *writing, const struct list_words *list)
{
	const struct figure *figure =
		figures_find(writing->figures, list->name, strlen(list->name));
	size_t count = figure ? figure_list_count(figure, writing->row) : 0;
	size_t shown = list->all && writing->form->verbose ? count : MIN(count, list->most);
	size_t more = count - shown;

	for (size_t i = 0; i < shown; i++) {
		const struct writing item = {writing->out, writing->form, figure->items,
					     figure_list_item(figure, writing->row, i)};

		for (size_t j = 0; j < list->count; j++) {
			const struct figure_words *words = &list->words[j];

			if (is_said(&item, words))
				words_write(&item, words->text);
		}
	}
	if (more && list->more)
		words_write(&(struct writing){writing->out, writing->form, &more_figures, &more},
			    list->more);
}

/* Its name and version. Returns whether its figures are known. */
static bool name_write(const struct writing *writing, const struct runtime_view *view)
{
	fprintf(writing->out, "\t%s ", view->name);
	words_write(writing, "{version}");
	if (is_known(writing, "version_untested", 1))
		fputs(" (version not tested)", writing->out);
	if (!is_known(writing, "cannot_tell", 1))
		return true;
	fprintf(writing->out, ": %s: ", view->unknown);
	words_write(writing, "{cannot_tell}\n");
	return false;
}

void text_runtime_write(FILE *out, const struct text_form *form,
			const struct runtime_figures *figures)
{
	const struct runtime_view *view = figures->view;
	const struct writing writing = {out, form, view->figures, figures->figures};

	if (view->name && !name_write(&writing, view))
		return;
	for (size_t i = 0; i < view->count; i++) {
		const struct figure_words *words = &view->words[i];

		if (!is_said(&writing, words))
			continue;
		if (words->list)
			list_write(&writing, words->list);
		else
			words_write(&writing, words->text);
	}
}

void text_runtime_head_write(FILE *out, const struct runtime_figures *figures)
{
	const struct runtime_view *view = figures->view;
	const struct writing writing = {
		.out = out, .figures = view->figures, .row = figures->figures};

	if (view->head.text && is_said(&writing, &view->head))
		words_write(&writing, view->head.text);
}
