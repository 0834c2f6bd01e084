// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/retain_result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"

static const char *const class_kinds[] = {
	[CLASS_CXX] = "class",	   [CLASS_CXX_ARRAY] = "array of class",
	[CLASS_OPS] = "ops table", [CLASS_SITE] = "site",
	[CLASS_SIZE] = "size",	   [CLASS_RUNTIME] = "managed class",
};
_Static_assert(ARRAY_SIZE(class_kinds) == CLASS_KIND_MAX_, "a name for every kind");

static const char *const root_kinds[] = {
	[ROOT_GLOBAL] = "global",
	[ROOT_STACK] = "stack",
	[ROOT_THREAD_LOCAL] = "thread-local",
	[ROOT_REGISTER] = "register",
	[ROOT_KERNEL] = "kernel",
	[ROOT_RUNTIME] = "managed",
	[ROOT_UNTRACKED] = "untracked memory",
	[ROOT_STALE] = "stale word",
};
_Static_assert(ARRAY_SIZE(root_kinds) == ROOT_KIND_MAX_, "a name for every kind");

const char *class_kind_name(enum class_kind kind)
{
	return class_kinds[kind];
}

const char *root_kind_name(enum root_kind kind)
{
	return root_kinds[kind];
}

static int find(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++) {
		if (!strcmp(names[i], name))
			return (int)i;
	}
	return -EINVAL;
}

int class_kind_parse(const char *name, enum class_kind *kind)
{
	int found = find(class_kinds, CLASS_KIND_MAX_, name);

	if (found < 0)
		return found;
	*kind = (enum class_kind)found;
	return 0;
}

int root_kind_parse(const char *name, enum root_kind *kind)
{
	int found = find(root_kinds, ROOT_KIND_MAX_, name);

	if (found < 0)
		return found;
	*kind = (enum root_kind)found;
	return 0;
}

const char *retained_number_name(enum retained_number number)
{
	static const char *const names[] = {
		[NUMBER_PAUSE_NS] = "pause_ns",
		[NUMBER_MAX_PAUSE_NS] = "max_pause_ns",
		[NUMBER_READ_NS] = "read_ns",
		[NUMBER_TOTAL_NS] = "total_ns",
		[NUMBER_OWN_PEAK_BYTES] = "own_peak_bytes",
		[NUMBER_WRITABLE_BYTES] = "writable_bytes",
		[NUMBER_READ_BYTES] = "read_bytes",
		[NUMBER_SWAPPED_BYTES] = "swapped_bytes",
		[NUMBER_PAGES_CHECKED] = "pages_checked",
		[NUMBER_PAGES_CHANGED] = "pages_changed",
		[NUMBER_BLOCKS] = "blocks",
		[NUMBER_WALKED] = "walked",
		[NUMBER_TRACKED] = "tracked",
		[NUMBER_ARENAS] = "arenas",
		[NUMBER_BROKEN] = "broken",
		[NUMBER_BROKEN_AT] = "broken_at",
		[NUMBER_BROKEN_FREE_LISTS] = "broken_free_lists",
		[NUMBER_DROPPED] = "dropped",
	};

	_Static_assert(ARRAY_SIZE(names) == RETAINED_NUMBER_MAX_, "a name for every number");
	return names[number];
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {
		[VERDICT_HELD] = "held",
		[VERDICT_UNTRACKED] = "untracked",
		[VERDICT_LOST] = "unreachable",
	};

	_Static_assert(ARRAY_SIZE(names) == VERDICT_MAX_, "a name for every verdict");
	return names[verdict];
}

const struct retained_site *retained_site(const struct retain_result *result, uint32_t site)
{
	return site && site <= result->sites.count ? &result->sites.items[site - 1] : NULL;
}

struct retention_total retained_class_live(const struct retained_class *class)
{
	return class->kind == CLASS_RUNTIME ? class->verdicts[VERDICT_HELD] : class->total;
}

bool retained_leak_held(const struct retain_result *result, const struct retained_leak *leak,
			struct retention_total *held)
{
	const struct retained_class *class = &result->classes.items[leak->class];

