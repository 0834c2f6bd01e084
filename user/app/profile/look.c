// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "binary/arch/machine.h"
#include "process/proc/maps.h"
#include "process/proc/process_memory.h"

/* Blocks per read; the kernel accepts up to 1024 (UIO_MAXIOV). */
#define BATCH 512
/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)

int look_open(struct look *look)
{
	return siphash_key_make(&look->key);
}

/* The page table of a process, and its mappings, if needed. */
struct pages {
	pid_t pid;
	int pagemap;
	uint64_t page, entry; /* the latest entry read */
	bool known, has_maps;
	struct maps maps;
};

static uint64_t page_entry(struct pages *pages, uint64_t address)
{
	uint64_t page = address / page_size(), entry = 0;

	if (pages->known && pages->page == page)
		return pages->entry;
	if (!pagemap_pread(pages->pid, pages->pagemap, page, &entry, 1))
		entry = 0;
	pages->page = page;
	pages->entry = entry;
	pages->known = true;
	return entry;
}

/* Returns the state of an address without a page: unmapped, unless a mapping contains it. */
static enum look_state absent_state(struct pages *pages, uint64_t address)
{
	if (!pages->has_maps) {
		if (maps_read(pages->pid, MAPS_ALL, &pages->maps))
			return LOOK_SWAPPED;
		pages->has_maps = true;
	}
	return maps_find(&pages->maps, address) ? LOOK_ABSENT : LOOK_UNMAPPED;
}

/* A few bytes of the process to read. */
struct piece {
	uint64_t address;
	size_t bytes;
	void *into;
	enum look_state state; /* LOOK_READ: they were read */
};

/* Returns LOOK_READ if all bytes of the piece are present. */
static enum look_state piece_state(struct pages *pages, const struct piece *piece)
{
	uint64_t last = piece->address + (piece->bytes ? piece->bytes - 1 : 0);

	for (uint64_t at = piece->address;; at = last) {
		uint64_t entry = page_entry(pages, at);

		if (entry & PAGEMAP_SWAPPED)
			return LOOK_SWAPPED;
		if (!(entry & PAGEMAP_PRESENT))
			return absent_state(pages, at);
		if (page_down(at) == page_down(last))
			return LOOK_READ;
	}
}

/*
 * Reads at most BATCH pieces. A piece that cannot be read was unmapped a moment ago: the others are
 * read without it. Returns 0 or -errno.
 */
static int pieces_read(struct pages *pages, struct piece *pieces, size_t count)
{
	struct iovec local[BATCH], remote[BATCH];
	struct piece *there[BATCH];
	size_t first = 0, found = 0;

	for (size_t i = 0; i < count; i++) {
		pieces[i].state = piece_state(pages, &pieces[i]);
		if (pieces[i].state != LOOK_READ)
			continue;
		local[found] = (struct iovec){pieces[i].into, pieces[i].bytes};
		remote[found] =
			(struct iovec){(void *)(uintptr_t)pieces[i].address, pieces[i].bytes};
		there[found++] = &pieces[i];
	}
	while (first < found) {
		ssize_t got = memory_read_pieces(pages->pid, local + first, found - first,
						 remote + first, found - first);

		if (got < 0 && got != -EFAULT)
			return (int)got;
		got = got < 0 ? 0 : got;
		while (first < found && (size_t)got >= local[first].iov_len)
			got -= (ssize_t)local[first++].iov_len;
		if (first < found)
			there[first++]->state = LOOK_UNMAPPED;
	}
	return 0;
}

/* -------- contents */

static bool is_uniform(const unsigned char *bytes, size_t size)
{
	for (size_t i = 1; i < size; i++) {
		if (bytes[i] != bytes[0])
			return false;
	}
	return true;
}

/* Some blocks and the bytes read of them. */
struct group {
	const struct look_request *requests;
	struct look_result *results;
	size_t count;
	struct piece pieces[BATCH];
	union {
		unsigned char contents[BATCH][LOOK_BYTES];
		struct {
			/* the size field before a block, and its first words */
			uint64_t heads[BATCH][3];
			uint64_t sizes[BATCH]; /* of the next chunk */
			size_t blocks[BATCH];  /* indexes of the blocks with these chunks */
		};
	};
};

