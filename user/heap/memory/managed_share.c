// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/managed_share.h"

#include "base/cleanup.h"
#include "heap/memory/smaps.h"
#include "heap/runtime/runtime.h"

static uint64_t anonymous_bytes(const struct smaps_entry *entry)
{
	return entry->figures.anonymous + entry->figures.swap;
}

/* A memfd counts as shared memory, not as anonymous. */
static uint64_t owned_bytes(const struct smaps_entry *entry)
{
	return (entry->mapping.shared ? entry->figures.rss : entry->figures.anonymous) +
	       entry->figures.swap;
}

/* Returns the bytes of generated code, by the definition of `memory`. */
static uint64_t code_bytes(const struct smaps_entry *entry)
{
	return entry->mapping.executable && !entry->mapping.inode ? anonymous_bytes(entry) : 0;
}

int managed_share_read(pid_t pid, struct managed_share *share)
{
	_cleanup_(smaps_free) struct smaps smaps = {0};
	_cleanup_(runtime_heap_free) struct runtime_heap known = {0};
	_cleanup_(maps_free) struct maps maps = {0};
	_cleanup_close_ int pagemap = -1;
	struct managed_share made = {0};
	struct peek peek;
	int error = smaps_read(pid, pid, &smaps);

	if (!error && smaps.list.count)
		error = runtime_heap_find(&smaps.list.items->mapping, smaps.list.count,
					  sizeof(*smaps.list.items), &known);
	if (error)
		return error;
	if (known.runtime && known.runtime->refusal && maps_read(pid, MAPS_ALL, &maps))
		return -ESRCH;
	made.runtime = runtime_label_in(known.runtime, &maps);
	pagemap = pagemap_open(live_memory(pid));
	peek = (struct peek){.source = live_memory(pid), .pagemap = pagemap};
	peek_forget(&peek);
	for (size_t i = 0; i < smaps.list.count; i++) {
		const struct smaps_entry *entry = &smaps.list.items[i];
		double part = runtime_heap_share(&known, &entry->mapping, &peek);

		made.heap_bytes += (uint64_t)(part * (double)owned_bytes(entry));
		made.anonymous_bytes += anonymous_bytes(entry);
		made.code_bytes += (uint64_t)((1 - part) * (double)code_bytes(entry));
	}
	peek_free(&peek);
	*share = made;
	return 0;
}
