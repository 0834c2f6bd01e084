// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/output.h"
#include "output/text/text.h"
#include "process/symbol/site_label.h"
#include "report/history.h"
#include "report/retain_diff.h"
#include "report/retain_result.h"

/* -------- names of roots and classes */

static void write_thread(FILE *out, const struct retained_root *root)
{
	if (!root->tid && root->threads) {
		fprintf(out, " (%" PRIu32 " threads)", root->threads);
		return;
	}
	if (!root->tid) {
		fputs(" (several threads)", out);
		return;
	}
	fprintf(out, " (thread %d ", root->tid);
	text_print_inert(out, root->comm);
	fputc(')', out);
}

static void write_module(FILE *out, const char *module)
{
	fputs(" [", out);
	text_print_inert(out, module && module[0] ? text_path_base(module) : "anonymous");
	fputc(']', out);
}

static void write_global(FILE *out, const struct retained_root *root)
{
	fputs("global ", out);
	if (root->name)
		text_print_inert(out, root->name);
	else
		fprintf(out, "+0x%" PRIx64, root->offset);
	write_module(out, root->module);
}

static void write_stack(FILE *out, const struct retained_root *root)
{
	fputs("stack of ", out);
	if (root->name) {
		text_print_inert(out, root->name);
		write_module(out, root->module);
	} else {
		fputs("an unknown frame", out);
	}
	write_thread(out, root);
}

static void write_thread_local(FILE *out, const struct retained_root *root)
{
	if (root->name) {
		fputs("thread-local ", out);
		text_print_inert(out, root->name);
		write_module(out, root->module);
	} else if (root->module) {
		fputs("thread-locals", out);
		write_module(out, root->module);
	} else {
		fputs("thread-local storage", out);
	}
	write_thread(out, root);
}

static void write_register(FILE *out, const struct retained_root *root)
{
	fputs("register ", out);
	text_print_inert(out, root->name ? root->name : "?");
	write_thread(out, root);
}

static void write_kernel(FILE *out, const struct retained_root *root)
{
	text_print_inert(out, root->name ? root->name : "descriptor");
	if (kernel_root_has_number(root->name))
		fprintf(out, " %" PRIu64, root->address);
	fputs(" (held by the kernel)", out);
}

static void write_managed(FILE *out, const struct retained_root *root)
{
	text_print_inert(out, root->name ? root->name : "?");
	write_module(out, root->module);
}

static void write_untracked(FILE *out, const struct retained_root *root)
{
	fprintf(out, "untracked memory at 0x%" PRIx64, root->address);
	write_module(out, root->module);
}

static void write_stale(FILE *out, const struct retained_root *root)
{
	if (root->name && root->module && root->module[0]) {
		fputs("dead variable of ", out);
		text_print_inert(out, root->name);
		write_module(out, root->module);
	} else if (root->name && !strcmp(root->name, STALE_NUMBER)) {
		fputs(STALE_NUMBER, out);
		return;
	} else if (root->name) {
		fputs("left over in register ", out);
		text_print_inert(out, root->name);
	} else {
		fputs("a dead word below the stack pointer", out);
	}
	write_thread(out, root);
}

void text_retain_root_write(FILE *out, const struct retained_root *root)
{
	static void (*const writers[])(FILE *, const struct retained_root *) = {
		[ROOT_GLOBAL] = write_global,
		[ROOT_STACK] = write_stack,
		[ROOT_THREAD_LOCAL] = write_thread_local,
		[ROOT_REGISTER] = write_register,
		[ROOT_KERNEL] = write_kernel,
		[ROOT_RUNTIME] = write_managed,
		[ROOT_UNTRACKED] = write_untracked,
		[ROOT_STALE] = write_stale,
	};

	_Static_assert(ARRAY_SIZE(writers) == ROOT_KIND_MAX_, "a writer for every kind");
	writers[root->kind](out, root);
	if (root->through)
		fputs(", through untracked memory", out);
}

/*
 * Writes the caller and its own: programs have their own allocators above malloc, so its caller is
 * more useful.
 */
static void write_caller_and_its(FILE *out, const struct retained_site *site,
				 const struct frame *frame)
{
	const struct frame *next = frame + 1;

	text_label_write(out, frame->function);
	if (next == site->frames.list.items + site->frames.list.count || !next->function)
		return;
	fputs(" ← ", out);
	text_label_write(out, next->function);
}

/* Writes the function that labels the stack, and its caller. */
static void text_retain_site_write(FILE *out, const struct retained_site *site)
{
	const struct frame *frame = site ? site_label_frame(&site->frames) : NULL;

	fputs("allocated by ", out);
	if (frame && frame->function)
		write_caller_and_its(out, site, frame);
	else if (site && site->id)
		fprintf(out, "stack %016" PRIx64, site->id);
	else
		fputs("an unknown stack", out);
	if (frame && frame->module)
		write_module(out, frame->module);
}

