// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory/managed_share.h"

#include "base/cleanup.h"
#include "memory/smaps.h"
#include "runtime/runtime.h"

static uint64_t anonymous_bytes(const struct smaps_entry *entry)
{
	return entry->figures.anonymous + entry->figures.swap;
}

/* A memfd counts as shared memory, not as anonymous. */
static uint64_t heap_bytes(const struct smaps_entry *entry)
{
	return (entry->mapping.shared ? entry->figures.rss : entry->figures.anonymous) +
	       entry->figures.swap;
}

int managed_share_read(pid_t pid, struct managed_share *share)
{
	_cleanup_(smaps_free) struct smaps smaps = {0};
	_cleanup_(runtime_heap_free) struct runtime_heap known = {0};
	struct managed_share made = {0};
	int error = smaps_read(pid, pid, &smaps);

	if (!error && smaps.list.count)
		error = runtime_heap_find(&smaps.list.items->mapping, smaps.list.count,
					  sizeof(*smaps.list.items), &known);
	if (error)
		return error;
	made.runtime = runtime_label_of(known.runtime);
	for (size_t i = 0; i < smaps.list.count; i++) {
		const struct smaps_entry *entry = &smaps.list.items[i];

		if (runtime_heap_owns(&known, &entry->mapping))
			made.heap_bytes += heap_bytes(entry);
		made.anonymous_bytes += anonymous_bytes(entry);
	}
	*share = made;
	return 0;
}