static int look_at_contents(const struct look *look, struct pages *pages, struct group *group)
{
	int error;

	for (size_t i = 0; i < group->count; i++) {
		const struct look_request *request = &group->requests[i];

		group->pieces[i] = (struct piece){.address = request->address,
						  .bytes = (size_t)MIN(request->size, LOOK_BYTES),
						  .into = group->contents[i]};
	}
	error = pieces_read(pages, group->pieces, group->count);
	for (size_t i = 0; i < group->count && !error; i++) {
		const struct piece *piece = &group->pieces[i];

		group->results[i] = (struct look_result){.state = piece->state};
		if (piece->state != LOOK_READ)
			continue;
		group->results[i].hash = siphash(&look->key, piece->into, piece->bytes);
		group->results[i].uniform = is_uniform(piece->into, piece->bytes);
	}
	return error;
}

/* -------- glibc's chunks */

#define CHUNK_ALIGN 16u
#define CHUNK_LEAST 32u
#define CHUNK_FLAGS 7u
#define CHUNK_PREVIOUS_IN_USE 1u
#define CHUNK_MAPPED 2u

/*
 * Returns the chunk size from the word before the block; 0: not one of glibc's. A remainder too
 * small for a chunk belongs to the block.
 */
static uint32_t chunk_of(uint64_t head, uint64_t size)
{
	uint64_t least = size + 8 <= CHUNK_LEAST
				 ? CHUNK_LEAST
				 : (size + 8 + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
	uint64_t chunk = head & ~(uint64_t)CHUNK_FLAGS;

	if (size > UINT32_MAX / 2 || head & CHUNK_MAPPED ||
	    (chunk != least && chunk != least + CHUNK_ALIGN))
		return 0;
	return (uint32_t)chunk;
}

static bool wants_chunk(const struct look_request *request, const struct look_result *result)
{
	return (request->find_chunk || request->chunk) && result->state == LOOK_READ &&
	       request->address % CHUNK_ALIGN == 0 && request->address > CHUNK_ALIGN;
}

/* Reads the chunks of the blocks that are present; *found is set to their number. */
static int heads_read(struct pages *pages, struct group *group, size_t *found)
{
	size_t count = 0;

	for (size_t i = 0; i < group->count; i++) {
		if (!wants_chunk(&group->requests[i], &group->results[i]))
			continue;
		group->pieces[count] = (struct piece){.address = group->requests[i].address - 8,
						      .bytes = sizeof(group->heads[0]),
						      .into = group->heads[count]};
		group->blocks[count++] = i;
	}
	*found = count;
	return pieces_read(pages, group->pieces, count);
}

/* Marks blocks freed whose heads have changed; the others stay in the group. */
static size_t heads_take(struct group *group, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		const struct look_request *request = &group->requests[group->blocks[i]];
		struct look_result *result = &group->results[group->blocks[i]];
		uint64_t head = group->heads[i][0];

		if (group->pieces[i].state != LOOK_READ)
			continue;
		if (request->find_chunk)
			result->chunk = chunk_of(head, request->size);
		if (!request->chunk)
			continue;
		result->freed = (head & ~(uint64_t)CHUNK_FLAGS) != request->chunk;
		if (result->freed)
			continue;
		memmove(group->heads[left], group->heads[i], sizeof(group->heads[0]));
		group->blocks[left++] = group->blocks[i];
	}
	return left;
}

/*
 * Reads the next chunks, whose flag says whether the block is in use. Blocks in use stay in the
 * group.
 */
static int next_chunks(struct pages *pages, struct group *group, size_t *count)
{
	size_t left = 0;
	int error;

	for (size_t i = 0; i < *count; i++) {
		const struct look_request *request = &group->requests[group->blocks[i]];

		group->pieces[i] = (struct piece){.address = request->address - 8 + request->chunk,
						  .bytes = sizeof(group->sizes[0]),
						  .into = &group->sizes[i]};
	}
	error = pieces_read(pages, group->pieces, *count);
	for (size_t i = 0; i < *count && !error; i++) {
		struct look_result *result = &group->results[group->blocks[i]];

		if (group->pieces[i].state == LOOK_READ)
			result->freed = !(group->sizes[i] & CHUNK_PREVIOUS_IN_USE);
		if (result->freed)
			continue;
		memmove(group->heads[left], group->heads[i], sizeof(group->heads[0]));
		group->blocks[left++] = group->blocks[i];
	}
	*count = left;
	return error;
}