/* Writes "class std::string", "blocks of 56 bytes", ... */
static void text_retain_class_write(FILE *out, const struct retain_result *result,
				    const struct retained_class *class)
{
	switch (class->kind) {
	case CLASS_SIZE:
		fprintf(out, "blocks of %" PRIu64 " bytes", class->size);
		return;
	case CLASS_SITE:
		if (class->name) {
			text_print_inert(out, class->name);
			fputs(", ", out);
		}
		text_retain_site_write(out, retained_site(result, class->site));
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

/* Writes "+0x18 or +0x20". */
static void write_fields(FILE *out, const struct retained_step *step)
{
	for (uint32_t i = 0; i < step->branches; i++) {
		fputs(i ? " or " : " → ", out);
		if (step->fields[i].label)
			text_print_inert(out, step->fields[i].label);
		else
			fprintf(out, "+0x%" PRIx64, step->fields[i].offset);
	}
	fputs(" → ", out);
}

void text_retain_step_write(FILE *out, const struct retain_result *result,
			    const struct retained_step *step)
{
	if (step->branches)
		write_fields(out, step);
	else if (step->label && (step->label[0] == '.' || step->width < PATH_WIDE)) {
		fputs(" → ", out);
		text_print_inert(out, step->label);
		fputs(" → ", out);
	} else if (step->width >= PATH_WIDE)
		fprintf(out, " → one of %" PRIu32 " pointers → ", step->width);
	else if (step->offset == STEP_NOWHERE)
		fputs(" → ", out);
	else
		fprintf(out, " → +0x%" PRIx64 " → ", step->offset);
	text_retain_class_write(out, result, &result->classes.items[step->class]);
	if (step->branches)
		fprintf(out, ", %" PRIu32 " levels", step->repeated);
	else if (step->repeated > 1)
		fprintf(out, ", chain of %" PRIu32 "", step->repeated);
}

/* Writes "chain of 4000: class A → class B"; "one of 99743 pointers in class dict". */
static void write_pile(FILE *out, const struct retain_result *result,
		       const struct retained_pile *pile)
{
	if (!pile->many)
		return;
	fprintf(out,
		pile->tree    ? "\t  piles up in a tree of %" PRIu64 ": "
		: pile->chain ? "\t  piles up in a chain of %" PRIu64 ": "
			      : "\t  piles up as one of %" PRIu64 " pointers in ",
		pile->many);
	if (pile->root != RESULT_NONE)
		text_retain_root_write(out, &result->roots.items[pile->root]);
	for (uint32_t i = 0; i < pile->count; i++) {
		if (i)
			fputs(" → ", out);
		text_retain_class_write(out, result, &result->classes.items[pile->classes[i]]);
	}
	fputc('\n', out);
}

/* Bounds the value, because steps of a recording are untrusted. */
static size_t turn_of(const struct retained_path *path, size_t at)
{
	size_t turn = path->steps.items[at].turn;

	return turn > 1 ? MIN(turn, path->steps.count - at) : 1;
}

/* Writes a line for each step; alternating steps are indented further. */
static void write_steps(FILE *out, const struct retain_result *result,
			const struct retained_path *path)
{
	size_t turn_end = 0;

	for (size_t i = 0; i < path->steps.count; i++) {
		const struct retained_step *step = &path->steps.items[i];

		if (step->skipped)
			fprintf(out, "\t  … %" PRIu32 " more steps …\n", step->skipped);
		if (turn_of(path, i) > 1) {
			fprintf(out, "\t  repeated %" PRIu32 " times:\n", step->turns);
			turn_end = i + turn_of(path, i);
		}
		fputs(i < turn_end ? "\t   " : "\t ", out);
		text_retain_step_write(out, result, step);
		if (i + 1 == path->steps.count && path->tree)
			fprintf(out, " of a tree of %s%" PRIu64,
				path->chain_exact ? "" : "at least ", path->chain);
		else if (i + 1 == path->steps.count && path->chain > step->repeated)
			fprintf(out, "%s of %s%" PRIu64, step->repeated > 1 ? "" : ", chain",
				path->chain_exact ? "" : "at least ", path->chain);
		fputc('\n', out);
	}
}

static char *retain_root_text(const struct retained_root *root)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	text_retain_root_write(out, root);
	fclose(out);
	return text;
}

char *text_retain_class(const struct retain_result *result, const struct retained_class *class)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	text_retain_class_write(out, result, class);
	fclose(out);
	return text;
}

char *text_retain_holder(const struct retain_result *result, const struct retained_sample *sample)
{
	if (sample->root != RESULT_NONE)
		return retain_root_text(&result->roots.items[sample->root]);
	/* No path contains a block on which two scans disagreed. */
	return strdup(sample->verdict == VERDICT_LOST ? "[unreachable]" : "[not settled]");
}

/* The first lines of a retain report: the process, the method, and its reliability. */

#define NS_PER_MS 1e6
#define MIB (1 << 20)

