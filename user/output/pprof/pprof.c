// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/clock.h"
#include "report/family.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "output/formats.h"
#include "output/output.h"
#include "output/text/text.h"
#include "report/triage_report.h"
#include "process/proc/container.h"
#include "report/profile_report.h"
#include "process/symbol/symbolizer.h"

/*
 * Writes a profile for pprof (github.com/google/pprof, proto/profile.proto), gzipped.
 *
 * Every module gets one mapping at an artificial address, all of one size, with the frames'
 * file-relative addresses in it. pprof merges and subtracts profiles by mapping size, build id and
 * relative address; real addresses of mappings would prevent that.
 */

struct profile_module {
	uint64_t filename, build_id; /* string numbers */
	bool has_functions, has_files, has_inlines;
};

struct profile {
	struct protobuf out;
	struct protobuf message, part; /* being built */
	struct hash strings, functions, locations, module_rows;
	uint64_t string_count, function_count, location_count;
	VEC(struct profile_module) modules; /* by id - 1 */
	bool failed;
};

struct profile_value {
	const char *type, *unit;
};

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_DROP_FRAMES,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_SAMPLE_TYPE
};

enum { VALUE_TYPE = 1, VALUE_UNIT };

enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };

enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM };

enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILENAME,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILENAMES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINES
};

enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };

enum { LINE_FUNCTION = 1, LINE_NUMBER };

enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILENAME };

#define MODULE_BYTES (UINT64_C(1) << 36) /* no file's addresses exceed it */

/* Returns the number of `key`, from 1; *fresh: it is new. 0: out of memory. */
static uint64_t number_of(struct profile *profile, struct hash *hash, uint64_t key, uint64_t *count,
			  bool *fresh)
{
	uint64_t *number = hash_put(hash, key, fresh);

	if (!number) {
		profile->failed = true;
		return 0;
	}
	if (*fresh)
		*number = ++*count;
	return *number;
}

/* Returns the index in the string table; NULL and "" are string 0. */
static uint64_t string(struct profile *profile, const char *text)
{
	_cleanup_free_ char *inert = NULL;
	uint64_t number;
	bool fresh = false;

	if (!text || !*text)
		return 0;
	number = number_of(profile, &profile->strings, hash_text(text), &profile->string_count,
			   &fresh);
	if (!fresh)
		return number;
	inert = text_inert(text);
	if (inert)
		protobuf_bytes(&profile->out, PROFILE_STRING, inert, strlen(inert));
	else
		profile->failed = true;
	return number;
}

static void value_type(struct profile *profile, unsigned field, const char *type, const char *unit)
{
	protobuf_number(&profile->message, VALUE_TYPE, string(profile, type));
	protobuf_number(&profile->message, VALUE_UNIT, string(profile, unit));
	protobuf_message(&profile->out, field, &profile->message);
}

static uint64_t function(struct profile *profile, const char *name, const char *file)
{
	uint64_t key = hash_mix(hash_text(name)) ^ (file ? hash_text(file) : 0), id;
	bool fresh = false;

	id = number_of(profile, &profile->functions, key, &profile->function_count, &fresh);
	if (!fresh)
		return id;
	protobuf_number(&profile->part, FUNCTION_ID, id);
	protobuf_number(&profile->part, FUNCTION_NAME, string(profile, name));
	protobuf_number(&profile->part, FUNCTION_SYSTEM_NAME, string(profile, name));
	protobuf_number(&profile->part, FUNCTION_FILENAME, string(profile, file));
	protobuf_message(&profile->out, PROFILE_FUNCTION, &profile->part);
	return id;
}

/* Returns the id of the frame's module; 0: none. */
static uint64_t module_of(struct profile *profile, const struct frame *frame)
{
	uint64_t key, count = profile->modules.count, id;
	struct profile_module *module;
	bool fresh = false;

	/* Generated code has a different address each time: only its name is useful. */
	if (!frame->module || !strcmp(frame->module, FRAME_JIT))
		return 0;
	key = hash_mix(hash_text(frame->module)) ^
	      (frame->build_id ? hash_text(frame->build_id) : 0);
	id = number_of(profile, &profile->module_rows, key, &count, &fresh);
	if (!fresh)
		return id;
	module = vec_push(&profile->modules);
	if (!module) {
		profile->failed = true;
		return 0;
	}
	module->filename = string(profile, frame->module);
	module->build_id = string(profile, frame->build_id);
	return id;
}

