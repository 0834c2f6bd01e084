// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/retain_result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "report/figures.h"

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

bool kernel_root_has_number(const char *name)
{
	/* NULL: recordings of other versions may have a descriptor without a name. */
	static const char *const numbered[] = {"epoll", "timer", "message queue"};

	for (size_t i = 0; name && i < ARRAY_SIZE(numbered); i++) {
		if (!strcmp(name, numbered[i]))
			return true;
	}
	return !name;
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
	vec_free(&result->bounded);
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

struct retention_total retain_result_total(const struct retain_result *result)
{
	struct retention_total all = {0};

	for (size_t i = 0; i < VERDICT_MAX_; i++) {
		all.blocks += result->totals[i].blocks;
		all.bytes += result->totals[i].bytes;
	}
	return all;
}

/* -------- figures */

/* Two columns. */
#define TOTAL(column, at)                                                                          \
	FIGURE(NULL, column "_blocks", NUMBER, (at) + offsetof(struct retention_total, blocks)),   \
		FIGURE(NULL, column "_bytes", NUMBER,                                              \
		       (at) + offsetof(struct retention_total, bytes))
/* The same as an object in JSON. */
#define TOTAL_OBJECT(column, at)                                                                   \
	FIGURE("blocks", column "_blocks", NUMBER,                                                 \
	       (at) + offsetof(struct retention_total, blocks), .section = (column)),              \
		FIGURE("bytes", column "_bytes", NUMBER,                                           \
		       (at) + offsetof(struct retention_total, bytes), .section = (column))

#define RESULT(member) offsetof(struct retain_result, member)
static const struct figure head_figures[] = {
	FIGURE("time", "time_ns", TIME, RESULT(time)),
	FIGURE("pid", NULL, PID, RESULT(pid)),
	FIGURE("comm", NULL, CHARS, RESULT(comm),
	       .size = sizeof(((struct retain_result *)0)->comm)),
	FIGURE("core", NULL, TEXT, RESULT(core), .unrecorded = true),
	FIGURE("settled", NULL, FLAG, RESULT(settled)),
};
const struct figures retain_head_figures = FIGURES(head_figures);

static bool is_broken(const void *result)
{
	return ((const struct retain_result *)result)->numbers[NUMBER_BROKEN];
}

#define IMAGE(type, member, ...)                                                                   \
	FIGURE(#member, NULL, type, RESULT(member), .section = "picture", ##__VA_ARGS__)
#define IMAGE_NUMBER(name, number)                                                                 \
	FIGURE(name, NULL, NUMBER, RESULT(numbers[NUMBER_##number]), .section = "picture")
#define HEAP_NUMBER(name, number)                                                                  \
	FIGURE(name, NULL, NUMBER, RESULT(numbers[NUMBER_##number]), .section = "heap")
static const struct figure image_figures[] = {
	IMAGE(FLAG, stopped),
	IMAGE(TEXT, why_not_stopped),
	IMAGE(TEXT, why_kernel_unread, .unrecorded = true),
	IMAGE(TEXT, why_kernel_uncertain, .unrecorded = true),
	IMAGE_NUMBER("pause_ns", PAUSE_NS),
	IMAGE_NUMBER("max_pause_ns", MAX_PAUSE_NS),
	IMAGE_NUMBER("read_ns", READ_NS),
	IMAGE_NUMBER("total_ns", TOTAL_NS),
	IMAGE_NUMBER("own_peak_bytes", OWN_PEAK_BYTES),
	IMAGE_NUMBER("writable_bytes", WRITABLE_BYTES),
	IMAGE_NUMBER("read_bytes", READ_BYTES),
	IMAGE_NUMBER("swapped_bytes", SWAPPED_BYTES),
	IMAGE_NUMBER("pages_checked", PAGES_CHECKED),
	IMAGE_NUMBER("pages_changed", PAGES_CHANGED),
	IMAGE(FLAG, soft_dirty),
	IMAGE(FLAG, pagemap),
	FIGURE("allocator", NULL, TEXT, RESULT(allocator), .section = "heap"),
	FIGURE("why_not_walked", NULL, TEXT, RESULT(why_not_walked), .section = "heap",
	       .unrecorded = true),
	HEAP_NUMBER("blocks", BLOCKS),
	HEAP_NUMBER("walked", WALKED),
	HEAP_NUMBER("tracked", TRACKED),
	HEAP_NUMBER("arenas", ARENAS),
	HEAP_NUMBER("broken", BROKEN),
	FIGURE("broken_at", NULL, NUMBER, RESULT(numbers[NUMBER_BROKEN_AT]), .section = "heap",
	       .shown = is_broken, .left_out = true),
	FIGURE("why_broken", NULL, TEXT, RESULT(why_broken), .section = "heap", .shown = is_broken,
	       .left_out = true, .unrecorded = true),
	HEAP_NUMBER("broken_free_lists", BROKEN_FREE_LISTS),
	HEAP_NUMBER("dropped", DROPPED),
};
const struct figures retain_image_figures = FIGURES(image_figures);

static const struct figure total_figures[] = {
	TOTAL("held", RESULT(totals[VERDICT_HELD])),
	TOTAL("untracked", RESULT(totals[VERDICT_UNTRACKED])),
	TOTAL("unreachable", RESULT(totals[VERDICT_LOST])),
	TOTAL("direct", RESULT(direct)),
	TOTAL("indirect", RESULT(indirect)),
	TOTAL("through", RESULT(through)),
	TOTAL("passing", RESULT(passing)),
};
const struct figures retain_total_figures = FIGURES(total_figures);

static bool has_tid(const void *root)
{
	return ((const struct retained_root *)root)->tid;
}

static bool is_thread_local(const void *root)
{
	return ((const struct retained_root *)root)->kind == ROOT_THREAD_LOCAL;
}

static const char *root_kind_of(unsigned kind)
{
	return root_kind_name((enum root_kind)kind);
}

#define ROOT(member) offsetof(struct retained_root, member)
static const struct figure root_figures[] = {
	FIGURE("kind", NULL, NAME, ROOT(kind), .name = root_kind_of, .names = ROOT_KIND_MAX_),
	FIGURE("name", NULL, TEXT, ROOT(name)),
	FIGURE("module", NULL, TEXT, ROOT(module)),
	FIGURE("address", NULL, NUMBER, ROOT(address)),
	FIGURE("offset", NULL, NUMBER, ROOT(offset)),
	FIGURE("tid", NULL, PID, ROOT(tid), .shown = has_tid, .left_out = true),
	FIGURE("comm", NULL, CHARS, ROOT(comm), .size = sizeof(((struct retained_root *)0)->comm),
	       .shown = has_tid, .left_out = true),
	FIGURE("threads", NULL, INDEX, ROOT(threads), .shown = is_thread_local, .left_out = true),
	FIGURE("through_untracked", "through", FLAG, ROOT(through)),
	FIGURE("words", NULL, NUMBER, ROOT(words)),
};
const struct figures retained_root_figures = FIGURES(root_figures);

static const struct figure root_amounts[] = {
	FIGURE("led_bytes", NULL, NUMBER, ROOT(led.bytes)),
	FIGURE("led_blocks", NULL, NUMBER, ROOT(led.blocks)),
	FIGURE("retained_bytes", NULL, NUMBER, ROOT(retained.bytes)),
	FIGURE("retained_blocks", NULL, NUMBER, ROOT(retained.blocks)),
};
const struct figures retained_root_amounts = FIGURES(root_amounts);

static bool is_ops(const void *class)
{
	return ((const struct retained_class *)class)->kind == CLASS_OPS;
}

static bool is_size(const void *class)
{
	return ((const struct retained_class *)class)->kind == CLASS_SIZE;
}

static const char *class_kind_of(unsigned kind)
{
	return class_kind_name((enum class_kind)kind);
}

#define CLASS(member) offsetof(struct retained_class, member)
static const struct figure class_figures[] = {
	FIGURE("kind", NULL, NAME, CLASS(kind), .name = class_kind_of, .names = CLASS_KIND_MAX_),
	FIGURE("name", NULL, TEXT, CLASS(name)),
	FIGURE("module", NULL, TEXT, CLASS(module)),
	FIGURE("offset", NULL, NUMBER, CLASS(offset), .shown = is_ops, .left_out = true),
	FIGURE("size", NULL, NUMBER, CLASS(size), .shown = is_size, .left_out = true),
};
const struct figures retained_class_figures = FIGURES(class_figures);

static const struct figure class_amounts[] = {
	FIGURE("count", "blocks", NUMBER, CLASS(total.blocks)),
	FIGURE("bytes", NULL, NUMBER, CLASS(total.bytes)),
	TOTAL_OBJECT("unreachable", CLASS(verdicts[VERDICT_LOST])),
	TOTAL_OBJECT("held", CLASS(verdicts[VERDICT_HELD])),
	TOTAL_OBJECT("untracked", CLASS(verdicts[VERDICT_UNTRACKED])),
	FIGURE("distance", NULL, INDEX, CLASS(distance)),
};
const struct figures retained_class_amounts = FIGURES(class_amounts);

#define LEAK(member) offsetof(struct retained_leak, member)
static const struct figure leak_figures[] = {
	FIGURE(NULL, "class", INDEX, LEAK(class)),
	FIGURE(NULL, "example", NUMBER, LEAK(example)),
	TOTAL_OBJECT("direct", LEAK(direct)),
	TOTAL_OBJECT("indirect", LEAK(indirect)),
};
const struct figures retained_leak_figures = FIGURES(leak_figures);

static bool ends_in_chain(const void *figures)
{
	return ((const struct retained_path *)figures)->chain != 0;
}

static bool is_also(const void *path)
{
	return ((const struct retained_path *)path)->also;
}

static bool ends_in_tree(const void *path)
{
	return ((const struct retained_path *)path)->tree;
}

#define PATH(member) offsetof(struct retained_path, member)
static const struct figure path_figures[] = {
	FIGURE(NULL, "class", INDEX, PATH(class)),
	FIGURE(NULL, "root", INDEX, PATH(root)),
	FIGURE("sharing", NULL, NUMBER, PATH(sharing)),
	FIGURE("sampled", NULL, NUMBER, PATH(sampled)),
	FIGURE("chain", NULL, NUMBER, PATH(chain), .unrecorded = true, .shown = ends_in_chain,
	       .left_out = true),
	FIGURE("chain_exact", NULL, FLAG, PATH(chain_exact), .unrecorded = true,
	       .shown = ends_in_chain, .left_out = true),
	FIGURE("tree", NULL, FLAG, PATH(tree), .unrecorded = true, .shown = ends_in_tree,
	       .left_out = true),
	FIGURE("also", NULL, FLAG, PATH(also), .unrecorded = true, .shown = is_also,
	       .left_out = true),
};
const struct figures retained_path_figures = FIGURES(path_figures);

static bool begins_turn(const void *step)
{
	return ((const struct retained_step *)step)->turn;
}

static bool skips(const void *step)
{
	return ((const struct retained_step *)step)->skipped;
}

#define STEP(member) offsetof(struct retained_step, member)
static const struct figure step_figures[] = {
	FIGURE(NULL, "offset", NUMBER, STEP(offset)),
	FIGURE(NULL, "class", INDEX, STEP(class)),
	FIGURE("width", NULL, INDEX, STEP(width)),
	FIGURE("address", NULL, NUMBER, STEP(address)),
	FIGURE("size", NULL, NUMBER, STEP(size)),
	FIGURE("repeated", NULL, INDEX, STEP(repeated)),
	FIGURE("turn", NULL, INDEX, STEP(turn), .shown = begins_turn, .left_out = true),
	FIGURE("turns", NULL, INDEX, STEP(turns), .shown = begins_turn, .left_out = true),
	FIGURE("skipped", NULL, INDEX, STEP(skipped), .shown = skips, .left_out = true),
};
const struct figures retained_step_figures = FIGURES(step_figures);

static const char *verdict_of(unsigned verdict)
{
	return verdict_name((enum verdict)verdict);
}

#define SAMPLE(member) offsetof(struct retained_sample, member)
static const struct figure sample_figures[] = {
	FIGURE(NULL, "verdict", NAME, SAMPLE(verdict), .name = verdict_of, .names = VERDICT_MAX_),
	FIGURE(NULL, "class", INDEX, SAMPLE(class)),
	FIGURE(NULL, "blocks", NUMBER, SAMPLE(total.blocks)),
	FIGURE(NULL, "bytes", NUMBER, SAMPLE(total.bytes)),
};
const struct figures retained_sample_figures = FIGURES(sample_figures);