static double milliseconds(const struct retain_result *result, enum retained_number number)
{
	return (double)result->numbers[number] / NS_PER_MS;
}

static void write_source(FILE *out, const struct retain_result *result)
{
	const uint64_t *numbers = result->numbers;

	if (result->no_malloc && !numbers[NUMBER_WALKED] && !numbers[NUMBER_TRACKED])
		return;
	if (result->allocator && numbers[NUMBER_WALKED]) {
		fprintf(out, "heap: %" PRIu64 " blocks by walking the heap (",
			numbers[NUMBER_WALKED]);
		text_print_inert(out, result->allocator);
		fputc(')', out);
	} else {
		fprintf(out, "heap: %s: blocks that were not tracked are unknown",
			numbers[NUMBER_BROKEN]
				? "glibc's, but its arenas contradict themselves, or changed "
				  "whenever they were read"
				: "not glibc's, so it cannot be walked");
		if (numbers[NUMBER_BROKEN] && result->why_broken)
			fprintf(out, " (at 0x%" PRIx64 ": %s)", numbers[NUMBER_BROKEN_AT],
				result->why_broken);
	}
	if (numbers[NUMBER_TRACKED])
		fprintf(out, ", %" PRIu64 " blocks tracked since their allocation",
			numbers[NUMBER_TRACKED]);
	fputc('\n', out);
	if (result->why_not_walked) {
		fputs("heap: ", out);
		text_print_inert(out, result->why_not_walked);
		fputc('\n', out);
	}
	if (!numbers[NUMBER_WALKED] && !numbers[NUMBER_BROKEN] &&
	    result->totals[VERDICT_UNTRACKED].blocks)
		fputs("heap: the allocator's own memory cannot be distinguished from what the "
		      "program holds, so hardly a block can be called unreachable; all are known "
		      "if leakmon starts the program (leakmon retain 60 -- CMD)\n",
		      out);
	if (numbers[NUMBER_BROKEN] && numbers[NUMBER_WALKED])
		fprintf(out,
			"heap: BROKEN at 0x%" PRIx64 ": %s; nothing behind it was walked, its "
			"memory counts as untracked\n",
			numbers[NUMBER_BROKEN_AT],
			result->why_broken ? result->why_broken : "no chunk can be there");
	if (numbers[NUMBER_DROPPED])
		fprintf(out,
			"inexact: %" PRIu64 " allocations were not tracked: their blocks have no "
			"call stack, or are taken for untracked memory\n",
			numbers[NUMBER_DROPPED]);
	if (numbers[NUMBER_BROKEN_FREE_LISTS])
		fprintf(out,
			"heap: %" PRIu64 " free lists contradict themselves; their blocks may "
			"seem lost\n",
			numbers[NUMBER_BROKEN_FREE_LISTS]);
}

/* Writes "generation 0: 12 objects with 672 B, 1.2 MiB free"; omits empty ones. */
static void write_parts(FILE *out, const struct retained_runtime *runtime)
{
	char bytes[16], unused[16];
	bool any = false;

	for (size_t i = 0; i < HEAP_PARTS_MAX && runtime->parts[i].name; i++) {
		const struct heap_part *part = &runtime->parts[i];

		if (!part->objects && !part->free_bytes)
			continue;
		fprintf(out, "%s%s: %" PRIu64 " objects with %s", any ? "; " : "    ", part->name,
			part->objects, units_bytes(bytes, (double)part->bytes, ""));
		if (part->free_bytes)
			fprintf(out, ", %s free",
				units_bytes(unused, (double)part->free_bytes, ""));
		any = true;
	}
	if (any)
		fputc('\n', out);
}

/* Writes "copies by class loaders: com.shop.Plugin × 3 (of java.net.URLClassLoader)". */
static void write_copies(FILE *out, const struct retained_runtime *runtime)
{
	size_t count = 0;

	for (; count < CLASS_COPIES_MAX && runtime->copies[count].name; count++) {
		const struct class_copies *copies = &runtime->copies[count];

		fputs(count ? ", " : "    copies of a class by class loaders: ", out);
		text_print_inert(out, copies->name);
		fprintf(out, " × %" PRIu32 " (", copies->copies);
		text_print_inert(out, copies->loader);
		fputc(')', out);
	}
	if (runtime->copied_classes > count)
		fprintf(out, " and %" PRIu64 " more", runtime->copied_classes - count);
	if (count)
		fputc('\n', out);
}

