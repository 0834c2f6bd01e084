// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/diagnose/class_growth.h"

#include <stdio.h>
#include <string.h>

#include "app/diagnose/findings.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "heap/runtime/class_origin.h"

/* The minimum if not all roots are known: arbitrary words may keep garbage reachable. */
#define DOUBTFUL_OBJECTS_MIN 50
/* Between two scans a class may fall by 1/N of its whole growth. */
#define FALL_SHARE 10
/* Minimum growth of a class whose objects grow in size rather than number. */
#define SWELLING_MIN (1u << 20)
/* The minimum growth of a table that doubles too rarely for the scans to see it more than once. */
#define TABLE_BYTES_MIN (16u << 20)
/* Growth of language classes counts from 1/N of all reachable bytes: they vary by less. */
#define HELD_SHARE 20
/* Also their minimum growth: an engine's cache of numbers as strings fills to 0.8 MiB. */
#define LANGUAGE_BYTES_MIN (1u << 20)

/* A lasting leak has a rate: growth in only one of two intervals came by chance. */
#define HALF_RATE 0.5
/* A filling container that gains at most this much until it is full is no leak. */
#define FILLING_BYTES_MAX (64u << 20)
/* Objects of one class in an entry of such a container, like lines of a document. An entry with
 * more collects them. */
#define ENTRY_OBJECTS_MAX 32

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

/* Excludes objects of requests in progress, which only stacks reach. */
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

static double scan_seconds(const struct retain_result *scan)
{
	return (double)scan->time.tv_sec + (double)scan->time.tv_nsec / 1e9;
}

/*
 * Returns whether each of two intervals rises at least at HALF_RATE of the common rate: both may
 * rise by chance.
 */
static bool is_even(const struct diagnosis_evidence *evidence, double first, double middle,
		    double end)
{
	double began = scan_seconds(evidence->scans[0]);
	double all = scan_seconds(evidence->scans[2]) - began;
	double early = all > 0 ? (scan_seconds(evidence->scans[1]) - began) / all : 0.5;
	double gained = (middle - first) / (end - first);

	return gained >= early * HALF_RATE && 1 - gained >= (1 - early) * HALF_RATE;
}

typedef struct retention_total count_class(const struct retained_class *class);

/*
 * Returns whether the count rises in both halves, without falling back: a collector may have run at
 * any step.
 */
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
	if (evidence->scan_count == GROWTH_SCANS_MIN &&
	    !is_even(evidence, (double)first, (double)before, (double)end))
		return false;
	/* No rise at the last scans means that it has stopped growing: a ring buffer, a full
	 * cache. */
	if (last >= GROWTH_SCANS_MIN &&
	    end <= count(class_of(evidence->scans[last - 2], class->id)).blocks)
		return false;
	return falls <= (end - first) / FALL_SHARE;
}

typedef uint64_t count_bytes(const struct retain_result *scan, uint64_t id);

static uint64_t class_bytes(const struct retain_result *scan, uint64_t id)
{
	return held_of(class_of(scan, id)).bytes;
}

static uint64_t root_bytes(const struct retain_result *scan, uint64_t id)
{
	for (size_t i = 0; i < scan->roots.count; i++) {
		if (scan->roots.items[i].id == id)
			return scan->roots.items[i].led.bytes;
	}
	return 0;
}

/*
 * Returns whether a class gains bytes, also if its objects grow in size rather than number, as a
 * table does: a doubling falls into few intervals.
 */
static bool swells(const struct diagnosis_evidence *evidence, uint64_t id, count_bytes *count)
{
	size_t last = evidence->scan_count - 1;
	uint64_t first = count(evidence->scans[0], id), before = first;
	uint64_t end = count(evidence->scans[last], id), late = 0, falls = 0;
	unsigned rises = 0;

	if (evidence->scan_count < GROWTH_SCANS_MIN || end < first + SWELLING_MIN)
		return false;
	for (size_t i = 1; i <= last; i++) {
		uint64_t now = count(evidence->scans[i], id);

		rises += now > before;
		falls += before - MIN(before, now);
		if (i + 1 >= last && now > before)
			late += now - before;
		before = now;
	}
	return rises > 1 && late && falls <= (end - first) / FALL_SHARE;
}

