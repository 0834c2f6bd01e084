// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnose/conclude.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "diagnose/descriptors.h"
#include "memory/conclusion.h"

/* Fewer new objects come and go in any program. */
#define OBJECTS_MIN 10
/* Likewise where not all roots are known: words that are no pointers may hold garbage. */
#define DOUBTFUL_OBJECTS_MIN 50
/* A program that drops its objects now and then has, at two moments, as often more as less of them;
 * at three, one time in six more and more. */
#define GROWTH_SCANS_MIN 3
/* A class may fall between two scans by one in so many of what it gained in all. */
#define FALL_SHARE 10
/* For all held objects' bytes, one in so many: classes of the language alone come and go by less.
 */
#define HELD_SHARE 20
/* Lost memory that is worth an answer without a call stack. */
#define MEMORY_LOST_MIN (256u << 10)
/* A call stack that surely grows by less is none to speak of: 1 MiB in four days. */
#define SITE_BYTES_PER_S 3.0
/* An estimate so much above its lower limit rests on one block or two (95 % limits of a Poisson
 * mean: 40 times for one event, 8 for two, 5 for three): among many call stacks, chance. */
#define SITE_SPREAD 8.0
/* A call stack that explains as much of all growth is its cause. */
#define MAIN_SHARE 0.5

/* For a process, in bytes per second; 0: it did not grow. */
static double rss_rate(const struct diagnosis *diagnosis)
{
	if (!diagnosis->rss.known || diagnosis->rss.now <= diagnosis->rss.before ||
	    diagnosis->seconds <= 0)
		return 0;
	return (double)(diagnosis->rss.now - diagnosis->rss.before) / diagnosis->seconds;
}

/* -------- classes */

static const struct retained_class *class_of(const struct retain_result *scan, uint64_t id)
{
	for (size_t i = 0; i < scan->classes.count; i++) {
		if (scan->classes.items[i].id == id)
			return &scan->classes.items[i];
	}
	return NULL;
}

static struct retention_total held_of(const struct retained_class *class)
{
	return class ? retained_class_live(class) : (struct retention_total){0};
}

/* Without objects of requests that are under way: only stacks have these. */
static struct retention_total lasting_of(const struct retained_class *class)
{
	struct retention_total held = held_of(class);

	if (!class)
		return held;
	return (struct retention_total){held.blocks - MIN(class->passing.blocks, held.blocks),
					held.bytes - MIN(class->passing.bytes, held.bytes)};
}

static bool is_doubtful(const struct retain_result *scan, const struct retained_class *class)
{
	for (size_t i = 0; class->module && i < scan->runtimes.count; i++) {
		const struct retained_runtime *runtime = &scan->runtimes.items[i];

		if (runtime->key && !strcmp(runtime->key, class->module) && !runtime->all_roots)
			return true;
	}
	return false;
}

static uint64_t least_growth(const struct retain_result *scan, const struct retained_class *class)
{
	return is_doubtful(scan, class) ? DOUBTFUL_OBJECTS_MIN : OBJECTS_MIN;
}

typedef struct retention_total count_class(const struct retained_class *class);

/* In both halves, and without falling back: a collector may have run in any of the steps. */
static bool rises(const struct diagnosis_evidence *evidence, const struct retained_class *class,
		  count_class *count)
{
	size_t last = evidence->scan_count - 1;
	uint64_t first = count(class_of(evidence->scans[0], class->id)).blocks;
	uint64_t end = count(class).blocks, before = first, falls = 0;

	if (end < first + least_growth(evidence->scans[last], class))
		return false;
	for (size_t i = 1; i < last; i++) {
		uint64_t now = count(class_of(evidence->scans[i], class->id)).blocks;

		if (i == 1 && (now <= first || now >= end))
			return false;
		falls += before - MIN(before, now);
		before = now;
	}
	falls += before - MIN(before, end);
	return falls <= (end - first) / FALL_SHARE;
}

