// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The traces of Python's tracemalloc: a hash table maps the address of each live block to its size
 * and to the lines that allocated it.
 *
 * The table is found by its shape in the program's data. An entry is believed if its hash matches
 * its address, and the hash its bucket; a list of lines, if its files have names. The program keeps
 * running, so that single lists of the table may change during the read.
 *
 * Source: Modules/_tracemalloc.c (3.13: Python/tracemalloc.c), Python/hashtable.c and
 * Include/internal/pycore_hashtable.h of 3.9 to 3.15.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "heap/runtime/cpython/cpython.h"
#include "heap/runtime/cpython/python_reader.h"
#include "heap/runtime/own_profile.h"

/* _Py_hashtable_t */
#define TABLE_COUNT 0
#define TABLE_BUCKETS 1
#define TABLE_LISTS 2
#define TABLE_FUNCTIONS 3 /* get_entry, hash, compare */
#define TABLE_WORDS 6
#define MIN_BUCKETS 16
#define MAX_BUCKETS (1ull << 32)

/* _Py_hashtable_entry_t */
#define ENTRY_NEXT 0
#define ENTRY_HASH 1
#define ENTRY_KEY 2
#define ENTRY_VALUE 3
#define ENTRY_WORDS 4

/* tracemalloc_traceback: its frames are packed, the innermost first */
#define LINES_COUNT 8
#define LINES_FRAMES 12
#define LINES_FRAME_BYTES 12
#define VERSION_OF_TEXTS 0x30f

#define LISTS_AT_ONCE 512
#define MAX_TABLES 64
/* Tolerated share of lists that changed during the read: one in this many. */
#define TOLERANCE 64
#define MAX_BLOCK_BYTES (1ull << 48)

struct tracemalloc {
	struct target_memory *memory;
	struct cpython python;
	struct heap_profile *profile;
	uint64_t tables[MAX_TABLES]; /* of traces, one for each domain */
	size_t table_count;
	struct hash lists; /* address of a list of lines -> place in profile->sites, plus 1 */
	/* id -> place in profile->sites, plus 1: deeper stacks are cut to the same lines */
	struct hash sites;
	uint64_t read, changed; /* lists */
};

/* _Py_HashPointerRaw() */
static uint64_t hash_of(uint64_t address)
{
	return address >> 4 | address << 60;
}

static bool read_table(const struct tracemalloc *reading, uint64_t address,
		       uint64_t words[TABLE_WORDS])
{
	uint64_t buckets;

	if (!address || address % 8 ||
	    target_read(reading->memory, address, words, TABLE_WORDS * 8))
		return false;
	buckets = words[TABLE_BUCKETS];
	return buckets >= MIN_BUCKETS && buckets <= MAX_BUCKETS && !(buckets & (buckets - 1)) &&
	       words[TABLE_COUNT] && words[TABLE_COUNT] <= buckets * 64 && words[TABLE_LISTS] &&
	       words[TABLE_LISTS] % 8 == 0 &&
	       own_profile_is_code(reading->memory, words[TABLE_FUNCTIONS]) &&
	       own_profile_is_code(reading->memory, words[TABLE_FUNCTIONS + 1]) &&
	       own_profile_is_code(reading->memory, words[TABLE_FUNCTIONS + 2]);
}

static bool read_entry(const struct tracemalloc *reading, uint64_t address,
		       uint64_t entry[ENTRY_WORDS])
{
	return address % 8 == 0 && !target_read(reading->memory, address, entry, ENTRY_WORDS * 8);
}

static bool is_trace(const uint64_t entry[ENTRY_WORDS], uint64_t buckets, uint64_t bucket)
{
	return entry[ENTRY_HASH] == hash_of(entry[ENTRY_KEY]) &&
	       (entry[ENTRY_HASH] & (buckets - 1)) == bucket && entry[ENTRY_VALUE] &&
	       entry[ENTRY_VALUE] % 8 == 0;
}

/* -------- lines */

