// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/output.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cleanup.h"
#include "output/formats.h"

static const struct output_format *const formats[] = {OUTPUT_FORMATS(OUTPUT_FORMAT_ROW)};

const struct output_format *output_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (!strcmp(name, formats[i]->name))
			return formats[i];
	}
	return NULL;
}

/* Derived once from the table. */
static char words[OUTPUT_KIND_MAX_][64];

static void words_fill(void)
{
	for (size_t kind = 0; kind < OUTPUT_KIND_MAX_; kind++) {
		char *at = words[kind];

		for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
			if (!output_has(formats[i], kind))
				continue;
			if (at != words[kind])
				*at++ = '|';
			at = stpcpy(at, formats[i]->name);
		}
	}
}

const char *output_words(unsigned kind)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, words_fill);
	return words[kind];
}

int output_finish(FILE *out)
{
	if (fflush(out))
		return -errno;
	if (!ferror(out))
		return 0;
	/* A stream forgets the cause of a failure. Its contents are broken anyway: write another
	 * byte to learn it. */
	return fputc('\n', out) == EOF || fflush(out) ? -errno : -EIO;
}

const char *output_explain(int error, char text[OUTPUT_EXPLANATION_SIZE])
{
	static const struct {
		int error;
		const char *advice;
	} known[] = {
		{ENOSPC, "free space on its file system, or name another one"},
		{EDQUOT, "the disk quota of this user is used up: raise it, or free space"},
		{EFBIG, "files of this process may not grow further: raise ulimit -f"},
		{EROFS, "name a file in a directory that you may write to"},
		{EACCES, "name a file in a directory that you may write to"},
		{EPERM, "name a file in a directory that you may write to"},
		{ENOENT, "name a file in a directory that exists"},
		{ENXIO, "nobody has the FIFO open for reading: start the reader first"},
		{EPIPE, "the reader has gone"},
		{EEXIST, "only a regular file is replaced here: remove what is there"},
		{ENOTSUP, "a report goes to a file, a FIFO or a character device"},
	};
	const char *advice = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i].error == -error)
			advice = known[i].advice;
	}
	snprintf(text, OUTPUT_EXPLANATION_SIZE, "%s%s%s%s", strerror(-error), advice ? " (" : "",
		 advice ? advice : "", advice ? ")" : "");
	return text;
}
