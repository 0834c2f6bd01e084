// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/model.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"

/* -------- the selected row of a list, and the first line of a page */

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

/* -------- rows, their order and the selection; keys are in keys.c */

/* More judgements in one report would be noticeable. */
#define TRENDS_MAX 1000

void top_model_init(struct top_model *model, enum top_screen screen, const char *sort)
{
	*model = (struct top_model){.screen = screen,
				    .triage = screen == TOP_TRIAGE,
				    .profile = screen == TOP_PROFILE,
				    .classes = CLASS_COUNT_NONE};
	for (size_t i = 0; i < TOP_LISTS_; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(top_lists[i].sorts); j++) {
			if (sort && top_lists[i].sorts[j].name &&
			    !strcmp(top_lists[i].sorts[j].name, sort))
				model->views[i].sort = j;
		}
	}
}

void top_model_free(struct top_model *model)
{
	class_count_free(&model->classes);
	for (size_t i = 0; i < TOP_LISTS_; i++) {
		top_rows_free(&model->rows[i]);
		vec_free(&model->views[i].order);
	}
	top_heading_free(&model->heading);
	top_page_free(&model->page);
	*model = (struct top_model){0};
}

struct sorting {
	const struct top_rows *rows;
	enum top_field field;
	int sign;
};

/* Compares two rows; unknown values come last in either order. */
static int compare(const void *left, const void *right, void *context)
{
	const struct sorting *sorting = context;
	size_t l = *(const size_t *)left, r = *(const size_t *)right;
	double a = sorting->rows->list.items[l].fields[sorting->field];
	double b = sorting->rows->list.items[r].fields[sorting->field];

	if (isnan(a) || isnan(b))
		return isnan(a) != isnan(b) ? (isnan(a) ? 1 : -1) : (l > r) - (l < r);
	if (a != b)
		return (a < b ? 1 : -1) * sorting->sign;
	return (l > r) - (l < r);
}

static bool is_shown(const struct top_model *model, size_t list, const struct top_row *row)
{
	if (list == TOP_CALLS && model->process && row->process != model->process)
		return false;
	return top_row_holds(row, model->filter);
}

/* Finds the selected row's new position; if the row is gone, keeps the position. */
static void reselect(const struct top_rows *rows, struct top_view *view)
{
	if (!view->moved)
		view->selected = 0;
	for (size_t i = 0; i < view->order.count && view->moved; i++) {
		if (rows->list.items[view->order.items[i]].identity == view->identity) {
			view->selected = i;
			break;
		}
	}
	if (view->selected >= view->order.count)
		view->selected = view->order.count ? view->order.count - 1 : 0;
	if (view->order.count)
		view->identity = rows->list.items[view->order.items[view->selected]].identity;
}

int top_model_arrange(struct top_model *model, enum top_screen list)
{
	const struct top_rows *rows = &model->rows[list];
	struct top_view *view = &model->views[list];
	struct sorting sorting = {
		.rows = rows,
		.field = top_lists[list].sorts[view->sort].field,
		.sign = view->inverted ? -1 : 1,
	};

	view->order.count = 0;
	for (size_t i = 0; i < rows->list.count; i++) {
		size_t *position;

		if (!is_shown(model, list, &rows->list.items[i]))
			continue;
		position = vec_push(&view->order);
		if (!position)
			return -ENOMEM;
		*position = i;
	}
	if (view->order.count)
		qsort_r(view->order.items, view->order.count, sizeof(*view->order.items), compare,
			&sorting);
	reselect(rows, view);
	return 0;
}

const struct top_row *top_model_first_call(const struct top_model *model,
					   const struct top_row *process)
{
	const struct top_rows *rows = &model->rows[model->profile ? TOP_PROFILE : TOP_CALLS];

	for (size_t i = 0; i < rows->list.count; i++) {
		if (rows->list.items[i].process == process->identity)
			return &rows->list.items[i];
	}
	return NULL;
}

void top_model_scroll(struct top_model *model)
{
	struct top_view *view;
	size_t height = MAX(model->height, 1), lines = model->page.lines.count;

	if (model->screen >= TOP_LISTS_ || model->page.text) {
		model->page_first = MIN(model->page_first, lines > height ? lines - height : 0);
		return;
	}
	view = &model->views[model->screen];
	if (view->selected < view->first)
		view->first = view->selected;
	if (view->selected >= view->first + height)
		view->first = view->selected - height + 1;
	if (view->first + height > view->order.count)
		view->first = view->order.count > height ? view->order.count - height : 0;
}