static uint64_t growth_bytes(const struct diagnosed_class *class)
{
	return class->is.bytes - class->was.bytes;
}

static bool is_of_program(const struct retained_class *class)
{
	return class_origin_of(class->module, class->name) == CLASS_OF_PROGRAM;
}

/*
 * Sorts the program's classes first, and among these the ones reachable from more than stacks; then
 * by growth.
 */
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

/* Inserts a class into the sorted list, which keeps the first ones. */
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

	if (!lasting && !rises(evidence, class, held_of) &&
	    !swells(evidence, class->id, class_bytes))
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
	diagnosis->class_bytes = 0;
	if (evidence->scan_count < 2)
		return;
	last = evidence->scans[evidence->scan_count - 1];
	for (size_t i = 0; i < last->classes.count; i++) {
		const struct retained_class *class = &last->classes.items[i];
		struct diagnosed_class found;

		if (class->kind != CLASS_RUNTIME ||
		    class_origin_of(class->module, class->name) == CLASS_OF_CODE ||
		    !find_rise(evidence, (uint32_t)i, &found))
			continue;
		add_class(diagnosis, last, &found);
		diagnosis->class_bytes += growth_bytes(&found);
	}
}

static struct retention_total lost_of(const struct retained_class *class)
{
	return class ? class->verdicts[VERDICT_LOST] : (struct retention_total){0};
}

void diagnose_find_lost_class(const struct diagnosis_evidence *evidence,
			      struct diagnosis *diagnosis)
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

/* A large table doubles once or twice in a minute, between two scans, and fills all the time: the
 * readings of memory show that, where the root has most of what memory grew by. */
static bool is_table(const struct diagnosis_evidence *evidence, uint64_t was, uint64_t is)
{
	double grown = (double)is - (double)was;

	return grown >= TABLE_BYTES_MIN && diagnose_goes_on(evidence) &&
	       grown * 2 >= evidence->readings[evidence->reading_count - 1] - evidence->readings[0];
}

bool diagnose_find_root(const struct diagnosis_evidence *evidence, uint32_t *root,
			uint64_t *was_bytes)
{
	const struct retain_result *last;
	uint64_t most = 0;

	if (evidence->scan_count < GROWTH_SCANS_MIN)
		return false;
	last = evidence->scans[evidence->scan_count - 1];
	for (size_t i = 0; i < last->roots.count; i++) {
		const struct retained_root *one = &last->roots.items[i];
		uint64_t was = root_bytes(evidence->scans[0], one->id);

		if (!one->name || one->kind == ROOT_STACK || one->kind == ROOT_REGISTER ||
		    one->led.bytes <= was + most ||
		    (!swells(evidence, one->id, root_bytes) &&
		     !is_table(evidence, was, one->led.bytes)))
			continue;
		most = one->led.bytes - was;
		*was_bytes = was;
		*root = (uint32_t)i;
	}
	return most != 0;
}

/* Returns the garbage of runtimes with their collector switched off. */
static uint64_t garbage_bytes(const struct retain_result *scan)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < scan->runtimes.count; i++) {
		if (scan->runtimes.items[i].collector_off)
			bytes += scan->runtimes.items[i].unreached_bytes;
	}
	return bytes;
}

static struct retention_total garbage_of(const struct retained_class *class)
{
	uint64_t each = class && class->total.blocks ? class->total.bytes / class->total.blocks : 0;

	return class ? (struct retention_total){class->garbage, class->garbage * each}
		     : (struct retention_total){0};
}

uint64_t diagnose_find_garbage(const struct diagnosis_evidence *evidence,
			       struct diagnosed_class *found)
{
	const struct retain_result *first, *last;
	uint64_t before, now, most = 0;
	bool own = false;