/* Classes of languages without packages that are not the program's. */
static bool is_built_in(const struct retained_class *class)
{
	static const struct {
		const char *runtime, *name;
	} classes[] = {
		{"v8", "Array"},	{"v8", "ArrayBuffer"},	{"v8", "AsyncFunction"},
		{"v8", "BigInt"},	{"v8", "Boolean"},	{"v8", "DataView"},
		{"v8", "Date"},		{"v8", "Error"},	{"v8", "FastBuffer"},
		{"v8", "Float32Array"}, {"v8", "Float64Array"}, {"v8", "Function"},
		{"v8", "Int32Array"},	{"v8", "Map"},		{"v8", "Number"},
		{"v8", "Object"},	{"v8", "Promise"},	{"v8", "Proxy"},
		{"v8", "RegExp"},	{"v8", "Set"},		{"v8", "String"},
		{"v8", "Symbol"},	{"v8", "Uint32Array"},	{"v8", "Uint8Array"},
		{"v8", "WeakMap"},	{"v8", "WeakRef"},	{"v8", "WeakSet"},
		{"hotspot", "boolean"}, {"hotspot", "byte"},	{"hotspot", "char"},
		{"hotspot", "double"},	{"hotspot", "float"},	{"hotspot", "int"},
		{"hotspot", "long"},	{"hotspot", "short"},
	};
	size_t length = strcspn(class->name, "[");

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (!strcmp(classes[i].runtime, class->module) &&
		    strlen(classes[i].name) == length &&
		    !strncmp(classes[i].name, class->name, length))
			return true;
	}
	return false;
}

/* For the program itself, as far as its name shows: a language's own containers grow with whatever
 * is in them. */
static bool is_of_program(const struct retained_class *class)
{
	/* Those of V8 stand in parentheses, and its functions have the file that they are in. */
	static const char *const libraries[] = {"System.",  "Microsoft.", "java.",
						"javax.",   "jdk.",	  "sun.",
						"com.sun.", "ghc-prim:",  "("};
	static const char *const without_packages[] = {"v8", "hotspot"};

	if (!class->name || !class->module ||
	    text_begins_with_any(class->name, libraries, ARRAY_SIZE(libraries)) ||
	    strstr(class->name, " node:"))
		return false;
	return strchr(class->name, '.') || (text_begins_with_any(class->module, without_packages,
								 ARRAY_SIZE(without_packages)) &&
					    !is_built_in(class));
}

/* What V8 makes of code that runs often, and of the shapes of its objects: more of it comes while a
 * program warms up, and none of it is an object of the program's. */
static bool is_of_code(const struct retained_class *class)
{
	static const char *const names[] = {
		"(AllocationSite)",
		"(ByteArray)",
		"(BytecodeArray)",
		"(Code)",
		"(CodeDataContainer)",
		"(DescriptorArray)",
		"(FeedbackCell)",
		"(FeedbackMetadata)",
		"(FeedbackVector)",
		"(InstructionStream)",
		"(LoadHandler)",
		"(Map)",
		"(PropertyCell)",
		"(PrototypeInfo)",
		"(ScopeInfo)",
		"(StoreHandler)",
		"(StrongDescriptorArray)",
		"(TransitionArray)",
	};

	if (!class->name || !class->module || strcmp(class->module, "v8") != 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(class->name, names[i]))
			return true;
	}
	return false;
}

static uint64_t growth_bytes(const struct diagnosed_class *class)
{
	return class->is.bytes - class->was.bytes;
}

/* Those of the program first, and among these what more than stacks hold; then by growth. */
static bool comes_before(const struct retain_result *scan, const struct diagnosed_class *one,
			 const struct diagnosed_class *other)
{
	bool own = is_of_program(&scan->classes.items[one->class]);

	if (own != is_of_program(&scan->classes.items[other->class]))
		return own;
	if (one->lasting != other->lasting)
		return one->lasting;
	return growth_bytes(one) > growth_bytes(other);
}

/* Keeps the first ones. */
static void add_class(struct diagnosis *diagnosis, const struct retain_result *scan,
		      const struct diagnosed_class *fresh)
{
	size_t at = diagnosis->class_count;

	while (at && comes_before(scan, fresh, &diagnosis->classes[at - 1]))
		at--;
	if (at == DIAGNOSIS_CLASSES_MAX)
		return;
	if (diagnosis->class_count < DIAGNOSIS_CLASSES_MAX)
		diagnosis->class_count++;
	memmove(&diagnosis->classes[at + 1], &diagnosis->classes[at],
		(diagnosis->class_count - at - 1) * sizeof(diagnosis->classes[0]));
	diagnosis->classes[at] = *fresh;
}

