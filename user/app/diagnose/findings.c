// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/diagnose/findings.h"

#include <math.h>
#include <string.h>

#include "app/diagnose/class_growth.h"
#include "app/diagnose/descriptors.h"
#include "base/cleanup.h"
#include "heap/memory/conclusion.h"
#include "process/symbol/site_label.h"

/*
 * All thresholds of growth. Any program fluctuates by less: measured over a minute on servers,
 * interpreters and tools that do not leak (user/doc/diagnose.md).
 */
/* Reachable blocks of one call stack: steady programs gain less in a minute. */
#define HELD_BYTES_MIN (48u << 10)
/* Objects of managed heaps: an lru_cache gains 23 KiB as it fills; stored sessions gain more. */
#define OBJECT_BYTES_MIN (24u << 10)
/* Blocks without a known call stack: a class of blocks proves less. */
#define CLASS_BYTES_MIN (1u << 20)
/* Unreachable blocks without a known call stack. */
#define LOST_BYTES_MIN (256u << 10)
/* Blocks sampled in windows: fewer may be chance. */
#define SAMPLES_MIN 4
/*
 * A resized block counts as a new one each time: if fewer than this grow, their times of birth
 * cannot show whether growth continues; the readings of memory can.
 */
#define FEW_BLOCKS 6
/*
 * An estimate this far above its lower limit rests on one or two blocks (95 % limits of a Poisson
 * mean: 40 times for one event, 8 for two, 5 for three): among many call stacks, chance.
 */
#define SITE_SPREAD 8.0
/* The share of its growth that memory must gain in the last third of the time, and in the first. */
#define GOES_ON_SHARE 0.1
/* The minimum share of the counted growth that an answer explains. */
#define ANSWER_SHARE 0.5
/* Growth below this is negligible: proof of a leak then suffices as an answer. */
#define GROWN_MIN MEMORY_GROWTH_MIN

/*
 * Memory attributed to each thread, goroutine or descriptor beside its own: its working memory. An
 * order of magnitude, not measured: it only decides which of two causes comes first.
 */
static const double bytes_each[DIAGNOSED_MAX_] = {
	[DIAGNOSED_GOROUTINES] = 16 << 10,
	[DIAGNOSED_THREADS] = 1 << 20,
	[DIAGNOSED_DESCRIPTORS] = 16 << 10,
};

static const char held_why[] =
	"blocks from this call stack are not freed; a cache that still fills looks the same";

static void add(struct diagnosis *diagnosis, const struct diagnosis_finding *finding)
{
	size_t at = diagnosis->finding_count;

	if (!(finding->bytes > 0))
		return;
	while (at && finding->bytes > diagnosis->findings[at - 1].bytes)
		at--;
	if (at == DIAGNOSIS_FINDINGS_MAX)
		return;
	diagnosis->finding_count = MIN(diagnosis->finding_count + 1, DIAGNOSIS_FINDINGS_MAX);
	memmove(&diagnosis->findings[at + 1], &diagnosis->findings[at],
		(diagnosis->finding_count - at - 1) * sizeof(diagnosis->findings[0]));
	diagnosis->findings[at] = *finding;
}

uint64_t diagnose_lost_growth(const struct diagnosis *diagnosis)
{
	const struct diagnosed_count *blocks = &diagnosis->lost_blocks,
				     *bytes = &diagnosis->lost_bytes;

	return blocks->known && blocks->now >= blocks->before + OBJECTS_MIN &&
			       bytes->now > bytes->before
		       ? bytes->now - bytes->before
		       : 0;
}

bool diagnose_goes_on(const struct diagnosis_evidence *evidence)
{
	size_t count = evidence->reading_count;
	double grown, early, late;

	if (count < 4)
		return false;
	grown = evidence->readings[count - 1] - evidence->readings[0];
	early = evidence->readings[count / 3] - evidence->readings[0];
	late = evidence->readings[count - 1] - evidence->readings[count - 1 - count / 3];
	return grown >= MEMORY_GROWTH_MIN && early >= grown * GOES_ON_SHARE &&
	       late >= grown * GOES_ON_SHARE;
}

/* -------- blocks of malloc, by call stack */

static const struct profile_report_site *site_at(const struct profile_report_process *profile,
						 uint32_t index)
{
	for (size_t i = 0; profile && i < profile->sites.count; i++) {
		if (profile->sites.items[i].index == index)
			return &profile->sites.items[i];
	}
	return NULL;
}

