// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "app/top/model.h"
#include "base/cleanup.h"
#include "base/text.h"

/* Handles keys: in lists, and while a page of text, a menu or a prompt is open. */

static void top_model_show(struct top_model *model, enum top_screen screen);

static bool top_model_sort_by(struct top_model *model, int key);

/* Returns from help or messages to the previous screen. */
static void end_page(struct top_model *model)
{
	model->mode = TOP_NORMAL;
	top_model_show(model, model->screen);
}

/* Handles a key without a page, menu or prompt. */
static enum top_action press(struct top_model *model, int key);

/* Handles a key in help or messages: movement keys scroll, all others end the page. */
static enum top_action press_on_page(struct top_model *model, int key)
{
	static const int moving[] = {TOP_KEY_UP,   TOP_KEY_DOWN,    'k',
				     'j',	   TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN,
				     TOP_KEY_HOME, TOP_KEY_END,	    TOP_KEY_REDRAW};

	for (size_t i = 0; i < ARRAY_SIZE(moving); i++) {
		if (key == moving[i])
			return press(model, key);
	}
	end_page(model);
	return key == TOP_KEY_F10 ? TOP_QUIT : TOP_NOTHING;
}

static size_t sort_count(const struct top_model *model)
{
	size_t count = 1; /* every list has its default */

	while (count < ARRAY_SIZE(top_lists->sorts) && top_lists[model->screen].sorts[count].name)
		count++;
	return count;
}

static enum top_action press_on_menu(struct top_model *model, int key)
{
	size_t count = sort_count(model);

	if (key == TOP_KEY_UP || key == 'k') {
		model->choice = (model->choice + count - 1) % count;
		return TOP_NOTHING;
	}
	if (key == TOP_KEY_DOWN || key == 'j' || key == '>') {
		model->choice = (model->choice + 1) % count;
		return TOP_NOTHING;
	}
	model->mode = TOP_NORMAL;
	if (key == TOP_KEY_ENTER)
		key = (unsigned char)top_lists[model->screen].sorts[model->choice].key;
	top_model_sort_by(model, key);
	return TOP_NOTHING;
}

/* Removes the last character with all of its bytes. */
static void erase(char *text)
{
	size_t length = strlen(text);

	while (length && ((unsigned char)text[--length] & 0xc0) == 0x80)
		;
	text[length] = '\0';
}

static void type(char text[TOP_WORDS_SIZE], uint32_t code)
{
	size_t length = strlen(text);
	char bytes[4];
	size_t more = text_is_printable(code) ? text_encode_utf8(code, bytes) : 0;

	if (length + more >= TOP_WORDS_SIZE)
		return;
	memcpy(text + length, bytes, more);
	text[length + more] = '\0';
}

/* Typed text takes effect at once. */
static void apply_typed(struct top_model *model)
{
	if (model->mode == TOP_FILTERING) {
		memcpy(model->filter, model->typed, sizeof(model->filter));
		top_model_show(model, model->screen);
	} else {
		memcpy(model->search, model->typed, sizeof(model->search));
		top_model_search(model, 1, true);
	}
}

static enum top_action press_on_prompt(struct top_model *model, int key)
{
	if (key == TOP_KEY_ENTER) {
		model->mode = TOP_NORMAL;
		return TOP_NOTHING;
	}
	if (key == TOP_KEY_ESCAPE)
		*model->typed = '\0';
	else if (key == TOP_KEY_BACKSPACE)
		erase(model->typed);
	else if (key >= ' ' && key < TOP_KEY_UP)
		type(model->typed, (uint32_t)key);
	apply_typed(model);
	if (key == TOP_KEY_ESCAPE)
		model->mode = TOP_NORMAL;
	return TOP_NOTHING;
}

enum top_action top_model_key(struct top_model *model, int key)
{
	*model->message = '\0';
	switch (model->mode) {
	case TOP_HELP:
	case TOP_MESSAGES:
		return press_on_page(model, key);
	case TOP_SORTING:
		return press_on_menu(model, key);
	case TOP_FILTERING:
	case TOP_SEARCHING:
		return press_on_prompt(model, key);
	default:
		return press(model, key);
	}
}

/* Effects of keys on a list or a call stack. */

static enum top_action key_up(struct top_model *model)
{
	top_model_move(model, -1);
	return TOP_NOTHING;
}

static enum top_action key_down(struct top_model *model)
{
	top_model_move(model, 1);
	return TOP_NOTHING;
}

static enum top_action key_page_up(struct top_model *model)
{
	top_model_move(model, -(long)MAX(model->height, 1));
	return TOP_NOTHING;
}

