// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/conclusion.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "base/units.h"
#include "heap/allocators/heap_reader.h"
#include "heap/runtime/runtime.h"

/* Smallest increase of arenas worth mentioning. */
#define MANY_ARENAS 4

struct deciding {
	const struct memory_split *before, *now;
	const struct memory_growth *growth;
	struct memory_filled filled;
};

static int64_t part_growth(const struct deciding *deciding, enum memory_part part)
{
	const struct memory_amount *before = &deciding->before->parts[part],
				   *now = &deciding->now->parts[part];

	/* Every process has page tables: 0 means unknown, in an older recording or a core. */
	if (part == MEMORY_PAGE_TABLES && (!before->resident || !now->resident))
		return 0;
	return (int64_t)(now->resident + now->swapped) -
	       (int64_t)(before->resident + before->swapped);
}

/*
 * Returns the pages formerly shared with relatives, and private now. A relative that ends leaves
 * its pages without a fault, and none of them is a copy. Once no relative is left, nothing exists
 * twice.
 */
static int64_t unshared_growth(const struct memory_split *before, const struct memory_split *now)
{
	int64_t shared = (int64_t)(before->forked.shared - now->forked.shared);
	int64_t own = (int64_t)(now->forked.own - before->forked.own);
	int64_t faults = (int64_t)(now->forked.faults - before->forked.faults);

	if (!now->forked.shared || faults <= 0)
		return 0;
	faults = MIN(faults, INT64_MAX / (int64_t)page_size()) * (int64_t)page_size();
	return MAX(MIN(MIN(shared, own), faults), 0);
}

static void measure(const struct memory_split *before, const struct memory_split *now,
		    struct memory_growth *growth)
{
	const struct deciding deciding = {.before = before, .now = now};
	int64_t since_ms = (now->time.tv_sec - before->time.tv_sec) * 1000 +
			   (now->time.tv_nsec - before->time.tv_nsec) / 1000000;

	*growth = (struct memory_growth){.since_ms = (uint64_t)MAX(since_ms, 0)};
	for (size_t part = 0; part < MEMORY_PART_MAX_; part++) {
		int64_t grown = part_growth(&deciding, part);

		growth->groups[memory_part_group(part)] += grown;
		growth->total += grown;
	}
	growth->groups[GROUP_UNSHARED] = unshared_growth(before, now);
	growth->total += growth->groups[GROUP_UNSHARED];
}

/* Smallest used share of a private mapping that its size limits: below it, it may be an allocator's
 * reservation, not meant to be filled. */
#define FILLED_SHARE 4

/* Returns whether its size limits the growth of a mapping, as for a block of malloc. */
static bool is_bound(const struct memory_fillable *mapping)
{
	return mapping->shared || mapping->resident >= mapping->size / FILLED_SHARE;
}

static const struct memory_fillable *fillable_at(const struct memory_split *split,
						 const struct memory_fillable *mapping)
{
	for (size_t i = 0; i < split->fillable_count; i++) {
		const struct memory_fillable *found = &split->fillable[i];

		if (found->address == mapping->address && found->size == mapping->size &&
		    found->part == mapping->part && found->shared == mapping->shared)
			return found;
	}
	return NULL;
}

/* Returns the growth in mappings that existed before with the same size. */
static struct memory_filled filled_since(const struct memory_split *before,
					 const struct memory_split *now)
{
	struct memory_filled filled = {.shared = true};
	uint64_t most = 0;

	for (size_t i = 0; i < now->fillable_count; i++) {
		const struct memory_fillable *is = &now->fillable[i],
					     *was = fillable_at(before, is);

		if (!was || is->resident <= was->resident || !is_bound(is))
			continue;
		filled.mappings++;
		if (is->part == MEMORY_MAPPED_BLOCKS)
			filled.blocks_grown += is->resident - was->resident;
		filled.size += is->size;
		filled.before += was->resident;
		filled.now += is->resident;
		filled.shared &= is->shared;
		filled.doubtful |= now->why && !is->shared && is->part != MEMORY_MAPPED_BLOCKS;
		if (is->resident - was->resident <= most)
			continue;
		most = is->resident - was->resident;
		filled.address = is->address;
		filled.part = is->part;
	}
	return filled;
}

