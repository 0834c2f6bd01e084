// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/formats.h"
#include "output/retain.h"

#define NS_PER_MS 1e6
#define MIB (1 << 20)

static const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void heading(FILE *out, const struct retain_report *report, const char *text)
{
	fprintf(out, "\n%s%s%s\n", report->colour ? "\033[1m" : "", text,
		report->colour ? "\033[0m" : "");
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static size_t shown(const struct retain_report *report, size_t count)
{
	return report->top ? MIN(report->top, count) : count;
}

static void write_more(FILE *out, size_t count, size_t written)
{
	if (count > written)
		fprintf(out, "    … and %zu more\n", count - written);
}

static void write_thread(FILE *out, const struct root_group *group)
{
	if (!group->tid) {
		fputs(" (several threads)", out);
		return;
	}
	fprintf(out, " (thread %d ", group->tid);
	text_print_inert(out, group->comm);
	fputc(')', out);
}

static void write_module(FILE *out, const char *module)
{
	fputs(" [", out);
	text_print_inert(out, module && module[0] ? path_base(module) : "anonymous");
	fputc(']', out);
}

static void write_global(FILE *out, const struct root_group *group)
{
	fputs("global ", out);
	if (group->name)
		text_print_inert(out, group->name);
	else
		fprintf(out, "+0x%" PRIx64, group->offset);
	write_module(out, group->module);
}

static void write_stack(FILE *out, const struct root_group *group)
{
	fputs("stack of ", out);
	if (group->name) {
		text_print_inert(out, group->name);
		write_module(out, group->module);
	} else {
		fputs("an unknown frame", out);
	}
	write_thread(out, group);
}

static void write_thread_local(FILE *out, const struct root_group *group)
{
	fputs("thread-local storage", out);
	write_thread(out, group);
}

static void write_register(FILE *out, const struct root_group *group)
{
	fprintf(out, "register %s", group->name);
	write_thread(out, group);
}

static void write_kernel(FILE *out, const struct root_group *group)
{
	fprintf(out, "%s %" PRIu64 " (held by the kernel)", group->name, group->address);
}

static void write_untracked(FILE *out, const struct root_group *group)
{
	fprintf(out, "memory at 0x%" PRIx64, group->address);
	write_module(out, group->module);
	fputs(" that no block is known in", out);
}

static void write_root(FILE *out, const struct root_group *group)
{
	static void (*const writers[])(FILE *, const struct root_group *) = {
		[ROOT_GLOBAL] = write_global,
		[ROOT_STACK] = write_stack,
		[ROOT_THREAD_LOCAL] = write_thread_local,
		[ROOT_REGISTER] = write_register,
		[ROOT_KERNEL] = write_kernel,
		[ROOT_UNTRACKED] = write_untracked,
	};

	_Static_assert(ARRAY_SIZE(writers) == ROOT_KIND_MAX_, "a writer for every kind");
	writers[group->kind](out, group);
}

const struct report_site *retain_report_site(const struct retain_report *report, uint32_t site)
{
	return site && site <= report->site_count ? report->sites[site - 1] : NULL;
}

/* The function that called the allocator. */
static void write_site(FILE *out, const struct retain_report *report, uint32_t number)
{
	const struct report_site *site = retain_report_site(report, number);
	const struct frame *frame =
		site && site->frames.list.count ? site->frames.list.items : NULL;

	fputs("allocated by ", out);
	if (frame && frame->function)
		text_print_inert(out, frame->function);
	else
		fprintf(out, "stack %" PRIu32, number);
	if (frame && frame->module)
		write_module(out, frame->module);
}

static void write_class(FILE *out, const struct retain_report *report,
			const struct block_class *class)
{
	switch (class->kind) {
	case CLASS_SIZE:
		fprintf(out, "blocks of %" PRIu64 " bytes", class->size);
		return;
	case CLASS_SITE:
		write_site(out, report, class->site);
		return;
	case CLASS_OPS:
		fputs("with ops table ", out);
		if (!class->name)
			fprintf(out, "+0x%" PRIx64, class->offset);
		break;
	default:
		fputs(class->kind == CLASS_CXX_ARRAY ? "array of class " : "class ", out);
	}
	if (class->name)
		text_print_inert(out, class->name);
	if (class->module)
		write_module(out, class->module);
}

static void write_total(FILE *out, const char *label, const struct retention_total *total,
			uint64_t all)
{
	fprintf(out, "  %-36s %14" PRIu64 " bytes in %10" PRIu64 " blocks  %5.1f%%\n", label,
		total->bytes, total->blocks, share(total->bytes, all));
}

static void write_totals(FILE *out, const struct retain *retain)
{
	const struct retention *retention = &retain->retention;
	uint64_t all = 0;

	for (size_t i = 0; i < VERDICT_MAX_; i++)
		all += retention->totals[i].bytes;
	write_total(out, retain->settled ? "unreachable" : "unreachable (not settled)",
		    &retention->totals[VERDICT_LOST], all);
	if (retention->totals[VERDICT_LOST].blocks) {
		write_total(out, "  direct", &retention->direct, all);
		write_total(out, "  indirect", &retention->indirect, all);
	}
	write_total(out, "held by roots", &retention->totals[VERDICT_HELD], all);
	write_total(out, "held only through untracked memory",
		    &retention->totals[VERDICT_UNTRACKED], all);
}

static void write_source(FILE *out, const struct retain *retain)
{
	const struct heap_graph *graph = &retain->graph;

	if (retain->allocator && graph->census_blocks)
		fprintf(out, "heap: %zu blocks by walking the heap (%s)", graph->census_blocks,
			retain->allocator);
	else
		fputs("heap: not glibc's, so it cannot be walked: blocks that were not tracked "
		      "are unknown",
		      out);
	if (graph->tracked_blocks)
		fprintf(out, ", %zu blocks tracked since their allocation", graph->tracked_blocks);
	fputc('\n', out);
	if (retain->picture.broken_spans)
		fprintf(out,
			"heap: BROKEN at 0x%" PRIx64 ": no chunk can be there; nothing behind it "
			"was walked, its memory counts as untracked\n",
			retain->picture.broken_address);
	if (retain->picture.free_chunks.broken)
		fprintf(out,
			"heap: %zu free lists contradict themselves; their blocks may seem "
			"lost\n",
			retain->picture.free_chunks.broken);
}

static void write_picture(FILE *out, const struct retain *retain)
{
	const struct picture *picture = &retain->picture;

	if (picture->stopped)
		fprintf(out, "picture: stopped for %.1f ms (limit %.0f ms)",
			(double)picture->pause_ns / NS_PER_MS,
			(double)picture->max_pause_ns / NS_PER_MS);
	else if (picture->why_not_stopped)
		fprintf(out, "picture: not stopped (%s), so by two scans",
			picture->why_not_stopped);
	else
		fputs("picture: by two scans, without a stop", out);
	fprintf(out, ", %" PRIu64 " MiB read in %.0f ms; all took %.0f ms and %" PRIu64 " MiB\n",
		picture->read_bytes / MIB, (double)picture->read_ns / NS_PER_MS,
		(double)retain->total_ns / NS_PER_MS, retain->rss_bytes / MIB);
	if (picture->pause_ns && !picture->stopped)
		fprintf(out, "picture: a first attempt stopped it for %.1f ms\n",
			(double)picture->pause_ns / NS_PER_MS);
	if (picture->swapped_bytes)
		fprintf(out,
			"picture: %" PRIu64 " MiB are swapped out and were not read: what "
			"only they hold seems lost\n",
			picture->swapped_bytes / MIB);
	if (!picture->pagemap_readable)
		fputs("picture: /proc/PID/pagemap could not be read, so absent pages were "
		      "touched\n",
		      out);
}

static void write_leaks(FILE *out, const struct retain_report *report)
{
	const struct retain *retain = report->retain;
	size_t count = shown(report, retain->leaks.count);

	if (!retain->leaks.count)
		return;
	heading(out, report, "Unreachable blocks (nothing points to them):");
	for (size_t i = 0; i < count; i++) {
		const struct retain_leak *leak = &retain->leaks.items[i];

		fprintf(out, "\t%" PRIu64 " bytes in %" PRIu64 " blocks: ", leak->direct.bytes,
			leak->direct.blocks);
		if (leak->site)
			write_site(out, report, leak->site);
		else
			write_class(out, report, &retain->classes.list.items[leak->class]);
		if (leak->indirect.blocks)
			fprintf(out, ", and with them %" PRIu64 " bytes in %" PRIu64 " blocks",
				leak->indirect.bytes, leak->indirect.blocks);
		fprintf(out, "; one is at 0x%" PRIx64 "\n", retain->graph.starts[leak->example]);
		if (retain_report_site(report, leak->site))
			output_text_stack_write(out, report->colour,
						retain_report_site(report, leak->site));
	}
	write_more(out, retain->leaks.count, count);
}

static void write_roots(FILE *out, const struct retain_report *report)
{
	const struct retain *retain = report->retain;
	const struct retention *retention = &retain->retention;
	size_t count = shown(report, retain->ranked_roots.list.count);
	uint64_t all =
		retention->totals[VERDICT_HELD].bytes + retention->totals[VERDICT_UNTRACKED].bytes;

	heading(out, report, "Roots by what they alone hold (retained size):");
	for (size_t i = 0; i < count; i++) {
		uint32_t group = retain->ranked_roots.list.items[i];

		fprintf(out, "\t%5.1f%%  %" PRIu64 " bytes in %" PRIu64 " blocks: ",
			share(retention->retained[group], all), retention->retained[group],
			retention->retained_blocks[group]);
		write_root(out, &retain->groups.list.items[group]);
		fputc('\n', out);
	}
	write_more(out, retain->ranked_roots.list.count, count);
}

static void write_change(FILE *out, const struct class_change *change)
{
	if (change->count || change->bytes)
		fprintf(out, "  (%+" PRId64 " blocks, %+" PRId64 " bytes)", change->count,
			change->bytes);
	if (change->farther)
		fprintf(out, "  GROWING CHAIN: %" PRIu32 " steps longer than before",
			change->farther);
}

static void write_classes(FILE *out, const struct retain_report *report)
{
	const struct retain *retain = report->retain;
	size_t count = shown(report, retain->ranked_classes.list.count);

	heading(out, report, "Classes:");
	for (size_t i = 0; i < count; i++) {
		uint32_t class = retain->ranked_classes.list.items[i];
		const struct block_class *shown_class = &retain->classes.list.items[class];

		fprintf(out, "\t%" PRIu64 " bytes in %" PRIu64 " blocks: ", shown_class->bytes,
			shown_class->count);
		write_class(out, report, shown_class);
		if (report->changes)
			write_change(out, &report->changes[class]);
		fputc('\n', out);
	}
	write_more(out, retain->ranked_classes.list.count, count);
}

static void write_step(FILE *out, const struct retain_report *report, const struct path_step *step)
{
	const struct retain *retain = report->retain;

	if (step->width >= PATH_WIDE)
		fprintf(out, "\t  → one of %" PRIu32 " pointers → ", step->width);
	else
		fprintf(out, "\t  → +0x%" PRIx64 " → ", step->offset);
	write_class(out, report, &retain->classes.list.items[step->class]);
	if (step->repeated > 1)
		fprintf(out, ", %" PRIu32 " times one after the other", step->repeated);
	fputc('\n', out);
}

static void write_path(FILE *out, const struct retain_report *report,
		       const struct retain_path *shown_path)
{
	const struct retain *retain = report->retain;
	const struct path *path = &shown_path->path;
	const struct path_step *last = &path->steps.items[path->steps.count - 1];

	fputs("\tto ", out);
	write_class(out, report, &retain->classes.list.items[shown_path->class]);
	if (path->sampled > 1)
		fprintf(out, ", %" PRIu64 " of %" PRIu64 " looked at", path->sharing,
			path->sampled);
	fprintf(out, "; shown: 0x%" PRIx64 ", %" PRIu64 " bytes\n\t  ",
		retain->graph.starts[last->block], retain->graph.sizes[last->block]);
	write_root(out, &retain->groups.list.items[path->group]);
	fputc('\n', out);
	for (size_t i = 0; i < path->steps.count; i++)
		write_step(out, report, &path->steps.items[i]);
}

static void write_paths(FILE *out, const struct retain_report *report)
{
	const struct retain *retain = report->retain;

	if (!retain->paths.count)
		return;
	heading(out, report, "Shortest paths from roots:");
	for (size_t i = 0; i < retain->paths.count; i++)
		write_path(out, report, &retain->paths.items[i]);
}

int retain_text_write(FILE *out, const struct retain_report *report)
{
	const struct retain *retain = report->retain;

	fprintf(out, "process %d ", retain->pid);
	text_print_inert(out, retain->comm);
	fprintf(out, ": who holds its %" PRIu32 " blocks\n", retain->graph.blocks);
	write_picture(out, retain);
	write_source(out, retain);
	write_totals(out, retain);
	write_leaks(out, report);
	write_roots(out, report);
	write_classes(out, report);
	write_paths(out, report);
	fputc('\n', out);
	return output_finish(out);
}
