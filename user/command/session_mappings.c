// SPDX-License-Identifier: GPL-2.0-or-later
/* --mappings: what each mapping is for, as far as the names on its call stack tell. */
#include "analyze/mapping_purpose.h"
#include "command/session.h"

static void site_label(struct session *session, uint64_t pid, struct site *site)
{
	struct frames frames = {0};

	if (site->family != FAMILY_MAPPING ||
	    symbolizer_name(session->symbolizer, pid, site->addresses, site->depth, LINES_NONE,
			    &frames))
		return;
	site->kind = mapping_purpose(&frames, site->kind);
	vec_free(&frames.list);
}

void session_label_mappings(struct session *session, struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			site_label(session, process->pid, &process->sites.items[j]);
	}
}