static enum memory_verdict decide_free(const struct deciding *deciding)
{
	const struct memory_split *before = deciding->before, *now = deciding->now;
	int64_t grown = deciding->growth->groups[GROUP_FREE];
	int64_t trimmable = (int64_t)now->trimmable - (int64_t)before->trimmable;

	if (2 * part_growth(deciding, MEMORY_CACHED) >= grown)
		return MEMORY_THREAD_CACHES;
	if (now->arenas >= before->arenas + MANY_ARENAS &&
	    2 * ((int64_t)now->arenas_free - (int64_t)before->arenas_free) >= grown)
		return MEMORY_ARENAS;
	return 2 * trimmable >= grown ? MEMORY_RETAINED : MEMORY_FRAGMENTATION;
}

bool memory_is_steady(int64_t total, uint64_t before)
{
	return total < MAX((int64_t)(before / 100), MEMORY_GROWTH_MIN);
}

size_t memory_main_part(int64_t total, const int64_t *parts, size_t count)
{
	size_t i = 0;

	while (i < count && 2 * parts[i] < total)
		i++;
	return i;
}

static uint64_t page_tables(const struct memory_split *split)
{
	return split->parts[MEMORY_PAGE_TABLES].resident;
}

/* Returns whether an allocator's own records make up half of the growth. */
static bool own_records_grow(const struct deciding *deciding)
{
	return 2 * part_growth(deciding, MEMORY_MALLOC_OWN) >= deciding->growth->total;
}

static bool fills_most(const struct deciding *deciding)
{
	const struct memory_filled *filled = &deciding->filled;

	return filled->mappings &&
	       2 * (int64_t)(filled->now - filled->before) >= deciding->growth->total;
}

static enum memory_verdict decide(const struct deciding *deciding)
{
	static const enum memory_verdict verdicts[] = {
		[GROUP_LIVE] = MEMORY_LIVE_GROWS,
		[GROUP_FREE] = MEMORY_STEADY,
		[GROUP_MALLOC] = MEMORY_OTHER_GROWS,
		[GROUP_STACKS] = MEMORY_STACKS_GROW,
		[GROUP_FILES] = MEMORY_PAGE_CACHE,
		[GROUP_SHARED] = MEMORY_SHARED_GROWS,
		[GROUP_MANAGED] = MEMORY_MANAGED_GROWS,
		[GROUP_OTHER] = MEMORY_OTHER_GROWS,
		[GROUP_PAGE_TABLES] = MEMORY_PAGE_TABLES_GROW,
		[GROUP_UNSHARED] = MEMORY_UNSHARED_GROWS,
	};
	_Static_assert(ARRAY_SIZE(verdicts) == GROUP_MAX_, "a verdict for every group");
	const struct memory_growth *growth = deciding->growth;
	const struct memory_split *before = deciding->before;
	int64_t zero = (int64_t)deciding->now->huge_zero - (int64_t)deciding->before->huge_zero;
	size_t group;

	if (memory_is_steady(growth->total, before->rss + before->swap + page_tables(before)))
		return MEMORY_STEADY;
	if (2 * zero >= growth->total)
		return MEMORY_HUGE_PAGES;
	if (own_records_grow(deciding))
		return MEMORY_RETAINED;
	if (fills_most(deciding) && !deciding->filled.doubtful)
		return MEMORY_FILLS;
	group = memory_main_part(growth->total, growth->groups, GROUP_MAX_);
	if (group == GROUP_MAX_)
		return MEMORY_MIXED;
	return group == GROUP_FREE ? decide_free(deciding) : verdicts[group];
}

/* Returns whether private copies of files' pages make up half of the growth: unlike page cache,
 * they belong to the process. */
static bool written_copies_grow(const struct deciding *deciding)
{
	return 2 * part_growth(deciding, MEMORY_FILES_WRITTEN) >=
	       deciding->growth->groups[GROUP_FILES];
}

/* Returns whether the allocator, the kernel or the page cache keeps most of the growth. */
static bool most_is_kept(const struct deciding *deciding, enum memory_verdict verdict)
{
	switch (verdict) {
	case MEMORY_RETAINED:
	case MEMORY_FRAGMENTATION:
	case MEMORY_ARENAS:
	case MEMORY_THREAD_CACHES:
	case MEMORY_HUGE_PAGES:
		return true;
	case MEMORY_FILLS:
		return deciding->filled.shared;
	case MEMORY_PAGE_CACHE:
		return !written_copies_grow(deciding);
	default:
		return false;
	}
}