static void line(struct profile *profile, const struct frame *frame)
{
	struct protobuf entry = {0};
	uint64_t id = function(profile, frame->function, frame->file);

	protobuf_number(&entry, LINE_FUNCTION, id);
	protobuf_number(&entry, LINE_NUMBER, frame->line);
	protobuf_message(&profile->message, LOCATION_LINE, &entry);
	protobuf_free(&entry);
}

static uint64_t location_key(const struct frame *frames, size_t count, uint64_t module)
{
	uint64_t key = hash_mix(module ^ hash_mix(module ? frames[count - 1].module_offset
							 : frames[count - 1].address));

	for (size_t i = 0; i < count; i++) {
		if (frames[i].function)
			key = hash_mix(key ^ hash_text(frames[i].function));
		key = hash_mix(key ^ frames[i].line);
	}
	return key;
}

/* Adds one address: the frames inlined there, innermost first, and the function itself. */
static uint64_t location(struct profile *profile, const struct frame *frames, size_t count)
{
	const struct frame *last = &frames[count - 1];
	uint64_t module = module_of(profile, last), id;
	bool fresh = false;

	id = number_of(profile, &profile->locations, location_key(frames, count, module),
		       &profile->location_count, &fresh);
	if (!fresh)
		return id;
	protobuf_number(&profile->message, LOCATION_ID, id);
	protobuf_number(&profile->message, LOCATION_MAPPING, module);
	protobuf_number(&profile->message, LOCATION_ADDRESS,
			module ? module * MODULE_BYTES + last->module_offset % MODULE_BYTES
			       : last->address);
	for (size_t i = 0; i < count; i++) {
		if (frames[i].function)
			line(profile, &frames[i]);
		if (module && frames[i].function) {
			profile->modules.items[module - 1].has_functions = true;
			profile->modules.items[module - 1].has_files |= frames[i].file != NULL;
			profile->modules.items[module - 1].has_inlines |= frames[i].inlined;
		}
	}
	protobuf_message(&profile->out, PROFILE_LOCATION, &profile->message);
	return id;
}

/* Adds a label to the current sample; nothing for 0 and "". */
static void profile_label(struct profile *profile, const char *key, const char *text,
			  uint64_t number)
{
	if (!number && (!text || !*text))
		return;
	protobuf_number(&profile->part, LABEL_KEY, string(profile, key));
	protobuf_number(&profile->part, LABEL_STR, string(profile, text));
	protobuf_number(&profile->part, LABEL_NUM, number);
	protobuf_message(&profile->message, SAMPLE_LABEL, &profile->part);
}

/* Fills `ids`, leaf first, which has room for all frames. */
static size_t locations(struct profile *profile, const struct frames *list, const char *otherwise,
			uint64_t *ids)
{
	const struct frame *frames = list->list.items;
	size_t count = 0, start = 0;
	struct frame none = {.address = 1, .function = otherwise};

	for (size_t i = 0; i < list->list.count; i++) {
		if (frames[i].inlined && i + 1 < list->list.count)
			continue;
		ids[count++] = location(profile, &frames[start], i + 1 - start);
		start = i + 1;
	}
	if (!count)
		ids[count++] = location(profile, &none, 1);
	return count;
}

/*
 * Begins a sample with `count` values; without frames, its stack is one function called
 * `otherwise`.
 */
static void profile_sample_begin(struct profile *profile, const struct frames *frames,
				 const char *otherwise, const uint64_t *values, size_t count)
{
	_cleanup_free_ uint64_t *ids = calloc(frames->list.count + 1, sizeof(*ids));
	size_t depth;

	if (!ids) {
		profile->failed = true;
		return;
	}
	depth = locations(profile, frames, otherwise, ids);
	protobuf_numbers(&profile->message, SAMPLE_LOCATION, ids, depth);
	protobuf_numbers(&profile->message, SAMPLE_VALUE, values, count);
}

