// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/top_front.h"

#include <stdlib.h>
#include <unistd.h>

#include "app/top/draw.h"

enum { KEYS, RESIZE };

int top_front_open(struct top_terminal *terminal, const struct output_options *output)
{
	return top_terminal_open(terminal, !output->no_color && !getenv("NO_COLOR"));
}

void top_front_close(struct top_front *front)
{
	top_model_free(&front->model);
	free(front->title);
	front->title = NULL;
}

int top_front_wait_for(const struct top_front *front, struct pollfds *fds)
{
	int error = pollfds_add(fds, STDIN_FILENO);

	return error ? error : pollfds_add(fds, front->terminal->resize_fd);
}

void top_front_draw(struct top_front *front)
{
	const char *message = messages_take(&front->terminal->messages);

	if (message)
		top_model_say(&front->model, message);
	top_draw(front->terminal, &front->model, front->title);
}

/* Performs actions on the screen alone. */
static enum top_action act(struct top_front *front, enum top_action action)
{
	const char *text = front->terminal->messages.text;

	if (action == TOP_REDRAW)
		top_terminal_redraw();
	else if (action == TOP_SHOW_MESSAGES)
		top_page_raw(&front->model.page, text ? text : "No messages so far.\n");
	else
		return action;
	return TOP_NOTHING;
}

enum top_action top_front_handle(struct top_front *front, const struct pollfd *fds)
{
	enum top_action action = TOP_NOTHING;
	int key;

	/* The terminal is gone: nobody can press q. */
	if (fds[KEYS].revents & (POLLHUP | POLLERR | POLLNVAL))
		return TOP_QUIT;
	if (fds[RESIZE].revents)
		top_terminal_resize(front->terminal);
	while (action == TOP_NOTHING && (key = top_terminal_key()) != TOP_KEY_NONE) {
		action = act(front, top_model_key(&front->model, key));
		front->typed = true;
	}
	top_front_draw(front);
	return action;
}