/*
 * Returns whether both call stacks lead to the same line of the program: many do, as its
 * interpreter and its JIT compiler add different frames.
 */
static bool is_same_code(const struct profile_report_site *one,
			 const struct profile_report_site *other)
{
	const struct frame *a = site_label_frame(&one->frames);
	const struct frame *b = site_label_frame(&other->frames);

	if (one == other || !a || !b)
		return one == other;
	/* In a program without symbols, only the file is known. */
	if (!a->function && !b->function)
		return a->module && b->module && !strcmp(a->module, b->module);
	return a->function && b->function && !strcmp(a->function, b->function) &&
	       a->line == b->line;
}

/* Growth by line of the program: of all blocks, and of the unreachable ones. */
struct code_growth {
	const struct profile_report_site *site; /* its largest call stack */
	struct site_growth all, lost;
};

/* Call stacks come in descending order, so further lines are small. */
#define CODES_MAX 64
struct code_list {
	struct code_growth items[CODES_MAX];
	size_t count;
};

static struct code_growth *code_at(struct code_list *codes, const struct profile_report_site *site)
{
	for (size_t i = 0; i < codes->count; i++) {
		if (is_same_code(codes->items[i].site, site))
			return &codes->items[i];
	}
	if (codes->count == CODES_MAX)
		return NULL;
	codes->items[codes->count] = (struct code_growth){.site = site};
	return &codes->items[codes->count++];
}

static void list_codes(const struct diagnosis_evidence *evidence, const struct heap_growth *growth,
		       bool lost, struct code_list *codes)
{
	for (size_t i = 0; growth && i < growth->sites.count; i++) {
		const struct site_growth *fresh = &growth->sites.items[i];
		const struct profile_report_site *site = site_at(evidence->profile, fresh->site);
		struct code_growth *code = site ? code_at(codes, site) : NULL;

		if (code)
			site_growth_join(lost ? &code->lost : &code->all, fresh);
	}
}

static bool is_sure(const struct heap_growth *growth, const struct site_growth *site)
{
	return growth->exact || site->samples >= SAMPLES_MIN;
}

/* Adds a line if most of its growth is unreachable, which is proof. */
static void add_lost_code(const struct diagnosis_evidence *evidence, const struct code_growth *code,
			  struct diagnosis *diagnosis)
{
	struct diagnosis_finding finding = {
		.part = DIAGNOSED_BLOCKS,
		.verdict = DIAGNOSIS_LEAKS,
		.why = "nothing points to new blocks of this call stack",
		.bytes = fmax(code->lost.bytes, code->all.bytes),
		.low = fmax(code->lost.low, code->all.low),
		.high = fmax(code->lost.high, code->all.high),
		.exact = evidence->lost_growth->exact,
		.site = code->site,
		.blocks = {.checked = MAX(code->all.samples, code->lost.samples),
			   .unreachable = code->lost.samples},
		.counted_lost = true,
	};

	finding.blocks.held = finding.blocks.checked - finding.blocks.unreachable;
	add(diagnosis, &finding);
}

/*
 * Returns whether growth of a line continues. Times of birth tell, unless blocks are few, or
 * windows were short in a part of the time. Then readings of memory do, if nothing else can have
 * grown in that part.
 */
static bool code_goes_on(const struct diagnosis_evidence *evidence,
			 const struct site_growth *growth)
{
	bool exact = evidence->growth->exact;

	if (exact && growth->samples < FEW_BLOCKS)
		return diagnose_goes_on(evidence);
	return site_growth_goes_on(growth) ||
	       (!exact && growth->bytes >= evidence->growth->bytes * (1 - GOES_ON_SHARE) &&
		diagnose_goes_on(evidence));
}

static void add_held_code(const struct diagnosis_evidence *evidence, const struct code_growth *code,
			  struct diagnosis *diagnosis)
{
	const struct site_growth *growth = &code->all;
	struct diagnosis_finding finding = {
		.part = DIAGNOSED_BLOCKS,
		.verdict = DIAGNOSIS_GROWS,
		.why = held_why,
		.bytes = growth->bytes,
		.low = growth->low,
		.high = growth->high,
		.exact = evidence->growth->exact,
		.site = code->site,
	};

	/* Without two scans nothing was looked up. */
	if (evidence->growth->counted)
		finding.blocks =
			(struct diagnosed_blocks){.checked = growth->samples,
						  .held = growth->samples - growth->lost_samples,
						  .unreachable = growth->lost_samples};
	if (growth->bytes < HELD_BYTES_MIN || !is_sure(evidence->growth, growth) ||
	    !code_goes_on(evidence, growth))
		return;
	if (finding.site->judgement.verdict == PROFILE_LEAKING) {
		finding.verdict = DIAGNOSIS_LEAKS;
		finding.why = "blocks come, live, and nothing ever touches them";
	}
	add(diagnosis, &finding);
}

