// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes an answer of at most twelve lines: the verdict, then the evidence. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/output.h"
#include "output/text/text.h"
#include "report/diagnosis.h"
#include "report/family.h"
#include "report/stored_diagnosis.h"

static void label_write(FILE *out, const struct text_style *style, const char *label)
{
	fprintf(out, "  %s%-9s%s", style->dim, label, style->plain);
}

/*
 * Returns the growth in bytes per minute: counted, except for a Go program's samples. Negative:
 * unknown.
 */
static double rate_of(const struct diagnosis *diagnosis)
{
	double to_minute = 60 / fmax(diagnosis->seconds, 1);
	const struct diagnosis_finding *answer =
		diagnosis->finding_count ? &diagnosis->findings[0] : NULL;

	switch (diagnosis->part) {
	case DIAGNOSED_BLOCKS:
	case DIAGNOSED_OBJECTS:
		if (diagnosis->counted_lost)
			return ((double)diagnosis->lost_bytes.now -
				(double)diagnosis->lost_bytes.before) *
			       to_minute;
		return answer ? diagnosis->grown_bytes * to_minute : -1;
	case DIAGNOSED_KERNEL:
		return diagnosis->kernel.bytes * 60 / fmax(diagnosis->kernel.seconds, 1);
	case DIAGNOSED_SYSV:
	case DIAGNOSED_TMPFS:
		return answer ? answer->bytes * to_minute : -1;
	case DIAGNOSED_MEMORY:
		return diagnosis->conclusion
			       ? (double)diagnosis->conclusion->growth.groups[diagnosis->group] *
					 to_minute
			       : -1;
	default:
		return -1;
	}
}

static void rate_write(FILE *out, const struct diagnosis *diagnosis)
{
	double rate = rate_of(diagnosis);
	char text[16];

	if (rate >= 0)
		fprintf(out, ", %s/min%s", units_bytes(text, rate, "+"),
			diagnosis->counted_lost ? " unreachable" : "");
}

static bool is_news(const struct diagnosis *diagnosis)
{
	return diagnosis->verdict == DIAGNOSIS_GROWS || diagnosis->verdict == DIAGNOSIS_LEAKS;
}

static void container_write(FILE *out, const struct container *container)
{
	_cleanup_free_ char *name = NULL;
	size_t size;
	FILE *text = container ? open_memstream(&name, &size) : NULL;

	if (!text)
		return;
	container_print_name(text, container);
	fclose(text);
	fputs(" in container ", out);
	text_print_inert(out, name);
}

static void verdict_write(FILE *out, const struct text_style *style,
			  const struct diagnosis *diagnosis)
{
	static const char *const words[] = {
		[DIAGNOSIS_UNKNOWN] = "not known",
		[DIAGNOSIS_NO_LEAK] = "no leak",
		[DIAGNOSIS_GROWS] = "grows",
		[DIAGNOSIS_LEAKS] = "leaks",
	};
	_Static_assert(ARRAY_SIZE(words) == DIAGNOSIS_VERDICT_MAX_, "words for each verdict");
	fprintf(out, "%sPID %d (", style->bold, diagnosis->pid);
	text_print_inert(out, diagnosis->comm);
	fprintf(out, ")%s", style->plain);
	container_write(out, diagnosis->container);
	fprintf(out, "%s: %s%s%s", diagnosis->ended ? ", which has ended" : "",
		is_news(diagnosis) ? style->red : style->green, words[diagnosis->verdict],
		style->plain);
	if (diagnosis->part != DIAGNOSED_NOTHING) {
		fprintf(out, ": %s", diagnosis_part_words(diagnosis->part, diagnosis->group));
		rate_write(out, diagnosis);
	}
	fputc('\n', out);
}

static void why_write(FILE *out, const struct text_style *style, const struct diagnosis *diagnosis)
{
	const struct diagnosed_blocks *blocks = &diagnosis->blocks;

	label_write(out, style, "why");
	fputs(diagnosis->why, out);
	if (diagnosis->part == DIAGNOSED_BLOCKS && blocks->checked)
		fprintf(out, ": %zu of %zu looked up are unreachable", blocks->unreachable,
			blocks->checked);
	fputc('\n', out);
}

