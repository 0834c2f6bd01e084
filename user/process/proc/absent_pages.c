// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/absent_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "process/proc/maps.h"
#include "process/proc/mounts.h"

/* An open pagemap keeps showing the memory from before an exec. */
#define PAGEMAP_KEPT_NS 50000000ull
#define MAPS_KEPT_NS 1000000000ull
#define ENTRIES 512

/* Cached knowledge of the process asked about last. */
static struct {
	pthread_mutex_t lock;
	pid_t task, maps_task;
	int pagemap;		      /* -1: unavailable */
	uint64_t pagemap_ns, maps_ns; /* CLOCK_MONOTONIC: opened, read; 0: not yet */
	struct maps maps;
	VEC(uint64_t) fuse, others; /* devices of mounts, and of shared memory without one */
} known = {.lock = PTHREAD_MUTEX_INITIALIZER, .pagemap = -1};

static void know_pagemap(pid_t task)
{
	uint64_t now = monotonic_ns();
	char path[64];

	if (known.task == task && known.pagemap_ns && now - known.pagemap_ns < PAGEMAP_KEPT_NS)
		return;
	cleanup_close(&known.pagemap);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", task);
	known.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	known.task = task;
	known.pagemap_ns = now;
}

/* Present or swapped out. */
static bool is_there(uint64_t entry)
{
	return pagemap_is_present(entry) || pagemap_is_swapped(entry);
}

/* Returns the number of present pages from this one on, of `count`; all if unreadable. */
static size_t count_there(pid_t task, uint64_t page, size_t count)
{
	uint64_t entries[ENTRIES];
	size_t i = 0, got;

	pthread_mutex_lock(&known.lock);
	know_pagemap(task);
	got = pagemap_pread(task, known.pagemap, page, entries, count);
	pthread_mutex_unlock(&known.lock);
	if (!got)
		return count;
	while (i < got && is_there(entries[i]))
		i++;
	return i;
}

size_t absent_bytes_begin(pid_t task, uint64_t address, size_t size)
{
	uint64_t page_bytes = memory_page_size(live_memory(task));
	size_t done = 0;

	while (done < size) {
		uint64_t at = address + done, skipped = at % page_bytes;
		size_t wanted =
			MIN((skipped + (size - done) + page_bytes - 1) / page_bytes, ENTRIES);
		size_t there = count_there(task, at / page_bytes, wanted);

		if (there)
			done += MIN(there * page_bytes - skipped, size - done);
		if (there < wanted)
			break;
	}
	return done;
}

static int note_device(void *context, const struct mount *mount)
{
	uint64_t *place = mount_is_fuse(mount) ? vec_push(&known.fuse) : vec_push(&known.others);

	(void)context;
	if (place)
		*place = mount->device;
	return 0;
}

/* memfd_create(2) and shmget(2) use a mount internal to the kernel (mm/shmem.c, shm_mnt). */
static void note_shared_memory(void)
{
	_cleanup_close_ int fd = memfd_create("leakmon", MFD_CLOEXEC);
	struct stat status;
	uint64_t *place = fd >= 0 && !fstat(fd, &status) ? vec_push(&known.others) : NULL;

	if (place)
		*place = status.st_dev;
}

/* A container shows its own mounts; those below an overlay are the host's. */
static void know_devices(pid_t task)
{
	known.fuse.count = known.others.count = 0;
	mounts_visit(task, note_device, NULL);
	mounts_visit(getpid(), note_device, NULL);
	note_shared_memory();
}

/* Reread if there is no mapping at the address: it may be new. */
static const struct mapping *know_mapping(pid_t task, uint64_t address)
{
	const struct mapping *mapping = NULL;
	uint64_t now = monotonic_ns();

	if (known.maps_task == task && known.maps_ns && now - known.maps_ns < MAPS_KEPT_NS)
		mapping = maps_find(&known.maps, address);
	if (mapping)
		return mapping;
	maps_free(&known.maps);
	known.maps = (struct maps){0};
	known.maps_task = task;
	known.maps_ns = now;
	if (maps_read(task, MAPS_ALL, &known.maps))
		return NULL;
	know_devices(task);
	return maps_find(&known.maps, address);
}

static bool has_device(const uint64_t *devices, size_t count, const struct mapping *mapping)
{
	for (size_t i = 0; i < count; i++) {
		if (devices[i] == makedev(mapping->major, mapping->minor))
			return true;
	}
	return false;
}

/* A device that is neither a disk's nor known may be a detached FUSE mount. */
static bool is_readable_device(const struct mapping *mapping)
{
	return !has_device(known.fuse.items, known.fuse.count, mapping) &&
	       (mapping->major || has_device(known.others.items, known.others.count, mapping));
}

/* Excludes the kernel's own, such as [vvar]. */
static bool is_private_memory(const char *path)
{
	return path[0] != '[' || !strcmp(path, "[heap]") || !strncmp(path, "[stack", 6) ||
	       !strncmp(path, "[anon:", 6);
}

/* Returns the bytes to its end; 0: not to be read. */
static size_t look_up(pid_t task, uint64_t address, bool *zeros)
{
	const struct mapping *mapping;
	size_t bytes = 0;

	pthread_mutex_lock(&known.lock);
	mapping = know_mapping(task, address);
	if (mapping && mapping->readable && (!mapping->inode || is_readable_device(mapping)))
		bytes = mapping->end - address;
	*zeros = mapping && !mapping->inode && is_private_memory(mapping->path);
	pthread_mutex_unlock(&known.lock);
	return bytes;
}

ssize_t absent_read(pid_t task, uint64_t address, void *buffer, size_t size)
{
	uint64_t page_bytes = memory_page_size(live_memory(task));
	bool zeros;
	size_t bytes = MIN(look_up(task, address, &zeros), page_bytes - address % page_bytes);

	bytes = MIN(bytes, size);
	if (!bytes)
		return -EFAULT;
	if (zeros) {
		memset(buffer, 0, bytes);
		return (ssize_t)bytes;
	}
	return memory_read_present(live_memory(task), address, buffer, bytes);
}