struct line {
	uint64_t file; /* address of its name */
	uint32_t number;
} __attribute__((packed));
_Static_assert(sizeof(struct line) == LINES_FRAME_BYTES, "as in the target");

/* Reads the name of a file: a str, or since 3.15 a C string, which may end with the mapping. */
static bool read_file(struct tracemalloc *reading, uint64_t address, char *file, size_t size)
{
	uint32_t code;
	size_t i = 0, bytes;

	if (reading->python.layout->version < VERSION_OF_TEXTS)
		return cpython_text(&reading->python, address, file, size, NULL);
	while (i + 1 < size && !target_read(reading->memory, address + i, file + i, 1) && file[i])
		i++;
	file[i] = '\0';
	for (i = 0; (bytes = text_decode_utf8(file + i, &code)) && text_is_printable(code);)
		i += bytes;
	return i && !file[i];
}

/* Returns the number of lines of a list; 0: invalid. */
static uint16_t count_lines(const struct tracemalloc *reading, uint64_t address)
{
	uint16_t counts[2]; /* kept, and all */

	if (!address || address % 8 ||
	    target_read(reading->memory, address + LINES_COUNT, counts, sizeof(counts)) ||
	    counts[0] > counts[1])
		return 0;
	return counts[0];
}

/* Reads a line. 0; -ENOENT: its file has no name; -ENOMEM. */
static int read_line(struct tracemalloc *reading, uint64_t address, struct frame *frame)
{
	struct intern *strings = &reading->profile->strings;
	char file[1024], name[sizeof(file) + 16];
	struct line line;

	if (target_read(reading->memory, address, &line, sizeof(line)) ||
	    !read_file(reading, line.file, file, sizeof(file)))
		return -ENOENT;
	/* tracemalloc stores no functions. */
	snprintf(name, sizeof(name), "%s:%u", text_path_in_package(file), line.number);
	*frame = (struct frame){.address = line.file,
				.function = intern_string(strings, name),
				.module = FRAME_PYTHON,
				.module_offset = symbolizer_place_id(name, file, line.number),
				.file = intern_string(strings, file),
				.line = line.number};
	return frame->function && frame->file ? 0 : -ENOMEM;
}

static int read_lines(struct tracemalloc *reading, uint64_t address, struct frames *frames)
{
	uint16_t count = count_lines(reading, address);
	int error = count ? 0 : -ENOENT;

	for (uint16_t i = 0; !error && i < count; i++) {
		struct frame frame, *kept;

		error = read_line(reading, address + LINES_FRAMES + i * LINES_FRAME_BYTES, &frame);
		kept = error ? NULL : vec_push(&frames->list);
		if (kept)
			*kept = frame;
		else if (!error)
			error = -ENOMEM;
	}
	return error;
}

/* Makes a site; *place: its index plus 1. 0; -ENOENT: invalid lines; -ENOMEM. */
static int make_site(struct tracemalloc *reading, uint64_t lines, uint64_t *place)
{
	struct heap_profile_site made = {0}, *kept;
	int error = read_lines(reading, lines, &made.frames);
	uint64_t *known;

	made.id = error ? 0 : symbolizer_stack_id(&made.frames);
	known = error ? NULL : hash_put(&reading->sites, made.id, NULL);
	if (known && *known) {
		*place = *known;
		vec_free(&made.frames.list);
		return 0;
	}
	kept = known ? vec_push(&reading->profile->sites) : NULL;
	if (!kept) {
		vec_free(&made.frames.list);
		return error ? error : -ENOMEM;
	}
	*kept = made;
	*known = *place = reading->profile->sites.count;
	return 0;
}

/* Finds or makes the site of lines; *site is valid until the next one is made. 0; -ENOENT: invalid
 * lines; -ENOMEM. */
