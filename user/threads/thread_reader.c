// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_reader.h"

#include <errno.h>

#include "base/cleanup.h"
#include "probe/placement.h"
#include "probe/plan.h"

const struct thread_function *thread_reader_first(const struct thread_reader *reader,
						  enum thread_probe probe)
{
	for (size_t i = 0; i < reader->functions.count; i++) {
		if (reader->functions.items[i].probe == probe)
			return &reader->functions.items[i];
	}
	return NULL;
}

static int add_point(struct thread_reader *reader, enum thread_probe probe, uint64_t offset)
{
	struct thread_point *point;

	for (size_t i = 0; i < reader->library.points.count; i++) {
		point = &reader->library.points.items[i];
		if (point->offset == offset)
			return point->probe == probe ? 0 : -EOPNOTSUPP;
	}
	if (reader->library.points.count == THREAD_MAX_POINTS)
		return -E2BIG;
	point = vec_push(&reader->library.points);
	if (!point)
		return -ENOMEM;
	*point = (struct thread_point){probe, offset};
	return 0;
}

int thread_reader_add(struct thread_reader *reader, enum thread_probe probe, uint64_t vaddr)
{
	uint64_t offset;
	int error = elf_file_offset(&reader->file, vaddr, &offset);

	if (error || !plan_is_congruent(vaddr, offset))
		return -EBADMSG;
	return add_point(reader, probe, offset);
}

int thread_reader_add_entry(struct thread_reader *reader, const struct thread_function *function)
{
	uint8_t code[PLAN_CODE_BYTES];
	struct placement_request request = {
		.code = code,
		.arguments = thread_probes[function->probe].arguments,
		.returns = true,
	};
	struct placement placement;
	uint64_t entry;
	ssize_t count;
	int error = elf_file_offset(&reader->file, function->vaddr, &entry);

	if (error || !plan_is_congruent(function->vaddr, entry))
		return -EBADMSG;
	count = elf_file_read(&reader->file, entry, code, MIN(function->size, sizeof(code)));
	if (count <= 0)
		return -EBADMSG;
	request.size = (size_t)count;
	placement_choose(&request, &placement);
	if (placement.refused)
		return -EOPNOTSUPP;
	return add_point(reader, function->probe, entry + placement.offset);
}