	if (evidence->scan_count < 2)
		return 0;
	first = evidence->scans[0];
	last = evidence->scans[evidence->scan_count - 1];
	before = garbage_bytes(first);
	now = garbage_bytes(last);
	for (size_t i = 0; i < last->classes.count && now > before; i++) {
		const struct retained_class *class = &last->classes.items[i];
		struct retention_total is = garbage_of(class);
		bool of_program = is_of_program(class) && is.blocks >= OBJECTS_MIN;

		/* Prefer the program's own classes, as for reachable objects. */
		if (class->kind != CLASS_RUNTIME || of_program < own ||
		    (of_program == own && is.bytes <= most))
			continue;
		own = of_program;
		most = is.bytes;
		*found = (struct diagnosed_class){.class = (uint32_t)i,
						  .garbage = true,
						  .was = garbage_of(class_of(first, class->id)),
						  .is = is};
	}
	return most ? now - before : 0;
}

bool diagnose_garbage_grew(const struct diagnosis_evidence *evidence, uint32_t class,
			   struct diagnosed_class *found)
{
	const struct retain_result *last;
	struct retention_total was, is;

	if (evidence->scan_count < 2)
		return false;
	last = evidence->scans[evidence->scan_count - 1];
	was = garbage_of(class_of(evidence->scans[0], last->classes.items[class].id));
	is = garbage_of(&last->classes.items[class]);
	if (is.blocks < was.blocks + OBJECTS_MIN)
		return false;
	*found = (struct diagnosed_class){.class = class, .garbage = true, .was = was, .is = is};
	return true;
}

static uint64_t native_growth(const struct retain_result *first, const struct retained_class *class)
{
	const struct retained_class *was = class_of(first, class->id);
	uint64_t before = was ? was->total.bytes : 0;

	return class->total.bytes - MIN(before, class->total.bytes);
}

bool diagnose_find_native_class(const struct diagnosis_evidence *evidence,
				struct diagnosed_class *found)
{
	const struct retain_result *first, *last;
	uint64_t most = 0;

	if (evidence->scan_count < 2)
		return false;
	first = evidence->scans[0];
	last = evidence->scans[evidence->scan_count - 1];
	for (size_t i = 0; i < last->classes.count; i++) {
		const struct retained_class *class = &last->classes.items[i];
		const struct retained_class *was = class_of(first, class->id);
		uint64_t grown = native_growth(first, class);

		if (class->kind == CLASS_RUNTIME || grown <= most)
			continue;
		most = grown;
		*found = (struct diagnosed_class){.class = (uint32_t)i,
						  .was = was ? was->total
							     : (struct retention_total){0},
						  .is = class->total};
	}
	return most != 0;
}

static const struct bounded_container *bounded_at(const struct retain_result *scan,
						  uint64_t address)
{
	size_t place = SORTED_BEFORE(container, scan->bounded.items, scan->bounded.count,
				     container->address < address);

	return place < scan->bounded.count && scan->bounded.items[place].address == address
		       ? &scan->bounded.items[place]
		       : NULL;
}

static uint64_t entries_at_first(const struct diagnosis_evidence *evidence,
				 const struct bounded_container *container)
{
	const struct bounded_container *was = bounded_at(evidence->scans[0], container->address);

	return was ? was->entries : 0;
}

/* Returns whether a container gains entries and is not full, when each would replace another. */
static bool fills(const struct diagnosis_evidence *evidence,
		  const struct bounded_container *container)
{
	return container->entries < container->limit &&
	       container->entries > entries_at_first(evidence, container);
}

const struct retained_path *diagnose_class_path(const struct retain_result *scan, uint32_t class)
{
	for (size_t i = 0; i < scan->paths.count; i++) {
		if (scan->paths.items[i].class == class)
			return &scan->paths.items[i];
	}
	return NULL;
}

