// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/target/dso.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/descriptors.h"
#include "process/proc/target_file.h"

#define MAX_OPEN_FILES 512
/* Reserved for indispensable uses, such as reports and the parser: a file can be reopened. */
#define DESCRIPTORS_SPARED 32

/* The number of unheld facets kept for the next process that maps the file. */
static const size_t max_unused[] = {
	[DSO_SYMBOLS] = 64,
	[DSO_ROWS] = 256,     /* in kernel memory; a restarted program finds its rows */
	[DSO_PLAN] = 4096,    /* most are empty: the file is no allocator, */
	[DSO_THREADS] = 4096, /* and no thread library */
	[DSO_DATA] = 64,
};

/*
 * Limit of the unheld facets' memory, per kind; the latest one is kept whatever its size. node's
 * symbol table alone has 8 MB.
 */
#define MAX_UNUSED_BYTES (16u << 20)

_Static_assert(sizeof(max_unused) / sizeof(max_unused[0]) == DSO_KIND_MAX_, "a bound for each");

static void release_value(struct dso_cache *cache, struct dso *dso, enum dso_kind kind)
{
	const struct dso_facet_type *type = &cache->types[kind];
	void *value = TAKE_PTR(dso->facets[kind].value);

	if (value)
		type->release(value, type->context);
}

static void close_file(struct dso_cache *cache, struct dso *dso)
{
	if (dso->fd < 0)
		return;
	close(TAKE_FD(dso->fd));
	cache->open_files--;
}

static void free_dso(struct dso_cache *cache, struct dso *dso)
{
	struct dso *last = cache->list.items[--cache->list.count];

	cache->list.items[dso->place] = last;
	last->place = dso->place;
	hash_remove(&cache->index, dso->key);
	close_file(cache, dso);
	for (size_t i = 0; i < DSO_KIND_MAX_; i++)
		release_value(cache, dso, i);
	free(dso);
}

void dso_cache_free(struct dso_cache *cache)
{
	while (cache->list.count)
		free_dso(cache, cache->list.items[cache->list.count - 1]);
	vec_free(&cache->list);
	hash_free(&cache->index);
	cleanup_close(&cache->vdso_fd);
}

void dso_cache_register(struct dso_cache *cache, enum dso_kind kind,
			const struct dso_facet_type *type)
{
	cache->types[kind] = *type;
}

void dso_cache_unregister(struct dso_cache *cache, enum dso_kind kind)
{
	for (size_t i = 0; i < cache->list.count; i++)
		release_value(cache, cache->list.items[i], kind);
}

static struct dso *add_new(struct dso_cache *cache, const struct file_identity *identity,
			   uint64_t key)
{
	struct dso *dso = calloc(1, sizeof(*dso));
	struct dso **place = dso ? vec_push(&cache->list) : NULL;
	uint64_t *slot = place ? hash_put(&cache->index, key, NULL) : NULL;

	if (!slot) {
		cache->list.count -= place != NULL;
		free(dso);
		return NULL;
	}
	dso->identity = *identity;
	dso->number = ++cache->last_number;
	dso->key = key;
	dso->place = cache->list.count - 1;
	dso->fd = -1;
	*place = dso;
	*slot = (uintptr_t)dso;
	return dso;
}

static struct dso *find_or_add(struct dso_cache *cache, const struct file_identity *identity)
{
	uint64_t key = hash_mix(hash_mix(identity->device) ^ identity->inode), *slot;

	key = hash_mix(hash_mix(key ^ identity->size) ^ (uint64_t)identity->modified.tv_sec);
	/* Identities of equal hash take the next keys in turn. */
	for (; (slot = hash_get(&cache->index, key)); key++) {
		struct dso *dso = (struct dso *)(uintptr_t)*slot;

		if (file_identity_untouched(&dso->identity, identity))
			return dso;
	}
	return add_new(cache, identity, key);
}

struct dso *dso_add(struct dso_cache *cache, int fd, enum dso_kind kind)
{
	_cleanup_close_ int owned = fd;
	struct file_identity identity = {0};
	struct dso *dso;

