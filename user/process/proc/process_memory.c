// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/process_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "process/proc/absent_pages.h"
#include "process/proc/core.h"
#include "process/proc/fork_sharing.h"
#include "process/proc/stuck_read.h"

/* Present, and nothing else is known. */
#define ENTRY_UNKNOWN (1ull << 63)
#define ENTRY_FRAME ((1ull << 55) - 1)

/* Opened for each call: after an execve(2) the descriptor would show the old memory. */
static long open_memory(pid_t task)
{
	char path[64];
	const long arguments[6] = {AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC};

	snprintf(path, sizeof(path), "/proc/%d/mem", task);
	return stuck_read_call(task, SYS_openat, arguments);
}

/* Reads one range. Returns bytes, or -errno as process_vm_readv(2) does. */
static long read_stretch(pid_t task, long fd, uint64_t address, void *buffer, size_t size)
{
	const struct iovec local = {buffer, size};
	const long arguments[6] = {fd, (long)&local, 1, (long)address};
	long got = stuck_read_call(task, SYS_preadv, arguments);

	if (!got)
		return -ESRCH;
	return got == -EIO ? -EFAULT : got;
}

/* The file does not pin pages, so none is copied; for scattered pages it takes twice as long. */
static ssize_t read_unpinned(pid_t task, long fd, const struct iovec *local, size_t local_count,
			     const struct iovec *remote, size_t remote_count)
{
	size_t piece = 0, from = 0, at = 0, to = 0, done = 0;

	while (piece < remote_count && at < local_count) {
		size_t size = MIN(remote[piece].iov_len - from, local[at].iov_len - to);
		long got = size ? read_stretch(task, fd, (uintptr_t)remote[piece].iov_base + from,
					       (char *)local[at].iov_base + to, size)
				: 0;

		if (got < 0)
			return done ? (ssize_t)done : got;
		done += (size_t)got;
		if ((size_t)got < size)
			break;
		from += size;
		to += size;
		if (from == remote[piece].iov_len)
			piece++, from = 0;
		if (to == local[at].iov_len)
			at++, to = 0;
	}
	return (ssize_t)done;
}

ssize_t memory_read_pieces(pid_t task, const struct iovec *local, size_t local_count,
			   const struct iovec *remote, size_t remote_count)
{
	const long arguments[6] = {task, (long)local, (long)local_count, (long)remote,
				   (long)remote_count};
	long fd = fork_may_share(task) ? open_memory(task) : -ENOTSUP;
	ssize_t got;

	if (fd >= 0) {
		got = read_unpinned(task, fd, local, local_count, remote, remote_count);
		close((int)fd);
		return got;
	}
	return stuck_read_call(task, SYS_process_vm_readv, arguments);
}

static ssize_t read_once(pid_t task, uint64_t address, void *buffer, size_t size)
{
	struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)address, size};

	return memory_read_pieces(task, &local, 1, &remote, 1);
}

uint64_t memory_page_size(struct memory_source source)
{
	return source.core ? core_page_size(source.core) : page_size();
}

/* One bad page can fail the whole read: then reads only up to the end of the next page. */
static ssize_t read_some(pid_t task, uint64_t address, void *buffer, size_t size)
{
	ssize_t got = read_once(task, address, buffer, size);

	if (got == -EFAULT && size > MEMORY_PAGE - address % MEMORY_PAGE)
		got = read_once(task, address, buffer, MEMORY_PAGE - address % MEMORY_PAGE);
	return got;
}

