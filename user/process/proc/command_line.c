// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/command_line.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Options of java whose value is the next word. */
static bool takes_next(const char *word)
{
	static const char *const options[] = {"-cp", "-classpath", "--class-path", "-p",
					      "--module-path"};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!strcmp(word, options[i]))
			return true;
	}
	return false;
}

/*
 * "/srv/app/server.py" -> "server.py"; a name without a slash, or with one at its end, is
 * unchanged.
 */
static const char *last_part(const char *word)
{
	const char *slash = strrchr(word, '/');

	return slash && slash[1] ? slash + 1 : word;
}

/* Code given as a word contains blanks: the start of its first line is used. */
#define SUBJECT_BYTES_MAX 64

static char *subject_of(const char *word)
{
	size_t length;

	word += strspn(word, " \t\n");
	if (!word[strcspn(word, " \t\n")])
		word = last_part(word);
	length = strcspn(word, "\n");
	return length ? strndup(word, MIN(length, (size_t)SUBJECT_BYTES_MAX)) : NULL;
}

char *command_line_subject(const char *arguments, size_t size)
{
	_cleanup_free_ char *copy = malloc(size + 1);
	bool program = true, value = false;

	if (!copy)
		return NULL;
	memcpy(copy, arguments, size);
	copy[size] = '\0';
	for (const char *at = copy; at < copy + size; at += strlen(at) + 1) {
		if (program)
			program = false;
		else if (value)
			value = false;
		else if (*at == '-')
			value = takes_next(at);
		else if (*at)
			return subject_of(at);
	}
	return NULL;
}

char *command_line_read_subject(pid_t pid)
{
	char path[32], arguments[4096];
	_cleanup_close_ int fd = -1;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, arguments, sizeof(arguments));
	return size > 0 ? command_line_subject(arguments, (size_t)size) : NULL;
}