/* Writes "EventEmitter on 'data' has 1204 listeners of handler onData server.js:17". */
static void write_crowds(FILE *out, const struct retained_runtime *runtime)
{
	size_t count = 0;

	for (; count < LISTENER_CROWDS_MAX && runtime->crowds[count].event; count++) {
		const struct listener_crowd *crowd = &runtime->crowds[count];

		fputs("    ", out);
		text_print_inert(out, crowd->emitter);
		fputs(crowd->event[0] ? " on '" : " on one event", out);
		text_print_inert(out, crowd->event);
		fprintf(out, "%s has %" PRIu32 " listeners", crowd->event[0] ? "'" : "",
			crowd->listeners);
		if (crowd->same < crowd->listeners && crowd->handler[0])
			fprintf(out, ", %" PRIu32 " of them", crowd->same);
		if (crowd->handler[0])
			fputs(" of handler ", out);
		text_print_inert(out, crowd->handler);
		fputc('\n', out);
	}
	if (runtime->crowded_events > count)
		fprintf(out, "    and so have %" PRIu64 " more\n", runtime->crowded_events - count);
}

static const char *heap_text(char *text, size_t size, const struct retained_runtime *runtime)
{
	char bytes[16];

	snprintf(text, size, runtime->only_small ? "the %s for small ones" : "its %s",
		 units_bytes(bytes, (double)runtime->heap_bytes, ""));
	return text;
}

static void write_runtime(FILE *out, const struct retained_runtime *runtime)
{
	char bytes[16], heap[48], unused[16];

	fputs(runtime->name, out);
	if (runtime->version[0]) {
		fputc(' ', out);
		text_print_inert(out, runtime->version);
	}
	if (runtime->untested)
		fputs(" (version not tested)", out);
	if (runtime->objects || !runtime->why)
		fprintf(out, ": %" PRIu64 " objects with %s", runtime->objects,
			units_bytes(bytes, (double)runtime->bytes, ""));
	if (runtime->heap_bytes)
		fprintf(out, "; %s of %s are free",
			units_bytes(unused, (double)runtime->free_bytes, ""),
			heap_text(heap, sizeof(heap), runtime));
	if (runtime->unread_bytes)
		fprintf(out, "; %s could not be read",
			units_bytes(bytes, (double)runtime->unread_bytes, ""));
	if (runtime->nonsense)
		fprintf(out, "; %" PRIu64 " parts of it contradict themselves", runtime->nonsense);
	if (runtime->retries)
		fprintf(out, "; stopped or read again while it collected: %" PRIu64,
			runtime->retries);
	if ((runtime->all_roots || runtime->counted) && runtime->unreached)
		fprintf(out, "; %" PRIu64 " objects with %s are garbage, not collected yet",
			runtime->unreached,
			units_bytes(bytes, (double)runtime->unreached_bytes, ""));
	if (runtime->finalizable)
		fprintf(out, "; %" PRIu64 " objects have a finalizer", runtime->finalizable);
	if (runtime->collector_off)
		fputs("; the program has switched the collector off: cycles stay", out);
	if (runtime->by_request)
		fputs("; all of them are freed at the end of the request", out);
	if (runtime->frozen)
		fprintf(out,
			"; %" PRIu64 " objects with %s are frozen: the collector leaves them alone",
			runtime->frozen, units_bytes(bytes, (double)runtime->frozen_bytes, ""));
	if (runtime->why)
		fprintf(out, "%s: %s", runtime->objects ? "" : ": objects not known", runtime->why);
	fputc('\n', out);
	write_parts(out, runtime);
	write_copies(out, runtime);
	write_crowds(out, runtime);
}

static void write_stop(FILE *out, const struct retain_result *result)
{
	if (result->core) {
		fputs("heap image: from the core file ", out);
		text_print_inert(out, result->core);
	} else if (result->stopped) {
		fprintf(out, "heap image: stopped for %.1f ms (limit %.0f ms)",
			milliseconds(result, NUMBER_PAUSE_NS),
			milliseconds(result, NUMBER_MAX_PAUSE_NS));
	} else if (result->why_not_stopped) {
		fputs("heap image: not stopped (", out);
		text_print_inert(out, result->why_not_stopped);
		fputs("), so by two scans", out);
	} else {
		fputs("heap image: by two scans, without a stop", out);
	}
}

static void write_heap_image(FILE *out, const struct retain_result *result)
{
	const uint64_t *numbers = result->numbers;

	write_stop(out, result);
	fprintf(out, ", %" PRIu64 " MiB read in %.0f ms; all took %.0f ms and %" PRIu64 " MiB\n",
		numbers[NUMBER_READ_BYTES] / MIB, milliseconds(result, NUMBER_READ_NS),
		milliseconds(result, NUMBER_TOTAL_NS), numbers[NUMBER_OWN_PEAK_BYTES] / MIB);
	if (numbers[NUMBER_PAUSE_NS] && !result->stopped)
		fprintf(out, "heap image: a first attempt stopped it for %.1f ms\n",
			milliseconds(result, NUMBER_PAUSE_NS));
	if (numbers[NUMBER_SWAPPED_BYTES])
		fprintf(out,
			"heap image: %" PRIu64 " MiB are swapped out and were not read: what "
			"only they hold seems lost\n",
			numbers[NUMBER_SWAPPED_BYTES] / MIB);
	if (result->why_kernel_unread) {
		fputs("kernel: alternate signal stacks and requests in flight were not read: ",
		      out);
		text_print_inert(out, result->why_kernel_unread);
		fputc('\n', out);
	}
	if (result->why_kernel_uncertain) {
		fputs("kernel: ", out);
		text_print_inert(out, result->why_kernel_uncertain);
		fputc('\n', out);
	}
	if (!result->pagemap)
		fputs("heap image: /proc/PID/pagemap could not be read (CAP_DAC_READ_SEARCH), so "
		      "absent pages were touched\n",
		      out);
}