static bool find_rise(const struct diagnosis_evidence *evidence, uint32_t place,
		      struct diagnosed_class *found)
{
	const struct retain_result *last = evidence->scans[evidence->scan_count - 1];
	const struct retained_class *class = &last->classes.items[place];
	bool lasting = rises(evidence, class, lasting_of);
	count_class *count = lasting ? lasting_of : held_of;

	if (!lasting && !rises(evidence, class, held_of))
		return false;
	*found = (struct diagnosed_class){.class = place,
					  .lasting = lasting,
					  .was = count(class_of(evidence->scans[0], class->id)),
					  .is = count(class)};
	return found->is.bytes > found->was.bytes;
}

void diagnose_find_classes(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct retain_result *last;

	diagnosis->class_count = 0;
	if (evidence->scan_count < 2)
		return;
	last = evidence->scans[evidence->scan_count - 1];
	for (size_t i = 0; i < last->classes.count; i++) {
		const struct retained_class *class = &last->classes.items[i];
		struct diagnosed_class found;

		if (class->kind == CLASS_RUNTIME && !is_of_code(class) &&
		    find_rise(evidence, (uint32_t)i, &found))
			add_class(diagnosis, last, &found);
	}
}

static struct retention_total lost_of(const struct retained_class *class)
{
	return class ? class->verdicts[VERDICT_LOST] : (struct retention_total){0};
}

/* The class of native blocks of which most are lost since the first scan. */
static void find_lost_class(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct retain_result *last;
	uint64_t most = 0;

	if (evidence->scan_count < 2)
		return;
	last = evidence->scans[evidence->scan_count - 1];
	for (size_t i = 0; i < last->classes.count; i++) {
		const struct retained_class *class = &last->classes.items[i];
		const struct retention_total was = lost_of(class_of(evidence->scans[0], class->id));
		const struct retention_total is = lost_of(class);

		if (class->kind == CLASS_RUNTIME || is.blocks < was.blocks + OBJECTS_MIN ||
		    is.bytes <= was.bytes + most)
			continue;
		most = is.bytes - was.bytes;
		diagnosis->has_lost_class = true;
		diagnosis->lost_class =
			(struct diagnosed_class){.class = (uint32_t)i, .was = was, .is = is};
	}
}

const struct profile_report_site *diagnose_site(const struct profile_report_process *profile)
{
	const struct profile_report_site *most = NULL;

	for (size_t i = 0; profile && i < profile->sites.count; i++) {
		const struct profile_report_site *site = &profile->sites.items[i];
		double low = site->judgement.growth_bytes_per_s.low;

		if (low >= SITE_BYTES_PER_S &&
		    (!most || low > most->judgement.growth_bytes_per_s.low))
			most = site;
	}
	return most;
}

/* -------- verdicts, the most certain first */

/* Unreachable blocks that became more from the first scan to the last. */
static uint64_t lost_growth(const struct diagnosis *diagnosis)
{
	const struct diagnosed_count *blocks = &diagnosis->lost_blocks,
				     *bytes = &diagnosis->lost_bytes;

	return blocks->known && blocks->now >= blocks->before + OBJECTS_MIN &&
			       bytes->now > bytes->before
		       ? bytes->now - bytes->before
		       : 0;
}

static bool is_heap_counted(const struct memory_process *memory)
{
	return memory && !memory->heap_changed;
}

/* For blocks of malloc; false: its heap could not be walked at one moment. */
static bool native_bytes(const struct retain_result *scan, uint64_t *bytes)
{
	*bytes = 0;
	if (!scan->allocator || scan->why_not_walked || !scan->stopped)
		return false;
	for (size_t i = 0; i < scan->classes.count; i++) {
		if (scan->classes.items[i].kind != CLASS_RUNTIME)
			*bytes += held_of(&scan->classes.items[i]).bytes;
	}
	return true;
}

/* By how much live blocks became more between the first scan and the last; NAN: not known. */
static double scanned_growth(const struct diagnosis_evidence *evidence)
{
	uint64_t before, now;

	if (evidence->scan_count < 2 || !native_bytes(evidence->scans[0], &before) ||
	    !native_bytes(evidence->scans[evidence->scan_count - 1], &now))
		return NAN;
	return (double)now - (double)before;
}