static void add_counted_sites(const struct diagnosis_evidence *evidence,
			      struct diagnosis *diagnosis)
{
	struct code_list codes = {.count = 0};

	list_codes(evidence, evidence->growth, false, &codes);
	if (diagnose_lost_growth(diagnosis))
		list_codes(evidence, evidence->lost_growth, true, &codes);
	for (size_t i = 0; i < codes.count; i++) {
		const struct code_growth *code = &codes.items[i];

		if (code->lost.bytes * 2 > code->all.bytes)
			add_lost_code(evidence, code, diagnosis);
		else
			add_held_code(evidence, code, diagnosis);
	}
}

/* -------- without a scan that counted the heap */

static double live_growth(const struct diagnosis_evidence *evidence,
			  const struct diagnosis *diagnosis)
{
	if (evidence->conclusion && evidence->first && evidence->last &&
	    !evidence->first->heap_changed && !evidence->last->heap_changed)
		return (double)evidence->conclusion->growth.groups[GROUP_LIVE];
	return diagnosis->rss.known ? (double)diagnosis->rss.now - (double)diagnosis->rss.before
				    : HUGE_VAL;
}

/*
 * One call stack in forty seems to grow by chance. So several of its blocks must have survived, and
 * memory must have grown, too.
 */
static void add_estimated_site(const struct diagnosis_evidence *evidence,
			       struct diagnosis *diagnosis)
{
	const struct profile_report_site *site = diagnose_site(evidence->profile);
	const struct interval *rate = site ? &site->judgement.growth_bytes_per_s : NULL;
	struct diagnosis_finding finding = {
		.part = DIAGNOSED_BLOCKS, .verdict = DIAGNOSIS_GROWS, .site = site};

	if (!site)
		return;
	finding.bytes =
		fmin(rate->estimate * evidence->seconds, fmax(live_growth(evidence, diagnosis), 0));
	finding.why = held_why;
	if (site->judgement.verdict == PROFILE_LEAKING) {
		finding.verdict = DIAGNOSIS_LEAKS;
		finding.why = "blocks come, live, and nothing ever touches them";
		finding.bytes = rate->estimate * evidence->seconds;
	} else if (rate->estimate > SITE_SPREAD * rate->low ||
		   finding.bytes < rate->low * evidence->seconds / 2) {
		return;
	}
	add(diagnosis, &finding);
}

/* -------- blocks of malloc, by class */

/* Adds a class for growth without a call stack. Unreachable blocks are proof without one. */
static void add_native_class(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	uint64_t lost = diagnose_lost_growth(diagnosis);
	double named = 0;
	struct diagnosis_finding finding = {.part = DIAGNOSED_BLOCKS, .has_class = true};

	for (size_t i = 0; i < diagnosis->finding_count; i++)
		named += diagnosis->findings[i].site ? diagnosis->findings[i].bytes : 0;
	if (lost >= LOST_BYTES_MIN && diagnosis->has_lost_class && named < (double)lost / 2) {
		finding.verdict = DIAGNOSIS_LEAKS;
		finding.why = "unreachable blocks became more; no tracked call stack made them";
		finding.class = diagnosis->lost_class;
		finding.bytes = (double)lost;
		finding.counted_lost = true;
		add(diagnosis, &finding);
		return;
	}
	if (!evidence->growth || named >= evidence->growth->bytes / 2 ||
	    !diagnose_find_native_class(evidence, &finding.class) ||
	    diagnosis->retention->classes.items[finding.class.class].kind == CLASS_SIZE)
		return;
	finding.verdict = DIAGNOSIS_GROWS;
	finding.why = "blocks of this class became more; no tracked call stack made them";
	finding.bytes = (double)finding.class.is.bytes - (double)finding.class.was.bytes;
	if (finding.bytes >= CLASS_BYTES_MIN)
		add(diagnosis, &finding);
}

/* -------- managed heaps */

/* Returns growth of reachable bytes; without two scans garbage cannot be told from live objects. */
static double managed_growth(const struct diagnosis_evidence *evidence)
{
	if (evidence->scan_count < 2)
		return 0;
	return fmax((double)diagnose_held_bytes(evidence->scans[evidence->scan_count - 1]) -
			    (double)diagnose_held_bytes(evidence->scans[0]),
		    0);
}