/* Writes a frame with its file and line. */
static void frame_write(FILE *out, const struct frame *frame)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *raw = open_memstream(&text, &size);

	if (!raw)
		return;
	text_step_print(raw, &(struct label_step){.frame = frame, .placed = true});
	if (!fclose(raw))
		text_print_inert(out, text);
}

/* Returns whether the part is counted by number: its bytes only rank it. */
static bool is_number(enum diagnosis_part part)
{
	return part == DIAGNOSED_GOROUTINES || part == DIAGNOSED_THREADS ||
	       part == DIAGNOSED_DESCRIPTORS;
}

/* Limits are shown if their range exceeds this share of the estimate. */
#define LIMITS_SHOWN 0.05

static double percent_of(double bytes, const struct diagnosis *diagnosis)
{
	return 100 * fmin(bytes / diagnosis->grown_bytes, 1);
}

/* Writes the share of the counted growth that the answer explains, and the evidence for it. */
static void share_write(FILE *out, const struct text_style *style,
			const struct diagnosis *diagnosis)
{
	const struct diagnosis_finding *answer = &diagnosis->findings[0];
	const struct profile_report_process *profile = diagnosis->profile;
	char grown[16];

	if (!is_news(diagnosis) || !diagnosis->finding_count || answer->part != diagnosis->part ||
	    diagnosis->grown_bytes <= 0 || is_number(answer->part))
		return;
	label_write(out, style, "explains");
	fprintf(out, "%s%.0f%%", answer->exact ? "" : "about ", 100 * fmin(answer->share, 1));
	if (answer->high - answer->low > answer->bytes * LIMITS_SHOWN)
		fprintf(out, " (%.0f%% to %.0f%%)", percent_of(answer->low, diagnosis),
			percent_of(answer->high, diagnosis));
	fprintf(out, " of %s that was counted", units_bytes(grown, diagnosis->grown_bytes, "+"));
	if (answer->site && profile && profile->exact_s > 0)
		fprintf(out, "; every allocation was tracked for %.0f s (%.0f events/s)",
			profile->exact_s, profile->events_per_s);
	else if (answer->site && profile)
		fprintf(out, "; estimated from %zu windows", profile->judgement.windows);
	fputc('\n', out);
}

/* Writes other causes, of the same growth and of other growth. */
static void others_write(FILE *out, const struct text_style *style,
			 const struct diagnosis_report *report, const struct diagnosis *diagnosis)
{
	struct text_form form = report->form;
	size_t first = is_news(diagnosis) && diagnosis->finding_count &&
				       diagnosis->findings[0].part == diagnosis->part
			       ? 1
			       : 0;

	form.verbose = false;
	for (size_t i = first; i < diagnosis->finding_count; i++) {
		const struct diagnosis_finding *finding = &diagnosis->findings[i];
		char bytes[16];

		/* Smaller shares are noise. */
		if (finding->share < 0.01)
			continue;
		label_write(out, style, i == first ? "also" : "");
		if (!is_number(finding->part))
			fprintf(out, "%.0f%%, %s: ", 100 * fmin(finding->share, 1),
				units_bytes(bytes, finding->bytes, "+"));
		if (finding->site)
			text_code_write(out, &form, &finding->site->frames);
		else
			fputs(diagnosis_part_words(finding->part, finding->group), out);
		fputc('\n', out);
	}
}

/* Returns the code that allocates the growing memory; NULL: unknown. */
static const struct frames *frames_of(const struct diagnosis *diagnosis)
{
	if (diagnosis->part == DIAGNOSED_BLOCKS && diagnosis->site)
		return &diagnosis->site->frames;
	if (diagnosis->opener.site)
		return &diagnosis->opener.site->frames;
	if (diagnosis->mapper.site)
		return &diagnosis->mapper.site->frames;
	if (diagnosis->creator)
		return &diagnosis->creator->stack;
	if (diagnosis->ended_threads.group)
		return &diagnosis->ended_threads.group->stack;
	if (diagnosis->part == DIAGNOSED_KERNEL)
		return diagnosis->kernel.frames;
	if (diagnosis->part == DIAGNOSED_OBJECTS && diagnosis->sampled)
		return &diagnosis->sampled->frames;
	return NULL;
}

