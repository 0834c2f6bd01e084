// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/settle.h"

#include <errno.h>

#include "retain/progress.h"

int retain_open(pid_t pid, const struct picture_options *options, struct retain **retain)
{
	struct retain *made = calloc(1, sizeof(*made));
	int err = made ? retain_begin(pid, options, made) : -ENOMEM;

	if (err)
		retain_close(made);
	else
		*retain = made;
	return err;
}

/* What is said of the picture is said of both. */
static void inherit(struct retain *retain, const struct retain *earlier)
{
	retain->picture.why_not_stopped = earlier->picture.why_not_stopped;
	retain->picture.pause_ns = earlier->picture.pause_ns;
	retain->picture.max_pause_ns = earlier->picture.max_pause_ns;
	retain->total_ns += earlier->total_ns;
}

/* A picture without a stop proves nothing alone: a second one must agree. */
static int look_again(struct retain **retain, const struct picture_options *options,
		      const struct retain_sources *sources)
{
	struct picture_options no_stop = *options;
	struct retain *again = NULL;
	int err = retain_remember_lost(*retain);
	bool progress = progress_wait((*retain)->pid);

	no_stop.no_stop = true;
	if (!err)
		err = retain_open((*retain)->pid, &no_stop, &again);
	if (!err)
		err = retain_finish(again, sources);
	if (!err)
		err = retain_agree(again, *retain);
	if (err) {
		retain_close(again);
		return err;
	}
	again->settled = progress;
	inherit(again, *retain);
	retain_close(*retain);
	*retain = again;
	return 0;
}

int retain_settle(struct retain **retain, const struct picture_options *options,
		  const struct retain_sources *sources)
{
	int err = retain_finish(*retain, sources);

	return err || (*retain)->settled ? err : look_again(retain, options, sources);
}

void retain_close(struct retain *retain)
{
	if (retain)
		retain_free(retain);
	free(retain);
}
