// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/slab_caches.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"

/* Above the number in any kernel. */
#define CACHES_MAX 4096
#define KMALLOC "kmalloc-"

int slab_caches_parse(FILE *file, struct slab_caches *caches)
{
	struct slab_caches read = {0};
	char line[512];
	int error = 0;

	if (!fgets(line, sizeof(line), file) || strncmp(line, "slabinfo", 8) != 0)
		return -EBADMSG;
	while (!error && read.list.count < CACHES_MAX && fgets(line, sizeof(line), file)) {
		struct slab_cache cache = {.objects = 0}, *kept;

		if (sscanf(line, "%31s %" SCNu64 " %*u %" SCNu64, cache.name, &cache.objects,
			   &cache.object_size) != 3)
			continue; /* the head */
		kept = vec_push(&read.list);
		if (kept)
			*kept = cache;
		else
			error = -ENOMEM;
	}
	if (error) {
		slab_caches_free(&read);
		return error;
	}
	*caches = read;
	return 0;
}

int slab_caches_read(struct slab_caches *caches)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/slabinfo", "re");

	return file ? slab_caches_parse(file, caches) : -errno;
}

void slab_caches_free(struct slab_caches *caches)
{
	vec_free(&caches->list);
}

static bool is_called(const struct slab_cache *cache, const char *name)
{
	return *name ? !strcmp(cache->name, name) : !strncmp(cache->name, KMALLOC, strlen(KMALLOC));
}

static int64_t bytes_of(const struct slab_caches *caches, const char *name)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < caches->list.count; i++) {
		if (is_called(&caches->list.items[i], name))
			bytes += caches->list.items[i].objects * caches->list.items[i].object_size;
	}
	return (int64_t)bytes;
}

int64_t slab_caches_growth(const struct slab_caches *before, const struct slab_caches *now,
			   const char *name)
{
	int64_t was = bytes_of(before, name), is = bytes_of(now, name);

	return was || is ? is - was : -1;
}

bool slab_cache_is_reclaimable(const char *name)
{
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t reclaimable = 1;
	char path[128];

	if (!*name)
		return false;
	if (strchr(name, '/'))
		return true;
	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/reclaim_account", name);
	file = fopen(path, "re");
	return !file || fscanf(file, "%" SCNu64, &reclaimable) != 1 || reclaimable;
}
