// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/figures.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "one type of numbers for both");

bool figure_is_known(const struct figure *figure, const void *figures)
{
	return !figure->known || *((const bool *)figures + figure->known);
}

bool figure_is_shown(const struct figure *figure, const void *figures)
{
	return figure_is_known(figure, figures) && (!figure->shown || figure->shown(figures));
}

double figure_real(const struct figure *figure, const void *figures)
{
	const char *at = (const char *)figures + figure->offset;

	return figure->real ? figure->real(figures) : *(const double *)(const void *)at;
}

uint64_t figure_number(const void *figures, size_t offset)
{
	const char *at = (const char *)figures + offset;

	return *(const uint64_t *)(const void *)at;
}

uint64_t figure_by_cause(const struct figure *figure, const void *figures, unsigned cause)
{
	return figure_number(figures, figure->offset + cause * sizeof(uint64_t));
}

uint64_t figure_value(const struct figure *figure, const void *figures)
{
	const void *at = (const char *)figures + figure->offset;
	uint64_t sum = 0;

	switch (figure->type) {
	case FIGURE_FLAG:
		return *(const bool *)at;
	case FIGURE_PID:
	case FIGURE_INDEX:
	case FIGURE_NAME:
		return *(const uint32_t *)at;
	case FIGURE_NUMBER:
	case FIGURE_SOME:
	case FIGURE_KNOWN:
	case FIGURE_SIGNED:
	case FIGURE_ID:
		break;
	default:
		return 0;
	}
	if (!figure->causes)
		return figure_number(figures, figure->offset);
	for (unsigned i = figure->causes->first; i < figure->causes->count; i++)
		sum += figure_by_cause(figure, figures, i);
	return sum;
}

const char *figure_column(const struct figure *figure)
{
	if (figure->causes || figure->unrecorded || figure->type >= FIGURE_CALL)
		return NULL;
	return figure->column ? figure->column : figure->json;
}

static bool is_called(const struct figure *figure, const char *name, size_t length)
{
	size_t section = figure->section ? strlen(figure->section) + 1 : 0;
	const char *own = figure->json ? figure->json : figure->column;

	if (!own || length != section + strlen(own) ||
	    strncmp(name + section, own, length - section) != 0)
		return false;
	return !section ||
	       (!strncmp(name, figure->section, section - 1) && name[section - 1] == '.');
}

const struct figure *figures_find(const struct figures *figures, const char *name, size_t length)
{
	for (size_t i = 0; i < figures->count; i++) {
		if (is_called(&figures->items[i], name, length))
			return &figures->items[i];
	}
	return NULL;
}

typedef VEC(char) any_list;

static const any_list *list_at(const struct figure *list, const void *figures)
{
	const char *at = (const char *)figures + list->offset;

	return (const any_list *)(const void *)at;
}

size_t figure_list_count(const struct figure *list, const void *figures)
{
	return list_at(list, figures)->count;
}

const void *figure_list_item(const struct figure *list, const void *figures, size_t i)
{
	return list_at(list, figures)->items + i * list->size;
}
