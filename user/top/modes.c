// SPDX-License-Identifier: GPL-2.0-or-later
/* Keys while a page of text, a menu or a prompt has them. */
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "top/model_state.h"

/* From help or messages to where they were called. */
static void end_page(struct top_model *model)
{
	model->mode = TOP_NORMAL;
	top_model_show(model, model->screen);
}

/* Help and messages: keys that move do, the others end the page. */
static enum top_action press_on_page(struct top_model *model, int key)
{
	static const int moving[] = {TOP_KEY_UP,   TOP_KEY_DOWN,    'k',
				     'j',	   TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN,
				     TOP_KEY_HOME, TOP_KEY_END,	    TOP_KEY_REDRAW};

	for (size_t i = 0; i < ARRAY_SIZE(moving); i++) {
		if (key == moving[i])
			return top_model_press(model, key);
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

/* Takes the last character off, all of its bytes. */
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

/* What is typed takes effect at once. */
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
		return top_model_press(model, key);
	}
}