static void profile_sample_end(struct profile *profile)
{
	protobuf_message(&profile->out, PROFILE_SAMPLE, &profile->message);
}

/* Makes the frame's module the first mapping, which pprof takes for the program itself. */
static void profile_program(struct profile *profile, const struct frame *frame)
{
	module_of(profile, frame);
}

/* Begins a zeroed profile with the types of its values. */
static void profile_begin(struct profile *profile, const struct profile_value *values, size_t count)
{
	protobuf_bytes(&profile->out, PROFILE_STRING, "", 0);
	for (size_t i = 0; i < count; i++)
		value_type(profile, PROFILE_SAMPLE_TYPE, values[i].type, values[i].unit);
}

static void mappings(struct profile *profile)
{
	for (size_t i = 0; i < profile->modules.count; i++) {
		const struct profile_module *module = &profile->modules.items[i];
		struct protobuf *message = &profile->message;

		protobuf_number(message, MAPPING_ID, i + 1);
		protobuf_number(message, MAPPING_START, (i + 1) * MODULE_BYTES);
		protobuf_number(message, MAPPING_LIMIT, (i + 2) * MODULE_BYTES);
		protobuf_number(message, MAPPING_FILENAME, module->filename);
		protobuf_number(message, MAPPING_BUILD_ID, module->build_id);
		/* Without names, pprof may look them up itself. */
		protobuf_number(message, MAPPING_HAS_FUNCTIONS, module->has_functions);
		protobuf_number(message, MAPPING_HAS_FILENAMES, module->has_files);
		protobuf_number(message, MAPPING_HAS_LINES, module->has_files);
		protobuf_number(message, MAPPING_HAS_INLINES, module->has_inlines);
		protobuf_message(&profile->out, PROFILE_MAPPING, message);
	}
}

static int compressed_write(FILE *out, const struct protobuf *profile)
{
	z_stream zip = {.next_in = profile->bytes, .avail_in = (uInt)profile->count};
	uint8_t chunk[16384];
	int code;

	/* 16 + 15: a gzip header, the largest window. */
	if (profile->count > UINT32_MAX ||
	    deflateInit2(&zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY))
		return -ENOMEM;
	do {
		zip.next_out = chunk;
		zip.avail_out = sizeof(chunk);
		code = deflate(&zip, Z_FINISH);
		fwrite(chunk, 1, sizeof(chunk) - zip.avail_out, out);
	} while (code == Z_OK);
	deflateEnd(&zip);
	return code == Z_STREAM_END ? output_finish(out) : -EIO;
}

/*
 * Functions that only pass memory on: pprof omits them below their callers, and matches names
 * without parameters.
 */
#define DROP_FRAMES                                                                                \
	"operator new|operator new\\[\\]|std::(__new_)?allocator(<.*>)?::.*|"                      \
	"std::allocator_traits.*|__gnu_cxx::new_allocator.*|"                                      \
	"std::_Vector_base(<.*>)?::(_M_allocate|_M_create_storage)|"                               \
	"g_(malloc0?|realloc)(_n)?|g_slice_alloc0?|x(malloc|calloc|realloc)|"                      \
	"__rust_(alloc|alloc_zeroed|realloc)|__rdl_alloc|alloc::alloc::.*"

static void finish(struct profile *profile, const struct timespec *time, const char *shown)
{
	mappings(profile);
	protobuf_number(&profile->out, PROFILE_DROP_FRAMES, string(profile, DROP_FRAMES));
	protobuf_number(&profile->out, PROFILE_TIME_NANOS, timespec_ns(time));
	value_type(profile, PROFILE_PERIOD_TYPE, "space", "bytes");
	protobuf_number(&profile->out, PROFILE_PERIOD, 1);
	protobuf_number(&profile->out, PROFILE_DEFAULT_SAMPLE_TYPE, string(profile, shown));
}