/* Returns whether live blocks, besides the kept memory, grow as a leak would. */
static bool live_may_leak(const struct memory_growth *growth)
{
	int64_t live = growth->groups[GROUP_LIVE];

	return live >= MEMORY_GROWTH_MIN && 5 * live >= growth->total;
}

/* The sentence. */

struct sentence {
	const struct deciding *deciding;
	FILE *out;
};

static void bytes_say(const struct sentence *sentence, double bytes)
{
	char text[16];

	fputs(units_bytes(text, bytes, ""), sentence->out);
}

static void growth_say(const struct sentence *sentence)
{
	const struct memory_growth *growth = sentence->deciding->growth;
	bool follows = false;
	char text[16];

	fprintf(sentence->out, "memory %s by ", growth->total < 0 ? "shrank" : "grew");
	bytes_say(sentence, (double)(growth->total < 0 ? -growth->total : growth->total));
	fprintf(sentence->out, " in %s", units_time(text, (double)growth->since_ms / 1000));
	for (size_t i = 0; i < GROUP_MAX_; i++) {
		/* Parts too small to mention. */
		if (!growth->total || llabs(growth->groups[i]) * 100 < llabs(growth->total))
			continue;
		fprintf(sentence->out, "%s%s %s (%.0f %%)", follows ? ", " : ": ",
			memory_group_words(i), units_bytes(text, (double)growth->groups[i], "+"),
			100 * (double)growth->groups[i] / (double)growth->total);
		follows = true;
	}
}

static void steady_say(const struct sentence *sentence)
{
	fputs("no growth to explain", sentence->out);
}

/*
 * Returns whether garbage may hold the growth outside its heap: no full collection has intervened.
 */
static bool garbage_may_hold(const struct deciding *deciding)
{
	const struct heap_floor *before = &deciding->before->floor, *now = &deciding->now->floor;

	return before->known && now->known && now->full <= before->full &&
	       deciding->growth->groups[GROUP_LIVE] <= (int64_t)now->outside_limit;
}

static void live_say(const struct sentence *sentence)
{
	fprintf(sentence->out,
		"the program holds it%s: a leak if this goes on. `leakmon -p %d` shows which call "
		"stacks allocate it, `leakmon retain -p %d` what holds it",
		garbage_may_hold(sentence->deciding)
			? ", or garbage in its heap, where no collection of all has run since then"
			: "",
		sentence->deciding->now->pid, sentence->deciding->now->pid);
}

/* Returns how to make the allocator that keeps most give memory back. */
static struct heap_advice advice_of(const struct memory_split *split)
{
	const struct heap_reader *reader =
		split->is_libc ? heap_reader_at(0) : heap_reader_of(split->allocator);

	return reader ? reader->advice : (struct heap_advice){0};
}

static const char *or_nothing(const char *text)
{
	return text ? text : "";
}

static void retained_say(const struct sentence *sentence)
{
	const struct memory_split *now = sentence->deciding->now;
	struct heap_advice advice = advice_of(now);

	if (own_records_grow(sentence->deciding)) {
		fputs("these are malloc's own records of the most that it has had, and stay",
		      sentence->out);
		return;
	}
	if (advice.trim)
		fprintf(sentence->out, "malloc keeps it. %s would give back up to ", advice.trim);
	else
		fprintf(sentence->out, "%s keeps it, and could give back up to ", now->allocator);
	bytes_say(sentence, (double)(advice.trim ? now->libc_trimmable : now->trimmable));
	fputs(or_nothing(advice.retained), sentence->out);
}

static void fragmentation_say(const struct sentence *sentence)
{
	const struct memory_split *now = sentence->deciding->now;
	struct heap_advice advice = advice_of(now);

	fprintf(sentence->out,
		"fragmentation: what is free lies between live blocks. %s would give "
		"back only ",
		advice.trim ? advice.trim : now->allocator);
	bytes_say(sentence, (double)now->trimmable);
	fputs(" of ", sentence->out);
	bytes_say(sentence, (double)memory_split_free(now));
	fputs("; blocks that live long should be allocated apart from those that do not",
	      sentence->out);
}

