// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <string.h>

#include "compare.h"
#include "leakmon_abi.h"

#define KINDS_SHOWN 10
#define FRAMES_BEFORE 2 /* frames shared by both stacks to print */
#define FRAMES_AFTER 4

static const char *const difference_names[] = {
	[DIFFERENCE_OTHER_CALLER] = "other caller",
	[DIFFERENCE_LEAKMON_ENDS] = "leakmon's stack ends",
	[DIFFERENCE_UNWINDER_ENDS] = "the unwinder's stack ends",
	[DIFFERENCE_SIZE] = "other size",
	[DIFFERENCE_MISSING] = "missing",
};
_Static_assert(sizeof(difference_names) / sizeof(difference_names[0]) == DIFFERENCE_MAX_,
	       "a name for every difference");

/* `FILE+0xOFFSET`, by file offset, as `objdump -F` counts. */
static void address_print(FILE *out, uint32_t pid, uint64_t address)
{
	char path[64], line[512], file[256] = "";
	uint64_t start, end, offset;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	fprintf(out, "%#" PRIx64, address);
	while (maps && fgets(line, sizeof(line), maps)) {
		const char *base;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %255s", &start,
			   &end, &offset, file) != 4 ||
		    address < start || address >= end)
			continue;
		base = strrchr(file, '/');
		fprintf(out, " %s+%#" PRIx64, base ? base + 1 : file, address - start + offset);
		break;
	}
	if (maps)
		fclose(maps);
}

/* The frames around the one at which the stacks part. */
static void stack_print(FILE *out, const char *title, struct stack_view stack, uint64_t parting,
			uint32_t pid)
{
	size_t common = 0;

	for (size_t i = 0; i < stack.depth && parting && !common; i++)
		common = stack.frames[i] == parting ? i + 1 : 0;
	fprintf(out, "    %s, %zu frames\n", title, stack.depth);
	for (size_t i = common > FRAMES_BEFORE ? common - FRAMES_BEFORE : 0;
	     i < stack.depth && i < common + FRAMES_AFTER; i++) {
		fprintf(out, "      %3zu  ", i);
		address_print(out, pid, stack.frames[i]);
		fputc('\n', out);
	}
}

static void kind_print(FILE *out, const struct difference_kind *kind, uint32_t pid)
{
	struct stack_view leakmon = {kind->leakmon, kind->leakmon_depth};

	fprintf(out, "  %" PRIu64 " blocks: %s after ", kind->count, difference_names[kind->how]);
	address_print(out, pid, kind->parting);
	fprintf(out, " (block %#" PRIx64 ")\n", kind->address);
	stack_print(out, "leakmon", leakmon, kind->parting, pid);
	stack_print(out, "_Unwind_Backtrace", kind->truth, kind->parting, pid);
}

void comparison_print(FILE *out, const char *name, const struct comparison *comparison,
		      const struct truth_file *truth)
{
	uint64_t compared = comparison->equal + comparison->different;

	fprintf(out,
		"%s: %" PRIu64 " of %" PRIu64 " stacks equal (%.4f%%), %" PRIu64
		" different in %zu ways, %" PRIu64 " missing, %" PRIu64
		" cut at %d frames, %" PRIu64 " cut by the unwinder at a return probe, %" PRIu64
		" not recorded; %" PRIu32 " different stacks\n",
		name, comparison->equal, compared,
		compared ? 100.0 * (double)comparison->equal / (double)compared : 0.0,
		comparison->different, comparison->kind_count, comparison->missing, comparison->cut,
		LM_MAX_FRAMES, comparison->probed, comparison->lost, truth->header.stacks_used);
	for (size_t i = 0; i < comparison->kind_count && i < KINDS_SHOWN; i++)
		kind_print(out, &comparison->kinds[i], truth->header.pid);
}