	if (owned < 0 || file_identity_read(owned, &identity))
		return NULL;
	dso = find_or_add(cache, &identity);
	if (!dso)
		return NULL;
	if (cache->keeps_files && kind == DSO_SYMBOLS && dso->fd < 0 &&
	    cache->open_files < MAX_OPEN_FILES && descriptors_left(DESCRIPTORS_SPARED)) {
		dso->fd = TAKE_FD(owned);
		cache->open_files++;
	}
	dso_hold(cache, dso, kind);
	return dso;
}

static void end_idleness(struct dso_cache *cache, struct dso_facet *facet, enum dso_kind kind)
{
	cache->unused[kind]--;
	cache->unused_bytes[kind] -= facet->unused_bytes;
	facet->unused_bytes = 0;
}

void dso_hold(struct dso_cache *cache, struct dso *dso, enum dso_kind kind)
{
	struct dso_facet *facet = &dso->facets[kind];

	if (facet->kept && !facet->users)
		end_idleness(cache, facet, kind);
	facet->kept = true;
	facet->users++;
}

static bool is_kept(const struct dso *dso)
{
	for (size_t i = 0; i < DSO_KIND_MAX_; i++) {
		if (dso->facets[i].kept)
			return true;
	}
	return false;
}

static void drop_oldest(struct dso_cache *cache, enum dso_kind kind)
{
	struct dso *oldest = NULL;

	for (size_t i = 0; i < cache->list.count; i++) {
		struct dso *dso = cache->list.items[i];
		const struct dso_facet *facet = &dso->facets[kind];

		if (facet->kept && !facet->users &&
		    (!oldest || facet->unused_since < oldest->facets[kind].unused_since))
			oldest = dso;
	}
	if (!oldest)
		return;
	end_idleness(cache, &oldest->facets[kind], kind);
	release_value(cache, oldest, kind);
	oldest->facets[kind].kept = false;
	if (!is_kept(oldest))
		free_dso(cache, oldest);
}

void dso_release(struct dso_cache *cache, struct dso *dso, enum dso_kind kind)
{
	const struct dso_facet_type *type = &cache->types[kind];
	struct dso_facet *facet = &dso->facets[kind];

	if (--facet->users)
		return;
	facet->unused_since = ++cache->releases;
	if (kind == DSO_SYMBOLS)
		close_file(cache, dso);
	if (facet->value && type->idle)
		type->idle(facet->value, type->context);
	if (facet->value && type->bytes)
		facet->unused_bytes = type->bytes(facet->value);
	cache->unused[kind]++;
	cache->unused_bytes[kind] += facet->unused_bytes;
	while (cache->unused[kind] > max_unused[kind] ||
	       (cache->unused[kind] > 1 && cache->unused_bytes[kind] > MAX_UNUSED_BYTES))
		drop_oldest(cache, kind);
}

bool dso_is_vdso(const struct mapping *mapping)
{
	return !mapping->inode && !strcmp(mapping->path, "[vdso]");
}

static int duplicate(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}

int dso_open(const struct dso_cache *cache, const struct dso *dso, int task,
	     const struct mapping *mapping)
{
	_cleanup_close_ int fd = -1;
	struct file_identity identity = {0};
	int error;

	if (dso->fd >= 0)
		return duplicate(dso->fd);
	if (dso_is_vdso(mapping))
		return duplicate(cache->vdso_fd);
	fd = target_file_open_mapping(live_memory(task), mapping);
	if (fd < 0)
		return TAKE_FD(fd);
	error = file_identity_read(fd, &identity);
	if (error)
		return error;
	/* A file that was renamed or deleted meanwhile is still the same file. */
	return file_identity_equal(&identity, &dso->identity) ? TAKE_FD(fd) : -ESTALE;
}

/*
 * The kernel maps the same vDSO into every 64-bit process: leakmon's own serves for the target's.
 */
static int copy_vdso(void)
{
	const char *image =
		(const char *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	_cleanup_close_ int fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	const Elf64_Ehdr *header = (const void *)image;
	size_t size;

	if (fd < 0)
		return -ENOENT;
	/* Its section headers come last (the kernel's vdso2c.h). */
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (write(fd, image, size) != (ssize_t)size)
		return -EIO;
	return TAKE_FD(fd);
}

struct dso *dso_add_vdso(struct dso_cache *cache, enum dso_kind kind)
{
	if (cache->vdso_fd < 0)
		cache->vdso_fd = copy_vdso();
	return cache->vdso_fd < 0 ? NULL : dso_add(cache, duplicate(cache->vdso_fd), kind);
}