/*
 * Writes and frees the profile. `shown`: the type that pprof shows first. Returns 0, -errno or
 * -ENOMEM.
 */
static int profile_write(FILE *out, struct profile *profile, const struct timespec *time,
			 const char *shown)
{
	int error = -ENOMEM;

	finish(profile, time, shown);
	if (!profile->failed && !profile->out.failed && !profile->message.failed)
		error = compressed_write(out, &profile->out);
	protobuf_free(&profile->out);
	protobuf_free(&profile->message);
	protobuf_free(&profile->part);
	hash_free(&profile->strings);
	hash_free(&profile->functions);
	hash_free(&profile->locations);
	hash_free(&profile->module_rows);
	vec_free(&profile->modules);
	return error;
}

/*
 * The four sample types of Go's heap profile, so that every tool for those supports these.
 *
 * A family whose bytes overlap with others has two separate sample types: blocks lie in mappings,
 * and a sum over both would count those bytes twice (`pprof -sample_index=mapped_space`).
 */

#define HEAP_SAMPLE_TYPES 4
#define SAMPLE_TYPES_MAX (HEAP_SAMPLE_TYPES + 2 * FAMILY_MAX_)

/* The sample types, and the index of each family's first: count, then bytes. */
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
		if (family->sample_types[1])
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
	/* A recording may have sites of a family without its figures. */
	if (first) {
		values[first] = numbers->count;
		if (!own || family_get(numbers->family)->sample_types[1])
			values[first + 1] = numbers->bytes;
	}
	profile_sample_begin(profile, &site->frames, "[lost]", values, types->count);
	labels(profile, process, numbers);
	profile_sample_end(profile);
}

/* Puts the program first, because pprof takes the first mapping for it. */
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

static int pprof_report_write(FILE *out, const void *data)
{
	const struct report *report = data;
	const struct sample_types types = sample_types_of(report->snapshot);
	struct profile profile = {0};

	profile_begin(&profile, types.items, types.count);
	/* Shown by `pprof -comments`. */
	if (report->snapshot->sampled)
		protobuf_number(&profile.out, PROFILE_COMMENT,
				string(&profile, "estimated from a sample"));
	if (report->processes.count)
		program_first(&profile, &report->processes.items[0]);
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			sample(&profile, process->process, &process->sites.items[j], &types);
	}
	return profile_write(out, &profile, &report->snapshot->time, "inuse_space");
}

/* Births and growth per hour, from a profile of windows: pprof has no rates. */
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

static int pprof_profile_write(FILE *out, const void *data)
{
	const struct profile_report *report = data;
	struct profile profile = {0};

	profile_begin(&profile, hourly_types, ARRAY_SIZE(hourly_types));
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			hourly_sample(&profile, process, &process->sites.items[j]);
	}
	return profile_write(out, &profile, &report->time, "growth_space");
}

/* Growth by kind of a triage's suspects, from samples or tracked sites. */
static const struct profile_value grown_types[] = {
	[QUANTITY_HEAP] = {"growth_space", "bytes"},
	[QUANTITY_MAPPING] = {"growth_mappings", "count"},
	[QUANTITY_THREADS] = {"growth_threads", "count"},
};

static void grown_sample(struct profile *profile, const struct triage_entry *entry,
			 const struct frames *frames, enum quantity kind, double amount)
{
	uint64_t values[ARRAY_SIZE(grown_types)] = {0};

	if (kind >= ARRAY_SIZE(values) || !(amount >= 1))
		return;
	values[kind] = (uint64_t)amount;
	profile_sample_begin(profile, frames, "[lost]", values, ARRAY_SIZE(values));
	profile_label(profile, "pid", NULL, (uint64_t)entry->pid);
	profile_label(profile, "comm", entry->comm, 0);
	profile_label(profile, "verdict", triage_entry_verdict(entry), 0);
	profile_sample_end(profile);
}

