// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/draw.h"

#include <curses.h>
#include <string.h>

#include "app/top/columns.h"
#include "base/cleanup.h"

enum colour { PLAIN, RED, YELLOW, COLOURS_ };

/* Lines outside the list, in the order in which a small screen drops them. */
struct layout {
	int width, height;
	int headings; /* lines of the heading shown */
	bool keys, message, title;
	int list; /* its first line, with the column titles */
};

static int headings_of(const struct top_model *model)
{
	int count = 0;

	for (size_t i = 0; i < HEADING_LINES_; i++)
		count += !!model->heading.lines[i];
	return count;
}

static struct layout layout_of(const struct top_model *model, bool page)
{
	struct layout layout = {0};
	int spare;

	getmaxyx(stdscr, layout.height, layout.width);
	spare = layout.height - 2 - !page; /* a row of the list, and the column titles */
	layout.title = spare-- > 0;
	layout.message = spare-- > 0;
	layout.keys = spare-- > 1;
	layout.headings = MAX(0, MIN(spare - 2, headings_of(model)));
	layout.list = layout.title + layout.headings;
	return layout;
}

static int list_height(const struct layout *layout, bool page)
{
	return MAX(1, layout->height - layout->list - !page - layout->message - layout->keys);
}

/* Bold replaces colours on a monochrome terminal. */
static attr_t attribute(const struct top_terminal *terminal, enum colour colour)
{
	static const short pairs[COLOURS_] = {[RED] = COLOR_RED, [YELLOW] = COLOR_YELLOW};

	if (colour == PLAIN)
		return A_NORMAL;
	if (!terminal->colour)
		return A_BOLD;
	init_pair((short)colour, pairs[colour], -1);
	return COLOR_PAIR(colour) | (colour == RED ? A_BOLD : 0);
}

/* Draws text from a target, in exactly `width` columns. */
static void put(int line, int column, int width, const char *text, enum cells_align align,
		attr_t how)
{
	wchar_t cells[CELLS_SIZE];

	if (width <= 0 || line < 0 || line >= LINES)
		return;
	cells_fit(cells, text, (size_t)width, align);
	attrset(how);
	mvaddwstr(line, column, cells);
	attrset(A_NORMAL);
}

static void put_line(const struct layout *layout, int line, const char *text, attr_t how)
{
	put(line, 0, layout->width, text, CELLS_LEFT, how);
}

static void draw_title(const struct layout *layout, const struct top_model *model,
		       const char *title)
{
	const struct top_view *view =
		model->screen < TOP_LISTS_ ? &model->views[model->screen] : NULL;
	char text[512], state[48] = "", sort[48] = "", filter[TOP_WORDS_SIZE + 16] = "";

	if (model->ended)
		snprintf(state, sizeof(state), "  ALL HAVE ENDED: the last that was seen");
	else if (model->paused)
		snprintf(state, sizeof(state), "  PAUSED, %zu reports later", model->missed);
	if (view)
		snprintf(sort, sizeof(sort), ", %s by %s%s", top_lists[model->screen].title,
			 top_lists[model->screen].sorts[view->sort].name,
			 view->inverted ? ", least first" : "");
	if (*model->filter)
		snprintf(filter, sizeof(filter), "  [filter: %s]", model->filter);
	snprintf(text, sizeof(text), "%s  leakmon top: %s%s%s%s", model->heading.clock, title, sort,
		 filter, state);
	put_line(layout, 0, text, *state ? A_BOLD | A_REVERSE : A_BOLD);
}

static void draw_headings(const struct top_terminal *terminal, const struct layout *layout,
			  const struct top_model *model)
{
	int line = 0;

	for (size_t i = 0; i < HEADING_LINES_ && line < layout->headings; i++) {
		bool noticed = i == HEADING_LEDGER && model->heading.inexact;

		if (!model->heading.lines[i])
			continue;
		put_line(layout, layout->title + line++, model->heading.lines[i],
			 attribute(terminal, noticed ? YELLOW : PLAIN));
	}
}

static void draw_titles(const struct layout *layout, const struct top_list *list,
			const size_t widths[COLUMNS_MAX], enum top_field sorted)
{
	int column = 0;

	put_line(layout, layout->list, "", A_REVERSE);
	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++) {
		const struct top_column *one = &list->columns[i];
		bool is_key = one->field == sorted && one->field;

		if (!widths[i])
			continue;
		put(layout->list, column, (int)widths[i], one->title, one->align,
		    A_REVERSE | (is_key ? A_BOLD | A_UNDERLINE : 0));
		column += (int)widths[i] + 1;
	}
}