static void add_objects(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct diagnosis_finding finding = {
		.part = DIAGNOSED_OBJECTS,
		.verdict = DIAGNOSIS_GROWS,
		.why = "held objects of this class became more at every scan; a cache that still "
		       "fills looks the same",
		.bytes = (double)diagnosis->class_bytes,
		.exact = true,
	};

	if (!diagnosis->class_count || !diagnose_are_objects_many(diagnosis) ||
	    finding.bytes < OBJECT_BYTES_MIN)
		return;
	/* Two scans alone may be chance, unless memory grew all the time. */
	if (evidence->scan_count >= GROWTH_SCANS_MIN ||
	    (finding.bytes >= GROWN_MIN && diagnose_goes_on(evidence)))
		add(diagnosis, &finding);
}

static void add_garbage(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	struct diagnosis_finding finding = {
		.part = DIAGNOSED_OBJECTS,
		.verdict = DIAGNOSIS_LEAKS,
		.why = "nothing reaches these objects, and the program has switched its collector "
		       "off",
		.exact = true,
		.has_class = true,
	};

	finding.bytes = (double)diagnose_find_garbage(evidence, &finding.class);
	if (finding.bytes >= LOST_BYTES_MIN)
		add(diagnosis, &finding);
}

/* Adds a root if no class grows: in some languages every size of table is another class. */
static void add_root(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	struct diagnosis_finding finding = {
		.part = DIAGNOSED_OBJECTS,
		.verdict = DIAGNOSIS_GROWS,
		.why = "this root reaches more and more; a cache that still fills looks the same",
		.exact = true,
		.has_root = true,
	};

	if (!evidence->scan_count || !evidence->scans[0]->runtimes.count ||
	    !diagnose_find_root(evidence, &finding.root, &finding.root_was_bytes))
		return;
	/* It may also reach blocks of malloc, which call stacks explain. */
	finding.bytes = fmin((double)diagnosis->retention->roots.items[finding.root].led.bytes -
				     (double)finding.root_was_bytes,
			     managed_growth(evidence));
	/* A class of the program is more useful, if it explains enough for an answer. */
	if ((double)diagnosis->class_bytes < finding.bytes * ANSWER_SHARE)
		add(diagnosis, &finding);
}

/* Adds the finding of a Go program's own heap profile. */
static void add_sampled(struct diagnosis *diagnosis)
{
	const struct diagnosis_finding finding = {
		.part = DIAGNOSED_OBJECTS,
		.verdict = DIAGNOSIS_GROWS,
		.why = "objects of this call stack outlived garbage collections and become more; a "
		       "cache that still fills looks the same",
		.bytes = diagnosis->sampled ? diagnosis->sampled->growth : 0,
	};

	if (finding.bytes >= OBJECT_BYTES_MIN)
		add(diagnosis, &finding);
}

/* -------- counts */

static double thread_growth(const struct diagnosis_evidence *evidence)
{
	const struct diagnosed_count *threads = &evidence->threads;

	return count_grew(threads) &&
			       count_series_trend(&evidence->thread_series) != COUNT_TREND_STANDS
		       ? (double)threads->now - (double)threads->before
		       : 0;
}

/* Returns the number of per-thread heaps in all runtimes. */
static uint64_t isolates_of(const struct retain_result *scan)
{
	uint64_t count = 0;

	for (size_t i = 0; i < scan->runtimes.count; i++)
		count += scan->runtimes.items[i].isolates;
	return count;
}

/* Returns the bytes of managed heaps of new threads, assuming the mean size of all. */
static double isolate_growth(const struct diagnosis_evidence *evidence)
{
	const struct retain_result *last;
	uint64_t before, now;

	if (evidence->scan_count < 2)
		return 0;
	last = evidence->scans[evidence->scan_count - 1];
	before = isolates_of(evidence->scans[0]);
	now = isolates_of(last);
	if (!before || now <= before)
		return 0;
	return fmin((double)diagnose_held_bytes(last) * (double)(now - before) / (double)now,
		    managed_growth(evidence));
}

struct diagnosed_count diagnose_ended_threads(const struct diagnosis_evidence *evidence)
{
	struct diagnosed_count ended = {.known = evidence->first && evidence->last};

	if (!ended.known)
		return ended;
	ended.before = evidence->first->ended_stacks;
	ended.now = evidence->last->ended_stacks;
	ended.known = count_grew(&ended) && diagnose_goes_on(evidence);
	return ended;
}

