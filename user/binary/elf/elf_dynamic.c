// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/elf_dynamic.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"

#define MAX_ENTRIES 4096

struct dynamic {
	uint64_t symbols, strings, strings_size, hash, gnu_hash;
	uint64_t flags;
	bool needs_libraries;
};

static void take_entry(struct dynamic *dynamic, const Elf64_Dyn *entry)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		dynamic->symbols = entry->d_un.d_ptr;
		break;
	case DT_STRTAB:
		dynamic->strings = entry->d_un.d_ptr;
		break;
	case DT_STRSZ:
		dynamic->strings_size = entry->d_un.d_val;
		break;
	case DT_HASH:
		dynamic->hash = entry->d_un.d_ptr;
		break;
	case DT_GNU_HASH:
		dynamic->gnu_hash = entry->d_un.d_ptr;
		break;
	case DT_FLAGS_1:
		dynamic->flags = entry->d_un.d_val;
		break;
	case DT_NEEDED:
		dynamic->needs_libraries = true;
		break;
	}
}

static int read_dynamic(const struct elf_file *file, struct dynamic *dynamic)
{
	_cleanup_free_ Elf64_Dyn *entries = NULL;
	size_t count = MIN(file->dynamic_size / sizeof(*entries), MAX_ENTRIES);
	ssize_t got;

	if (!count)
		return -ENOENT;
	entries = calloc(count, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	got = elf_file_read(file, file->dynamic_offset, entries, count * sizeof(*entries));
	if (got < 0)
		return (int)got;
	count = (size_t)got / sizeof(*entries);
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
		take_entry(dynamic, &entries[i]);
	return dynamic->symbols && dynamic->strings ? 0 : -ENOENT;
}

/* DT_HASH: nbucket, nchain, ...; there is one chain entry per symbol (gABI, "Hash Table"). */
static int count_by_hash(const struct elf_file *file, uint64_t offset, uint64_t *count)
{
	uint32_t header[2];
	int error = elf_file_read_exact(file, offset, header, sizeof(header));

	if (!error)
		*count = header[1];
	return error;
}

static int highest_bucket(const struct elf_file *file, uint64_t offset, uint32_t buckets,
			  uint32_t *highest)
{
	uint32_t chunk[1024];

	*highest = 0;
	while (buckets) {
		uint32_t count = MIN(buckets, ARRAY_SIZE(chunk));
		int error = elf_file_read_exact(file, offset, chunk, count * sizeof(*chunk));

		if (error)
			return error;
		for (uint32_t i = 0; i < count; i++)
			*highest = MAX(*highest, chunk[i]);
		buckets -= count;
		offset += count * sizeof(*chunk);
	}
	return 0;
}

/*
 * Finds the last chain's end, the entry with its lowest bit set; *count comes in as the chain's
 * first symbol.
 */
static int follow_last_chain(const struct elf_file *file, uint64_t offset, uint64_t *count)
{
	uint32_t chunk[1024];
	uint64_t at = *count;

	while (at < ELF_MAX_SYMBOLS) {
		ssize_t got = elf_file_read(file, offset, chunk, sizeof(chunk));

		if (got < (ssize_t)sizeof(*chunk))
			return got < 0 ? (int)got : -EBADMSG;
		for (size_t i = 0; i < (size_t)got / sizeof(*chunk); i++, at++) {
			if (chunk[i] & 1) {
				*count = at + 1;
				return 0;
			}
		}
		offset += (uint64_t)got;
	}
	return -EBADMSG;
}

/*
 * DT_GNU_HASH has no count: it is the end of the chain that starts last. Layout: nbuckets,
 * symoffset, bloom_size, bloom_shift; bloom[bloom_size] of 8 bytes; buckets[nbuckets]; chains, the
 * first of which belongs to symbol symoffset.
 */
static int count_by_gnu_hash(const struct elf_file *file, uint64_t offset, uint64_t *count)
{
	uint32_t header[4], highest;
	uint64_t buckets, chains, last;
	int error = elf_file_read_exact(file, offset, header, sizeof(header));

	if (error)
		return error;
	buckets = offset + sizeof(header) + header[2] * 8ull;
	chains = buckets + header[0] * 4ull;
	error = highest_bucket(file, buckets, header[0], &highest);
	if (error)
		return error;
	if (highest < header[1]) {
		*count = header[1];
		return 0;
	}
	last = highest;
	error = follow_last_chain(file, chains + (highest - header[1]) * 4ull, &last);
	if (!error)
		*count = last;
	return error;
}

static int count_symbols(const struct elf_file *file, const struct dynamic *dynamic,
			 uint64_t *count)
{
	uint64_t offset;

	if (dynamic->hash && !elf_file_offset(file, dynamic->hash, &offset))
		return count_by_hash(file, offset, count);
	if (dynamic->gnu_hash && !elf_file_offset(file, dynamic->gnu_hash, &offset))
		return count_by_gnu_hash(file, offset, count);
	return -EBADMSG;
}

int elf_dynamic_symbols(const struct elf_file *file, struct elf_symbol_place *place)
{
	struct elf_symbol_place found = {0};
	struct dynamic dynamic = {0};
	int error = read_dynamic(file, &dynamic);

	if (error)
		return error;
	if (elf_file_offset(file, dynamic.symbols, &found.offset) ||
	    elf_file_offset(file, dynamic.strings, &found.strings_offset))
		return -EBADMSG;
	error = count_symbols(file, &dynamic, &found.count);
	if (error)
		return error;
	found.strings_size = dynamic.strings_size;
	*place = found;
	return 0;
}

bool elf_is_static(const struct elf_file *file)
{
	struct dynamic dynamic = {0};

	if (!file->dynamic_size)
		return file->type == ET_EXEC;
	/* -ENOENT, no symbol table, does not matter here. */
	if (read_dynamic(file, &dynamic) && !dynamic.flags)
		return false;
	return dynamic.flags & DF_1_PIE && !dynamic.needs_libraries;
}