static enum colour colour_of(const struct top_row *row)
{
	if (row->verdict == TREND_LEAKING)
		return RED;
	return row->verdict == TREND_GROWING ? YELLOW : PLAIN;
}

static void draw_row(const struct top_terminal *terminal, const struct layout *layout, int line,
		     const struct top_row *row, const struct top_list *list,
		     const size_t widths[COLUMNS_MAX], bool selected)
{
	attr_t how = selected ? A_REVERSE : attribute(terminal, colour_of(row));
	int column = 0;

	put_line(layout, line, "", selected ? A_REVERSE : A_NORMAL);
	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++) {
		char text[COLUMN_TEXT_SIZE];

		if (!widths[i])
			continue;
		list->columns[i].format(row, &list->columns[i], widths[i], text);
		put(line, column, (int)widths[i], text, list->columns[i].align, how);
		column += (int)widths[i] + 1;
	}
}

static void draw_list(const struct top_terminal *terminal, const struct layout *layout,
		      const struct top_model *model)
{
	const struct top_view *view = &model->views[model->screen];
	const struct top_list *list = &top_lists[model->screen];
	size_t widths[COLUMNS_MAX];

	top_columns_fit(list, !model->process && model->rows[TOP_TARGETS].list.count > 1,
			(size_t)layout->width, widths);
	draw_titles(layout, list, widths, list->sorts[view->sort].field);
	for (size_t i = 0; i < model->height && view->first + i < view->order.count; i++)
		draw_row(terminal, layout, layout->list + 1 + (int)i,
			 top_model_row(model, view->first + i), list, widths,
			 view->first + i == view->selected);
	if (!view->order.count)
		put_line(layout, layout->list + 1,
			 *model->filter ? "nothing matches the filter (Esc: no filter)"
			 : model->taken ? list->empty
					: "reading...",
			 A_DIM);
}

/* Draws the lines of a page from `first` on, in `height` lines of the screen from `at` on. */
static void put_page(const struct layout *layout, const struct top_page *page, size_t first, int at,
		     size_t height)
{
	wchar_t cells[CELLS_SIZE];

	for (size_t i = 0; page->text && i < height && first + i < page->lines.count; i++) {
		size_t begin = page->lines.items[first + i];
		_cleanup_free_ char *text =
			strndup(page->text + begin, strcspn(page->text + begin, "\n"));

		cells_wrap(cells, text ? text : "", (size_t)layout->width);
		mvaddwstr(at + (int)i, 0, cells);
	}
}

static void draw_page(const struct layout *layout, struct top_model *model)
{
	put_page(layout, &model->page, model->page_first, layout->list, model->height);
}

/* Makes the page below a short list: the selected row's call stack, or its process's first one. */
static void make_preview(const struct layout *layout, const struct top_model *model,
			 struct top_page *page)
{
	const struct top_row *row = top_model_selected(model), *first;
	const char *classes;

	if (!row)
		return;
	classes = row->pid && row->pid == model->classes.pid ? model->classes.text : NULL;
	first = model->screen == TOP_TARGETS ? top_model_first_call(model, row) : NULL;
	/* A process of the machine without other details at least gets its keys. */
	if (!first && !row->frames.list.count && !row->evidence && !classes &&
	    !(model->triage && row->pid))
		return;
	top_page_preview(page, first ? first : row, first ? row : NULL, classes);
	if (page->text)
		top_page_wrap(page, (size_t)layout->width);
}

/* The machine's list is longer than a screen: reserve a third for the selected row's details. */
#define PREVIEW_HEIGHT_MIN 15

static void make_room(struct top_model *model, const struct top_page *page)
{
	size_t count = model->views[model->screen].order.count;
	size_t spare = model->height > count ? model->height - count : 0;
	size_t wanted = page->lines.count ? page->lines.count + 1 : 0;

	if (!model->triage || model->height < PREVIEW_HEIGHT_MIN || wanted <= spare)
		return;
	model->height -= MIN(wanted, model->height / 3) - MIN(spare, model->height / 3);
}

/* Draws the preview below the rows. */
static void draw_preview(const struct layout *layout, const struct top_model *model,
			 const struct top_page *page)
{
	size_t rows = MIN(model->views[model->screen].order.count, model->height);
	size_t height = (size_t)list_height(layout, false);

	if (height >= rows + 3)
		put_page(layout, page, 0, layout->list + 1 + (int)rows + 1, height - rows - 1);
}

