// SPDX-License-Identifier: GPL-2.0-or-later
#include "monitor/coverage.h"

#include "base/clock.h"
#include "memory/managed_share.h"
#include "monitor/session.h"
#include "runtime/runtime.h"

#define PAUSE_NS (COVERAGE_PAUSE_S * 1000000000ull)

/* Most programs have no such runtime, as the mappings show cheaply. */
static void refresh(struct tracked *tracked)
{
	uint64_t now_ns = monotonic_ns();

	if (tracked->managed_read_ns && now_ns - tracked->managed_read_ns < PAUSE_NS)
		return;
	tracked->managed_read_ns = now_ns;
	if (!runtime_of_process(tracked->probes.pid) ||
	    managed_share_read(tracked->probes.pid, &tracked->managed))
		tracked->managed = (struct managed_share){0};
}

void coverage_fill(struct session *session, struct snapshot *snapshot)
{
	for (size_t i = 0; i < session->targets.list.count; i++) {
		struct tracked *tracked = &session->targets.list.items[i];

		if (!tracked->ended)
			refresh(tracked);
		for (size_t j = 0; tracked->managed.runtime.key && j < snapshot->processes.count;
		     j++) {
			if (snapshot->processes.items[j].pid == (uint32_t)tracked->probes.pid)
				snapshot->processes.items[j].managed = tracked->managed;
		}
	}
}
