// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/look.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/maps.h"

#define PAGE 4096u
/* Read at once; the kernel takes up to 1024 (UIO_MAXIOV). */
#define BATCH 512
/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)

int look_open(struct look *look)
{
	return siphash_key_make(&look->key);
}

/* The pages of a process, and what it has mapped if that had to be asked. */
struct pages {
	pid_t pid;
	int pagemap;
	uint64_t page, entry; /* the latest one */
	bool known, has_maps;
	struct maps maps;
};

static uint64_t page_entry(struct pages *pages, uint64_t address)
{
	uint64_t page = address / PAGE, entry = 0;

	if (pages->known && pages->page == page)
		return pages->entry;
	if (pread(pages->pagemap, &entry, sizeof(entry), (off_t)(page * sizeof(entry))) !=
	    sizeof(entry))
		entry = 0;
	pages->page = page;
	pages->entry = entry;
	pages->known = true;
	return entry;
}

/* Of what is in no page: unmapped, unless the mappings have it. */
static enum look_state absent_state(struct pages *pages, uint64_t address)
{
	if (!pages->has_maps) {
		if (maps_read(pages->pid, MAPS_ALL, &pages->maps))
			return LOOK_SWAPPED;
		pages->has_maps = true;
	}
	return maps_find(&pages->maps, address) ? LOOK_ABSENT : LOOK_UNMAPPED;
}

static size_t bytes_of(const struct look_request *request)
{
	return request->size < LOOK_BYTES ? (size_t)request->size : LOOK_BYTES;
}

/* LOOK_READ if all of what is to be read is there. */
static enum look_state page_state(struct pages *pages, const struct look_request *request)
{
	size_t bytes = bytes_of(request);
	uint64_t last = request->address + (bytes ? bytes - 1 : 0);

	for (uint64_t at = request->address;; at = last) {
		uint64_t entry = page_entry(pages, at);

		if (entry & PAGEMAP_SWAPPED)
			return LOOK_SWAPPED;
		if (!(entry & PAGEMAP_PRESENT))
			return absent_state(pages, at);
		if (at / PAGE == last / PAGE)
			return LOOK_READ;
	}
}

static bool is_uniform(const unsigned char *bytes, size_t size)
{
	for (size_t i = 1; i < size; i++) {
		if (bytes[i] != bytes[0])
			return false;
	}
	return true;
}

/* A few blocks that are there. */
struct batch {
	unsigned char bytes[BATCH][LOOK_BYTES];
	struct iovec local[BATCH], remote[BATCH];
	struct look_result *results[BATCH];
	size_t count;
};

static void batch_add(struct batch *batch, const struct look_request *request,
		      struct look_result *result)
{
	size_t i = batch->count++, bytes = bytes_of(request);

	batch->local[i] = (struct iovec){batch->bytes[i], bytes};
	batch->remote[i] = (struct iovec){(void *)(uintptr_t)request->address, bytes};
	batch->results[i] = result;
}

static void take(const struct look *look, const struct batch *batch, size_t i)
{
	size_t size = batch->local[i].iov_len;

	*batch->results[i] = (struct look_result){
		.state = LOOK_READ,
		.hash = siphash(&look->key, batch->bytes[i], size),
		.uniform = is_uniform(batch->bytes[i], size),
	};
}

/* What cannot be read has been unmapped a moment ago: the others are read without it. */
static int batch_read(const struct look *look, pid_t pid, struct batch *batch)
{
	size_t first = 0;

	while (first < batch->count) {
		ssize_t got = process_vm_readv(pid, batch->local + first, batch->count - first,
					       batch->remote + first, batch->count - first, 0);

		if (got < 0 && errno != EFAULT)
			return -errno;
		got = got < 0 ? 0 : got;
		while (first < batch->count && (size_t)got >= batch->local[first].iov_len) {
			got -= (ssize_t)batch->local[first].iov_len;
			take(look, batch, first++);
		}
		if (first < batch->count)
			batch->results[first++]->state = LOOK_UNMAPPED;
	}
	batch->count = 0;
	return 0;
}

static int look_through(const struct look *look, struct pages *pages, struct batch *batch,
			const struct look_request *requests, size_t count,
			struct look_result *results)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		results[i] = (struct look_result){.state = page_state(pages, &requests[i])};
		if (results[i].state == LOOK_READ)
			batch_add(batch, &requests[i], &results[i]);
		if (batch->count == BATCH)
			error = batch_read(look, pages->pid, batch);
	}
	return error ? error : batch_read(look, pages->pid, batch);
}

int look_at(const struct look *look, pid_t pid, const struct look_request *requests, size_t count,
	    struct look_result *results)
{
	_cleanup_free_ struct batch *batch = calloc(1, sizeof(*batch));
	struct pages pages = {.pid = pid};
	char path[64];
	int error;

	if (!batch)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pages.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pages.pagemap < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	error = look_through(look, &pages, batch, requests, count, results);
	close(pages.pagemap);
	maps_free(&pages.maps);
	return error;
}