static void arenas_say(const struct sentence *sentence)
{
	struct heap_advice advice = heap_reader_at(0)->advice;

	fprintf(sentence->out,
		"malloc keeps it in %" PRIu64 " arenas, one for each of many threads. "
		"%s; %s would give back up to ",
		sentence->deciding->now->arenas, or_nothing(advice.arenas),
		or_nothing(advice.trim));
	bytes_say(sentence, (double)sentence->deciding->now->libc_trimmable);
}

static void caches_say(const struct sentence *sentence)
{
	struct heap_advice advice = advice_of(sentence->deciding->now);

	if (advice.caches)
		fputs(advice.caches, sentence->out);
	else
		fprintf(sentence->out,
			"%s keeps it in the caches of threads, until they end or use "
			"it",
			sentence->deciding->now->allocator);
}

static void huge_say(const struct sentence *sentence)
{
	fputs("of huge pages ", sentence->out);
	bytes_say(sentence, (double)sentence->deciding->now->huge_zero);
	fputs(" of ", sentence->out);
	bytes_say(sentence, (double)sentence->deciding->now->huge_bytes);
	fputs(" hold nothing but zeros. madvise(2) with MADV_NOHUGEPAGE, or PR_SET_THP_DISABLE "
	      "(prctl(2)), keeps small pages",
	      sentence->out);
}

static void stacks_say(const struct sentence *sentence)
{
	const struct memory_split *now = sentence->deciding->now,
				  *before = sentence->deciding->before;

	fprintf(sentence->out,
		"%" PRIu64 " stacks of threads that live (%" PRIu64 " before), %" PRIu64
		" of threads that have ended (%" PRIu64
		"). `leakmon threads -p %d` shows which code creates threads that are never joined "
		"(pthread_join(3))",
		now->live_stacks, before->live_stacks, now->ended_stacks, before->ended_stacks,
		now->pid);
}

static void files_say(const struct sentence *sentence)
{
	if (written_copies_grow(sentence->deciding)) {
		fputs("pages of private file mappings that were written to (mmap(2), MAP_PRIVATE): "
		      "they are the process's own",
		      sentence->out);
		return;
	}
	fputs("pages of mapped files are page cache, which the kernel takes back when "
	      "it needs it. madvise(2) with MADV_DONTNEED lets go of them",
	      sentence->out);
}

static void shared_say(const struct sentence *sentence)
{
	fputs("shared memory stays until it is removed (shm_unlink(3), shmctl(2)), whoever ends",
	      sentence->out);
}

/* Returns whether the figures of a runtime with a goal show the growth of its heap. */
static bool goal_is_known(const struct deciding *deciding)
{
	const struct heap_goal *now = &deciding->now->goal;

	return deciding->before->goal.live && now->live && now->bytes && now->collections;
}

/* Returns whether collections leave hardly more than at the first reading: the heap grew by garbage
 * and free room, as its goal permits. Unknown, thus false, without a collection since then. */
static bool heap_is_kept(const struct deciding *deciding)
{
	const struct heap_goal *before = &deciding->before->goal, *now = &deciding->now->goal;
	int64_t live = (int64_t)(now->live - before->live);

	return goal_is_known(deciding) && now->collections > before->collections &&
	       live < deciding->growth->groups[GROUP_MANAGED] / 5;
}

static void goal_say(const struct sentence *sentence)
{
	const struct heap_goal *before = &sentence->deciding->before->goal;
	const struct heap_goal *now = &sentence->deciding->now->goal;
	char live[16], grown[16], goal[16];

	if (heap_is_kept(sentence->deciding))
		fputs("the heap is as large as its target allows. ", sentence->out);
	if (now->collections > before->collections)
		fprintf(sentence->out,
			"After the last garbage collection %s were live, %s since the first "
			"reading; ",
			units_bytes(live, (double)now->live, ""),
			units_bytes(grown, (double)(int64_t)(now->live - before->live), "+"));
	else
		fputs("No garbage collection has run since the first reading, so what of it is "
		      "live is not known yet; ",
		      sentence->out);
	fprintf(sentence->out,
		"the heap may reach %s before the next one ends (%s). `leakmon retain -p %d` "
		"shows what allocates in it",
		units_bytes(goal, (double)now->bytes, ""), now->settings,
		sentence->deciding->now->pid);
}