static enum top_action key_page_down(struct top_model *model)
{
	top_model_move(model, (long)MAX(model->height, 1));
	return TOP_NOTHING;
}

/* Also releases the selection from its row. */
static enum top_action key_home(struct top_model *model)
{
	top_model_move(model, -(1 << 30));
	if (!top_model_has_page(model))
		top_model_view(model)->moved = false;
	return TOP_NOTHING;
}

static enum top_action key_end(struct top_model *model)
{
	top_model_move(model, 1 << 30);
	return TOP_NOTHING;
}

/* Switches to a screen, to its first line if it is a page. */
static void top_model_show(struct top_model *model, enum top_screen screen)
{
	top_page_free(&model->page);
	model->page_first = 0;
	model->screen = screen;
	if (screen == TOP_STACK)
		top_model_open_stack(model);
	else
		top_model_arrange(model, screen);
	top_model_scroll(model);
}

static void show_page(struct top_model *model, enum top_mode mode)
{
	model->mode = mode;
	model->page_first = 0;
}

static enum top_action open_group(struct top_model *model, const struct top_row *row)
{
	snprintf(model->filter, sizeof(model->filter), "%s", row->place);
	top_model_show(model, TOP_TRIAGE);
	return TOP_NOTHING;
}

static enum top_action key_open(struct top_model *model)
{
	const struct top_row *row = top_model_selected(model);

	if (!row)
		return TOP_NOTHING;
	switch (model->screen) {
	case TOP_TRIAGE:
		model->wanted_pid = row->pid;
		return TOP_FOLLOW;
	case TOP_GROUPS:
		return open_group(model, row);
	case TOP_TARGETS:
		model->process = row->identity;
		model->views[TOP_CALLS].moved = false;
		top_model_show(model, TOP_CALLS);
		break;
	default:
		model->opened = row->identity;
		top_model_show(model, TOP_STACK);
	}
	return TOP_NOTHING;
}

/* Tracks the selected process, or the first target of a profile. */
static enum top_action key_exact(struct top_model *model)
{
	const struct top_row *row = top_model_selected(model);

	if (model->profile && model->rows[TOP_TARGETS].list.count)
		row = &model->rows[TOP_TARGETS].list.items[0];
	else if (model->screen != TOP_TRIAGE)
		row = NULL;
	model->wanted_pid = row ? row->pid : 0;
	return row ? TOP_TRACK : TOP_NOTHING;
}

static enum top_action key_classes(struct top_model *model)
{
	const struct top_row *row = top_model_selected(model);

	if (model->screen != TOP_TRIAGE || !row)
		return TOP_NOTHING;
	model->wanted_pid = row->pid;
	return TOP_COUNT_CLASSES;
}

static enum top_action key_back(struct top_model *model)
{
	if (model->screen == TOP_STACK)
		top_model_show(model, model->profile ? TOP_PROFILE : TOP_CALLS);
	else if (*model->filter) {
		*model->filter = '\0';
		top_model_show(model, model->screen);
	} else if (model->screen == TOP_CALLS && model->rows[TOP_TARGETS].list.count > 1) {
		top_model_show(model, TOP_TARGETS);
	} else if (model->screen == TOP_GROUPS) {
		top_model_show(model, TOP_TRIAGE);
	} else if (model->nested) {
		return TOP_LEAVE;
	}
	return TOP_NOTHING;
}

static enum top_action key_tab(struct top_model *model)
{
	static const enum top_screen others[TOP_SCREENS_] = {
		[TOP_TRIAGE] = TOP_GROUPS, [TOP_GROUPS] = TOP_TRIAGE,	[TOP_TARGETS] = TOP_CALLS,
		[TOP_CALLS] = TOP_TARGETS, [TOP_PROFILE] = TOP_PROFILE, [TOP_STACK] = TOP_STACK,
	};

	if (model->screen == TOP_TARGETS)
		model->process = 0;
	top_model_show(model, others[model->screen]);
	return TOP_NOTHING;
}

static enum top_action key_filter(struct top_model *model)
{
	if (model->screen >= TOP_LISTS_)
		return TOP_NOTHING;
	model->mode = TOP_FILTERING;
	memcpy(model->typed, model->filter, sizeof(model->typed));
	return TOP_NOTHING;
}

static enum top_action key_search(struct top_model *model)
{
	if (model->screen >= TOP_LISTS_)
		return TOP_NOTHING;
	model->mode = TOP_SEARCHING;
	*model->typed = '\0';
	return TOP_NOTHING;
}

