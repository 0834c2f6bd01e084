// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/mapping_fill.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

_Static_assert(KIND_BRK - KIND_MAPPING == (int)LM_KIND_BRK, "kinds stand in the same order");

/* A site of the heap and the kinds of a site of mappings are rows of their own. */
#define ROW_INDEX(site, kind) ((site) | ((kind) + 1) << 24)

struct sum {
	uint64_t bytes, count, oldest_ns, ages[SITE_AGES_MAX_];
};

struct summing {
	const struct mapping_view *view;
	uint64_t now_ns, older_ns;
	struct sum *sums;	       /* by place in view->sites */
	struct snapshot_process *keep; /* takes single ranges, for --show-allocs; or NULL */
};

static int keep_range(const struct summing *summing, const struct range *range, uint64_t age_ns)
{
	struct block *block = summing->keep ? vec_push(&summing->keep->blocks) : NULL;

	if (!summing->keep)
		return 0;
	if (!block)
		return -ENOMEM;
	*block = (struct block){.address = range->start,
				.size = range->end - range->start,
				.age_ns = age_ns,
				.site = ROW_INDEX(range->tag.site, range->tag.kind)};
	return 0;
}

static int sum_range(const struct range *range, void *context)
{
	struct summing *summing = context;
	uint64_t age_ns = summing->now_ns - MIN(summing->now_ns, range->tag.born_ns);
	struct sum *sum;
	long place;

	if (!mapping_is_counted(range) || age_ns < summing->older_ns)
		return 0;
	place = mapping_site_find(summing->view, range->tag.site, range->tag.kind);
	if (place < 0)
		return 0;
	sum = &summing->sums[place];
	sum->bytes += range->end - range->start;
	sum->count++;
	sum->oldest_ns = MAX(sum->oldest_ns, age_ns);
	for (size_t i = 0; i < SITE_AGES_MAX_ && age_ns >= site_age_limits_ns[i]; i++)
		sum->ages[i]++;
	return keep_range(summing, range, age_ns);
}

/* The call stack, unless the site was given to another process meanwhile. */
static int stack_copy(const struct bpf_side *bpf, lm_process_key process, uint32_t index,
		      struct site *site)
{
	const struct lm_site *raw = index < bpf->max_sites ? &bpf->sites[index] : NULL;

	site->lost = LM_LOST_SITES_FULL;
	if (index == LM_SITE_LOST || !raw || raw->process != process)
		return 0;
	site->addresses = calloc(LM_MAX_FRAMES, sizeof(*site->addresses));
	if (!site->addresses)
		return -ENOMEM;
	site->lost = LM_LOST_NONE;
	site->depth = MIN(raw->depth, LM_MAX_FRAMES);
	site->end = raw->end < LM_WALK_MAX_ ? raw->end : LM_WALK_ROOT;
	memcpy(site->addresses, bpf->stacks[index].frames, site->depth * sizeof(*site->addresses));
	return 0;
}

static int add_site(const struct bpf_side *bpf, const struct mapping_site *mapped,
		    const struct sum *sum, struct snapshot_process *process)
{
	struct site *site;

	if (!sum->count)
		return 0;
	site = vec_push(&process->sites);
	if (!site)
		return -ENOMEM;
	*site = (struct site){
		.family = FAMILY_MAPPING,
		.kind = KIND_MAPPING + mapped->kind,
		.index = ROW_INDEX(mapped->site, mapped->kind),
		.bytes = sum->bytes,
		.count = sum->count,
		.oldest_ns = sum->oldest_ns,
		.allocated_bytes = mapped->mapped_bytes,
		.allocated_count = mapped->mapped_calls,
		.freed_bytes = mapped->mapped_bytes - MIN(sum->bytes, mapped->mapped_bytes),
		/* A hole makes two ranges of one. */
		.freed_count = mapped->mapped_calls - MIN(sum->count, mapped->mapped_calls),
	};
	memcpy(site->ages, sum->ages, sizeof(site->ages));
	return stack_copy(bpf, process->key, mapped->site, site);
}

static int fill_process(const struct mapping_view *view, const struct bpf_side *bpf,
			const struct collect_options *options, struct snapshot *snapshot,
			struct snapshot_process *process)
{
	_cleanup_free_ struct sum *sums = calloc(view->site_count + 1, sizeof(*sums));
	struct summing summing = {.view = view,
				  .now_ns = snapshot->monotonic_ns,
				  .older_ns = process->exited ? 0 : options->older_ns,
				  .sums = sums,
				  .keep = options->keep_blocks ? process : NULL};
	int error;

	if (!sums)
		return -ENOMEM;
	error = ranges_walk(view->ranges, sum_range, &summing);
	process->mapping = view->ledger;
	process->exact = process->exact && view->exact;
	for (size_t i = 0; i < view->site_count && !error; i++)
		error = add_site(bpf, &view->sites[i], &sums[i], process);
	return error;
}

static struct snapshot_process *process_find(struct snapshot *snapshot, lm_process_key key)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		if (snapshot->processes.items[i].key == key)
			return &snapshot->processes.items[i];
	}
	return NULL;
}

int mapping_fill(const struct mappings *mappings, const struct bpf_side *bpf,
		 const struct collect_options *options, struct snapshot *snapshot)
{
	struct mapping_view view;
	int error = 0;

	snapshot->has_mappings = true;
	mappings_total(mappings, &snapshot->mapping);
	for (size_t i = 0; !error && mappings_view(mappings, i, &view); i++) {
		struct snapshot_process *process = process_find(snapshot, view.process);

		if (process)
			error = fill_process(&view, bpf, options, snapshot, process);
	}
	return error;
}
