// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who holds what as folded stacks: first the root, then the call stack, at last the kind of block,
 * and the bytes. In a flame graph each root is as wide as what its shortest paths lead to.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "output/finish.h"
#include "output/folded_parts.h"
#include "output/retain.h"

static bool write_sample(FILE *out, const struct retain_result *result,
			 const struct retained_sample *sample)
{
	const struct retained_class *class = &result->classes.items[sample->class];
	const struct retained_site *site = retained_site(result, sample->site);
	_cleanup_free_ char *holder = retain_holder_text(result, sample);
	_cleanup_free_ char *name = retain_class_text(result, class);

	if (!holder || !name)
		return false;
	output_folded_name_write(out, holder);
	for (size_t i = site ? site->frames.list.count : 0; i-- > 0;)
		output_folded_frame_write(out, &site->frames.list.items[i]);
	/* What a stack allocated is told by the stack. */
	if (!site || class->kind != CLASS_SITE || class->name) {
		fputc(';', out);
		output_folded_name_write(out,
					 class->kind == CLASS_SITE && site ? class->name : name);
	}
	fprintf(out, " %" PRIu64 "\n", sample->total.bytes);
	return true;
}

int retain_folded_write(FILE *out, const struct retain_report *report)
{
	const struct retain_result *result = report->result;

	for (size_t i = 0; i < result->samples.count; i++) {
		if (result->samples.items[i].total.bytes &&
		    !write_sample(out, result, &result->samples.items[i]))
			return -ENOMEM;
	}
	return output_finish(out);
}
