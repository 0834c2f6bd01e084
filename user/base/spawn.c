// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/spawn.h"

int spawn_signals_set(posix_spawnattr_t *attributes, const sigset_t *blocked)
{
	sigset_t all;
	int error;

	sigfillset(&all);
	error = posix_spawnattr_setsigmask(attributes, blocked);
	if (!error)
		error = posix_spawnattr_setsigdefault(attributes, &all);
	if (!error)
		error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
								     POSIX_SPAWN_SETSIGDEF |
								     POSIX_SPAWN_SETPGROUP);
	return -error;
}