static double stack_growth(const struct diagnosis_evidence *evidence)
{
	return evidence->conclusion
		       ? fmax((double)evidence->conclusion->growth.groups[GROUP_STACKS], 0)
		       : 0;
}

static void add_ended_threads(const struct diagnosis_evidence *evidence,
			      struct diagnosis *diagnosis)
{
	const struct diagnosis_finding finding = {
		.part = DIAGNOSED_THREADS,
		.verdict = DIAGNOSIS_GROWS,
		.why = "threads end, and nobody joins or detaches them: their stacks stay",
		.bytes = stack_growth(evidence),
		.exact = true,
		.ended = true,
	};

	if (diagnose_ended_threads(evidence).known)
		add(diagnosis, &finding);
}

/* `beside`: their memory that was counted. */
static void add_counted(struct diagnosis *diagnosis, enum diagnosis_part part, double more,
			double beside, const char *why)
{
	const struct diagnosis_finding finding = {
		.part = part,
		.verdict = DIAGNOSIS_GROWS,
		.why = why,
		.bytes = more > 0 ? more * bytes_each[part] + beside : 0,
		.exact = true};

	add(diagnosis, &finding);
}

static void add_counts(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct task_group *goroutines = diagnosis->goroutines;
	const struct diagnosed_count *descriptors = &evidence->descriptors;
	struct diagnosed_opener opener;
	enum descriptors_verdict verdict;

	if (goroutines)
		add_counted(diagnosis, DIAGNOSED_GOROUTINES,
			    (double)goroutines->count - (double)goroutines->growth.first_count, 0,
			    "goroutines of one creator wait at one place, and become more");
	else /* a goroutine in a system call occupies a thread */
		add_counted(diagnosis, DIAGNOSED_THREADS, thread_growth(evidence),
			    stack_growth(evidence) + isolate_growth(evidence),
			    "threads are created and do not end");
	if (!(thread_growth(evidence) > 0))
		add_ended_threads(evidence, diagnosis);
	verdict = descriptors_judge(&evidence->descriptor_series, descriptors, evidence->opened,
				    &opener);
	if (verdict != DESCRIPTORS_NO_LEAK)
		add_counted(diagnosis, DIAGNOSED_DESCRIPTORS,
			    (double)descriptors->now - (double)descriptors->before, 0,
			    descriptors_why(verdict));
}

/* -------- other memory */

static void add_tmpfs(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	struct tmpfs_growth growth = {0};
	struct diagnosis_finding finding = {
		.part = DIAGNOSED_TMPFS, .verdict = DIAGNOSIS_GROWS, .exact = true};

	if (evidence->first_files && evidence->last_files)
		growth = tmpfs_files_grown(evidence->first_files, evidence->last_files);
	if (!growth.file)
		return;
	diagnosis->file.path = growth.file->path;
	diagnosis->file.before = growth.before;
	diagnosis->file.now = growth.file->bytes;
	diagnosis->file.open = growth.file->open;
	finding.bytes = (double)growth.file->bytes - (double)growth.before;
	finding.why = growth.file->open ? "a file in memory grows that it has open for writing"
					: "a file in memory grew by as much as it wrote in this "
					  "time";
	add(diagnosis, &finding);
}

/* -------- memory in the kernel */

/* Neither kind is in the process's own memory. */
static void add_kernel(struct diagnosis *diagnosis)
{
	const struct diagnosis_finding
		objects = {.part = DIAGNOSED_KERNEL,
			   .verdict = DIAGNOSIS_GROWS,
			   .why = "the kernel keeps more and more objects for this call stack",
			   .bytes = diagnosis->kernel.bytes,
			   .exact = diagnosis->kernel.exact},
		segments = {.part = DIAGNOSED_SYSV,
			    .verdict = DIAGNOSIS_GROWS,
			    .why = "segments become more that nobody has attached, or removes",
			    .bytes = (double)diagnosis->sysv.bytes,
			    .exact = true};

	add(diagnosis, &objects);
	add(diagnosis, &segments);
}

int64_t diagnose_written_growth(const struct diagnosis_evidence *evidence)
{
	if (!evidence->first || !evidence->last)
		return 0;
	return (int64_t)evidence->last->parts[MEMORY_FILES_WRITTEN].resident -
	       (int64_t)evidence->first->parts[MEMORY_FILES_WRITTEN].resident;
}

/*
 * Returns the growth of a group without another explanation, unless malloc, a collector or the page
 * cache retains it.
 */
