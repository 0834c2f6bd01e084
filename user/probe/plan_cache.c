// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/plan_cache.h"

#include <stdlib.h>

#include "base/hash.h"

struct cached_plan {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
	struct probe_plan plan;
	struct cached_plan *older; /* of the same file name, or with the same hash; borrowed */
};

struct plan_cache {
	VEC(struct cached_plan *) list; /* owned */
	struct hash latest;		/* hash of (device, inode) -> index into `list` */
};

static uint64_t file_key(const struct stat *status)
{
	return hash_mix(hash_mix(status->st_dev) ^ status->st_ino);
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_of(const struct cached_plan *cached, const struct stat *status)
{
	return cached->device == status->st_dev && cached->inode == status->st_ino &&
	       cached->size == status->st_size && same_time(cached->modified, status->st_mtim) &&
	       same_time(cached->changed, status->st_ctim);
}

struct plan_cache *plan_cache_new(void)
{
	return calloc(1, sizeof(struct plan_cache));
}

void plan_cache_free(struct plan_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->list.count; i++) {
		probe_plan_free(&cache->list.items[i]->plan);
		free(cache->list.items[i]);
	}
	vec_free(&cache->list);
	hash_free(&cache->latest);
	free(cache);
}

static struct cached_plan *latest_of(const struct plan_cache *cache, const struct stat *status)
{
	uint64_t *index = hash_get(&cache->latest, file_key(status));

	return index ? cache->list.items[*index] : NULL;
}

const struct probe_plan *plan_cache_get(const struct plan_cache *cache, const struct stat *status)
{
	struct cached_plan *cached = latest_of(cache, status);

	while (cached && !is_of(cached, status))
		cached = cached->older;
	return cached ? &cached->plan : NULL;
}

const struct probe_plan *plan_cache_put(struct plan_cache *cache, const struct stat *status,
					struct probe_plan *plan)
{
	struct cached_plan *cached = calloc(1, sizeof(*cached)), *older = latest_of(cache, status);
	uint64_t *index = cached ? hash_put(&cache->latest, file_key(status), NULL) : NULL;
	struct cached_plan **slot = index ? vec_push(&cache->list) : NULL;

	if (!slot) {
		free(cached);
		return NULL;
	}
	*cached = (struct cached_plan){
		.device = status->st_dev,
		.inode = status->st_ino,
		.size = status->st_size,
		.modified = status->st_mtim,
		.changed = status->st_ctim,
		.plan = *plan,
		.older = older,
	};
	*plan = (struct probe_plan){0};
	*slot = cached;
	*index = cache->list.count - 1;
	return &cached->plan;
}