/* The same, from what counted them; else at most: by what the process has resident. */
static double live_growth(const struct diagnosis_evidence *evidence,
			  const struct diagnosis *diagnosis)
{
	double scanned = scanned_growth(evidence);

	if (!isnan(scanned))
		return scanned;
	if (evidence->conclusion && is_heap_counted(evidence->first) &&
	    is_heap_counted(evidence->last))
		return (double)evidence->conclusion->growth.groups[GROUP_LIVE];
	return diagnosis->rss.known ? (double)diagnosis->rss.now - (double)diagnosis->rss.before
				    : HUGE_VAL;
}

/* One call stack in forty seems to grow by chance. Several of its blocks must have stayed; and live
 * blocks must have become more, too. */
static bool is_borne_out(const struct diagnosis_evidence *evidence,
			 const struct diagnosis *diagnosis)
{
	const struct interval *growth = &diagnosis->site->judgement.growth_bytes_per_s;
	double grown = growth->low * evidence->seconds;

	/* Where live blocks surely became more, the question is only which call stack it is. */
	if (growth->estimate > SITE_SPREAD * growth->low &&
	    !(scanned_growth(evidence) - (double)lost_growth(diagnosis) >= MEMORY_GROWTH_MIN))
		return false;
	/* What was lost does not explain blocks that are held. */
	return live_growth(evidence, diagnosis) - (double)lost_growth(diagnosis) >= grown / 2;
}

/* Unreachable blocks are counted, a call stack's growth is estimated from a few windows: the count
 * decides, and blocks that were followed name the call stack. */
static bool conclude_counted(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	if (!evidence->lost_site || !lost_growth(diagnosis))
		return false;
	diagnosis->site = evidence->lost_site;
	diagnosis->blocks = evidence->lost_site_blocks;
	diagnosis->counted_lost = true;
	diagnosis->verdict = DIAGNOSIS_LEAKS;
	diagnosis->part = DIAGNOSED_BLOCKS;
	diagnosis->why = "nothing points to new blocks of this call stack";
	return true;
}

/* Most of what became more, and no window met its allocation. */
static void conclude_nameless(const struct diagnosis_evidence *evidence,
			      struct diagnosis *diagnosis)
{
	uint64_t lost = lost_growth(diagnosis);

	if (!evidence->conclusion || lost < MEMORY_LOST_MIN || !diagnosis->retention ||
	    diagnosis->retention->runtimes.count ||
	    (double)lost * 2 < (double)evidence->conclusion->growth.groups[GROUP_LIVE])
		return;
	diagnosis->site = NULL;
	diagnosis->counted_lost = true;
	diagnosis->verdict = DIAGNOSIS_LEAKS;
	diagnosis->part = DIAGNOSED_BLOCKS;
	diagnosis->why = "unreachable blocks became more; no window of the profile met them";
}

static void conclude_lost(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct diagnosed_blocks *blocks = &evidence->blocks;

	if (conclude_counted(evidence, diagnosis) || !diagnosis->site)
		return;
	if (blocks->checked && blocks->unreachable * 2 > blocks->checked) {
		diagnosis->verdict = DIAGNOSIS_LEAKS;
		diagnosis->why = "nothing points to new blocks of this call stack";
	} else if (diagnosis->site->judgement.verdict == PROFILE_LEAKING) {
		diagnosis->verdict = DIAGNOSIS_LEAKS;
		diagnosis->why = "blocks come, live, and nothing ever touches them";
	} else if (is_borne_out(evidence, diagnosis)) {
		diagnosis->verdict = DIAGNOSIS_GROWS;
		diagnosis->why = "blocks of this call stack come and stay; a cache that still "
				 "fills looks the same";
	} else {
		return;
	}
	diagnosis->part = DIAGNOSED_BLOCKS;
}

/* Objects that grow beside a leak of native code are its small change. */
static bool native_grows_more(const struct diagnosis_evidence *evidence,
			      const struct diagnosis *diagnosis)
{
	double objects = 0;

	for (size_t i = 0; i < diagnosis->class_count; i++)
		objects += (double)growth_bytes(&diagnosis->classes[i]);
	if (evidence->lost_site && (double)lost_growth(diagnosis) > objects)
		return true;
	return diagnosis->site &&
	       diagnosis->site->judgement.growth_bytes_per_s.low * diagnosis->seconds > objects;
}

/* Bytes that roots hold in managed heaps. */
static uint64_t held_bytes(const struct retain_result *scan)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < scan->classes.count; i++) {
		if (scan->classes.items[i].kind == CLASS_RUNTIME)
			bytes += held_of(&scan->classes.items[i]).bytes;
	}
	return bytes;
}