/* Returns whether figures of collections show the growth of the heap. */
static bool floor_is_known(const struct deciding *deciding)
{
	return deciding->before->floor.known && deciding->now->floor.known;
}

static enum heap_proof proof_of(const struct deciding *deciding)
{
	return heap_floor_compare(&deciding->before->floor, &deciding->now->floor,
				  deciding->growth->groups[GROUP_MANAGED]);
}

static void floor_say(const struct sentence *sentence)
{
	const struct heap_floor *before = &sentence->deciding->before->floor;
	const struct heap_floor *now = &sentence->deciding->now->floor;
	const struct heap_words *words = &sentence->deciding->now->words;
	char kept[16], grown[16];

	if (now->full > before->full)
		fprintf(sentence->out, ". Its collections have left %s %s, %s since %s",
			units_bytes(kept, (double)now->kept, ""), words->kept,
			units_bytes(grown, (double)(int64_t)(now->kept - before->kept), "+"),
			before->is_base ? "the first one" : "the first reading");
	else
		fputs(". No collection of the whole heap has run since then, so it may be garbage",
		      sentence->out);
	if (words->room)
		fprintf(sentence->out, "; %s %s%s", words->before,
			units_bytes(kept, (double)words->room, ""), words->after);
}

static void managed_say(const struct sentence *sentence)
{
	const struct memory_split *now = sentence->deciding->now;
	const struct memory_growth *growth = sentence->deciding->growth;
	const struct runtime_label label = {.tool = now->tool};
	char tool[RUNTIME_TOOL_SIZE], text[16];

	if (goal_is_known(sentence->deciding)) {
		goal_say(sentence);
		return;
	}
	fprintf(sentence->out,
		"it is in the garbage-collected heap of the %s, of which malloc knows nothing: %s; "
		"a leak there are objects that something still refers to. All else changed by %s",
		runtime_name(now->runtime),
		now->tool ? runtime_label_tool(&label, now->pid, tool)
			  : runtime_tool(now->runtime, now->pid, tool),
		units_bytes(text, (double)(growth->total - growth->groups[GROUP_MANAGED]), "+"));
	if (floor_is_known(sentence->deciding))
		floor_say(sentence);
}

static void filled_say(const struct sentence *sentence)
{
	const struct memory_filled *filled = &sentence->deciding->filled;
	char size[16], before[16], now[16];

	if (filled->mappings == 1)
		fprintf(sentence->out, "it fills a mapping of %s (0x%" PRIx64 ")",
			units_bytes(size, (double)filled->size, ""), filled->address);
	else
		fprintf(sentence->out, "it fills %" PRIu64 " mappings of %s", filled->mappings,
			units_bytes(size, (double)filled->size, ""));
	fprintf(sentence->out, ", %.0f %% full: %s → %s",
		100 * (double)filled->now / (double)filled->size,
		units_bytes(before, (double)filled->before, ""),
		units_bytes(now, (double)filled->now, ""));
}

static void other_say(const struct sentence *sentence)
{
	const struct memory_split *now = sentence->deciding->now;

	fputs("it is outside every heap that could be read", sentence->out);
	if (now->why)
		fprintf(sentence->out, " (%s)", now->why);
	if (fills_most(sentence->deciding)) {
		fputs("; ", sentence->out);
		filled_say(sentence);
	}
	fprintf(sentence->out, ". `leakmon -p %d --mappings` shows what maps it", now->pid);
}

/* Returns the mapping large enough to need these page tables. */
static const struct memory_fillable *sparsest(const struct deciding *deciding)
{
	const struct memory_fillable *found = NULL;

	for (size_t i = 0; i < deciding->now->fillable_count; i++) {
		const struct memory_fillable *one = &deciding->now->fillable[i];

		if (!found || one->size - MIN(one->resident, one->size) >
				      found->size - MIN(found->resident, found->size))
			found = one;
	}
	/* An entry of 8 bytes for each page. */
	return found && (int64_t)(found->size / page_size() * 8) >=
				       deciding->growth->groups[GROUP_PAGE_TABLES]
		       ? found
		       : NULL;
}