/*
 * Returns whether a chunk is in a thread's cache or a fast bin, where free chunks look in use. Its
 * first word points to the next chunk of the list, of the same size, mangled with its own address
 * (from glibc 2.32 on); in a cache, both chunks have the same key in their second word. The last
 * pointer of a list is 0.
 */
static bool is_listed(const struct look_request *request, const uint64_t head[3],
		      const uint64_t next[3], bool is_there)
{
	if (head[1] == request->address >> 12)
		return true;
	if (!is_there)
		return false;
	return ((next[0] & ~(uint64_t)CHUNK_FLAGS) == request->chunk && next[2] == head[2]) ||
	       (next[2] & ~(uint64_t)CHUNK_FLAGS) == request->chunk;
}

static int lists(struct pages *pages, struct group *group, size_t count)
{
	uint64_t next[BATCH][3];
	size_t places[BATCH], asked = 0;
	int error;

	for (size_t i = 0; i < count; i++) {
		const struct look_request *request = &group->requests[group->blocks[i]];
		uint64_t to = group->heads[i][1] ^ request->address >> 12;

		places[i] = BATCH;
		if (to <= CHUNK_ALIGN || to % CHUNK_ALIGN || to >> MACHINE_USER_BITS)
			continue;
		group->pieces[asked] = (struct piece){
			.address = to - 8, .bytes = sizeof(next[0]), .into = next[asked]};
		places[i] = asked++;
	}
	error = pieces_read(pages, group->pieces, asked);
	for (size_t i = 0; i < count && !error; i++) {
		bool there = places[i] < BATCH && group->pieces[places[i]].state == LOOK_READ;

		group->results[group->blocks[i]].freed =
			is_listed(&group->requests[group->blocks[i]], group->heads[i],
				  there ? next[places[i]] : NULL, there);
	}
	return error;
}

static int look_at_chunks(struct pages *pages, struct group *group)
{
	size_t count;
	int error = heads_read(pages, group, &count);

	if (error || !count)
		return error;
	count = heads_take(group, count);
	error = next_chunks(pages, group, &count);
	return error ? error : lists(pages, group, count);
}

static int look_through(const struct look *look, struct pages *pages, struct group *group,
			const struct look_request *requests, size_t count,
			struct look_result *results)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i += group->count) {
		group->requests = requests + i;
		group->results = results + i;
		group->count = MIN(count - i, BATCH);
		error = look_at_contents(look, pages, group);
		if (!error)
			error = look_at_chunks(pages, group);
	}
	return error;
}

/*
 * Returns whether a process is being killed: its memory then disappears page by page (exit_mmap,
 * and the OOM reaper for processes that hang), so a missing page proves nothing.
 */
static bool is_ending(pid_t pid)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *status = NULL;
	bool has_memory = false, is_killed = false;
	unsigned long long pending;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		has_memory |= !strncmp(line, "VmSize:", 7);
		if (sscanf(line, "SigPnd: %llx", &pending) == 1 ||
		    sscanf(line, "ShdPnd: %llx", &pending) == 1)
			is_killed |= pending >> (SIGKILL - 1) & 1;
	}
	return !has_memory || is_killed;
}

int look_at(const struct look *look, pid_t pid, const struct look_request *requests, size_t count,
	    struct look_result *results)
{
	_cleanup_free_ struct group *group = calloc(1, sizeof(*group));
	struct pages pages = {.pid = pid};
	char path[64];
	int error;

	if (!group)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pages.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pages.pagemap < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	error = look_through(look, &pages, group, requests, count, results);
	close(pages.pagemap);
	maps_free(&pages.maps);
	return !error && is_ending(pid) ? -ESRCH : error;
}
