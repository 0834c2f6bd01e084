// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/retain_text_head.h"

#include <inttypes.h>

#include "base/text.h"

#define NS_PER_MS 1e6
#define MIB (1 << 20)

static double milliseconds(const struct retain_result *result, enum retained_number number)
{
	return (double)result->numbers[number] / NS_PER_MS;
}

static void write_source(FILE *out, const struct retain_result *result)
{
	const uint64_t *numbers = result->numbers;

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
	}
	if (numbers[NUMBER_TRACKED])
		fprintf(out, ", %" PRIu64 " blocks tracked since their allocation",
			numbers[NUMBER_TRACKED]);
	fputc('\n', out);
	if (numbers[NUMBER_BROKEN] && numbers[NUMBER_WALKED])
		fprintf(out,
			"heap: BROKEN at 0x%" PRIx64 ": no chunk can be there; nothing behind it "
			"was walked, its memory counts as untracked\n",
			numbers[NUMBER_BROKEN_AT]);
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

static void write_stop(FILE *out, const struct retain_result *result)
{
	if (result->stopped) {
		fprintf(out, "picture: stopped for %.1f ms (limit %.0f ms)",
			milliseconds(result, NUMBER_PAUSE_NS),
			milliseconds(result, NUMBER_MAX_PAUSE_NS));
	} else if (result->why_not_stopped) {
		fputs("picture: not stopped (", out);
		text_print_inert(out, result->why_not_stopped);
		fputs("), so by two scans", out);
	} else {
		fputs("picture: by two scans, without a stop", out);
	}
}

static void write_picture(FILE *out, const struct retain_result *result)
{
	const uint64_t *numbers = result->numbers;

	write_stop(out, result);
	fprintf(out, ", %" PRIu64 " MiB read in %.0f ms; all took %.0f ms and %" PRIu64 " MiB\n",
		numbers[NUMBER_READ_BYTES] / MIB, milliseconds(result, NUMBER_READ_NS),
		milliseconds(result, NUMBER_TOTAL_NS), numbers[NUMBER_OWN_PEAK_BYTES] / MIB);
	if (numbers[NUMBER_PAUSE_NS] && !result->stopped)
		fprintf(out, "picture: a first attempt stopped it for %.1f ms\n",
			milliseconds(result, NUMBER_PAUSE_NS));
	if (numbers[NUMBER_SWAPPED_BYTES])
		fprintf(out,
			"picture: %" PRIu64 " MiB are swapped out and were not read: what "
			"only they hold seems lost\n",
			numbers[NUMBER_SWAPPED_BYTES] / MIB);
	if (!result->pagemap)
		fputs("picture: /proc/PID/pagemap could not be read, so absent pages were "
		      "touched\n",
		      out);
}

void retain_text_head_write(FILE *out, const struct retain_result *result)
{
	fprintf(out, "process %d ", result->pid);
	text_print_inert(out, result->comm);
	fprintf(out, ": who holds its %" PRIu64 " blocks\n", result->numbers[NUMBER_BLOCKS]);
	write_picture(out, result);
	write_source(out, result);
}