static void page_tables_say(const struct sentence *sentence)
{
	const struct deciding *deciding = sentence->deciding;
	const struct memory_fillable *mapping = sparsest(deciding);
	char before[16], now[16];

	fprintf(sentence->out,
		"page tables %s → %s, which no figure of Rss has: a large sparse address range "
		"stays mapped",
		units_bytes(before, (double)page_tables(deciding->before), ""),
		units_bytes(now, (double)page_tables(deciding->now), ""));
	if (mapping)
		fprintf(sentence->out, " (0x%" PRIx64 ", %s, %s of it resident)", mapping->address,
			units_bytes(before, (double)mapping->size, ""),
			units_bytes(now, (double)mapping->resident, ""));
	fputs(". munmap(2) it: madvise(2) with MADV_DONTNEED gives back pages, never their tables",
	      sentence->out);
}

static void unshared_say(const struct sentence *sentence)
{
	const struct memory_split *before = sentence->deciding->before,
				  *now = sentence->deciding->now;
	char was[16], is[16], shared[16];

	fprintf(sentence->out,
		"pages shared by fork become private, %s → %s (Private_Clean + Private_Dirty): "
		"each write copies one, also that of a reference count (Python). %s are still "
		"shared, and bound it. Data without reference counts, or in shared memory, stays "
		"shared",
		units_bytes(was, (double)before->own, ""), units_bytes(is, (double)now->own, ""),
		units_bytes(shared, (double)now->forked.shared, ""));
}

static void fills_say(const struct sentence *sentence)
{
	filled_say(sentence);
	fputs(", bounded by that size", sentence->out);
	if (!sentence->deciding->filled.shared)
		fprintf(sentence->out,
			", unless the program maps more: `leakmon -p %d --mappings` shows that",
			sentence->deciding->now->pid);
}

static void mixed_say(const struct sentence *sentence)
{
	fputs("no part makes up half of it", sentence->out);
}

static void (*const says[])(const struct sentence *sentence) = {
	[MEMORY_STEADY] = steady_say,
	[MEMORY_LIVE_GROWS] = live_say,
	[MEMORY_RETAINED] = retained_say,
	[MEMORY_FRAGMENTATION] = fragmentation_say,
	[MEMORY_ARENAS] = arenas_say,
	[MEMORY_THREAD_CACHES] = caches_say,
	[MEMORY_HUGE_PAGES] = huge_say,
	[MEMORY_STACKS_GROW] = stacks_say,
	[MEMORY_PAGE_CACHE] = files_say,
	[MEMORY_SHARED_GROWS] = shared_say,
	[MEMORY_MANAGED_GROWS] = managed_say,
	[MEMORY_OTHER_GROWS] = other_say,
	[MEMORY_PAGE_TABLES_GROW] = page_tables_say,
	[MEMORY_UNSHARED_GROWS] = unshared_say,
	[MEMORY_FILLS] = fills_say,
	[MEMORY_MIXED] = mixed_say,
};
_Static_assert(ARRAY_SIZE(says) == MEMORY_VERDICT_MAX_, "words for every verdict");

/* Mentions live blocks: a leak may hide behind growth that is none. */
static void live_besides_say(const struct sentence *sentence, enum memory_verdict verdict)
{
	int64_t live = sentence->deciding->growth->groups[GROUP_LIVE];

	if (verdict == MEMORY_FILLS)
		live -= (int64_t)sentence->deciding->filled.blocks_grown;
	if (verdict == MEMORY_LIVE_GROWS || verdict == MEMORY_STEADY || live < MEMORY_GROWTH_MIN)
		return;
	fputs("; besides, live blocks grew by ", sentence->out);
	bytes_say(sentence, (double)live);
	fprintf(sentence->out, ": `leakmon -p %d` shows by which call stacks",
		sentence->deciding->now->pid);
}

/* Explanations of verdicts beyond the part that grew. */
static const char *const whys[MEMORY_VERDICT_MAX_] = {
	[MEMORY_PAGE_TABLES_GROW] = "page tables: a large sparse address range stays mapped",
	[MEMORY_UNSHARED_GROWS] =
		"pages shared by fork become private: each write to one copies it",
	[MEMORY_FILLS] = "it fills a mapping of fixed size, which bounds it",
};