static double group_growth(const struct diagnosis_evidence *evidence, enum memory_group group)
{
	const struct memory_conclusion *conclusion = evidence->conclusion;

	if (!conclusion || group == GROUP_LIVE || group == GROUP_FREE || group == GROUP_MALLOC ||
	    group == GROUP_MANAGED)
		return 0;
	/* Threads explain their stacks. */
	if (group == GROUP_STACKS &&
	    (thread_growth(evidence) > 0 || diagnose_ended_threads(evidence).known))
		return 0;
	/* It may be malloc's heap. */
	if (group == GROUP_OTHER && evidence->last && evidence->last->why)
		return 0;
	if (group == GROUP_FILES)
		return fmax((double)diagnose_written_growth(evidence), 0);
	return fmax((double)conclusion->growth.groups[group], 0);
}

static void add_groups(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	const struct memory_conclusion *conclusion = evidence->conclusion;

	if (!conclusion || conclusion->verdict == MEMORY_STEADY || conclusion->no_leak ||
	    conclusion->verdict == MEMORY_FILLS)
		return;
	for (unsigned group = 0; group < GROUP_MAX_; group++) {
		const struct diagnosis_finding finding = {
			.part = DIAGNOSED_MEMORY,
			.group = (enum memory_group)group,
			.verdict = DIAGNOSIS_GROWS,
			.why = conclusion->why ? conclusion->why
					       : "this part of its memory grew, and malloc knows "
						 "nothing of "
						 "it",
			.bytes = group_growth(evidence, (enum memory_group)group),
			.exact = true,
		};

		if (finding.bytes >= MEMORY_GROWTH_MIN)
			add(diagnosis, &finding);
	}
}

/* -------- the growth to be explained */

static double native_growth(const struct diagnosis_evidence *evidence)
{
	if (evidence->growth && evidence->growth->counted)
		return fmax(evidence->growth->bytes, 0);
	return evidence->conclusion
		       ? fmax((double)evidence->conclusion->growth.groups[GROUP_LIVE], 0)
		       : 0;
}

static double counted_growth(const struct diagnosis_evidence *evidence,
			     const struct diagnosis *diagnosis)
{
	struct diagnosed_class class;
	double grown = native_growth(evidence) + managed_growth(evidence) +
		       (diagnose_ended_threads(evidence).known ? stack_growth(evidence) : 0) +
		       (double)diagnose_find_garbage(evidence, &class) + diagnosis->kernel.bytes +
		       (double)diagnosis->sysv.bytes;

	for (unsigned group = 0; group < GROUP_MAX_; group++)
		grown += group_growth(evidence, (enum memory_group)group);
	return grown;
}

void findings_collect(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis)
{
	diagnosis->finding_count = 0;
	if (evidence->growth && evidence->growth->known)
		add_counted_sites(evidence, diagnosis);
	else
		add_estimated_site(evidence, diagnosis);
	add_native_class(evidence, diagnosis);
	add_objects(evidence, diagnosis);
	add_garbage(evidence, diagnosis);
	add_root(evidence, diagnosis);
	add_sampled(diagnosis);
	add_counts(evidence, diagnosis);
	add_tmpfs(evidence, diagnosis);
	add_kernel(diagnosis);
	add_groups(evidence, diagnosis);
	diagnosis->grown_bytes = counted_growth(evidence, diagnosis);
	/* Counted things explain memory that may not have grown yet. */
	if (diagnosis->finding_count)
		diagnosis->grown_bytes = fmax(diagnosis->grown_bytes, diagnosis->findings[0].bytes);
	for (size_t i = 0; i < diagnosis->finding_count; i++)
		diagnosis->findings[i].share =
			diagnosis->findings[i].bytes / diagnosis->grown_bytes;
}

bool findings_answer(struct diagnosis *diagnosis)
{
	const struct diagnosis_finding *first = &diagnosis->findings[0];

	diagnosis->explained = 0;
	if (!diagnosis->finding_count)
		return false;
	for (size_t i = 0; i < diagnosis->finding_count && diagnosis->explained < ANSWER_SHARE;
	     i++) {
		if (diagnosis->findings[i].part == first->part)
			diagnosis->explained += diagnosis->findings[i].share;
	}
	/* Proof of a small leak suffices if all other growth is negligible. */
	return diagnosis->explained >= ANSWER_SHARE ||
	       (first->verdict == DIAGNOSIS_LEAKS && diagnosis->grown_bytes < GROWN_MIN);
}