/* Caches of the language's own fill while a program warms up. */
static bool are_objects_many(const struct diagnosis *diagnosis)
{
	const struct retained_class *class =
		&diagnosis->retention->classes.items[diagnosis->classes[0].class];
	uint64_t grown = 0;

	if (is_of_program(class))
		return true;
	for (size_t i = 0; i < diagnosis->class_count; i++)
		grown += growth_bytes(&diagnosis->classes[i]);
	return grown >= held_bytes(diagnosis->retention) / HELD_SHARE;
}

bool diagnose_objects_seem_to_grow(const struct diagnosis_evidence *evidence)
{
	struct diagnosis diagnosis = {0};

	if (evidence->scan_count < 2)
		return false;
	diagnosis.retention = evidence->scans[evidence->scan_count - 1];
	diagnose_find_classes(evidence, &diagnosis);
	return diagnosis.class_count && are_objects_many(&diagnosis);
}

static void conclude_objects(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	if (evidence->scan_count < GROWTH_SCANS_MIN || !diagnosis->class_count ||
	    native_grows_more(evidence, diagnosis) || !are_objects_many(diagnosis))
		return;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->part = DIAGNOSED_OBJECTS;
	diagnosis->why = "held objects of this class became more at every scan; a cache that still "
			 "fills looks the same";
}

/* Where there was no time for more scans, and nothing else was found. */
static void conclude_two_scans(const struct diagnosis_evidence *evidence,
			       struct diagnosis *diagnosis)
{
	if (evidence->scan_count >= GROWTH_SCANS_MIN || !diagnosis->class_count ||
	    !are_objects_many(diagnosis))
		return;
	diagnosis->verdict = DIAGNOSIS_UNKNOWN;
	diagnosis->part = DIAGNOSED_OBJECTS;
	diagnosis->why = "held objects of this class became more between two scans, which may be "
			 "chance";
}

/* The call stack of a Go program that its own heap profile surely sees grow most. */
static const struct heap_profile_site *growing_sampled(const struct heap_profile *profile)
{
	const struct heap_profile_site *most = NULL;

	for (size_t i = 0; profile && profile->readings && i < profile->sites.count; i++) {
		const struct heap_profile_site *site = &profile->sites.items[i];

		if (site->growth_limits.low > 0 &&
		    (!most || site->growth_limits.low > most->growth_limits.low))
			most = site;
	}
	return most;
}

static void conclude_sampled(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	(void)evidence;
	if (!diagnosis->sampled)
		return;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->part = DIAGNOSED_OBJECTS;
	diagnosis->why = "objects of this call stack outlived garbage collections and become more; "
			 "a cache that still fills looks the same";
}

static void conclude_goroutines(const struct diagnosis_evidence *evidence,
				struct diagnosis *diagnosis)
{
	(void)evidence;
	if (!diagnosis->goroutines)
		return;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->part = DIAGNOSED_GOROUTINES;
	diagnosis->why = "goroutines of one creator wait at one place, and become more";
}

static void conclude_threads(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct diagnosed_count *threads = &evidence->threads;

	if (!count_grew(threads) ||
	    count_series_trend(&evidence->thread_series) == COUNT_TREND_STANDS)
		return;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->part = DIAGNOSED_THREADS;
	diagnosis->why = "threads are created and do not end";
	diagnosis->creator = evidence->created;
	if (evidence->created)
		diagnosis->creator_share = fmin((double)evidence->created->count /
							(double)(threads->now - threads->before),
						1);
}

static void conclude_descriptors(const struct diagnosis_evidence *evidence,
				 struct diagnosis *diagnosis)
{
	static const char *const reasons[] = {
		[DESCRIPTORS_NO_LEAK] = NULL,
		[DESCRIPTORS_COUNTED] = "descriptors are opened and not closed, as their number "
					"shows",
		[DESCRIPTORS_OPENED] = "descriptors are opened by this call stack and not closed",
		[DESCRIPTORS_SCATTERED] = "descriptors are opened by several call stacks and "
					  "not closed",
	};
	enum descriptors_verdict verdict =
		descriptors_judge(&evidence->descriptor_series, &evidence->descriptors,
				  evidence->opened, &diagnosis->opener);

