// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define KEPT_MAX (64u << 10)
/* Lines printed at the end. */
#define LINES_AT_END 10

int messages_open(struct messages *messages)
{
	_cleanup_close_ int fd = memfd_create("messages", MFD_CLOEXEC);
	_cleanup_close_ int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	if (fd < 0 || saved < 0 || dup2(fd, STDERR_FILENO) < 0)
		return -errno;
	*messages = (struct messages){.fd = TAKE_FD(fd), .saved = TAKE_FD(saved)};
	return 0;
}

/* Returns the beginning of the last `lines` lines. */
static const char *tail(const char *text, size_t size, size_t lines)
{
	const char *at = text + size;

	while (at > text && lines) {
		do
			at--;
		while (at > text && at[-1] != '\n');
		lines--;
	}
	return at;
}

/* Drops whole lines from the beginning until the rest fits. */
static void forget(struct messages *messages, size_t excess)
{
	const char *from = messages->text + excess;
	const char *line = memchr(from, '\n', messages->size - excess);

	from = line ? line + 1 : from;
	messages->size -= (size_t)(from - messages->text);
	memmove(messages->text, from, messages->size + 1);
}

static int append(struct messages *messages, const char *text, size_t size)
{
	char *grown = realloc(messages->text, messages->size + size + 1);

	if (!grown)
		return -ENOMEM;
	memcpy(grown + messages->size, text, size);
	messages->text = grown;
	messages->size += size;
	grown[messages->size] = '\0';
	if (messages->size > KEPT_MAX)
		forget(messages, messages->size - KEPT_MAX);
	return 0;
}

/* Moves everything written so far from the file to the text. Returns its size. */
static size_t collect(struct messages *messages)
{
	char part[4096];
	size_t total = 0;
	ssize_t size;

	if (messages->fd < 0)
		return 0;
	while ((size = pread(messages->fd, part, sizeof(part), (off_t)total)) > 0 &&
	       !append(messages, part, (size_t)size))
		total += (size_t)size;
	/* The offset is shared with standard error: the next message rewrites the file from its
	 * start. */
	if (total && !ftruncate(messages->fd, 0))
		lseek(messages->fd, 0, SEEK_SET);
	return total;
}

const char *messages_take(struct messages *messages)
{
	const char *line;

	if (!collect(messages))
		return NULL;
	line = tail(messages->text, messages->size, 1);
	snprintf(messages->latest, sizeof(messages->latest), "%.*s", (int)strcspn(line, "\n"),
		 line);
	return messages->latest;
}

void messages_close(struct messages *messages)
{
	const char *last;

	collect(messages);
	if (messages->saved >= 0) {
		dup2(messages->saved, STDERR_FILENO);
		close(messages->saved);
	}
	if (messages->text) {
		last = tail(messages->text, messages->size, LINES_AT_END);
		fputs(last == messages->text ? "" : "leakmon: (earlier messages are left out)\n",
		      stderr);
		fputs(last, stderr);
	}
	free(messages->text);
	cleanup_close(&messages->fd);
	*messages = MESSAGES_CLOSED;
}