static void code_write(FILE *out, const struct text_style *style,
		       const struct diagnosis_report *report, const struct diagnosis *diagnosis)
{
	const struct frames *frames = frames_of(diagnosis);

	if (!frames || !frames->list.count)
		return;
	label_write(out, style, "code");
	text_code_write(out, &report->form, frames);
	fputc('\n', out);
}

static void opener_write(FILE *out, const struct text_style *style,
			 const struct diagnosis *diagnosis)
{
	const struct diagnosed_opener *opener = &diagnosis->opener;
	const struct site *site = opener->site ? opener->site->site : NULL;
	char oldest[16], reach[16];

	if (!site)
		return;
	label_write(out, style, "opened");
	if (kind_name(site->kind))
		fprintf(out, "%s", kind_name(site->kind));
	if (site->patterns) {
		fputs(" (", out);
		text_print_inert(out, site->patterns);
		fputc(')', out);
	}
	fprintf(out, "%s%" PRIu64 " opened there, %" PRIu64 " are still open, the oldest for %s",
		kind_name(site->kind) ? ": " : "", opener->opened, opener->open,
		units_time(oldest, (double)opener->oldest_ns / 1e9));
	if (opener->closed)
		fprintf(out, "; %" PRIu64 " closed, nearly all within %s", opener->closed,
			units_time(reach, (double)opener->closes_reach_ns / 1e9));
	fprintf(out, "; %.0f%% of the growth\n", 100 * opener->share);
}

static void mapper_write(FILE *out, const struct text_style *style,
			 const struct diagnosis *diagnosis)
{
	const struct diagnosed_mapper *mapper = &diagnosis->mapper;
	char bytes[16], resident[16];

	if (!mapper->site)
		return;
	label_write(out, style, "mapped");
	fprintf(out, "%s in %" PRIu64 " mappings there, %s resident; %.0f%% of the growth\n",
		units_bytes(bytes, (double)mapper->bytes, ""), mapper->count,
		units_bytes(resident, (double)mapper->resident, ""), 100 * mapper->share);
}

static void kernel_write(FILE *out, const struct text_style *style,
			 const struct diagnosis *diagnosis)
{
	const struct diagnosed_kernel *kernel = &diagnosis->kernel;
	char bytes[16], took[16];

	if (!(kernel->bytes > 0) && !kernel->things.known)
		return;
	label_write(out, style, "kernel");
	if (!(kernel->bytes > 0)) {
		fprintf(out, "%s: %" PRIu64 " → %" PRIu64 "\n", kernel->what, kernel->things.before,
			kernel->things.now);
		return;
	}
	if (kernel->what && kernel->things.known)
		fprintf(out, "%s: %" PRIu64 " → %" PRIu64 "; ", kernel->what, kernel->things.before,
			kernel->things.now);
	else if (kernel->what)
		fprintf(out, "%s: ", kernel->what);
	fprintf(out, "%s%" PRIu64 " objects", kernel->exact ? "" : "about ", kernel->count);
	/* The kernel may merge caches of one size under another's name. */
	if (!kernel->what && *kernel->cache) {
		fputs(" of slab cache ", out);
		text_print_inert(out, kernel->cache);
	}
	if (kernel->function) {
		fputs(" from ", out);
		text_print_inert(out, kernel->function);
	}
	fprintf(out, " stay; all objects of this code: %s in %s\n",
		units_bytes(bytes, kernel->bytes, "+"), units_time(took, kernel->seconds));
}

static void sysv_write(FILE *out, const struct text_style *style, const struct diagnosis *diagnosis)
{
	char bytes[16];

	if (!diagnosis->sysv.segments)
		return;
	label_write(out, style, "segments");
	fprintf(out,
		"%" PRIu64 " with nothing attached, created by PID %d%s since it is watched, %s\n",
		diagnosis->sysv.segments, diagnosis->pid,
		diagnosis->sysv.by_children ? " or its children" : "",
		units_bytes(bytes, (double)diagnosis->sysv.bytes, "+"));
}

