// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who holds what as a profile: a sample for each call stack (else kind of block) and root, with the
 * root as a label, so that `go tool pprof -tagroot root` puts the roots below the stacks.
 */

#include "base/cleanup.h"
#include "output/pprof_profile.h"
#include "output/retain.h"

static const struct profile_value value_types[] = {
	{"inuse_objects", "count"},
	{"inuse_space", "bytes"},
};

static const char *root_kind_of(const struct retain_result *result,
				const struct retained_sample *sample)
{
	if (sample->root != RESULT_NONE)
		return root_kind_name(result->roots.items[sample->root].kind);
	return verdict_name(sample->verdict);
}

static void write_sample(struct profile *profile, const struct retain_result *result,
			 const struct retained_sample *sample)
{
	static const struct frames none;
	const struct retained_site *site = retained_site(result, sample->site);
	const uint64_t values[] = {sample->total.blocks, sample->total.bytes};
	_cleanup_free_ char *class =
		retain_class_text(result, &result->classes.items[sample->class]);
	_cleanup_free_ char *root = retain_holder_text(result, sample);

	_Static_assert(ARRAY_SIZE(values) == ARRAY_SIZE(value_types), "a value of every type");
	if (!class || !root) {
		profile->failed = true;
		return;
	}
	profile_sample_begin(profile, site ? &site->frames : &none, class, values,
			     ARRAY_SIZE(values));
	profile_label(profile, "pid", NULL, (uint64_t)result->pid);
	profile_label(profile, "comm", result->comm, 0);
	profile_label(profile, "root", root, 0);
	profile_label(profile, "root_kind", root_kind_of(result, sample), 0);
	profile_label(profile, "class", class, 0);
	profile_sample_end(profile);
}

int retain_pprof_write(FILE *out, const struct retain_report *report)
{
	const struct retain_result *result = report->result;
	struct profile profile = {0};

	profile_begin(&profile, value_types, ARRAY_SIZE(value_types));
	for (size_t i = 0; i < result->samples.count; i++)
		write_sample(&profile, result, &result->samples.items[i]);
	return profile_write(out, &profile, &result->time, "inuse_space");
}
