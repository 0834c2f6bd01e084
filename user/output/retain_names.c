// SPDX-License-Identifier: GPL-2.0-or-later
/* What roots and classes are called. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/retain_format.h"
#include "retain/classes.h"

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
	fprintf(out, " %" PRIu64 " (held by the kernel)", root->address);
}

static void write_untracked(FILE *out, const struct retained_root *root)
{
	fprintf(out, "memory at 0x%" PRIx64, root->address);
	write_module(out, root->module);
	fputs(" that no block is known in", out);
}

static void write_stale(FILE *out, const struct retained_root *root)
{
	if (root->name) {
		fputs("left over in register ", out);
		text_print_inert(out, root->name);
	} else {
		fputs("a dead word below the stack pointer", out);
	}
	write_thread(out, root);
}

void retain_root_write(FILE *out, const struct retained_root *root)
{
	static void (*const writers[])(FILE *, const struct retained_root *) = {
		[ROOT_GLOBAL] = write_global,
		[ROOT_STACK] = write_stack,
		[ROOT_THREAD_LOCAL] = write_thread_local,
		[ROOT_REGISTER] = write_register,
		[ROOT_KERNEL] = write_kernel,
		[ROOT_UNTRACKED] = write_untracked,
		[ROOT_STALE] = write_stale,
	};

	_Static_assert(ARRAY_SIZE(writers) == ROOT_KIND_MAX_, "a writer for every kind");
	writers[root->kind](out, root);
	if (root->through)
		fputs(", through untracked memory", out);
}

/* The innermost frame that is not the C++ library's, for all allocate by way of that; else the
 * innermost. NULL: none. */
static const struct frame *telling_frame(const struct retained_site *site)
{
	size_t count = site ? site->frames.list.count : 0;

	for (size_t i = 0; i < count; i++) {
		const struct frame *frame = &site->frames.list.items[i];

		if (!frame->function || !template_is_library(frame->function))
			return frame;
	}
	return count ? site->frames.list.items : NULL;
}

/* Programs have allocators of their own above malloc: who called it tells more. */
static void write_caller_and_its(FILE *out, const struct retained_site *site,
				 const struct frame *frame)
{
	const struct frame *next = frame + 1;

	text_print_inert(out, frame->function);
	if (next == site->frames.list.items + site->frames.list.count || !next->function)
		return;
	fputs(" ← ", out);
	text_print_inert(out, next->function);
}

void retain_site_write(FILE *out, const struct retained_site *site)
{
	const struct frame *frame = telling_frame(site);

	fputs("allocated by ", out);
	if (frame && frame->function)
		write_caller_and_its(out, site, frame);
	else if (site)
		fprintf(out, "stack %016" PRIx64, site->id);
	else
		fputs("an unknown stack", out);
	if (frame && frame->module)
		write_module(out, frame->module);
}

void retain_class_write(FILE *out, const struct retain_result *result,
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
		retain_site_write(out, retained_site(result, class->site));
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

void retain_step_write(FILE *out, const struct retain_result *result,
		       const struct retained_step *step)
{
	if (step->width >= PATH_WIDE)
		fprintf(out, " → one of %" PRIu32 " pointers → ", step->width);
	else
		fprintf(out, " → +0x%" PRIx64 " → ", step->offset);
	retain_class_write(out, result, &result->classes.items[step->class]);
	if (step->repeated > 1)
		fprintf(out, ", %" PRIu32 " times one after the other", step->repeated);
}

static char *retain_root_text(const struct retained_root *root)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	retain_root_write(out, root);
	fclose(out);
	return text;
}

char *retain_class_text(const struct retain_result *result, const struct retained_class *class)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	retain_class_write(out, result, class);
	fclose(out);
	return text;
}

char *retain_holder_text(const struct retain_result *result, const struct retained_sample *sample)
{
	if (sample->root != RESULT_NONE)
		return retain_root_text(&result->roots.items[sample->root]);
	/* A block of which two scans disagreed is in no path. */
	return strdup(sample->verdict == VERDICT_LOST ? "[unreachable]" : "[not settled]");
}