static void retain_text_head_write(FILE *out, const struct retain_result *result)
{
	fprintf(out, "process %d ", result->pid);
	text_print_inert(out, result->comm);
	fprintf(out, ": retention of %" PRIu64 " blocks\n", result->numbers[NUMBER_BLOCKS]);
	write_heap_image(out, result);
	write_source(out, result);
	for (size_t i = 0; i < result->runtimes.count; i++)
		write_runtime(out, &result->runtimes.items[i]);
	text_managed_share_write(out, result->pid, &result->managed);
}

static void heading(FILE *out, const struct retain_report *report, const char *text)
{
	fprintf(out, "\n%s%s%s\n", report->form.colour ? "\033[1m" : "", text,
		report->form.colour ? "\033[0m" : "");
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

static void write_total(FILE *out, const struct text_form *form, const char *label,
			const struct retention_total *total, uint64_t all)
{
	char bytes[TEXT_BYTES_SIZE];

	fprintf(out, "  %-36s %*s in %10" PRIu64 " blocks  %5.1f%%\n", label, form->bytes ? 20 : 10,
		text_bytes(bytes, form, total->bytes), total->blocks, share(total->bytes, all));
}

/* Writes one total first: the evidence is below. */
static void write_lost(FILE *out, const struct text_form *form, const struct retain_result *result)
{
	struct retention_total lost = retain_result_lost(result);
	struct retention_total stale = retain_result_stale(result);
	char bytes[TEXT_BYTES_SIZE];

	fprintf(out, "lost: %" PRIu64 " blocks", lost.blocks);
	if (lost.blocks)
		fprintf(out,
			" (%" PRIu64 " unreachable, %" PRIu64 " with only stale references), %s",
			result->totals[VERDICT_LOST].blocks, stale.blocks,
			text_bytes(bytes, form, lost.bytes));
	fputs(result->settled ? "\n" : "; not settled\n", out);
}

static void write_totals(FILE *out, const struct text_form *form,
			 const struct retain_result *result)
{
	struct retention_total stale = retain_result_stale(result);
	uint64_t all = 0;

	for (size_t i = 0; i < VERDICT_MAX_; i++)
		all += result->totals[i].bytes;
	write_lost(out, form, result);
	write_total(out, form, result->settled ? "unreachable" : "unreachable (not settled)",
		    &result->totals[VERDICT_LOST], all);
	if (result->totals[VERDICT_LOST].blocks) {
		write_total(out, form, "  direct", &result->direct, all);
		write_total(out, form, "  indirect", &result->indirect, all);
	}
	write_total(out, form, "held by roots", &result->totals[VERDICT_HELD], all);
	if (result->passing.blocks)
		write_total(out, form, "  only by stacks and registers", &result->passing, all);
	write_total(out, form, "held only through untracked memory",
		    &result->totals[VERDICT_UNTRACKED], all);
	if (result->through.blocks)
		write_total(out, form, "  to which a root leads", &result->through, all);
	if (stale.blocks)
		write_total(out, form, "  only by stale words", &stale, all);
}

static void write_leak(FILE *out, const struct retain_report *report,
		       const struct retained_leak *leak)
{
	const struct retain_result *result = report->result;
	const struct retained_site *site = retained_site(result, leak->site);
	struct retention_total held;
	char bytes[TEXT_BYTES_SIZE];

	fprintf(out, "\t%s in %" PRIu64 " blocks: ",
		text_bytes(bytes, &report->form, leak->direct.bytes), leak->direct.blocks);
	if (site)
		text_retain_site_write(out, site);
	else
		text_retain_class_write(out, result, &result->classes.items[leak->class]);
	if (leak->indirect.blocks)
		fprintf(out, ", and with them %s in %" PRIu64 " blocks",
			text_bytes(bytes, &report->form, leak->indirect.bytes),
			leak->indirect.blocks);
	if (retained_leak_held(result, leak, &held) && held.blocks)
		fprintf(out, "; %" PRIu64 " more from there are held", held.blocks);
	fprintf(out, "; one is at 0x%" PRIx64 "\n", leak->example);
	if (site)
		text_frames_write(out, &report->form, &site->frames);
}

static void write_leaks(FILE *out, const struct retain_report *report)
{
	size_t count = shown(report, report->result->leaks.count);

	if (!count)
		return;
	heading(out, report, "Unreachable from any root (may reference each other):");
	for (size_t i = 0; i < count; i++)
		write_leak(out, report, &report->result->leaks.items[i]);
	write_more(out, report->result->leaks.count, count);
}

static void write_probable(FILE *out, const struct retain_report *report)
{
	const struct retain_result *result = report->result;
	size_t count = shown(report, result->probable.count);

	if (!count)
		return;
	heading(out, report, "Probably leaked (only stale references):");
	for (size_t i = 0; i < count; i++) {
		const struct retained_probable *probable = &result->probable.items[i];
		char bytes[TEXT_BYTES_SIZE];

		fprintf(out, "\t%s in %" PRIu64 " blocks: ",
			text_bytes(bytes, &report->form, probable->total.bytes),
			probable->total.blocks);
		text_retain_class_write(out, result, &result->classes.items[probable->class]);
		fprintf(out,
			"; untouched for %.0f s, while %" PRIu64 " of %" PRIu64
			" others were freed or written to\n",
			(double)result->witness_ns / 1e9, probable->gone, probable->others);
	}
	write_more(out, result->probable.count, count);
}

static void write_roots(FILE *out, const struct retain_report *report)
{
	const struct retain_result *result = report->result;
	size_t count = shown(report, result->retaining);
	uint64_t all = result->totals[VERDICT_HELD].bytes + result->totals[VERDICT_UNTRACKED].bytes;

	heading(out, report,
		"Roots by bytes that the shortest paths from them reach; alone: retained size:");
	for (size_t i = 0; i < count; i++) {
		const struct retained_root *root = &result->roots.items[i];
		char bytes[TEXT_BYTES_SIZE];

		fprintf(out, "\t%5.1f%%  %s in %" PRIu64 " blocks, alone %.1f%%: ",
			share(root->led.bytes, all),
			text_bytes(bytes, &report->form, root->led.bytes), root->led.blocks,
			share(root->retained.bytes, all));
		text_retain_root_write(out, root);
		fputc('\n', out);
	}
	write_more(out, result->retaining, count);
}

static void chain_write(FILE *out, const struct retained_change *change)
{
	if (retained_change_is_chain(change))
		fprintf(out, "  GROWING CHAIN: %" PRIu32 " steps longer than before",
			change->farther);
	else if (retained_change_lengthens(change))
		fprintf(out, "  %" PRIu32 " steps farther from a root", change->farther);
}

static void write_change(FILE *out, const struct text_form *form,
			 const struct retained_change *change)
{
	char bytes[TEXT_BYTES_SIZE];

	if (change_blocks(change) || change_bytes(change))
		fprintf(out, "  (%+" PRId64 " blocks, %s)", change_blocks(change),
			text_change(bytes, form, change_bytes(change)));
	chain_write(out, change);
}

/* Writes a table like that of eventlog2html. */
static int write_evolution(FILE *out, const struct retain_report *report)
{
	const struct retain_result *result = report->result;
	_cleanup_free_ uint32_t *places = calloc(result->classes.count + 1, sizeof(*places));
	size_t count = shown(report, result->classes.count);
	char bytes[TEXT_BYTES_SIZE], title[80];

	if (!places || class_history_order(report->history, result, places))
		return -ENOMEM;
	snprintf(title, sizeof(title),
		 "Classes by bytes × time over %zu runs:", report->history->times.count);
	heading(out, report, title);
	for (size_t i = 0; i < count; i++) {
		const struct retained_class *class = &result->classes.items[places[i]];
		const struct class_series *series = class_history_find(report->history, class->id);
		unsigned char heights[CLASS_SERIES_WIDTH];
		size_t width = series ? class_series_heights(series, heights) : 0;

		fprintf(out, "\t%11s·s  ",
			text_bytes(bytes, &report->form,
				   series ? (uint64_t)series->integral_byte_s : 0));
		for (size_t j = 0; j < width; j++)
			fputs(sparkline_block(heights[j]), out);
		fprintf(out, "  %s in %" PRIu64 " blocks: ",
			text_bytes(bytes, &report->form, class->total.bytes), class->total.blocks);
		text_retain_class_write(out, result, class);
		fputc('\n', out);
	}
	write_more(out, result->classes.count, count);
	return 0;
}

/* Returns the unreachable objects of a class, if all roots are known. */
static uint64_t garbage_of(const struct retain_result *result, const struct retained_class *class)
{
	for (size_t i = 0; class->kind == CLASS_RUNTIME && i < result->runtimes.count; i++) {
		const struct retained_runtime *runtime = &result->runtimes.items[i];

		if ((runtime->all_roots || runtime->counted) && class->module &&
		    !strcmp(class->module, runtime->key))
			return class->garbage;
	}
	return 0;
}

static void write_classes(FILE *out, const struct retain_report *report)
{
	const struct retain_result *result = report->result;
	size_t count = shown(report, result->classes.count);

	if (report->history && !write_evolution(out, report))
		return;
	heading(out, report, "Classes:");
	for (size_t i = 0; i < count; i++) {
		const struct retained_class *class = &result->classes.items[i];
		char bytes[TEXT_BYTES_SIZE];

		fprintf(out, "\t%s in %" PRIu64 " blocks: ",
			text_bytes(bytes, &report->form, class->total.bytes), class->total.blocks);
		text_retain_class_write(out, result, class);
		if (garbage_of(result, class))
			fprintf(out, ", %" PRIu64 " of them garbage", garbage_of(result, class));
		if (report->diff && report->diff->of_classes[i] != RESULT_NONE)
			write_change(
				out, &report->form,
				&report->diff->classes.list.items[report->diff->of_classes[i]]);
		fputc('\n', out);
	}
	write_more(out, result->classes.count, count);
}

void text_retain_path_write(FILE *out, const struct retain_result *result,
			    const struct retained_path *path)
{
	const struct retained_step *last = &path->steps.items[path->steps.count - 1];

	fputs(path->also ? "\tnearly as short, to " : "\tto ", out);
	text_retain_class_write(out, result, &result->classes.items[path->class]);
	if (path->sampled > 1)
		fprintf(out, ", %" PRIu64 " of %" PRIu64 " looked at", path->sharing,
			path->sampled);
	fprintf(out, "; shown: 0x%" PRIx64 ", %" PRIu64 " bytes\n", last->address, last->size);
	write_pile(out, result, &path->pile);
	if (path->awaited) {
		fputs("\t  until a collection finds the garbage of ", out);
		text_retain_class_write(out, result, &result->classes.items[path->awaited - 1]);
		fputc('\n', out);
	}
	fputs("\t  ", out);
	text_retain_root_write(out, &result->roots.items[path->root]);
	fputc('\n', out);
	write_steps(out, result, path);
}

/* Writes "class A ← class B, 3 to 200 times in turn"; or the name of a root. */
static void write_referrer(FILE *out, const struct retain_result *result,
			   const struct retained_referrer *row)
{
	if (row->root != RESULT_NONE) {
		text_retain_root_write(out, &result->roots.items[row->root]);
		return;
	}
	for (uint32_t i = 0; i < row->period; i++) {
		if (i)
			fputs(" ← ", out);
		text_retain_class_write(out, result, &result->classes.items[row->classes[i]]);
	}
	if (row->most == 1)
		return;
	fputs(row->period > 1 ? ": in turn, " : ": CHAIN of ", out);
	if (row->least != row->most)
		fprintf(out, "%" PRIu64 " to ", row->least);
	fprintf(out, "%" PRIu64 "%s", row->most, row->period > 1 ? " times (CHAIN)" : "");
}

void text_retain_referrers_write(FILE *out, const struct text_form *form,
				 const struct retain_result *result,
				 const struct retained_path *path)
{
	const struct referrer_tree *tree = &path->referrers;
	char bytes[TEXT_BYTES_SIZE];

	if (tree->sampled < tree->held)
		fprintf(out, "\t(%" PRIu64 " of %" PRIu64 " blocks followed)\n", tree->sampled,
			tree->held);
	for (size_t i = 0; i < tree->rows.count; i++) {
		const struct retained_referrer *row = &tree->rows.items[i];

		fprintf(out, "\t%5.1f%%  %*s%s", share(row->blocks, tree->sampled),
			(int)MIN(row->depth, 40u) * 2, "", row->depth ? "← " : "");
		write_referrer(out, result, row);
		fprintf(out, "  (%" PRIu64 " blocks, %s)\n", row->blocks,
			text_bytes(bytes, form, row->bytes));
	}
}

/* Writes the referrers of a class that was requested. */
static void write_referrers(FILE *out, const struct retain_report *report)
{
	const struct retained_path *path = &report->result->paths.items[0];

	if (!report->referrers || !path->referrers.rows.count)
		return;
	heading(out, report, "Referred from:");
	text_retain_referrers_write(out, &report->form, report->result, path);
}

static void write_paths(FILE *out, const struct retain_report *report)
{
	const struct retain_result *result = report->result;

	if (!result->paths.count)
		return;
	heading(out, report, "Shortest paths from roots:");
	for (size_t i = 0; i < result->paths.count; i++)
		text_retain_path_write(out, result, &result->paths.items[i]);
	write_referrers(out, report);
}

int text_retain_write(FILE *stream, const void *data)
{
	const struct retain_report *report = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &report->form);

	if (report->result->profile_only) {
		fprintf(out, "process %d ", report->result->pid);
		text_print_inert(out, report->result->comm);
		fputs(report->result->no_malloc
			      ? ": its own heap profile; without malloc, no blocks are read\n"
			      : ": its own heap profile\n",
		      out);
		text_heap_profile_write(out, &report->form, report->result->heap_profile,
					report->top);
		fputc('\n', out);
		return text_page_end(&page);
	}
	retain_text_head_write(out, report->result);
	if (report->result->heap_profile)
		text_heap_profile_write(out, &report->form, report->result->heap_profile,
					report->top);
	write_totals(out, &report->form, report->result);
	write_leaks(out, report);
	write_probable(out, report);
	write_roots(out, report);
	write_classes(out, report);
	write_paths(out, report);
	fputc('\n', out);
	return text_page_end(&page);
}

