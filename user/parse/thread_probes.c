// SPDX-License-Identifier: GPL-2.0-or-later
#include "parse/thread_probes.h"

#include "base/cleanup.h"

const struct thread_probe_info thread_probes[] = {
	[THREAD_PROBE_RETURN] = {"thread_return"},
	[THREAD_PROBE_FREED] = {"thread_freed", .arguments = 1},
	[THREAD_PROBE_JOINED] = {"thread_joined"},
	[THREAD_PROBE_JOIN] = {"thread_join", .arguments = 1},
	[THREAD_PROBE_DETACH] = {"thread_detach", .arguments = 1, .returns = true},
	[THREAD_PROBE_CREATE] = {"thread_create", .arguments = 3, .returns = true},
};
_Static_assert(ARRAY_SIZE(thread_probes) == THREAD_PROBE_MAX_, "a row for every probe");
