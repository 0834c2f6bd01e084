// SPDX-License-Identifier: GPL-2.0-or-later
/* Figures of a runtime as text, by the words that its folder gives for them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"
#include "report/figures.h"
#include "report/runtime_figures.h"

#define NS_PER_S 1e9
#define NUMBER_SIZE 24

static bool is_bytes(const struct figure *figure)
{
	size_t length = strlen(figure->json);

	return length >= 5 && !strcmp(figure->json + length - 5, "bytes");
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

static void value_write(FILE *out, const struct figure *figure, const void *row, int width)
{
	char number[NUMBER_SIZE];
	const char *text;

	switch (figure->type) {
	case FIGURE_TEXT:
	case FIGURE_CHARS:
	case FIGURE_NOTE:
		text = text_of(figure, row);
		text_print_inert(out, text ? text : "");
		break;
	default:
		fprintf(out, "%*s", width, number_text(number, figure, figure_value(figure, row)));
	}
}

/* "{name}" or "{name:width}", behind the brace. Returns what follows it. */
static const char *figure_write(FILE *out, const struct figures *figures, const void *row,
				const char *name)
{
	size_t length = strcspn(name, ":}");
	const struct figure *figure = figures_find(figures, name, length);
	const char *end = name + length;
	int width = *end == ':' ? (int)strtol(end + 1, (char **)&end, 10) : 0;

	if (figure)
		value_write(out, figure, row, width);
	return *end ? end + 1 : end;
}

static void words_write(FILE *out, const struct figures *figures, const void *row, const char *text)
{
	while (*text) {
		size_t plain = strcspn(text, "{");

		fwrite(text, 1, plain, out);
		text += plain;
		if (*text)
			text = figure_write(out, figures, row, text + 1);
	}
}

static void list_write(FILE *out, const struct figures *figures, const void *row,
		       const struct list_words *list)
{
	const struct figure *figure = figures_find(figures, list->name, strlen(list->name));
	size_t shown = figure ? MIN(figure_list_count(figure, row), list->most) : 0;

	for (size_t i = 0; i < shown; i++) {
		const void *item = figure_list_item(figure, row, i);

		for (size_t j = 0; j < list->count; j++) {
			const struct figure_words *words = &list->words[j];

			if (!words->shown || words->shown(item))
				words_write(out, figure->items, item, words->text);
		}
	}
}

/* Whether a flag is set, or a text is there. */
static bool is_set(const struct figures *figures, const char *name, const void *row)
{
	const struct figure *figure = figures_find(figures, name, strlen(name));

	if (!figure)
		return false;
	return figure->type == FIGURE_TEXT ? text_of(figure, row) != NULL
					   : figure_value(figure, row) != 0;
}

void text_runtime_write(FILE *out, const struct runtime_figures *figures)
{
	const struct runtime_view *view = figures->view;
	const void *row = figures->figures;

	fprintf(out, "\t%s ", view->name);
	words_write(out, view->figures, row, "{version}");
	if (is_set(view->figures, "version_untested", row))
		fputs(" (version not tested)", out);
	if (is_set(view->figures, "cannot_tell", row)) {
		fprintf(out, ": %s: ", view->unknown);
		words_write(out, view->figures, row, "{cannot_tell}\n");
		return;
	}
	for (size_t i = 0; i < view->count; i++) {
		const struct figure_words *words = &view->words[i];

		if (words->shown && !words->shown(row))
			continue;
		if (words->list)
			list_write(out, view->figures, row, words->list);
		else
			words_write(out, view->figures, row, words->text);
	}
}