static void draw_menu(const struct layout *layout, const struct top_model *model)
{
	const struct top_list *list = &top_lists[model->screen];

	put(layout->list, 0, MIN(24, layout->width), " Sort by (Enter)", CELLS_LEFT,
	    A_REVERSE | A_BOLD);
	for (size_t i = 0; i < ARRAY_SIZE(list->sorts) && list->sorts[i].name; i++) {
		char text[32];

		snprintf(text, sizeof(text), " %c  %s", list->sorts[i].key, list->sorts[i].name);
		put(layout->list + 1 + (int)i, 0, MIN(24, layout->width), text, CELLS_LEFT,
		    i == model->choice ? A_REVERSE : A_NORMAL);
	}
}

/* Draws a message; else typed text; else the evidence for the selected row's verdict. */
static void draw_message(const struct layout *layout, const struct top_model *model)
{
	const struct top_row *row = top_model_selected(model);
	char text[512] = "";

	if (model->mode == TOP_FILTERING || model->mode == TOP_SEARCHING)
		snprintf(text, sizeof(text), "%s: %s_  (Enter: done, Esc: none)",
			 model->mode == TOP_FILTERING ? "Filter" : "Search", model->typed);
	else if (*model->message)
		snprintf(text, sizeof(text), "%s", model->message);
	else if (top_model_has_page(model) && model->page.lines.count > model->height)
		snprintf(text, sizeof(text), "lines %zu to %zu of %zu: Up, Down, PgUp, PgDn%s",
			 model->page_first + 1,
			 MIN(model->page_first + model->height, model->page.lines.count),
			 model->page.lines.count,
			 model->screen == TOP_STACK && model->mode == TOP_NORMAL
				 ? ""
				 : "; any other key: back");
	else if (row && row->evidence && model->mode == TOP_NORMAL)
		snprintf(text, sizeof(text), "%s: %s", top_row_verdict(row), row->evidence);
	put_line(layout, layout->height - 1 - layout->keys, text,
		 model->mode == TOP_NORMAL ? A_NORMAL : A_BOLD);
}

static void draw_keys(const struct layout *layout, const struct top_model *model)
{
	static const struct {
		const char *key, *what;
	} keys[] = {{"F1", "Help"},  {"F2", "Save"},  {"F3", "Search"}, {"F4", "Filter"},
		    {"F6", "Sort"},  {"F8", "Log"},   {"Spc", "Pause"}, {"Enter", "Open"},
		    {"Esc", "Back"}, {"F10", "Quit"}, {"+-", "Budget"}};
	int column = 0;

	put_line(layout, layout->height - 1, "", A_NORMAL);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *what = keys[i].what;
		int key = (int)strlen(keys[i].key), width;

		if (model->paused && !strcmp(what, "Pause"))
			what = "Go on";
		width = (int)strlen(what);
		if (column + key + width > layout->width ||
		    (!model->triage && !strcmp(what, "Budget")))
			return;
		put(layout->height - 1, column, key, keys[i].key, CELLS_LEFT, A_BOLD);
		put(layout->height - 1, column + key, width, what, CELLS_LEFT, A_REVERSE);
		column += key + width + 1;
	}
}

void top_draw(const struct top_terminal *terminal, struct top_model *model, const char *title)
{
	bool page = model->screen == TOP_STACK || model->mode == TOP_HELP ||
		    model->mode == TOP_MESSAGES;
	struct layout layout = layout_of(model, page);
	_cleanup_(top_page_free) struct top_page preview = {0};

	model->height = (size_t)list_height(&layout, page);
	if (page)
		top_page_wrap(&model->page, (size_t)layout.width);
	else
		make_preview(&layout, model, &preview);
	if (!page)
		make_room(model, &preview);
	top_model_scroll(model);
	erase();
	if (page)
		draw_page(&layout, model);
	else
		draw_list(terminal, &layout, model);
	if (!page && model->mode != TOP_SORTING)
		draw_preview(&layout, model, &preview);
	if (model->mode == TOP_SORTING)
		draw_menu(&layout, model);
	if (layout.title)
		draw_title(&layout, model, title);
	draw_headings(terminal, &layout, model);
	if (layout.message)
		draw_message(&layout, model);
	if (layout.keys)
		draw_keys(&layout, model);
	refresh();
}
