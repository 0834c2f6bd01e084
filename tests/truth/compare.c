// SPDX-License-Identifier: GPL-2.0-or-later
#include "compare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leakmon_abi.h"

struct truth_file *truth_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct truth_file *truth;
	struct stat status;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) || status.st_size != sizeof(*truth)) {
		close(fd);
		errno = EINVAL;
		return NULL;
	}
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (truth == MAP_FAILED)
		return NULL;
	if (truth->header.magic != TRUTH_MAGIC) {
		truth_unmap(truth);
		errno = EINVAL;
		return NULL;
	}
	return truth;
}

void truth_unmap(struct truth_file *truth)
{
	if (truth)
		munmap(truth, sizeof(*truth));
}

static struct stack_view truth_stack(const struct truth_file *truth,
				     const struct truth_block *block)
{
	const uint64_t *words = &truth->words[block->stack];

	return (struct stack_view){.frames = words + 1, .depth = words[0]};
}

/* Returns the frames of a site in leakmon's report, without inlined ones. */
static size_t report_stack(json_t *site, uint64_t *frames)
{
	size_t depth = 0, i;
	json_t *frame;

	json_array_foreach(json_object_get(site, "frames"), i, frame)
	{
		if (json_is_true(json_object_get(frame, "inlined")) || depth == TRUTH_FRAMES)
			continue;
		frames[depth++] = (uint64_t)json_integer_value(json_object_get(frame, "address"));
	}
	return depth;
}

/* Without the preloaded library's own frames. */
static struct stack_view drop_library(const struct truth_header *header, struct stack_view stack)
{
	while (stack.depth && stack.frames[0] >= header->text_start &&
	       stack.frames[0] < header->text_end) {
		stack.frames++;
		stack.depth--;
	}
	return stack;
}

static size_t common_frames(struct stack_view a, struct stack_view b)
{
	size_t i = 0;

	while (i < a.depth && i < b.depth && a.frames[i] == b.frames[i])
		i++;
	return i;
}

static struct difference_kind *kind_find(struct comparison *comparison, enum difference how,
					 uint64_t parting)
{
	struct difference_kind *kind = comparison->kinds;

	for (size_t i = 0; i < comparison->kind_count; i++, kind++) {
		if (kind->how == how && kind->parting == parting)
			return kind;
	}
	if (comparison->kind_count == COMPARE_KINDS)
		return NULL;
	comparison->kind_count++;
	*kind = (struct difference_kind){.how = how, .parting = parting};
	return kind;
}

struct pair {
	struct stack_view leakmon, truth;
	uint64_t address;
};

static void kind_add(struct comparison *comparison, const struct pair *pair, enum difference how,
		     size_t common)
{
	struct difference_kind *kind =
		kind_find(comparison, how, common ? pair->truth.frames[common - 1] : 0);

	if (!kind || kind->count++)
		return;
	kind->address = pair->address;
	kind->truth = pair->truth;
	kind->leakmon_depth = pair->leakmon.depth;
	memcpy(kind->leakmon, pair->leakmon.frames, pair->leakmon.depth * sizeof(uint64_t));
}

static void differ(struct comparison *comparison, const struct pair *pair, enum difference how,
		   size_t common)
{
	comparison->different++;
	kind_add(comparison, pair, how, common);
}

/* After a signal in a probed function: the kernel keeps the return address, the stack has its
 * own. */
static bool ends_at_trampoline(const struct comparison *comparison, struct stack_view truth,
			       size_t common)
{
	return truth.depth == common + 1 && truth.frames[common] >= comparison->trampoline &&
	       truth.frames[common] < comparison->trampoline_end;
}

static void compare_stacks(struct comparison *comparison, const struct pair *pair, bool full)
{
	size_t common = common_frames(pair->leakmon, pair->truth);

	if (common == pair->leakmon.depth && common == pair->truth.depth) {
		comparison->equal++;
	} else if (common == pair->leakmon.depth && full) {
		comparison->equal++;
		comparison->cut++;
	} else if (ends_at_trampoline(comparison, pair->truth, common)) {
		comparison->probed++;
	} else if (common == pair->leakmon.depth) {
		differ(comparison, pair, DIFFERENCE_LEAKMON_ENDS, common);
	} else if (common == pair->truth.depth) {
		differ(comparison, pair, DIFFERENCE_UNWINDER_ENDS, common);
	} else {
		differ(comparison, pair, DIFFERENCE_OTHER_CALLER, common);
	}
}

static void compare_block(struct comparison *comparison, const struct pair *pair, bool sizes_agree,
			  bool full)
{
	if (sizes_agree)
		compare_stacks(comparison, pair, full);
	else
		differ(comparison, pair, DIFFERENCE_SIZE, 0);
}

static void compare_site(struct comparison *comparison, json_t *site,
			 const struct truth_file *truth, bool *seen)
{
	uint64_t frames[TRUTH_FRAMES];
	struct stack_view whole = {frames, report_stack(site, frames)};
	json_t *block;
	size_t i;

	json_array_foreach(json_object_get(site, "blocks"), i, block)
	{
		uint64_t address = (uint64_t)json_integer_value(json_object_get(block, "address"));
		uint64_t size = (uint64_t)json_integer_value(json_object_get(block, "size"));
		uint64_t slot = truth_slot(truth, address);
		struct pair pair = {.address = address};

		if (!truth->blocks[slot].address || seen[slot])
			continue;
		seen[slot] = true;
		pair.leakmon = drop_library(&truth->header, whole);
		pair.truth = truth_stack(truth, &truth->blocks[slot]);
		compare_block(comparison, &pair, truth->blocks[slot].size == size,
			      whole.depth == LM_MAX_FRAMES);
	}
}

static void count_missing(struct comparison *comparison, const struct truth_file *truth,
			  const bool *seen)
{
	for (uint64_t slot = 0; slot < TRUTH_BLOCKS; slot++) {
		const struct truth_block *block = &truth->blocks[slot];
		struct pair pair = {.address = block->address};

		if (!block->address || seen[slot])
			continue;
		pair.truth = truth_stack(truth, block);
		comparison->missing++;
		kind_add(comparison, &pair, DIFFERENCE_MISSING, 1);
	}
}

static void find_trampoline(struct comparison *comparison, uint32_t pid)
{
	char path[64], line[512];
	uint64_t start, end;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[uprobes]") ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2)
			continue;
		comparison->trampoline = start;
		comparison->trampoline_end = end;
	}
	if (maps)
		fclose(maps);
}

int compare(json_t *report, const struct truth_file *truth, struct comparison *comparison)
{
	bool *seen = calloc(TRUTH_BLOCKS, sizeof(*seen));
	json_t *process, *site;
	size_t i, j;

	if (!seen)
		return -ENOMEM;
	*comparison = (struct comparison){.lost = truth->header.lost};
	find_trampoline(comparison, truth->header.pid);
	json_array_foreach(json_object_get(report, "processes"), i, process)
	{
		if (json_integer_value(json_object_get(process, "pid")) != truth->header.pid)
			continue;
		json_array_foreach(json_object_get(process, "sites"), j, site)
			compare_site(comparison, site, truth, seen);
	}
	count_missing(comparison, truth, seen);
	free(seen);
	return 0;
}