/* The figures behind a verdict. */
static void evidence_keep(const struct deciding *deciding, struct memory_conclusion *conclusion)
{
	const struct memory_split *before = deciding->before, *now = deciding->now;

	conclusion->why = whys[conclusion->verdict];
	conclusion->page_tables = (struct memory_then_now){page_tables(before), page_tables(now)};
	conclusion->own = (struct memory_then_now){before->own, now->own};
	conclusion->filled = (struct memory_filled){0};
	if (conclusion->verdict != MEMORY_STEADY && fills_most(deciding))
		conclusion->filled = deciding->filled;
}

void memory_conclude(const struct memory_split *before, const struct memory_split *now,
		     struct memory_conclusion *conclusion)
{
	const struct deciding deciding = {before, now, &conclusion->growth,
					  filled_since(before, now)};
	FILE *out = fmemopen(conclusion->text, sizeof(conclusion->text), "w");
	const struct sentence sentence = {&deciding, out};
	bool is_managed, proves, is_kept;

	measure(before, now, &conclusion->growth);
	conclusion->verdict = decide(&deciding);
	is_managed = conclusion->verdict == MEMORY_MANAGED_GROWS;
	proves = is_managed && floor_is_known(&deciding);
	is_kept = most_is_kept(&deciding, conclusion->verdict) ||
		  (is_managed && heap_is_kept(&deciding)) ||
		  (proves && proof_of(&deciding) == HEAP_KEEPS_AS_MUCH);
	conclusion->unproven =
		(proves && proof_of(&deciding) == HEAP_UNPROVEN) ||
		(conclusion->verdict == MEMORY_LIVE_GROWS && garbage_may_hold(&deciding)) ||
		(conclusion->verdict == MEMORY_FILLS && !deciding.filled.shared);
	evidence_keep(&deciding, conclusion);
	conclusion->no_leak = is_kept && !live_may_leak(&conclusion->growth);
	conclusion->text[0] = '\0';
	if (!out)
		return;
	growth_say(&sentence);
	fputs(": ", out);
	if (is_kept)
		fputs(conclusion->no_leak ? "not a leak; " : "the larger part: ", out);
	says[conclusion->verdict](&sentence);
	live_besides_say(&sentence, conclusion->verdict);
	fclose(out); /* longer text is cut, and ends in NUL */
	conclusion->text[sizeof(conclusion->text) - 1] = '\0';
}

/* -------- recorded readings, and two sides of a difference */

void memory_history_conclude(struct memory_history *history)
{
	for (size_t i = 0; i < history->list.count; i++) {
		struct memory_series *series = &history->list.items[i];

		series->has_conclusion = series->splits.count > 1;
		if (series->has_conclusion)
			memory_conclude(&series->splits.items[0], memory_series_latest(series),
					&series->conclusion);
	}
}

static int add_side(const struct report *report, bool same_run, bool later,
		    struct memory_changes *changes)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct snapshot_process *process = report->processes.items[i].process;
		const struct memory_series *series = memory_series_of(report, process);

		if (series && !process->exited)
			error = memory_changes_add(changes, series->comm,
						   same_run ? series->pid : 0,
						   memory_series_latest(series), later);
	}
	return error;
}

/* Adds the conclusion of a process on both sides. */
static void conclude_change(const struct diff *diff, const struct report_process *process,
			    struct memory_changes *changes)
{
	const struct memory_series *before = memory_series_of(diff->before, process->process);
	const struct memory_series *after = memory_series_of(diff->after, process->process);

	for (size_t i = 0; before && after && i < changes->list.count; i++) {
		struct memory_change *change = &changes->list.items[i];

		if (change->pid != after->pid || !change->processes_before || !change->processes)
			continue;
		change->has_conclusion = true;
		memory_conclude(memory_series_latest(before), memory_series_latest(after),
				&change->conclusion);
	}
}

int memory_changes_build(const struct diff *diff, struct memory_changes *changes)
{
	const struct report *after = diff->after;
	int error = add_side(diff->before, diff->same_run, false, changes);

	if (!error)
		error = add_side(after, diff->same_run, true, changes);
	for (size_t i = 0; !error && diff->same_run && i < after->processes.count; i++)
		conclude_change(diff, &after->processes.items[i], changes);
	memory_changes_sort(changes);
	return error;
}