	if (!reasons[verdict])
		return;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->part = DIAGNOSED_DESCRIPTORS;
	diagnosis->why = reasons[verdict];
}

static enum memory_group most_grown(const struct memory_growth *growth)
{
	enum memory_group most = GROUP_LIVE;

	for (unsigned i = 0; i < GROUP_MAX_; i++) {
		if (growth->groups[i] > growth->groups[most])
			most = (enum memory_group)i;
	}
	return most;
}

static bool is_wholly_read(const struct retain_result *scan)
{
	for (size_t i = 0; i < scan->runtimes.count; i++) {
		if (scan->runtimes.items[i].why)
			return false;
	}
	return scan->runtimes.count && held_bytes(scan);
}

/* A collector takes memory until it is time to collect. */
static bool is_garbage(const struct diagnosis_evidence *evidence)
{
	const struct retain_result *first, *last;
	uint64_t before;

	if (evidence->scan_count < 2)
		return false;
	first = evidence->scans[0];
	last = evidence->scans[evidence->scan_count - 1];
	before = held_bytes(first);
	return is_wholly_read(first) && is_wholly_read(last) &&
	       held_bytes(last) <= before + before / HELD_SHARE;
}

static void conclude_tmpfs(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	struct tmpfs_growth growth = {0};

	if (evidence->first_files && evidence->last_files)
		growth = tmpfs_files_grown(evidence->first_files, evidence->last_files);
	if (!growth.file)
		return;
	diagnosis->file.path = growth.file->path;
	diagnosis->file.before = growth.before;
	diagnosis->file.now = growth.file->bytes;
	diagnosis->file.open = growth.file->open;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->part = DIAGNOSED_TMPFS;
	diagnosis->why = growth.file->open
				 ? "a file in memory grows that it has open for writing"
				 : "a file in memory grew by as much as it wrote in this time";
}

/* Whether what malloc has free, and files' pages that were read and not written to, leave nothing
 * to speak of for the other parts. */
static bool is_kept(const struct diagnosis_evidence *evidence)
{
	const int64_t *groups = evidence->conclusion->growth.groups;
	int64_t written = 0, kept, all = 0;

	if (evidence->first && evidence->last)
		written = (int64_t)evidence->last->parts[MEMORY_FILES_WRITTEN].resident -
			  (int64_t)evidence->first->parts[MEMORY_FILES_WRITTEN].resident;
	kept = MAX(groups[GROUP_FREE], 0) + MAX(groups[GROUP_FILES] - written, 0);
	for (unsigned i = 0; i < GROUP_MAX_; i++)
		all += groups[i];
	return kept >= all / 2 && all - kept < MEMORY_GROWTH_MIN;
}

/* A conclusion from the split of memory alone. */
static void conclude_memory(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct memory_conclusion *conclusion = evidence->conclusion;

	if (!conclusion)
		return;
	if (conclusion->verdict == MEMORY_STEADY) {
		diagnosis->verdict = DIAGNOSIS_NO_LEAK;
		diagnosis->why = "nothing grew in this time";
		return;
	}
	diagnosis->part = DIAGNOSED_MEMORY;
	diagnosis->group = most_grown(&conclusion->growth);
	if (conclusion->no_leak) {
		diagnosis->verdict = DIAGNOSIS_NO_LEAK;
		diagnosis->why = diagnosis->group == GROUP_MANAGED
					 ? "collections leave hardly more: the heap grew by garbage"
					 : "malloc, the page cache or the kernel keeps what grew";
	} else if (is_kept(evidence)) {
		diagnosis->verdict = DIAGNOSIS_NO_LEAK;
		diagnosis->why = "malloc keeps it free, or it is pages of files that were read";
	} else if (conclusion->verdict == MEMORY_MIXED) {
		diagnosis->verdict = DIAGNOSIS_UNKNOWN;
		diagnosis->why = "several parts of its memory grew, and none by most of it";
	} else if (diagnosis->group == GROUP_MANAGED && is_garbage(evidence)) {
		diagnosis->verdict = DIAGNOSIS_NO_LEAK;
		diagnosis->why = "held objects did not become more: the heap grew by garbage";
	} else if (diagnosis->group == GROUP_LIVE || diagnosis->group == GROUP_MANAGED ||
		   diagnosis->group == GROUP_FREE || diagnosis->group == GROUP_MALLOC) {
		diagnosis->verdict = DIAGNOSIS_UNKNOWN;
		diagnosis->why = "memory grew, but no call stack and no class surely did";
	} else if (diagnosis->group == GROUP_OTHER && evidence->last && evidence->last->why) {
		diagnosis->verdict = DIAGNOSIS_UNKNOWN;
		diagnosis->why = "this part of its memory grew, and may belong to malloc: its heap "
				 "could not be read";
	} else {
		diagnosis->verdict = DIAGNOSIS_GROWS;
		diagnosis->why = "this part of its memory grew, and malloc knows nothing of it";
	}
}

