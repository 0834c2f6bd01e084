// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/kernel_owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "process/proc/cgroup.h"
#include "trace/probe/map_walk.h"

struct walking {
	struct kernel_owners *owners;
	unsigned shift; /* of sampled counts */
};

/* Counters are read while they change: a free may be seen before its allocation. */
static int visit(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_kernel_owner_key *key = keys;
	const struct lm_kernel_owner *owner = values;
	struct walking *walking = context;

	for (size_t i = 0; i < count; i++) {
		struct kernel_owner_row *row;

		if (owner[i].count <= 0 || owner[i].bytes <= 0)
			continue;
		row = vec_push(&walking->owners->list);
		if (!row)
			return -ENOMEM;
		*row = (struct kernel_owner_row){key[i], owner[i]};
		row->owner.bytes >>= walking->shift;
		row->owner.count >>= walking->shift;
		row->owner.comm[sizeof(row->owner.comm) - 1] = '\0';
	}
	return 0;
}

static int by_site(const void *left_pointer, const void *right_pointer)
{
	const struct kernel_owner_row *left = left_pointer, *right = right_pointer;

	if (left->key.site != right->key.site)
		return left->key.site < right->key.site ? -1 : 1;
	if (left->owner.bytes != right->owner.bytes)
		return left->owner.bytes > right->owner.bytes ? -1 : 1;
	return left->key.tgid < right->key.tgid ? -1 : left->key.tgid > right->key.tgid;
}

void kernel_owners_sort(struct kernel_owners *owners)
{
	if (owners->list.count)
		qsort(owners->list.items, owners->list.count, sizeof(*owners->list.items), by_site);
}

int kernel_owners_read(const struct kernel_side *side, bool sampled, struct kernel_owners *owners)
{
	struct kernel_owners read = {0};
	struct walking walking = {&read, sampled ? LM_WEIGHT_SHIFT : 0};
	int error = map_walk(side->owners_fd, sizeof(struct lm_kernel_owner_key),
			     sizeof(struct lm_kernel_owner), visit, &walking);

	if (error) {
		kernel_owners_free(&read);
		return error;
	}
	kernel_owners_sort(&read);
	*owners = read;
	return 0;
}

void kernel_owners_free(struct kernel_owners *owners)
{
	vec_free(&owners->list);
}

/* The name tells whether it is still the same process. */
static char *cgroup_of(uint32_t pid, const char *comm)
{
	char path[64], line[32] = "";
	_cleanup_fclose_ FILE *file = NULL;
	bool unified;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return strcmp(line, comm) ? NULL : cgroup_memory_path((pid_t)pid, &unified);
}

int kernel_owners_fill(const struct kernel_owners *owners, uint32_t index, struct report_site *site)
{
	const struct kernel_owner_row *rows = owners->list.items;
	size_t first = SORTED_BEFORE(row, rows, owners->list.count, row->key.site < index);

	site->owners_total = 0;
	for (size_t i = first; i < owners->list.count && rows[i].key.site == index; i++) {
		struct site_owner *owner;

		if (site->owners_total++ >= KERNEL_OWNERS_SHOWN)
			continue;
		owner = vec_push(&site->owners);
		if (!owner)
			return -ENOMEM;
		*owner = (struct site_owner){.pid = rows[i].key.tgid,
					     .bytes = (uint64_t)rows[i].owner.bytes,
					     .count = (uint64_t)rows[i].owner.count};
		memcpy(owner->comm, rows[i].owner.comm, sizeof(owner->comm));
		owner->cgroup = owner->pid ? cgroup_of(owner->pid, owner->comm) : NULL;
	}
	return 0;
}
