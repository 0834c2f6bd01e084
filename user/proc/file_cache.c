// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/file_cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/vec.h"

struct cached_file {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec modified, changed;
	void *value;		   /* owned */
	struct cached_file *older; /* of the same file name, or with the same hash; borrowed */
};

struct file_cache {
	void (*release)(void *value);
	VEC(struct cached_file *) list; /* owned */
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

static bool is_of(const struct cached_file *cached, const struct stat *status)
{
	return cached->device == status->st_dev && cached->inode == status->st_ino &&
	       cached->size == status->st_size && same_time(cached->modified, status->st_mtim) &&
	       same_time(cached->changed, status->st_ctim);
}

struct file_cache *file_cache_new(void (*release)(void *value))
{
	struct file_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->release = release;
	return cache;
}

void file_cache_free(struct file_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->list.count; i++) {
		cache->release(cache->list.items[i]->value);
		free(cache->list.items[i]);
	}
	vec_free(&cache->list);
	hash_free(&cache->latest);
	free(cache);
}

static struct cached_file *latest_of(const struct file_cache *cache, const struct stat *status)
{
	uint64_t *index = hash_get(&cache->latest, file_key(status));

	return index ? cache->list.items[*index] : NULL;
}

void *file_cache_get(const struct file_cache *cache, const struct stat *status)
{
	struct cached_file *cached = latest_of(cache, status);

	while (cached && !is_of(cached, status))
		cached = cached->older;
	return cached ? cached->value : NULL;
}

int file_cache_put(struct file_cache *cache, const struct stat *status, void *value)
{
	struct cached_file *cached = calloc(1, sizeof(*cached)), *older = latest_of(cache, status);
	uint64_t *index = cached ? hash_put(&cache->latest, file_key(status), NULL) : NULL;
	struct cached_file **slot = index ? vec_push(&cache->list) : NULL;

	if (!slot) {
		free(cached);
		return -ENOMEM;
	}
	*cached = (struct cached_file){
		.device = status->st_dev,
		.inode = status->st_ino,
		.size = status->st_size,
		.modified = status->st_mtim,
		.changed = status->st_ctim,
		.value = value,
		.older = older,
	};
	*slot = cached;
	*index = cache->list.count - 1;
	return 0;
}