const struct top_row *top_model_row(const struct top_model *model, size_t position)
{
	const struct top_view *view = &model->views[model->screen];

	return &model->rows[model->screen].list.items[view->order.items[position]];
}

const struct top_row *top_model_selected(const struct top_model *model)
{
	if (model->screen >= TOP_LISTS_ || !model->views[model->screen].order.count)
		return NULL;
	return top_model_row(model, model->views[model->screen].selected);
}

void top_model_open_stack(struct top_model *model)
{
	enum top_screen list = model->profile ? TOP_PROFILE : TOP_CALLS;
	const struct top_row *row = top_rows_find(&model->rows[list], model->opened);
	const struct top_row *process =
		row ? top_rows_find(&model->rows[TOP_TARGETS], row->process) : NULL;

	top_page_stack(&model->page, row, process);
}

static int rows_replace(struct top_model *model, enum top_screen list, struct top_rows *rows)
{
	top_rows_free(&model->rows[list]);
	model->rows[list] = *rows;
	*rows = (struct top_rows){0};
	return top_model_arrange(model, list);
}

/* Begins on the list of several processes, or on the call stacks of a single one. */
static void begin(struct top_model *model)
{
	if (!model->taken && model->screen == TOP_TARGETS &&
	    model->rows[TOP_TARGETS].list.count == 1)
		model->screen = TOP_CALLS;
	model->taken = true;
}

int top_model_take_report(struct top_model *model, const struct report *report)
{
	_cleanup_(top_rows_free) struct top_rows processes = {0}, calls = {0};
	enum top_field sort = top_lists[TOP_CALLS].sorts[model->views[TOP_CALLS].sort].field;
	size_t trends = sort == TOP_GROWTH ? SIZE_MAX : TRENDS_MAX;
	int error = 0;

	if (model->paused) {
		model->missed++;
		return 0;
	}
	error = top_rows_of_report(report, trends, &processes, &calls);
	if (!error)
		error = top_heading_of_report(&model->heading, report);
	if (!error)
		error = rows_replace(model, TOP_TARGETS, &processes);
	if (!error)
		error = rows_replace(model, TOP_CALLS, &calls);
	if (error)
		return error;
	begin(model);
	if (model->screen == TOP_STACK && model->mode != TOP_HELP && model->mode != TOP_MESSAGES)
		top_model_open_stack(model);
	return 0;
}

int top_model_take_profile(struct top_model *model, const struct profile_report *report)
{
	_cleanup_(top_rows_free) struct top_rows processes = {0}, calls = {0};
	int error = 0;

	if (model->paused) {
		model->missed++;
		return 0;
	}
	error = top_rows_of_profile(report, &processes, &calls);
	if (!error)
		error = top_heading_of_profile(&model->heading, report);
	if (!error)
		error = rows_replace(model, TOP_TARGETS, &processes);
	if (!error)
		error = rows_replace(model, TOP_PROFILE, &calls);
	if (error)
		return error;
	model->taken = true;
	if (model->screen == TOP_STACK && model->mode != TOP_HELP && model->mode != TOP_MESSAGES)
		top_model_open_stack(model);
	return 0;
}

int top_model_take_triage(struct top_model *model, const struct triage_report *report)
{
	_cleanup_(top_rows_free) struct top_rows processes = {0}, groups = {0};
	int error = 0;

	if (model->paused) {
		model->missed++;
		return 0;
	}
	error = top_rows_of_triage(&report->processes, &processes);
	if (!error)
		error = top_rows_of_triage(&report->groups, &groups);
	if (!error)
		error = top_heading_of_triage(&model->heading, report);
	if (!error)
		error = rows_replace(model, TOP_TRIAGE, &processes);
	if (!error)
		error = rows_replace(model, TOP_GROUPS, &groups);
	model->taken |= !error;
	return error;
}

void top_model_say(struct top_model *model, const char *text)
{
	snprintf(model->message, sizeof(model->message), "%s", text);
}