static void creator_write(FILE *out, const struct text_style *style,
			  const struct diagnosis *diagnosis)
{
	const struct live_group *group = diagnosis->creator;

	if (!group)
		return;
	label_write(out, style, "created");
	fprintf(out, "%zu threads of it live, %.0f%% of the growth", group->count,
		100 * diagnosis->creator_share);
	if (group->start.list.count) {
		fputs(", running ", out);
		frame_write(out, &group->start.list.items[0]);
	}
	fputc('\n', out);
}

static void ended_write(FILE *out, const struct text_style *style,
			const struct diagnosis *diagnosis)
{
	const struct diagnosed_ended *ended = &diagnosis->ended_threads;
	char bytes[16];

	if (!ended->threads.known)
		return;
	label_write(out, style, "ended");
	fprintf(out, "%" PRIu64 " → %" PRIu64 " threads ended, never joined; their stacks hold %s",
		ended->threads.before, ended->threads.now,
		units_bytes(bytes, (double)ended->stack_bytes, ""));
	if (ended->group) {
		fprintf(out, "; %zu of them created there, %.0f%% of the growth",
			ended->group->count, 100 * ended->share);
		if (ended->group->start.list.count) {
			fputs(", running ", out);
			frame_write(out, &ended->group->start.list.items[0]);
		}
	}
	fputc('\n', out);
}

static void goroutines_write(FILE *out, const struct text_style *style,
			     const struct diagnosis *diagnosis)
{
	const struct task_group *group = diagnosis->goroutines;
	const struct frame *place = group ? goroutine_place(&group->stack) : NULL;
	const struct frame *creator = group ? goroutine_place(&group->creator) : NULL;

	if (!group)
		return;
	label_write(out, style, "code");
	fprintf(out, "%" PRIu64 " → %" PRIu64 " [", group->growth.first_count, group->count);
	text_print_inert(out, group->state);
	fputc(']', out);
	if (place) {
		fputs(" at ", out);
		frame_write(out, place);
	}
	if (creator) {
		fputs(", created by ", out);
		frame_write(out, creator);
	}
	if (!group->growth.gone)
		fputs("; none has ended", out);
	fputc('\n', out);
}

static void classes_write(FILE *out, const struct text_style *style,
			  const struct diagnosis *diagnosis)
{
	for (size_t i = 0; i < diagnosis->class_count; i++) {
		const struct retained_class *class =
			&diagnosis->retention->classes.items[diagnosis->classes[i].class];
		const struct retention_total *was = &diagnosis->classes[i].was,
					     *is = &diagnosis->classes[i].is;
		_cleanup_free_ char *name = text_retain_class(diagnosis->retention, class);
		char bytes[16];

		label_write(out, style, i ? "" : "objects");
		fprintf(out, "%s: %" PRIu64 " → %" PRIu64 " %s, %s\n", name ? name : "?",
			was->blocks, is->blocks,
			diagnosis->classes[i].garbage ? "unreachable" : "held",
			units_bytes(bytes, (double)(is->bytes - was->bytes), "+"));
	}
}

static void holder_write(FILE *out, const struct text_style *style,
			 const struct diagnosis *diagnosis)
{
	const struct retained_path *path = diagnosis->path;

	if (!path)
		return;
	label_write(out, style, "held by");
	text_retain_root_write(out, &diagnosis->retention->roots.items[path->root]);
	for (size_t i = 0; i < path->steps.count; i++)
		text_retain_step_write(out, diagnosis->retention, &path->steps.items[i]);
	fputc('\n', out);
}

static void awaited_write(FILE *out, const struct text_style *style,
			  const struct diagnosis *diagnosis)
{
	const struct diagnosed_class *awaited = &diagnosis->awaited;
	_cleanup_free_ char *name = NULL;

	if (!diagnosis->has_awaited)
		return;
	name = text_retain_class(diagnosis->retention,
				 &diagnosis->retention->classes.items[awaited->class]);
	label_write(out, style, "garbage");
	fprintf(out, "%s: %" PRIu64 " → %" PRIu64 " objects await a collection\n",
		name ? name : "?", awaited->was.blocks, awaited->is.blocks);
}

