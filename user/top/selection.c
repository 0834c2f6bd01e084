// SPDX-License-Identifier: GPL-2.0-or-later
/* Which row of a list is selected, or which line of a page comes first. */
#include "base/cleanup.h"
#include "top/model_state.h"

struct top_view *top_model_view(struct top_model *model)
{
	return model->screen < TOP_LISTS_ ? &model->views[model->screen] : NULL;
}

bool top_model_has_page(const struct top_model *model)
{
	return model->screen == TOP_STACK || model->mode == TOP_HELP || model->mode == TOP_MESSAGES;
}

void top_model_move(struct top_model *model, long rows)
{
	struct top_view *view = top_model_view(model);
	long last, to;

	if (top_model_has_page(model)) {
		to = (long)model->page_first + rows;
		model->page_first = to < 0 ? 0 : (size_t)to;
		top_model_scroll(model);
		return;
	}
	last = (long)view->order.count - 1;
	if (last < 0)
		return;
	to = (long)view->selected + rows;
	view->selected = (size_t)(to < 0 ? 0 : MIN(to, last));
	view->moved = true;
	view->identity = top_model_row(model, view->selected)->identity;
	top_model_scroll(model);
}

void top_model_search(struct top_model *model, int direction, bool here)
{
	struct top_view *view = top_model_view(model);
	size_t count = view ? view->order.count : 0;

	for (size_t i = here ? 0 : 1; i <= count && *model->search && count; i++) {
		size_t step = direction > 0 ? i % count : count - i % count;
		size_t position = (view->selected + step) % count;

		if (!top_row_holds(top_model_row(model, position), model->search))
			continue;
		top_model_move(model, (long)position - (long)view->selected);
		return;
	}
	if (*model->search)
		top_model_say(model, "not found");
}
