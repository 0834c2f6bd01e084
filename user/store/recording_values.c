// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of a recording, in which nothing is believed, and what is said of one that is damaged. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/recording_state.h"

/* What SQLite says of it, if it is SQLite that complains. */
static const char *detail(const struct recording *recording)
{
	int code = sqlite3_errcode(recording->database) & 0xff;

	return code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE
		       ? "a value that no recording holds"
		       : sqlite3_errmsg(recording->database);
}

int recording_fail(const struct recording *recording, int error, const char *what)
{
	if (error == -ENOMEM)
		log_error("out of memory");
	else if (error == -EUCLEAN)
		log_error("%s is damaged: %s (%s); `sqlite3 FILE .recover` may save part of it",
			  recording->path, what, detail(recording));
	else
		log_error("cannot read %s: %s: %s", recording->path, what, strerror(-error));
	return error;
}

const char *recording_text_into(struct intern *strings, sqlite3_stmt *statement, int column,
				int *error)
{
	_cleanup_free_ char *cut = NULL;
	const char *text = database_text(statement, column), *kept;

	if (!text)
		return NULL;
	cut = strndup(text, RECORDING_TEXT_MAX);
	kept = cut ? intern_string(strings, cut) : NULL;
	if (!kept)
		*error = -ENOMEM;
	return kept;
}

const char *recording_text(struct recording *recording, sqlite3_stmt *statement, int column,
			   int *error)
{
	return recording_text_into(&recording->strings, statement, column, error);
}

unsigned recording_name_index(const char *name, const char *(*name_of)(unsigned), unsigned max)
{
	for (unsigned i = 0; name && i < max; i++) {
		const char *candidate = name_of(i);

		if (candidate && !strcmp(name, candidate))
			return i;
	}
	return 0;
}

const char *recording_walk_end_name(unsigned i)
{
	return walk_end_name((enum lm_walk_end)i);
}