/* The code behind memory that only the mappings show. */
static void find_mapper(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	struct diagnosed_mapper mapper = {0};
	const struct memory_growth *growth;

	if (diagnosis->part != DIAGNOSED_MEMORY || diagnosis->group != GROUP_OTHER ||
	    diagnosis->verdict == DIAGNOSIS_NO_LEAK || !mappings_judge(&evidence->mapped, &mapper))
		return;
	diagnosis->mapper = mapper;
	growth = &evidence->conclusion->growth;
	if (mapper.share * (double)growth->groups[GROUP_OTHER] < MAIN_SHARE * (double)growth->total)
		return;
	diagnosis->verdict = DIAGNOSIS_GROWS;
	diagnosis->why = "memory that this call stack maps stays mapped, and becomes more";
}

/* To blocks of the call stack, which were looked up first, or to the class that grows. */
static const struct retained_path *find_path(const struct diagnosis *diagnosis)
{
	const struct retain_result *scan = diagnosis->retention;

	if (!scan || diagnosis->counted_lost)
		return NULL;
	if (diagnosis->part == DIAGNOSED_BLOCKS)
		return diagnosis->blocks.held && scan->paths.count ? &scan->paths.items[0] : NULL;
	for (size_t i = 0; diagnosis->class_count && i < scan->paths.count; i++) {
		if (scan->paths.items[i].class == diagnosis->classes[0].class)
			return &scan->paths.items[i];
	}
	return NULL;
}

static void find_limit(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	double rate = rss_rate(diagnosis);

	diagnosis->limit_bytes = evidence->limit_bytes;
	diagnosis->limit_in_s = -1;
	if (evidence->limit_bytes > evidence->limit_used_bytes && rate > 0 &&
	    diagnosis->verdict != DIAGNOSIS_NO_LEAK)
		diagnosis->limit_in_s =
			(double)(evidence->limit_bytes - evidence->limit_used_bytes) / rate;
}

/* -------- what to do next */

static void suggest(struct diagnosis *diagnosis)
{
	enum diagnosis_part part = diagnosis->part;
	const struct runtime_label *runtime =
		diagnosis->memory ? &diagnosis->memory->runtime : NULL;
	const char *const commands[] = {
		[DIAGNOSED_NOTHING] = "leakmon diagnose -p %d --for 600",
		[DIAGNOSED_BLOCKS] = "leakmon profile -p %d 60",
		[DIAGNOSED_OBJECTS] = "leakmon retain -p %d --census 60",
		[DIAGNOSED_GOROUTINES] = "leakmon threads -p %d 10",
		[DIAGNOSED_THREADS] = "leakmon threads -p %d 10",
		[DIAGNOSED_DESCRIPTORS] = "leakmon -p %d --descriptors 60",
		[DIAGNOSED_TMPFS] = "leakmon -p %d --descriptors 60",
		[DIAGNOSED_MEMORY] = "leakmon memory -p %d 60",
	};

	_Static_assert(ARRAY_SIZE(commands) == DIAGNOSED_MAX_, "a command for each part");
	if (diagnosis->ended)
		return;
	if (diagnosis->verdict == DIAGNOSIS_UNKNOWN && diagnosis->part == DIAGNOSED_OBJECTS)
		part = DIAGNOSED_NOTHING;
	if (diagnosis->verdict == DIAGNOSIS_UNKNOWN && diagnosis->part == DIAGNOSED_MEMORY &&
	    diagnosis->group == GROUP_MANAGED && runtime && runtime->key) {
		runtime_label_tool(runtime, diagnosis->pid, diagnosis->next);
		return;
	}
	if (diagnosis->mapper.site) {
		snprintf(diagnosis->next, sizeof(diagnosis->next), "leakmon -p %d --mappings 60",
			 diagnosis->pid);
		return;
	}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(diagnosis->next, sizeof(diagnosis->next), commands[part], diagnosis->pid);
#pragma GCC diagnostic pop
}