/* Returns the filling container on the path of most objects of the class; NULL: none. */
static const struct bounded_container *filling_on_path(const struct diagnosis_evidence *evidence,
						       uint32_t class)
{
	const struct retain_result *last = evidence->scans[evidence->scan_count - 1];
	const struct retained_path *path = diagnose_class_path(last, class);

	for (size_t i = 0; path && i < path->steps.count; i++) {
		const struct bounded_container *container =
			bounded_at(last, path->steps.items[i].address);

		if (container && fills(evidence, container))
			return container;
	}
	return NULL;
}

/* A class of the program that grows outside containers with limits comes before the classes that
 * fill them. */
static void put_unlimited_first(const struct diagnosis_evidence *evidence,
				struct diagnosis *diagnosis)
{
	const struct retain_result *last = evidence->scans[evidence->scan_count - 1];

	for (size_t i = 0; i < diagnosis->class_count; i++) {
		const struct diagnosed_class class = diagnosis->classes[i];

		if (!is_of_program(&last->classes.items[class.class]) ||
		    filling_on_path(evidence, class.class))
			continue;
		memmove(&diagnosis->classes[1], &diagnosis->classes[0],
			i * sizeof(diagnosis->classes[0]));
		diagnosis->classes[0] = class;
		return;
	}
}

bool diagnose_find_filling(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct retain_result *last;
	const struct bounded_container *first = NULL;
	uint64_t gained = 0, room = 0;

	if (evidence->scan_count < GROWTH_SCANS_MIN || !diagnosis->class_count)
		return false;
	last = evidence->scans[evidence->scan_count - 1];
	for (size_t i = 0; i < last->bounded.count; i++) {
		const struct bounded_container *container = &last->bounded.items[i];

		if (fills(evidence, container)) {
			gained += container->entries - entries_at_first(evidence, container);
			room += container->limit - container->entries;
		}
	}
	for (size_t i = 0; i < diagnosis->class_count; i++) {
		const struct diagnosed_class *class = &diagnosis->classes[i];
		const struct bounded_container *found = filling_on_path(evidence, class->class);

		if (!found || class->is.blocks > class->was.blocks + gained * ENTRY_OBJECTS_MAX) {
			if (gained)
				put_unlimited_first(evidence, diagnosis);
			return false;
		}
		first = first ? first : found;
	}
	if ((double)diagnosis->class_bytes / (double)gained * (double)room > FILLING_BYTES_MAX)
		return false;
	diagnosis->filling = *first;
	diagnosis->filling_was = entries_at_first(evidence, first);
	return true;
}

bool diagnose_is_filling(const struct diagnosis_evidence *evidence)
{
	const struct retain_result *last = evidence->scans[evidence->scan_count - 1];

	for (size_t i = 0; i < last->bounded.count; i++) {
		if (fills(evidence, &last->bounded.items[i]))
			return true;
	}
	return false;
}

uint64_t diagnose_held_bytes(const struct retain_result *scan)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < scan->classes.count; i++) {
		if (scan->classes.items[i].kind == CLASS_RUNTIME)
			bytes += held_of(&scan->classes.items[i]).bytes;
	}
	return bytes;
}

bool diagnose_are_objects_many(const struct diagnosis *diagnosis)
{
	const struct retain_result *scan = diagnosis->retention;

	return is_of_program(&scan->classes.items[diagnosis->classes[0].class]) ||
	       diagnosis->class_bytes >=
		       MAX(diagnose_held_bytes(scan) / HELD_SHARE, LANGUAGE_BYTES_MIN);
}

bool diagnose_objects_seem_to_grow(const struct diagnosis_evidence *evidence)
{
	struct diagnosis diagnosis = {0};

	if (evidence->scan_count < 2)
		return false;
	diagnosis.retention = evidence->scans[evidence->scan_count - 1];
	diagnose_find_classes(evidence, &diagnosis);
	return (diagnosis.class_count && diagnose_are_objects_many(&diagnosis)) ||
	       diagnose_held_bytes(diagnosis.retention) >=
		       diagnose_held_bytes(evidence->scans[0]) + SWELLING_MIN;
}