/* -------- changes between two runs: classes, and retained sizes of roots */

static void side_write(FILE *out, const char *name, int64_t number, const char *label,
		       const struct retain_result *result)
{
	char clock[TEXT_TIME_SIZE];

	text_date(clock, result->time.tv_sec);
	text_print_inert(out, name);
	fprintf(out, " retain run %" PRId64 " of process %d ", number, result->pid);
	text_print_inert(out, result->comm);
	fprintf(out, " (%s", clock);
	if (label) {
		fputs(", ", out);
		text_print_inert(out, label);
	}
	fputc(')', out);
}

static void total_write(FILE *out, const struct text_form *form, const char *what,
			struct retention_total was, struct retention_total is)
{
	char change[TEXT_BYTES_SIZE], before[TEXT_BYTES_SIZE], after[TEXT_BYTES_SIZE];

	fprintf(out, "%s%s, %+" PRId64 " blocks (%s -> %s, %" PRIu64 " -> %" PRIu64 " blocks)\n",
		what, text_change(change, form, (int64_t)(is.bytes - was.bytes)),
		(int64_t)(is.blocks - was.blocks), text_bytes(before, form, was.bytes),
		text_bytes(after, form, is.bytes), was.blocks, is.blocks);
}

static void change_write(FILE *out, const struct text_form *form,
			 const struct retained_change *change)
{
	enum diff_state state = retained_change_state(change);
	bool more = state == DIFF_NEW || state == DIFF_GROWN;
	const struct text_style *style = &text_styles[form->colour];
	char bytes[TEXT_BYTES_SIZE], was[TEXT_BYTES_SIZE], is[TEXT_BYTES_SIZE];

	fprintf(out, "\t%s%s, %+" PRId64 " blocks%s  %s", more ? style->red : style->green,
		text_change(bytes, form, change_bytes(change)), change_blocks(change), style->plain,
		diff_state_name(state));
	if (change->was.blocks && change->is.blocks)
		fprintf(out, " (%s -> %s, %" PRIu64 " -> %" PRIu64 " blocks)",
			text_bytes(was, form, change->was.bytes),
			text_bytes(is, form, change->is.bytes), change->was.blocks,
			change->is.blocks);
	fputs(": ", out);
}

