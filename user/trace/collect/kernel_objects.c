// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/kernel_objects.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "trace/probe/map_walk.h"

static int visit(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_object_key *key = keys;
	const struct lm_object_sum *sum = values;
	struct kernel_objects *objects = context;

	for (size_t i = 0; i < count; i++) {
		struct kernel_object_row *row = vec_push(&objects->list);

		if (!row)
			return -ENOMEM;
		*row = (struct kernel_object_row){key[i], sum[i]};
		row->sum.cache[LM_OBJECT_CACHE_SIZE - 1] = '\0';
	}
	return 0;
}

static int read_counts(const struct bpf_side *bpf, struct lm_object_counts *all)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct lm_object_counts *counts = NULL;
	uint32_t zero = 0;

	if (cpus <= 0)
		return cpus ? cpus : -EINVAL;
	counts = calloc((size_t)cpus, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	if (bpf_map_lookup_elem(bpf->object_counts_fd, &zero, counts))
		return -errno;
	for (int i = 0; i < cpus; i++) {
		all->births += counts[i].births;
		all->missed += counts[i].missed;
		all->dropped += counts[i].dropped;
		all->spent_ns += counts[i].spent_ns;
	}
	return 0;
}

int kernel_objects_read(const struct bpf_side *bpf, struct kernel_objects *objects)
{
	struct kernel_objects read = {0};
	int error;

	if (bpf->object_sums_fd < 0)
		return -ENOTSUP;
	read.frees = loader_object_frees(bpf);
	error = read_counts(bpf, &read.counts);
	if (!error)
		error = map_walk(bpf->object_sums_fd, sizeof(struct lm_object_key),
				 sizeof(struct lm_object_sum), visit, &read);
	if (error) {
		kernel_objects_free(&read);
		return error;
	}
	*objects = read;
	return 0;
}

void kernel_objects_free(struct kernel_objects *objects)
{
	vec_free(&objects->list);
}

bool kernel_objects_has_child(const struct bpf_side *bpf, pid_t pid)
{
	uint32_t tgid = (uint32_t)pid, value;

	return bpf->object_children_fd >= 0 &&
	       !bpf_map_lookup_elem(bpf->object_children_fd, &tgid, &value);
}