ssize_t memory_read_present(struct memory_source source, uint64_t address, void *buffer,
			    size_t size)
{
	size_t done = 0;

	if (source.core)
		return core_read(source.core, address, buffer, size);
	while (done < size) {
		ssize_t got =
			read_some(source.task, address + done, (char *)buffer + done, size - done);

		if (got <= 0)
			return done ? (ssize_t)done : got ? got : -EFAULT;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

ssize_t memory_read(struct memory_source source, uint64_t address, void *buffer, size_t size)
{
	size_t done = 0;

	if (source.core)
		return core_read(source.core, address, buffer, size);
	while (done < size) {
		size_t wanted = absent_bytes_begin(source.task, address + done, size - done);
		ssize_t got = wanted ? read_some(source.task, address + done, (char *)buffer + done,
						 wanted)
				     : absent_read(source.task, address + done,
						   (char *)buffer + done, size - done);

		if (got <= 0)
			return done ? (ssize_t)done : got ? got : -EFAULT;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int memory_read_exact(struct memory_source source, uint64_t address, void *buffer, size_t size)
{
	ssize_t got = memory_read(source, address, buffer, size);

	if (got < 0)
		return (int)got;
	return (size_t)got == size ? 0 : -EFAULT;
}

/*
 * The page of zeros that every process shares until it writes: present in pagemap, but not counted
 * in Rss. Its frame is that of any two of leakmon's own pages that were only read; 0: unknown,
 * because frames are hidden, or each has its own (pvm_no_zero_page).
 */
static uint64_t zero_frame;
static pthread_once_t zero_frame_learnt = PTHREAD_ONCE_INIT;

static void learn_zero_frame(void)
{
	_cleanup_close_ int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	const volatile char *pages =
		mmap(NULL, 2 * page_size(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t entries[2];

	if (pages == MAP_FAILED)
		return;
	(void)pages[0];
	(void)pages[page_size()];
	if (pread(pagemap, entries, sizeof(entries),
		  (off_t)((uintptr_t)pages / page_size() * sizeof(*entries))) == sizeof(entries) &&
	    pagemap_is_present(entries[0]) && pagemap_is_present(entries[1]) &&
	    (entries[0] & ENTRY_FRAME) == (entries[1] & ENTRY_FRAME))
		zero_frame = entries[0] & ENTRY_FRAME;
	munmap((void *)pages, 2 * page_size());
}

int pagemap_open(struct memory_source source)
{
	char path[64];
	int fd;

	if (source.core)
		return core_pagemap(source.core);
	pthread_once(&zero_frame_learnt, learn_zero_frame);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", source.task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

size_t pagemap_pread(pid_t task, int fd, uint64_t page, uint64_t *entries, size_t count)
{
	const long arguments[6] = {fd, (long)entries, (long)(count * sizeof(*entries)),
				   (long)(page * sizeof(*entries))};
	long got = stuck_read_call(task, SYS_pread64, arguments);

	return got < 0 ? 0 : (size_t)got / sizeof(*entries);
}

/* Defined in include/uapi/linux/fs.h from Linux 6.7 on. */
struct scan_region {
	uint64_t start, end, categories;
};

struct scan_request {
	uint64_t size, flags, start, end, walk_end, regions, region_count, pages_most;
	uint64_t inverted, all_of, any_of, shown;
};

#define SCAN_PAGES _IOWR('f', 16, struct scan_request)
#define SCAN_PRESENT (1u << 3)
#define SCAN_SWAPPED (1u << 4)
#define SCAN_REGIONS 512
/* Gaps up to this size are read as well. */
#define OCCUPIED_GAP (2u << 20)

static int add_region(struct stretches *occupied, const struct scan_region *region)
{
	size_t count = occupied->list.count;
	struct stretch *stretch;

	if (count && region->start - occupied->list.items[count - 1].end <= OCCUPIED_GAP) {
		occupied->list.items[count - 1].end = region->end;
		return 0;
	}
	stretch = vec_push(&occupied->list);
	if (!stretch)
		return -ENOMEM;
	*stretch = (struct stretch){region->start, region->end};
	return 0;
}

static int scan_pages(pid_t task, int fd, struct scan_request *request)
{
	const long arguments[6] = {fd, (long)SCAN_PAGES, (long)request};
	long got = stuck_read_call(task, SYS_ioctl, arguments);

	return got == -ENOTTY || got == -EINVAL ? -ENOTSUP : (int)got;
}

int pagemap_occupied(pid_t task, int fd, uint64_t start, uint64_t end, struct stretches *occupied)
{
	struct scan_region regions[SCAN_REGIONS];
	int error = fd < 0 ? -ENOTSUP : 0;

	for (uint64_t at = start; !error && at < end;) {
		struct scan_request request = {
			.size = sizeof(request),
			.start = at,
			.end = end,
			.regions = (uintptr_t)regions,
			.region_count = SCAN_REGIONS,
			.any_of = SCAN_PRESENT | SCAN_SWAPPED,
			.shown = SCAN_PRESENT | SCAN_SWAPPED,
		};
		int got = scan_pages(task, fd, &request);

		if (got < 0)
			return got;
		for (int i = 0; !error && i < got; i++)
			error = add_region(occupied, &regions[i]);
		if (request.walk_end <= at)
			break;
		at = request.walk_end;
	}
	return error;
}

/* Reads one entry per page, from that page number on. */
static void read_entries(struct memory_source source, int fd, uint64_t page, uint64_t *entries,
			 size_t count)
{
	size_t done = 0;

	while (fd >= 0 && done < count) {
		size_t got =
			pagemap_pread(source.task, fd, page + done, entries + done, count - done);

		if (!got)
			break;
		done += got;
	}
	for (size_t i = 0; i < done && zero_frame; i++)
		if (pagemap_is_present(entries[i]) && (entries[i] & ENTRY_FRAME) == zero_frame)
			entries[i] = 0;
	for (; done < count; done++)
		entries[done] = ENTRY_UNKNOWN;
}

void pagemap_spread(uint64_t *entries, size_t count, uint64_t first, uint64_t parts)
{
	/* Backwards, because no source lies after its destination. */
	for (size_t i = count; i-- > 0;)
		entries[i] = entries[(first + i) / parts - first / parts];
}

void pagemap_read(struct memory_source source, int fd, uint64_t address, uint64_t *entries,
		  size_t count)
{
	uint64_t parts = source.core ? 1 : page_size() / MEMORY_PAGE;
	uint64_t first = address / MEMORY_PAGE;

	if (!count)
		return;
	read_entries(source, fd, first / parts, entries,
		     (first + count - 1) / parts - first / parts + 1);
	if (parts > 1)
		pagemap_spread(entries, count, first, parts);
}

static const uint64_t *peek_page(struct peek *peek, uint64_t page)
{
	size_t slot = page / MEMORY_PAGE % PEEK_PAGES;
	uint64_t entry;

	if (peek->pages[slot] && peek->addresses[slot] == page)
		return peek->pages[slot];
	if (peek->absent[slot] == page + 1)
		return NULL;
	if (!peek->is_present || !peek->is_present(peek->known, page)) {
		pagemap_read(peek->source, peek->pagemap, page, &entry, 1);
		if (!pagemap_is_present(entry)) {
			peek->absent[slot] = page + 1;
			return NULL;
		}
	}
	if (!peek->pages[slot])
		peek->pages[slot] = malloc(MEMORY_PAGE);
	peek->addresses[slot] = UINT64_MAX;
	if (!peek->pages[slot] || memory_read_present(peek->source, page, peek->pages[slot],
						      MEMORY_PAGE) != (ssize_t)MEMORY_PAGE)
		return NULL;
	peek->addresses[slot] = page;
	return peek->pages[slot];
}

int peek_words(struct peek *peek, uint64_t address, uint64_t *words, size_t count)
{
	if (deadline_step(peek->deadline))
		return -ETIMEDOUT;
	while (count) {
		const uint64_t *page = peek_page(peek, address & ~(MEMORY_PAGE - 1));
		size_t first = address % MEMORY_PAGE / 8;
		size_t here = MIN(count, MEMORY_PAGE / 8 - first);

		if (!page || address % 8)
			return -EFAULT;
		memcpy(words, page + first, here * 8);
		words += here;
		address += here * 8;
		count -= here;
	}
	return 0;
}

void peek_ahead(struct peek *peek, const uint64_t *pages, size_t count)
{
	struct iovec local[PEEK_AHEAD] = {0}, remote[PEEK_AHEAD] = {0};
	size_t slots[PEEK_AHEAD], used = 0;
	ssize_t got;

	for (size_t i = 0; i < count && used < PEEK_AHEAD; i++) {
		size_t slot = pages[i] / MEMORY_PAGE % PEEK_PAGES;

		if (!peek->pages[slot])
			peek->pages[slot] = malloc(MEMORY_PAGE);
		/* The first page of a slot is needed first. */
		if (!peek->pages[slot] || peek->addresses[slot] == UINT64_MAX - 1)
			continue;
		peek->addresses[slot] = UINT64_MAX - 1;
		local[used] = (struct iovec){peek->pages[slot], MEMORY_PAGE};
		remote[used] = (struct iovec){(void *)(uintptr_t)pages[i], MEMORY_PAGE};
		slots[used++] = slot;
	}
	got = peek->source.core ? 0
				: memory_read_pieces(peek->source.task, local, used, remote, used);
	for (size_t i = 0; i < used; i++)
		peek->addresses[slots[i]] = got >= (ssize_t)((i + 1) * MEMORY_PAGE)
						    ? (uint64_t)(uintptr_t)remote[i].iov_base
						    : UINT64_MAX;
}

/* Returns the number of entries from a page on worth one call: up to the last nearby page. */
static size_t entries_ahead(const uint64_t *pages, size_t count)
{
	size_t ahead = 1;

	for (size_t i = 1; i < count; i++) {
		uint64_t distance = (pages[i] - pages[0]) / MEMORY_PAGE;

		if (distance >= PEEK_AHEAD)
			break;
		ahead = distance + 1;
	}
	return ahead;
}

/* Finds the present ones of these pages, given in ascending order. */
static void find_present(struct peek *peek, const uint64_t *pages, bool *present, size_t count)
{
	uint64_t entries[PEEK_AHEAD] = {0}, at = 0;
	size_t held = 0;

	for (size_t i = 0; i < count; i++) {
		present[i] = peek->is_present && peek->is_present(peek->known, pages[i]);
		if (present[i])
			continue;
		if (!held || pages[i] - at >= held * MEMORY_PAGE) {
			at = pages[i];
			held = entries_ahead(pages + i, count - i);
			pagemap_read(peek->source, peek->pagemap, at, entries, held);
		}
		present[i] = pagemap_is_present(entries[(pages[i] - at) / MEMORY_PAGE]);
	}
}

void peek_ahead_present(struct peek *peek, const uint64_t *pages, size_t count)
{
	uint64_t there[PEEK_AHEAD];
	bool present[PEEK_AHEAD];
	size_t kept = 0;

	count = MIN(count, PEEK_AHEAD);
	find_present(peek, pages, present, count);
	for (size_t i = 0; i < count; i++) {
		if (present[i])
			there[kept++] = pages[i];
	}
	if (kept)
		peek_ahead(peek, there, kept);
}

void peek_scattered(struct peek *peek, const uint64_t *addresses, uint64_t *words, bool *got,
		    size_t count)
{
	struct iovec local[PEEK_AHEAD], remote[PEEK_AHEAD];
	uint64_t pages[PEEK_AHEAD] = {0};
	size_t used = 0;
	ssize_t bytes;

	count = MIN(count, PEEK_AHEAD);
	for (size_t i = 0; i < count; i++)
		pages[i] = addresses[i] & ~(MEMORY_PAGE - 1);
	find_present(peek, pages, got, count);
	for (size_t i = 0; i < count; i++) {
		got[i] &= addresses[i] % 8 == 0;
		if (!got[i])
			continue;
		local[used] = (struct iovec){&words[i], sizeof(*words)};
		remote[used++] = (struct iovec){(void *)(uintptr_t)addresses[i], sizeof(*words)};
	}
	bytes = peek->source.core || deadline_step(peek->deadline)
			? 0
			: memory_read_pieces(peek->source.task, local, used, remote, used);
	if (bytes == (ssize_t)(used * sizeof(*words)))
		return;
	for (size_t i = 0; i < count; i++)
		got[i] = got[i] && !peek_words(peek, addresses[i], &words[i], 1);
}

void peek_forget(struct peek *peek)
{
	for (size_t i = 0; i < PEEK_PAGES; i++)
		peek->addresses[i] = UINT64_MAX;
	memset(peek->absent, 0, sizeof(peek->absent));
}

void peek_free(struct peek *peek)
{
	for (size_t i = 0; i < PEEK_PAGES; i++) {
		free(peek->pages[i]);
		peek->pages[i] = NULL;
	}
}