static void class_write(FILE *out, const struct retain_diff *diff,
			const struct retained_change *change)
{
	const struct retain_result *result = retained_change_side(diff, change);

	text_retain_class_write(out, result, &result->classes.items[retained_change_place(change)]);
	chain_write(out, change);
}

static void root_change_write(FILE *out, const struct retain_diff *diff,
			      const struct retained_change *change)
{
	const struct retain_result *result = retained_change_side(diff, change);

	text_retain_root_write(out, &result->roots.items[retained_change_place(change)]);
}

static void changes_write(FILE *out, const struct retain_diff_report *report, const char *heading,
			  const struct retained_changes *changes,
			  void (*write)(FILE *, const struct retain_diff *,
					const struct retained_change *))
{
	size_t news = 0, shown = 0;

	fprintf(out, "\n%s%s%s\n", report->form.colour ? "\033[1m" : "", heading,
		report->form.colour ? "\033[0m" : "");
	for (size_t i = 0; i < changes->list.count; i++) {
		const struct retained_change *change = &changes->list.items[i];

		if (!retained_change_is_news(change) || (report->top && news++ >= report->top))
			continue;
		change_write(out, &report->form, change);
		write(out, report->diff, change);
		fputc('\n', out);
		shown++;
	}
	if (!shown)
		fputs("\tnone\n", out);
	if (report->top && news > shown)
		fprintf(out, "\t… and %zu more that changed\n", news - shown);
}

int text_retain_diff_write(FILE *stream, const void *data)
{
	const struct retain_diff_report *report = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &report->form);
	const struct retain_result *before = report->diff->before, *after = report->diff->after;

	side_write(out, report->before_name, report->before_number, report->before_label, before);
	fputs(" -> ", out);
	side_write(out, report->after_name, report->after_number, report->after_label, after);
	fputc('\n', out);
	total_write(out, &report->form, "", retain_result_total(before),
		    retain_result_total(after));
	total_write(out, &report->form, "unreachable: ", before->totals[VERDICT_LOST],
		    after->totals[VERDICT_LOST]);
	changes_write(out, report, "Classes that changed:", &report->diff->classes, class_write);
	changes_write(out, report,
		      "Roots that changed, by what they alone hold:", &report->diff->roots,
		      root_change_write);
	fputc('\n', out);
	return text_page_end(&page);
}
