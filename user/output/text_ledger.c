// SPDX-License-Identifier: GPL-2.0-or-later
/* What the books say below a report, and what it lacks. */
#include <inttypes.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "output/text_parts.h"

static void sums_write(FILE *out, const struct ledger *ledger)
{
	static const struct {
		size_t offset;
		const char *label;
	} extras[] = {
		{offsetof(struct ledger, inherited_frees), "frees of inherited blocks"},
		{offsetof(struct ledger, filtered),
		 "allocations outside --min-size and --max-size"},
		{offsetof(struct ledger, unsampled), "allocations not sampled"},
		{offsetof(struct ledger, failed), "allocations failed"},
		{offsetof(struct ledger, abandoned), "calls never returned"},
	};
	uint64_t dropped = 0;

	for (size_t i = 0; i < LM_DROP_MAX_; i++)
		dropped += ledger->dropped[i];
	fprintf(out,
		"ledger: %" PRIu64 " allocations = %" PRIu64 " frees + %" PRIu64
		" outstanding + %" PRIu64 " purged + %" PRIu64 " dropped; %" PRIu64
		" frees of untracked blocks",
		ledger->allocations, ledger->frees, ledger->outstanding, ledger->purged, dropped,
		ledger->untracked_frees);
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
		const char *field = (const char *)ledger + extras[i].offset;
		uint64_t value = *(const uint64_t *)field;

		if (value)
			fprintf(out, ", %" PRIu64 " %s", value, extras[i].label);
	}
	fputc('\n', out);
}

static void losses_write(FILE *out, const struct ledger *ledger)
{
	for (size_t i = 0; i < LM_DROP_MAX_; i++) {
		if (ledger->dropped[i])
			fprintf(out, "inexact: %" PRIu64 " allocations dropped: %s\n",
				ledger->dropped[i], drop_advice(i));
	}
	for (size_t i = LM_LOST_NONE + 1; i < LM_LOST_MAX_; i++) {
		if (ledger->lost_stacks[i])
			fprintf(out, "inexact: %" PRIu64 " allocations without a stack: %s\n",
				ledger->lost_stacks[i], lost_advice(i));
	}
}

/* Bytes and counts are right all the same: this is no inexactness. */
static void walk_ends_write(FILE *out, const struct ledger *ledger)
{
	for (size_t i = LM_WALK_ROOT + 1; i < LM_WALK_MAX_; i++) {
		if (ledger->walk_ends[i])
			fprintf(out, "stacks: %" PRIu64 " ended early: %s\n", ledger->walk_ends[i],
				walk_end_advice(i));
	}
}

static void checks_write(FILE *out, const struct snapshot *snapshot)
{
	const struct ledger *ledger = &snapshot->ledger;

	if (!ledger_agrees(snapshot, ledger))
		fprintf(out,
			"inexact: the live set holds %" PRIu64 " blocks, the ledger says %" PRIu64
			"\n",
			ledger->scanned, ledger->outstanding);
	if (snapshot->sampled)
		fputs("estimated from a sample: bytes and counts by stack; "
		      "the ledger counts the sampled blocks\n",
		      out);
}

/* Else the stacks would seem to contradict the ledger. */
static void young_write(FILE *out, const struct snapshot *snapshot)
{
	uint64_t young = 0;

	if (!snapshot->has_ages || snapshot->sampled)
		return;
	if (snapshot->only_by_dead) {
		fputs("not listed: blocks of threads that live, or whose process has ended\n", out);
		return;
	}
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		const struct snapshot_process *process = &snapshot->processes.items[i];

		if (process->ledger.scanned > process->outstanding_count)
			young += process->ledger.scanned - process->outstanding_count;
	}
	if (young)
		fprintf(out, "not listed: %" PRIu64 " blocks younger than --older\n", young);
}

void text_ledger_write(FILE *out, const struct snapshot *snapshot)
{
	sums_write(out, &snapshot->ledger);
	if (snapshot->has_mappings)
		text_mapping_write(out, &snapshot->mapping);
	young_write(out, snapshot);
	losses_write(out, &snapshot->ledger);
	walk_ends_write(out, &snapshot->ledger);
	checks_write(out, snapshot);
}