/* Writes the limit of a container that fills. */
static void filling_write(FILE *out, const struct text_style *style,
			  const struct diagnosis *diagnosis)
{
	if (!diagnosis->filling.limit)
		return;
	label_write(out, style, "limit");
	fprintf(out,
		"a container on this path holds at most %" PRIu64 " entries: %" PRIu64 " → %" PRIu64
		"\n",
		diagnosis->filling.limit, diagnosis->filling_was, diagnosis->filling.entries);
}

/* Writes the growing root, if no class explains it. */
static void root_write(FILE *out, const struct text_style *style, const struct diagnosis *diagnosis)
{
	const struct diagnosis_finding *answer = &diagnosis->findings[0];
	const struct retained_root *root;
	char before[16], now[16];

	if (!diagnosis->finding_count || !answer->has_root || !is_news(diagnosis))
		return;
	root = &diagnosis->retention->roots.items[answer->root];
	label_write(out, style, "root");
	text_retain_root_write(out, root);
	fprintf(out, ": reaches %s → %s\n", units_bytes(before, (double)answer->root_was_bytes, ""),
		units_bytes(now, (double)root->led.bytes, ""));
}

static void file_write(FILE *out, const struct text_style *style, const struct diagnosis *diagnosis)
{
	char before[16], now[16];

	if (!diagnosis->file.path)
		return;
	label_write(out, style, "file");
	text_print_inert(out, diagnosis->file.path);
	fprintf(out, ": %s → %s\n", units_bytes(before, (double)diagnosis->file.before, ""),
		units_bytes(now, (double)diagnosis->file.now, ""));
}

static void lost_write(FILE *out, const struct text_style *style, const struct diagnosis *diagnosis)
{
	const struct diagnosed_count *blocks = &diagnosis->lost_blocks,
				     *bytes = &diagnosis->lost_bytes;
	_cleanup_free_ char *name = NULL;
	char before[16], now[16];

	if (!blocks->known || (!blocks->before && !blocks->now))
		return;
	label_write(out, style, "lost");
	fprintf(out, "%" PRIu64 " → %" PRIu64 " unreachable blocks, %s → %s", blocks->before,
		blocks->now, units_bytes(before, (double)bytes->before, ""),
		units_bytes(now, (double)bytes->now, ""));
	if (diagnosis->has_lost_class) {
		name = text_retain_class(
			diagnosis->retention,
			&diagnosis->retention->classes.items[diagnosis->lost_class.class]);
		fprintf(out, "; most: %s", name ? name : "?");
	}
	fputc('\n', out);
}

static void memory_write(FILE *out, const struct text_style *style,
			 const struct diagnosis *diagnosis)
{
	char before[16], now[16], took[16], part[16];
	bool first = true;

	if (!diagnosis->rss.known || !diagnosis->conclusion)
		return;
	label_write(out, style, "memory");
	fprintf(out, "%s → %s resident in %s",
		units_bytes(before, (double)diagnosis->rss.before, ""),
		units_bytes(now, (double)diagnosis->rss.now, ""),
		units_time(took, diagnosis->seconds));
	for (unsigned i = 0; i < GROUP_MAX_; i++) {
		int64_t growth = diagnosis->conclusion->growth.groups[i];

		if (growth > -65536 && growth < 65536)
			continue;
		fprintf(out, "%s %s %s", first ? ":" : ",", memory_group_words(i),
			units_bytes(part, (double)growth, "+"));
		first = false;
	}
	fputc('\n', out);
}

static void counts_write(FILE *out, const struct text_style *style,
			 const struct diagnosis *diagnosis)
{
	const struct diagnosed_count *threads = &diagnosis->threads,
				     *descriptors = &diagnosis->descriptors;

	if (!threads->known || !descriptors->known ||
	    (threads->before == threads->now && descriptors->before == descriptors->now))
		return;
	label_write(out, style, "counts");
	fprintf(out, "%" PRIu64 " → %" PRIu64 " threads, %" PRIu64 " → %" PRIu64 " descriptors\n",
		threads->before, threads->now, descriptors->before, descriptors->now);
}