	if (!leak->site || class->kind != CLASS_SITE || class->site != leak->site)
		return false;
	held->blocks =
		class->verdicts[VERDICT_HELD].blocks + class->verdicts[VERDICT_UNTRACKED].blocks;
	held->bytes =
		class->verdicts[VERDICT_HELD].bytes + class->verdicts[VERDICT_UNTRACKED].bytes;
	return true;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	return hash_mix(hash ^ (text && text[0] ? intern_hash(text) : 1));
}

static uint64_t class_id(const struct retain_result *result, const struct retained_class *class)
{
	const struct retained_site *site = retained_site(result, class->site);
	uint64_t id = mix_text(hash_mix((uint64_t) class->kind + 1), class->name);

	id = mix_text(id, class->module);
	return hash_mix(hash_mix(id ^ class->offset ^ class->size) + (site ? site->id : 0));
}

/* Addresses, TIDs and load addresses change from run to run, names and places in files do not. */
static uint64_t root_id(const struct retained_root *root)
{
	bool in_file = root->kind == ROOT_GLOBAL && !root->name;
	bool of_module = root->kind == ROOT_THREAD_LOCAL && root->module;
	bool of_thread = (!root->name && !of_module) || root->kind == ROOT_REGISTER;
	uint64_t kind = (uint64_t)root->kind + 1 + (root->through ? ROOT_KIND_MAX_ : 0);
	uint64_t id = mix_text(hash_mix(kind), root->name);

	id = mix_text(id, root->module);
	if (root->kind == ROOT_KERNEL)
		return hash_mix(id ^ root->address);
	if (root->kind == ROOT_GLOBAL || root->kind == ROOT_UNTRACKED)
		return hash_mix(id ^ (in_file ? root->offset : 0));
	return mix_text(id, of_thread ? root->comm : NULL);
}

void retain_result_identify(struct retain_result *result)
{
	for (size_t i = 0; i < result->classes.count; i++)
		result->classes.items[i].id = class_id(result, &result->classes.items[i]);
	for (size_t i = 0; i < result->roots.count; i++)
		result->roots.items[i].id = root_id(&result->roots.items[i]);
}

void retain_result_free(struct retain_result *result)
{
	if (result->heap_profile)
		heap_profile_free(result->heap_profile);
	free(result->heap_profile);
	for (size_t i = 0; i < result->sites.count; i++)
		vec_free(&result->sites.items[i].frames.list);
	for (size_t i = 0; i < result->paths.count; i++) {
		vec_free(&result->paths.items[i].steps);
		vec_free(&result->paths.items[i].referrers.rows);
	}
	vec_free(&result->sites);
	vec_free(&result->classes);
	vec_free(&result->roots);
	vec_free(&result->leaks);
	vec_free(&result->paths);
	vec_free(&result->samples);
	vec_free(&result->probable);
	vec_free(&result->runtimes);
	intern_free(&result->strings);
	*result = (struct retain_result){0};
}

static void add_led(const struct retain_result *result, enum root_kind kind,
		    struct retention_total *total)
{
	for (size_t i = 0; i < result->roots.count; i++) {
		if (result->roots.items[i].kind != kind)
			continue;
		total->blocks += result->roots.items[i].led.blocks;
		total->bytes += result->roots.items[i].led.bytes;
	}
}

struct retention_total retain_result_stale(const struct retain_result *result)
{
	struct retention_total stale = {0};

	add_led(result, ROOT_STALE, &stale);
	return stale;
}

struct retention_total retain_result_lost(const struct retain_result *result)
{
	struct retention_total lost = retain_result_stale(result);

	lost.blocks += result->totals[VERDICT_LOST].blocks;
	lost.bytes += result->totals[VERDICT_LOST].bytes;
	return lost;
}

/* Roots that last are followed first: what is left to these, nothing else leads to. */
struct retention_total retain_result_passing(const struct retain_result *result)
{
	struct retention_total passing = {0};

	add_led(result, ROOT_STACK, &passing);
	add_led(result, ROOT_REGISTER, &passing);
	return passing;
}

struct retention_total retain_result_total(const struct retain_result *result)
{
	struct retention_total all = {0};

	for (size_t i = 0; i < VERDICT_MAX_; i++) {
		all.blocks += result->totals[i].blocks;
		all.bytes += result->totals[i].bytes;
	}
	return all;
}
