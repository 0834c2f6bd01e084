// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes members of JSON from the descriptors of report/figures.h. */
#include <math.h>
#include <string.h>

#include "output/json/json.h"

static void causes_write(struct json_writer *json, const struct figure *figure, const void *figures)
{
	json_open(json, figure->json, '{');
	for (unsigned i = figure->causes->first; i < figure->causes->count; i++) {
		uint64_t count = figure_by_cause(figure, figures, i);

		if (count)
			json_put_number(json, figure->causes->name(i), count);
	}
	json_close(json, '}');
}

static void whole_write(struct json_writer *json, const char *key, double value)
{
	if (isnan(value))
		json_put_null(json, key);
	else
		json_put_number(json, key, (uint64_t)value);
}

static void list_write(struct json_writer *json, const struct figure *list, const void *row)
{
	json_open(json, list->json, '[');
	for (size_t i = 0; i < figure_list_count(list, row); i++) {
		json_open(json, NULL, '{');
		json_figures_write(json, list->items, figure_list_item(list, row, i));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void numbers_write(struct json_writer *json, const struct figure *figure, const void *row)
{
	json_open(json, figure->json, '[');
	for (size_t i = 0; i < figure_list_count(figure, row); i++) {
		uint32_t number;

		memcpy(&number, figure_list_item(figure, row, i), sizeof(number));
		if (number)
			json_put_number(json, NULL, number);
	}
	json_close(json, ']');
}

static void value_write(struct json_writer *json, const struct figure *figure, const void *row)
{
	const void *at = (const char *)row + figure->offset;
	uint64_t value = figure_value(figure, row);
	uint64_t per = figure->per ? figure->per : 1;
	const char *key = figure->json, *text = at;

	switch (figure->type) {
	case FIGURE_FLAG:
		json_put_bool(json, key, value);
		break;
	case FIGURE_REAL:
	case FIGURE_MADE:
		json_put_real(json, key, figure_real(figure, row));
		break;
	case FIGURE_WHOLE:
		whole_write(json, key, figure_real(figure, row));
		break;
	case FIGURE_SIGNED:
		json_put_signed(json, key, (int64_t)value);
		break;
	case FIGURE_SOME:
		json_put_known(json, key, value, value / per);
		break;
	case FIGURE_KNOWN:
		json_put_known(json, key, value != UINT64_MAX, value / per);
		break;
	case FIGURE_CHARS:
		json_put_string(json, key, text);
		break;
	case FIGURE_NOTE:
		json_put_string(json, key, *text ? text : NULL);
		break;
	case FIGURE_TEXT:
		json_put_string(json, key, *(const char *const *)at);
		break;
	case FIGURE_CALL:
		json_put_string(json, key, figure->text(row));
		break;
	case FIGURE_TIME:
		json_time_write(json, key, at);
		break;
	case FIGURE_NAME:
		json_put_string(json, key, figure->name((unsigned)value));
		break;
	case FIGURE_ID:
		json_id_write(json, key, value);
		break;
	case FIGURE_LIST:
		list_write(json, figure, row);
		break;
	case FIGURE_NUMBERS:
		numbers_write(json, figure, row);
		break;
	case FIGURE_STACK:
		json_stack_write(json, NULL, 0, at);
		break;
	default:
		json_put_number(json, key, value / per);
	}
}

void json_figure_write(struct json_writer *json, const struct figure *figure, const void *row,
		       bool known)
{
	if (figure->causes)
		causes_write(json, figure, row);
	else if (known)
		value_write(json, figure, row);
	else if (!figure->left_out)
		json_put_null(json, figure->json);
}

static bool is_shown(const struct figure *figure, const void *row, bool known)
{
	return figure_is_shown(figure, row) && (known || !figure->conditional);
}

/* Returns the last figure of the section that begins at `i`. */
static size_t section_write(struct json_writer *json, const struct figures *figures, size_t i,
			    const void *row, bool known)
{
	const struct figure *first = &figures->items[i];
	const char *section = first->section;
	bool shown = is_shown(first, row, known);

	if (shown)
		json_open(json, section, '{');
	else if (!first->left_out)
		json_put_null(json, section);
	for (;; i++) {
		const struct figure *figure = &figures->items[i];

		if (shown)
			json_figure_write(json, figure, row, is_shown(figure, row, known));
		if (i + 1 == figures->count || !figure[1].section ||
		    strcmp(figure[1].section, section) != 0)
			break;
	}
	if (shown)
		json_close(json, '}');
	return i;
}

void json_figures_write_if(struct json_writer *json, const struct figures *figures, const void *row,
			   bool known)
{
	for (size_t i = 0; i < figures->count; i++) {
		const struct figure *figure = &figures->items[i];

		if (!figure->json)
			continue;
		if (figure->section)
			i = section_write(json, figures, i, row, known);
		else
			json_figure_write(json, figure, row, is_shown(figure, row, known));
	}
}

void json_figures_write(struct json_writer *json, const struct figures *figures, const void *row)
{
	json_figures_write_if(json, figures, row, true);
}

void json_runtime_write(struct json_writer *json, const struct runtime_figures *figures)
{
	json_open(json, figures->view->key, '{');
	json_figures_write(json, figures->view->figures, figures->figures);
	json_close(json, '}');
}