static void tracked_samples(struct profile *profile, const struct triage_entry *entry)
{
	const struct triage_sites *sites = entry->sites;
	size_t count = sites->process ? sites->process->sites.count : 0;

	for (size_t i = 0; i < count; i++) {
		const struct report_site *site = &sites->process->sites.items[i];

		if (triage_site_counts(sites, site->site))
			grown_sample(profile, entry, &site->frames, sites->kind,
				     triage_site_share(sites, site->site) * sites->growth_per_s *
					     sites->window_s);
	}
}

static int pprof_triage_write(FILE *out, const void *data)
{
	const struct triage_report *report = data;
	struct profile profile = {0};

	profile_begin(&profile, grown_types, ARRAY_SIZE(grown_types));
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct triage_entry *entry = &report->processes.items[i];
		const struct triage_samples *sampled = entry->sampled;

		if (entry->sites)
			tracked_samples(&profile, entry);
		for (size_t j = 0; !entry->sites && sampled && j < sampled->stacks.count; j++)
			grown_sample(&profile, entry, &sampled->stacks.items[j].named.frames,
				     sampled->kind, sampled->stacks.items[j].units);
	}
	return profile_write(out, &profile, &report->time, "growth_space");
}

/*
 * Retention as a profile: a sample for each root and call stack (else kind of block), with the root
 * as a label, so that `go tool pprof -tagroot root` puts the roots below the stacks.
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
		text_retain_class(result, &result->classes.items[sample->class]);
	_cleanup_free_ char *root = text_retain_holder(result, sample);

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

/* As in runtime/pprof/protomem.go, so that pprof can merge this with a program's own profile. */
static const struct profile_value heap_types[] = {
	{"alloc_objects", "count"},
	{"alloc_space", "bytes"},
	{"inuse_objects", "count"},
	{"inuse_space", "bytes"},
};

static void heap_site_write(struct profile *profile, const struct heap_profile_site *site)
{
	double in_use = (double)(site->allocated.objects - site->freed.objects);
	double weight = in_use > 0 ? site->objects / in_use : 1;
	uint64_t objects = (uint64_t)((double)site->allocated.objects * weight);
	/* Without a size, allocations and frees since are unknown. */
	const uint64_t values[] = {site->size ? objects : 0,
				   site->size ? (uint64_t)((double)site->allocated.bytes * weight)
					      : 0,
				   (uint64_t)site->objects, (uint64_t)site->bytes};

	_Static_assert(ARRAY_SIZE(values) == ARRAY_SIZE(heap_types), "a value of every type");
	profile_sample_begin(profile, &site->frames, "unknown", values, ARRAY_SIZE(values));
	if (site->size)
		profile_label(profile, "bytes", NULL, site->size);
	profile_sample_end(profile);
}

static int heap_profile_write(FILE *out, const struct retain_result *result)
{
	const struct heap_profile *heap = result->heap_profile;
	struct profile profile = {0};

	profile_begin(&profile, heap_types, ARRAY_SIZE(heap_types));
	value_type(&profile, PROFILE_PERIOD_TYPE, "space", "bytes");
	protobuf_number(&profile.out, PROFILE_PERIOD, heap->rate);
	for (size_t i = 0; i < heap->sites.count; i++)
		heap_site_write(&profile, &heap->sites.items[i]);
	return profile_write(out, &profile, &result->time, "inuse_space");
}

static int pprof_retain_write(FILE *out, const void *data)
{
	const struct retain_report *report = data;
	const struct retain_result *result = report->result;
	struct profile profile = {0};

	if (result->profile_only)
		return heap_profile_write(out, result);
	profile_begin(&profile, value_types, ARRAY_SIZE(value_types));
	for (size_t i = 0; i < result->samples.count; i++)
		retained_sample_write(&profile, result, &result->samples.items[i]);
	return profile_write(out, &profile, &result->time, "inuse_space");
}

const struct output_format output_pprof = {
	.name = "pprof",
	.write = {[OUTPUT_REPORT] = pprof_report_write,
		  [OUTPUT_TRIAGE] = pprof_triage_write,
		  [OUTPUT_RETAIN] = pprof_retain_write,
		  [OUTPUT_PROFILE] = pprof_profile_write},
	.single = true,
	.wants_samples = true,
};