static struct diagnosed_count lost(const struct diagnosis_evidence *evidence, bool bytes)
{
	struct retention_total before, now;

	/* Of a heap that could not be walked none is lost. */
	if (evidence->scan_count < 2 || evidence->scans[0]->why_not_walked ||
	    evidence->scans[evidence->scan_count - 1]->why_not_walked)
		return (struct diagnosed_count){0};
	before = retain_result_lost(evidence->scans[0]);
	now = retain_result_lost(evidence->scans[evidence->scan_count - 1]);
	return (struct diagnosed_count){.known = true,
					.before = bytes ? before.bytes : before.blocks,
					.now = bytes ? now.bytes : now.blocks};
}

static void add_stops(struct diagnosis *diagnosis, uint64_t count, uint64_t pause_ns)
{
	diagnosis->stops += (unsigned)count;
	diagnosis->longest_stop_ns = MAX(diagnosis->longest_stop_ns, pause_ns);
}

static void count_stops(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < evidence->scan_count; i++) {
		const uint64_t *numbers = evidence->scans[i]->numbers;

		add_stops(diagnosis, numbers[NUMBER_STOPS], numbers[NUMBER_PAUSE_NS]);
	}
	if (evidence->first)
		add_stops(diagnosis, evidence->first->pause_ns != 0, evidence->first->pause_ns);
	if (evidence->last)
		add_stops(diagnosis, evidence->last->pause_ns != 0, evidence->last->pause_ns);
}

void diagnose_conclude(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	/* A later rule yields to an earlier one. */
	void (*const rules[])(const struct diagnosis_evidence *, struct diagnosis *) = {
		conclude_goroutines, conclude_threads, conclude_descriptors,
		conclude_objects,    conclude_sampled, conclude_lost,
		conclude_nameless,   conclude_tmpfs,   conclude_memory};

	*diagnosis = (struct diagnosis){
		.pid = evidence->pid,
		.container = evidence->container,
		.seconds = evidence->seconds,
		.ended = evidence->ended,
		.why = "its memory could not be read twice",
		.memory = evidence->last,
		.conclusion = evidence->conclusion,
		.profile = evidence->profile,
		.site = diagnose_site(evidence->profile),
		.goroutines = evidence->goroutines
				      ? task_report_growing(evidence->goroutines, OBJECTS_MIN)
				      : NULL,
		.sampled = growing_sampled(evidence->heap_profile),
		.sampled_s =
			evidence->heap_profile ? (double)evidence->heap_profile->span_ns / 1e9 : 0,
		.retention =
			evidence->scan_count ? evidence->scans[evidence->scan_count - 1] : NULL,
		.blocks = evidence->blocks,
		.threads = evidence->threads,
		.descriptors = evidence->descriptors,
		.lost_blocks = lost(evidence, false),
		.lost_bytes = lost(evidence, true),
		.scans = (unsigned)evidence->scan_count,
	};
	count_stops(evidence, diagnosis);
	snprintf(diagnosis->comm, sizeof(diagnosis->comm), "%s", evidence->comm);
	if (evidence->first && evidence->last)
		diagnosis->rss = (struct diagnosed_count){.known = true,
							  .before = evidence->first->sum.rss,
							  .now = evidence->last->sum.rss};
	if (evidence->profile && evidence->used_cpu_s > 0 && evidence->seconds > 0)
		diagnosis->spent_core =
			evidence->profile->spent * evidence->used_cpu_s / evidence->seconds;
	diagnose_find_classes(evidence, diagnosis);
	find_lost_class(evidence, diagnosis);
	for (size_t i = 0; i < ARRAY_SIZE(rules) && diagnosis->verdict == DIAGNOSIS_UNKNOWN; i++)
		rules[i](evidence, diagnosis);
	if (diagnosis->verdict == DIAGNOSIS_UNKNOWN || diagnosis->verdict == DIAGNOSIS_NO_LEAK)
		conclude_two_scans(evidence, diagnosis);
	find_mapper(evidence, diagnosis);
	diagnosis->path = find_path(diagnosis);
	find_limit(evidence, diagnosis);
	suggest(diagnosis);
}
