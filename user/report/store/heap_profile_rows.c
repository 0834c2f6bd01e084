// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/heap_profile_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "report/store/figure_rows.h"

/* More than any genuine run has; a file with more was made to take for ever. */
#define SITES_MAX (1u << 20)
/* Above these limits, sums lose precision. */
#define OBJECTS_MAX (UINT64_C(1) << 48)
#define BYTES_MAX (UINT64_C(1) << 56)

static const struct figure_rows head_rows = {
	"heap_profiles", "retain,alone", "retain", "retain", {&heap_profile_figures}};
static const struct figure_rows site_rows = {"heap_profile_sites",
					     "retain,position",
					     "retain",
					     "position",
					     {&heap_profile_site_figures}};
#define KEYS 2

static int put_site(sqlite3_stmt *put, sqlite3_stmt *put_frame, int64_t retain, int64_t position,
		    const struct heap_profile_site *site)
{
	int error = database_bind(put, "ii", retain, position);

	if (!error)
		error = figure_row_bind(put, KEYS + 1, &site_rows, site);
	if (!error)
		error = database_next(put);
	return error ? error : stored_stack_put(put_frame, site->id, &site->frames);
}

int heap_profile_rows_put(sqlite3 *database, int64_t retain, const struct retain_result *result)
{
	const struct heap_profile *profile = result->heap_profile;
	_cleanup_statement_ sqlite3_stmt *head = NULL;
	_cleanup_statement_ sqlite3_stmt *site = NULL;
	_cleanup_statement_ sqlite3_stmt *frame = NULL;
	int error;

	if (!profile || profile->why)
		return 0;
	error = figure_rows_insert(database, &head_rows, &head);
	if (!error)
		error = figure_rows_insert(database, &site_rows, &site);
	if (!error)
		error = database_errno(
			sqlite3_prepare_v2(database, STORED_STACK_INSERT, -1, &frame, NULL));
	if (!error)
		error = database_bind(head, "ii", retain, (int64_t)result->profile_only);
	if (!error)
		error = figure_row_bind(head, KEYS + 1, &head_rows, profile);
	if (!error)
		error = database_next(head);
	for (size_t i = 0; i < profile->sites.count && !error; i++)
		error = put_site(site, frame, retain, (int64_t)i, &profile->sites.items[i]);
	return error;
}

/* -------- reading: the file is untrusted */

static bool is_sound(const struct heap_profile_site *site)
{
	return site->size && site->size < BYTES_MAX && site->allocated.objects < OBJECTS_MAX &&
	       site->freed.objects <= site->allocated.objects &&
	       site->allocated.bytes < BYTES_MAX && site->freed.bytes < BYTES_MAX;
}

static int site_read(struct recording *recording, sqlite3_stmt *row, sqlite3_stmt *frames,
		     struct retain_result *result)
{
	struct heap_profile *profile = result->heap_profile;
	int error = 0;
	uint64_t position = database_unsigned(row, 1, &error);
	struct heap_profile_site *site;

	if (error || position != profile->sites.count || position >= SITES_MAX)
		return -EUCLEAN;
	site = vec_push(&profile->sites);
	if (!site)
		return -ENOMEM;
	figure_row_read(row, KEYS, &site_rows, site, &result->strings, &error);
	if (!error && !is_sound(site))
		error = -EUCLEAN;
	return error ? error
		     : stored_stack_read(recording, &result->strings, frames, site->id,
					 &site->frames);
}

static int sites_read(struct recording *recording, int64_t retain, struct retain_result *result)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	_cleanup_statement_ sqlite3_stmt *frames = NULL;
	int more = 0, error = figure_rows_select(recording->database, &site_rows, &statement);

	if (!error)
		error = stored_stacks_prepare(recording, &frames);
	if (!error)
		error = database_bind(statement, "i", retain);
	while (!error && (more = database_next(statement)) != 0)
		error = more < 0 ? more : site_read(recording, statement, frames, result);
	if (!error)
		heap_profile_estimate(result->heap_profile);
	return error;
}

int heap_profile_rows_read(struct recording *recording, int64_t retain,
			   struct retain_result *result)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more, error;

	error = figure_rows_select(recording->database, &head_rows, &statement);
	if (!error)
		error = database_bind(statement, "i", retain);
	more = error ? 0 : database_next(statement);
	if (more <= 0)
		return error ? error : more;
	result->heap_profile = calloc(1, sizeof(*result->heap_profile));
	if (!result->heap_profile)
		return -ENOMEM;
	result->heap_profile->source = "Go";
	result->profile_only = result->no_malloc = sqlite3_column_int(statement, 1);
	figure_row_read(statement, KEYS, &head_rows, result->heap_profile, &result->strings,
			&error);
	return error ? error : sites_read(recording, retain, result);
}