static enum top_action key_next(struct top_model *model)
{
	top_model_search(model, 1, false);
	return TOP_NOTHING;
}

static enum top_action key_previous(struct top_model *model)
{
	top_model_search(model, -1, false);
	return TOP_NOTHING;
}

static enum top_action key_sort(struct top_model *model)
{
	if (model->screen >= TOP_LISTS_)
		return TOP_NOTHING;
	model->mode = TOP_SORTING;
	model->choice = top_model_view(model)->sort;
	return TOP_NOTHING;
}

static enum top_action key_invert(struct top_model *model)
{
	if (model->screen >= TOP_LISTS_)
		return TOP_NOTHING;
	top_model_view(model)->inverted = !top_model_view(model)->inverted;
	top_model_show(model, model->screen);
	return TOP_NOTHING;
}

static enum top_action key_pause(struct top_model *model)
{
	model->paused = !model->paused;
	model->missed = 0;
	return model->paused ? TOP_NOTHING : TOP_REFRESH;
}

static enum top_action key_help(struct top_model *model)
{
	show_page(model, TOP_HELP);
	top_page_help(&model->page);
	return TOP_NOTHING;
}

static enum top_action key_messages(struct top_model *model)
{
	show_page(model, TOP_MESSAGES);
	return TOP_SHOW_MESSAGES;
}

static enum top_action key_snapshot(struct top_model *model)
{
	(void)model;
	return TOP_SNAPSHOT;
}

/* Only polls of the machine have a budget. */
static enum top_action key_more(struct top_model *model)
{
	return model->triage ? TOP_BUDGET_MORE : TOP_NOTHING;
}

static enum top_action key_less(struct top_model *model)
{
	return model->triage ? TOP_BUDGET_LESS : TOP_NOTHING;
}

static enum top_action key_refresh(struct top_model *model)
{
	model->paused = false;
	model->missed = 0;
	return TOP_REFRESH;
}

static enum top_action key_redraw(struct top_model *model)
{
	(void)model;
	return TOP_REDRAW;
}

static enum top_action key_quit(struct top_model *model)
{
	(void)model;
	return TOP_QUIT;
}

static const struct {
	int keys[4];
	enum top_action (*press)(struct top_model *model);
} bindings[] = {
	{{TOP_KEY_UP, 'k'}, key_up},
	{{TOP_KEY_DOWN, 'j'}, key_down},
	{{TOP_KEY_PAGE_UP}, key_page_up},
	{{TOP_KEY_PAGE_DOWN}, key_page_down},
	{{TOP_KEY_HOME}, key_home},
	{{TOP_KEY_END}, key_end},
	{{TOP_KEY_ENTER, TOP_KEY_RIGHT}, key_open},
	{{TOP_KEY_ESCAPE, TOP_KEY_LEFT, TOP_KEY_BACKSPACE}, key_back},
	{{'x'}, key_exact},
	{{'C'}, key_classes},
	{{TOP_KEY_TAB}, key_tab},
	{{TOP_KEY_F1, 'h', '?'}, key_help},
	{{TOP_KEY_F1 + 1, 's'}, key_snapshot},
	{{TOP_KEY_F1 + 2, '/'}, key_search},
	{{TOP_KEY_F1 + 3, '\\', 'f'}, key_filter},
	{{TOP_KEY_F1 + 5, '>'}, key_sort},
	{{TOP_KEY_F1 + 7, 'l'}, key_messages},
	{{TOP_KEY_F10, 'q'}, key_quit},
	{{'n'}, key_next},
	{{'N'}, key_previous},
	{{'I'}, key_invert},
	{{' ', 'p'}, key_pause},
	{{'+', '='}, key_more},
	{{'-'}, key_less},
	{{'r'}, key_refresh},
	{{TOP_KEY_REDRAW}, key_redraw},
};

/* Sorts by the key's letter; returns false if the list has no such sort key. */
static bool top_model_sort_by(struct top_model *model, int key)
{
	struct top_view *view = top_model_view(model);

	for (size_t i = 0; view && i < ARRAY_SIZE(top_lists->sorts); i++) {
		if (!key || top_lists[model->screen].sorts[i].key != key)
			continue;
		view->sort = i;
		view->inverted = false;
		top_model_show(model, model->screen);
		return true;
	}
	return false;
}

static enum top_action press(struct top_model *model, int key)
{
	for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(bindings[i].keys) && bindings[i].keys[j]; j++) {
			if (bindings[i].keys[j] == key)
				return bindings[i].press(model);
		}
	}
	top_model_sort_by(model, key);
	return TOP_NOTHING;
}