static int site_of(struct tracemalloc *reading, uint64_t lines, struct heap_profile_site **site)
{
	uint64_t *place = hash_put(&reading->lists, lines, NULL);
	int error = place ? 0 : -ENOMEM;

	if (!error && !*place)
		error = make_site(reading, lines, place);
	if (!error)
		*site = &reading->profile->sites.items[*place - 1];
	return error;
}

/* -------- traces */

/* Adds a trace. 0; -ENOENT: invalid, or changed; -ENOMEM. */
static int add_trace(struct tracemalloc *reading, const uint64_t entry[ENTRY_WORDS])
{
	struct heap_profile_site *site;
	uint64_t trace[2]; /* bytes, lines */
	int error;

	if (target_read(reading->memory, entry[ENTRY_VALUE], trace, sizeof(trace)) ||
	    trace[0] > MAX_BLOCK_BYTES)
		return -ENOENT;
	error = site_of(reading, trace[1], &site);
	if (error)
		return error;
	site->allocated.objects++;
	site->allocated.bytes += trace[0];
	return 0;
}

/* Reads one bucket's list; a circular one would exceed the number of entries of the table. */
static int read_list(struct tracemalloc *reading, const uint64_t table[TABLE_WORDS],
		     uint64_t bucket, uint64_t at)
{
	uint64_t entry[ENTRY_WORDS], left = table[TABLE_COUNT] + TOLERANCE;
	int error = 0;

	reading->read++;
	while (!error && at) {
		if (!left-- || !read_entry(reading, at, entry) ||
		    !is_trace(entry, table[TABLE_BUCKETS], bucket)) {
			error = -ENOENT;
		} else {
			error = add_trace(reading, entry);
			at = entry[ENTRY_NEXT];
		}
	}
	if (error != -ENOENT)
		return error;
	reading->changed++;
	return 0;
}

static int read_traces(struct tracemalloc *reading, uint64_t address)
{
	uint64_t table[TABLE_WORDS], lists[LISTS_AT_ONCE];
	int error = 0;

	if (!read_table(reading, address, table))
		return 0;
	for (uint64_t i = 0; !error && i < table[TABLE_BUCKETS]; i += LISTS_AT_ONCE) {
		uint64_t count = MIN(table[TABLE_BUCKETS] - i, LISTS_AT_ONCE);

		if (target_read(reading->memory, table[TABLE_LISTS] + i * 8, lists, count * 8)) {
			reading->changed += TOLERANCE;
			return 0;
		}
		for (uint64_t j = 0; !error && j < count; j++) {
			if (lists[j])
				error = read_list(reading, table, i + j, lists[j]);
		}
	}
	return error;
}

/* -------- the tables */

/* Reads the first entry of a table, which shows its kind; returns false if no entry can be read. */
static bool first_entry(const struct tracemalloc *reading, const uint64_t table[TABLE_WORDS],
			uint64_t entry[ENTRY_WORDS], uint64_t *bucket)
{
	uint64_t lists[LISTS_AT_ONCE];

	for (uint64_t i = 0; i < table[TABLE_BUCKETS]; i += LISTS_AT_ONCE) {
		uint64_t count = MIN(table[TABLE_BUCKETS] - i, LISTS_AT_ONCE);

		if (target_read(reading->memory, table[TABLE_LISTS] + i * 8, lists, count * 8))
			return false;
		for (uint64_t j = 0; j < count; j++) {
			*bucket = i + j;
			if (lists[j])
				return read_entry(reading, lists[j], entry);
		}
	}
	return false;
}

static bool has_traces(struct tracemalloc *reading, uint64_t address)
{
	uint64_t table[TABLE_WORDS], entry[ENTRY_WORDS], trace[2], bucket;
	struct frame frame;

	return read_table(reading, address, table) && first_entry(reading, table, entry, &bucket) &&
	       is_trace(entry, table[TABLE_BUCKETS], bucket) &&
	       !target_read(reading->memory, entry[ENTRY_VALUE], trace, sizeof(trace)) &&
	       count_lines(reading, trace[1]) &&
	       !read_line(reading, trace[1] + LINES_FRAMES, &frame);
}