static void limit_write(FILE *out, const struct text_style *style,
			const struct diagnosis *diagnosis)
{
	char limit[16], left[16];

	if (diagnosis->limit_in_s < 0)
		return;
	label_write(out, style, "limit");
	fprintf(out, "%s, reached in about %s at this rate\n",
		units_bytes(limit, (double)diagnosis->limit_bytes, ""),
		units_time(left, diagnosis->limit_in_s));
}

/* Twice the duration of a scan leaves time for two. */
static void left_out_write(FILE *out, const struct text_style *style,
			   const struct diagnosis *diagnosis)
{
	if (diagnosis->scan_left_out_s <= 0)
		return;
	label_write(out, style, "left out");
	fprintf(out, "the last heap scan, which takes about %.0f s: --for %.0f has time for it\n",
		diagnosis->scan_left_out_s, ceil(2 * diagnosis->scan_left_out_s));
}

static void cost_write(FILE *out, const struct text_style *style, const struct diagnosis *diagnosis)
{
	label_write(out, style, "cost");
	if (diagnosis->profile)
		fprintf(out, "%.2f%% of a core for tracking; ", 100 * diagnosis->spent_core);
	fprintf(out, "%u heap scan%s, ", diagnosis->scans, diagnosis->scans == 1 ? "" : "s");
	if (diagnosis->stops)
		fprintf(out, "%u stop%s of at most %.0f ms", diagnosis->stops,
			diagnosis->stops == 1 ? "" : "s", (double)diagnosis->longest_stop_ns / 1e6);
	else
		fputs("no stop", out);
	fprintf(out, "; leakmon itself used %.1f s of CPU\n", diagnosis->own_cpu_s);
}

static void next_write(FILE *out, const struct text_style *style, const struct diagnosis *diagnosis)
{
	if (!diagnosis->next[0])
		return;
	label_write(out, style, "next");
	fprintf(out, "%s\n", diagnosis->next);
}

void text_stored_diagnoses_write(FILE *out, const struct stored_diagnoses *diagnoses)
{
	for (size_t i = 0; diagnoses && i < diagnoses->list.count; i++) {
		const struct stored_diagnosis *diagnosis = &diagnoses->list.items[i];
		char date[TEXT_TIME_SIZE];

		fprintf(out, "Diagnosis of PID %d (", (int)diagnosis->pid);
		text_print_inert(out, diagnosis->comm);
		fprintf(out, "), %s, because ", text_date(date, diagnosis->time.tv_sec));
		text_print_inert(out, stored_diagnosis_reason(diagnosis));
		fputs(":\n", out);
		for (size_t j = 0; j < diagnosis->lines.count; j++) {
			text_print_inert(out, diagnosis->lines.items[j]);
			fputc('\n', out);
		}
	}
}

int text_diagnosis_write(FILE *out, const void *data)
{
	const struct diagnosis_report *report = data;
	const struct text_style *style = &text_styles[report->form.colour];
	struct text_page page;

	out = text_page_begin(&page, out, &report->form);
	for (size_t i = 0; i < report->count; i++) {
		const struct diagnosis *diagnosis = &report->items[i];

		verdict_write(out, style, diagnosis);
		why_write(out, style, diagnosis);
		share_write(out, style, diagnosis);
		code_write(out, style, report, diagnosis);
		opener_write(out, style, diagnosis);
		mapper_write(out, style, diagnosis);
		kernel_write(out, style, diagnosis);
		sysv_write(out, style, diagnosis);
		creator_write(out, style, diagnosis);
		ended_write(out, style, diagnosis);
		goroutines_write(out, style, diagnosis);
		classes_write(out, style, diagnosis);
		root_write(out, style, diagnosis);
		holder_write(out, style, diagnosis);
		awaited_write(out, style, diagnosis);
		filling_write(out, style, diagnosis);
		file_write(out, style, diagnosis);
		others_write(out, style, report, diagnosis);
		lost_write(out, style, diagnosis);
		memory_write(out, style, diagnosis);
		counts_write(out, style, diagnosis);
		limit_write(out, style, diagnosis);
		left_out_write(out, style, diagnosis);
		cost_write(out, style, diagnosis);
		next_write(out, style, diagnosis);
	}
	return text_page_end(&page);
}
