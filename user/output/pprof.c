// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/family.h"
#include "base/cleanup.h"
#include "profile/profile_report.h"
#include "output/formats.h"
#include "output/pprof_profile.h"
#include "output/retain_format.h"
#include "proc/container.h"

/*
 * The four sample types of Go's heap profile, so that every tool that knows those knows these.
 *
 * A family whose bytes overlap has two sample types of its own: blocks lie in mappings, and a sum
 * over both would count such bytes twice (`pprof -sample_index=mapped_space`).
 */

#define HEAP_SAMPLE_TYPES 4
#define SAMPLE_TYPES_MAX (HEAP_SAMPLE_TYPES + 2 * FAMILY_MAX_)

/* The sample types, and where each family's begin: count and bytes. */
struct sample_types {
	struct profile_value items[SAMPLE_TYPES_MAX];
	size_t count, of_family[FAMILY_MAX_];
};

static struct sample_types sample_types_of(const struct snapshot *snapshot)
{
	struct sample_types types = {
		.items = {{"alloc_objects", "count"},
			  {"alloc_space", "bytes"},
			  {"inuse_objects", "count"},
			  {"inuse_space", "bytes"}},
		.count = HEAP_SAMPLE_TYPES,
	};

	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);

		if (!family->sample_types[0] || !family_is_present(family, snapshot))
			continue;
		types.of_family[id] = types.count;
		types.items[types.count++] =
			(struct profile_value){family->sample_types[0], "count"};
		types.items[types.count++] =
			(struct profile_value){family->sample_types[1], "bytes"};
	}
	return types;
}

static void labels(struct profile *profile, const struct snapshot_process *process,
		   const struct site *site)
{
	const struct container *container = process->container;

	profile_label(profile, "pid", NULL, process->pid);
	profile_label(profile, "comm", process->comm, 0);
	if (site->family != FAMILY_HEAP)
		profile_label(profile, "family", family_name(site->family), 0);
	profile_label(profile, "kind", kind_name(site->kind), 0);
	if (!container_proven_id(container))
		return;
	profile_label(profile, "container_id", container->id, 0);
	profile_label(profile, "namespace", container->namespace, 0);
	profile_label(profile, "pod", container->pod, 0);
	profile_label(profile, "container", container->name, 0);
}

static void sample(struct profile *profile, const struct snapshot_process *process,
		   const struct report_site *site, const struct sample_types *types)
{
	const struct site *numbers = site->site;
	bool own = family_get(numbers->family)->sample_types[0];
	size_t first = own ? types->of_family[numbers->family] : 2;
	uint64_t values[SAMPLE_TYPES_MAX] = {0};

	if (!own) {
		values[0] = numbers->allocated_count;
		values[1] = numbers->allocated_bytes;
	}
	/* A recording may have sites of a family and not its figures. */
	if (first) {
		values[first] = numbers->count;
		values[first + 1] = numbers->bytes;
	}
	profile_sample_begin(profile, &site->frames, "[lost]", values, types->count);
	labels(profile, process, numbers);
	profile_sample_end(profile);
}

/* pprof takes the first mapping for the program itself. */
static void program_first(struct profile *profile, const struct report_process *process)
{
	const char *exe = process->process->exe;

	for (size_t i = 0; exe && i < process->sites.count; i++) {
		const struct frames *frames = &process->sites.items[i].frames;

		for (size_t j = frames->list.count; j-- > 0;) {
			const struct frame *frame = &frames->list.items[j];

			if (frame->module && !strcmp(frame->module, exe)) {
				profile_program(profile, frame);
				return;
			}
		}
	}
}

int output_pprof_write(FILE *out, const struct report *report)
{
	const struct sample_types types = sample_types_of(report->snapshot);
	struct profile profile = {0};

	profile_begin(&profile, types.items, types.count);
	if (report->processes.count)
		program_first(&profile, &report->processes.items[0]);
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			sample(&profile, process->process, &process->sites.items[j], &types);
	}
	return profile_write(out, &profile, &report->snapshot->time, "inuse_space");
}

/* What an hour brings, and adds, by a profile of windows: rates have no place in pprof's numbers.
 */
static const struct profile_value hourly_types[] = {
	{"alloc_objects", "count"},
	{"alloc_space", "bytes"},
	{"growth_objects", "count"},
	{"growth_space", "bytes"},
};

static void hourly_sample(struct profile *profile, const struct profile_report_process *process,
			  const struct profile_report_site *site)
{
	const struct site_judgement *judgement = &site->judgement;
	const uint64_t values[] = {
		profile_hourly(judgement->births_per_s.estimate),
		profile_hourly(judgement->birth_bytes_per_s),
		profile_hourly(judgement->growth_blocks_per_s.estimate),
		profile_hourly(judgement->growth_bytes_per_s.estimate),
	};

	_Static_assert(ARRAY_SIZE(values) == ARRAY_SIZE(hourly_types), "a value of every type");
	profile_sample_begin(profile, &site->frames, "[lost]", values, ARRAY_SIZE(values));
	profile_label(profile, "pid", NULL, process->pid);
	profile_label(profile, "comm", process->comm, 0);
	profile_label(profile, "verdict", profile_verdict_name(judgement->verdict), 0);
	profile_sample_end(profile);
}

int profile_pprof_write(FILE *out, const struct profile_report *report)
{
	struct profile profile = {0};

	profile_begin(&profile, hourly_types, ARRAY_SIZE(hourly_types));
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			hourly_sample(&profile, process, &process->sites.items[j]);
	}
	return profile_write(out, &profile, &report->time, "growth_space");
}

/*
 * Who holds what as a profile: a sample for each call stack (else kind of block) and root, with the
 * root as a label, so that `go tool pprof -tagroot root` puts the roots below the stacks.
 */

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

static void retained_sample_write(struct profile *profile, const struct retain_result *result,
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
		retained_sample_write(&profile, result, &result->samples.items[i]);
	return profile_write(out, &profile, &result->time, "inuse_space");
}