static void add_table(struct tracemalloc *reading, uint64_t address)
{
	for (size_t i = 0; i < reading->table_count; i++) {
		if (reading->tables[i] == address)
			return;
	}
	if (reading->table_count < MAX_TABLES && has_traces(reading, address))
		reading->tables[reading->table_count++] = address;
}

/* Adds the tables in a table of domains (PyTraceMalloc_Track()). */
static void add_domains(struct tracemalloc *reading, uint64_t address)
{
	uint64_t table[TABLE_WORDS], entry[ENTRY_WORDS], at;

	if (!read_table(reading, address, table) || table[TABLE_COUNT] > MAX_TABLES)
		return;
	for (uint64_t i = 0; i < table[TABLE_BUCKETS] && i < LISTS_AT_ONCE; i++) {
		uint64_t left = MAX_TABLES;

		at = target_word(reading->memory, table[TABLE_LISTS] + i * 8);
		for (; at && left-- && read_entry(reading, at, entry); at = entry[ENTRY_NEXT])
			add_table(reading, entry[ENTRY_VALUE]);
	}
}

static bool find_tables(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	struct tracemalloc *reading = context;

	(void)address;
	for (size_t i = 0; i < count; i++) {
		uint64_t table[TABLE_WORDS];

		if (!words[i] || words[i] % 8 || !read_table(reading, words[i], table))
			continue;
		add_table(reading, words[i]);
		add_domains(reading, words[i]);
	}
	return false;
}

/* -------- all of it */

static void weigh(struct heap_profile *profile)
{
	size_t kept = 0;

	for (size_t i = 0; i < profile->sites.count; i++) {
		struct heap_profile_site *site = &profile->sites.items[i];

		site->weighed = (struct heap_weighed){.objects = (double)site->allocated.objects,
						      .bytes = (double)site->allocated.bytes};
		if (site->allocated.objects)
			profile->sites.items[kept++] = *site;
		else
			vec_free(&site->frames.list);
	}
	profile->sites.count = kept;
}

static int read_all(struct tracemalloc *reading)
{
	struct heap_profile *profile = reading->profile;
	int error = 0;

	own_profile_scan(reading->memory, 0, find_tables, reading);
	if (!reading->table_count)
		return -ENOENT;
	for (size_t i = 0; !error && i < reading->table_count; i++)
		error = read_traces(reading, reading->tables[i]);
	weigh(profile);
	profile->rate = 1;
	profile->lacks = "blocks allocated before tracemalloc was started, or past Python's "
			 "allocators";
	profile->why = target_memory_overworked(reading->memory);
	if (!profile->why && reading->changed * TOLERANCE > reading->read)
		profile->why = "its traces changed too fast to read; try again";
	return error;
}

int python_traces_of(struct target_memory *memory, struct heap_profile *profile)
{
	struct tracemalloc reading = {.memory = memory, .profile = profile};
	const char *why;
	int error = cpython_open(memory, &reading.python, profile->version, &why);

	if (!error)
		error = read_all(&reading);
	cpython_close(&reading.python);
	hash_free(&reading.lists);
	hash_free(&reading.sites);
	return error == -ENOMEM || !error ? error : -ENOENT;
}

static int tracemalloc_read(const struct maps *maps, struct heap_profile *profile)
{
	_cleanup_free_ struct loaded_module *module = malloc(sizeof(*module));
	struct target_memory memory;
	int error;

	if (!module)
		return -ENOMEM;
	if (!python_is_program(maps))
		return -ENOENT;
	error = target_memory_open(maps, NULL, NULL, &memory);
	if (error)
		return error;
	error = -ENOENT;
	if (cpython_load_module(&memory, module)) {
		memory.modules = &module->modules;
		error = python_traces_of(&memory, profile);
	}
	target_memory_close(&memory);
	return error;
}

const struct own_profile_source own_profile_tracemalloc = {"tracemalloc", tracemalloc_read};
