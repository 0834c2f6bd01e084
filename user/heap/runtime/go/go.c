// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go: arenas begin at a mapping at 0xc000000000 (runtime/malloc.go: arena hints); since 1.25 they
 * are named. Since 1.26 they are anywhere: then the program's build information identifies it, or
 * its module data if a build omitted that.
 *
 * A program is recognised by its module data (symtab.go): a word that points to a table of
 * functions with a magic number in its header, followed by the addresses of text, data and the
 * table's parts, which must be consistent.
 */
#include "heap/runtime/go/go.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/runtime/go/reader.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

#define ARENAS 0xc000000000ull
#define ARENAS_END 0x10000000000ull

/* Plausible limits. */
#define DATA_BYTES_MAX (256ull << 20)
#define FUNCTIONS_MAX (8u << 20)
#define PART_BYTES_MAX (4ull << 30)

/* pcHeader: a magic number (1.18, 1.20), two zeros, the unit of code addresses, a word's size. */
#define MAGIC_OLD 0xfffffff0u
#define MAGIC_NEW 0xfffffff1u
#define WORD_SIZE 8
#define HEADER_ALIGNMENT 16
#define HEADER_BYTES_MAX 256 /* limit, up to the names behind it */

/* Lengths of runtime.buildVersion: "go1.9" is the shortest. */
#define RELEASE_LEAST 5
#define RELEASE_BYTES 24

/* debug/buildinfo: 16-aligned; its flags tell whether the version follows. */
#define BUILD_INFO "\xff Go buildinf:"
#define BUILD_INFO_FLAGS 15
#define BUILD_INFO_INLINE 2
#define BUILD_INFO_TEXT 32
#define BUILD_INFO_WITHIN (16ull << 20) /* of data */

/* moduledata, in words, the same in all of these versions. */
enum module_word {
	MODULE_HEADER = 0,
	MODULE_NAMES = 1,
	MODULE_UNITS = 4,
	MODULE_FILES = 7,
	MODULE_VALUES = 10,
	MODULE_FUNCTIONS = 13,
	MODULE_TABLE = 16,
	MODULE_LOW = 20,
	MODULE_HIGH = 21,
	MODULE_TEXT = 22,
	MODULE_DATA = 24, /* four ranges: noptrdata, data, bss, noptrbss */
	MODULE_WORDS = 48,
};

/* clang-format off */
static const struct go_layout layouts[] = {
	{19, 112, 144, 152, 168, 176, 296, 40, 37, 20, 12, 16, 304, 32, 104, 136, 184, 304, 3592, 1176,
	 {48, 56, 8, 72, 98, 104, 128}},
	{21, 112, 144, 152, 168, 176, 280, 44, 41, 16, 4, 8, 320, 32, 72, 104, 152, 272, 3592, 1176,
	 {48, 56, 8, 72, 106, 112, 136}},
	{22, 112, 144, 152, 168, 176, 280, 44, 41, 16, 4, 8, 320, 32, 72, 104, 152, 272, 3592, 1176,
	 {48, 50, 2, 64, 98, 104, 128}},
	{23, 112, 152, 160, 176, 184, 288, 44, 41, 16, 4, 8, 320, 32, 72, 104, 152, 272, 3592, 1176,
	 {48, 50, 2, 64, 98, 104, 128}},
	{24, 112, 152, 160, 176, 184, 288, 44, 41, 16, 4, 8, 320, 32, 72, 104, 152, 272, 3592, 1176,
	 {48, 50, 2, 64, 98, 104, 128}},
	{25, 104, 144, 152, 168, 176, 280, 44, 41, 16, 4, 8, 320, 32, 72, 104, 152, 272, 3568, 1168,
	 {48, 50, 2, 64, 98, 104, 128}},
	{26, 104, 144, 152, 168, 176, 288, 44, 41, 16, 4, 8, 320, 32, 72, 104, 152, 272, 3568, 1168,
	 {48, 50, 2, 64, 98, 104, 128}},
	{27, 104, 144, 152, 168, 176, 288, 44, 41, 16, 4, 8, 344, 16, 72, 104, 152, 272, 3568, 1168,
	 {48, 50, 2, 64, 98, 104, 128}},
};
/* clang-format on */

extern const struct runtime runtime_go;
extern const struct heap_walker go_walker; /* heap.c */

static bool detect(const struct mapping *mapping)
{
	return mapping_is_anonymous(mapping) && mapping->start == ARENAS;
}

static bool owns(const void *state, const struct mapping *mapping)
{
	const struct go_range *heap = state; /* NULL: the default place */

	if (!mapping_is_anonymous(mapping) || !mapping_is_data(mapping))
		return false;
	if (heap)
		return mapping->start >= heap->start && mapping->end <= heap->end;
	return (!strncmp(mapping->path, "[anon: Go: heap", 15) ||
		(mapping->start >= ARENAS && mapping->end <= ARENAS_END));
}

/* Copies whole pages; zeros for untouched pages of no file, and for unreadable ones. */
static void copy_pages(struct target_memory *memory, uint64_t address, void *buffer, size_t size)
{
	for (size_t done = 0; done < size; done += MEMORY_PAGE) {
		if (target_read(memory, address + done, (char *)buffer + done, MEMORY_PAGE))
			memset((char *)buffer + done, 0, MEMORY_PAGE);
	}
}

/* Module data. */

static bool is_in_file(const struct target_memory *memory, uint64_t address)
{
	const struct mapping *mapping = maps_find(memory->maps, address);

	return mapping && mapping->inode;
}

static bool is_magic(uint64_t word)
{
	return ((uint32_t)word == MAGIC_OLD || (uint32_t)word == MAGIC_NEW) &&
	       word >> 56 == WORD_SIZE && !(word >> 32 & 0xffff);
}

static bool is_header(struct target_memory *memory, uint64_t address)
{
	return !(address % WORD_SIZE) && is_magic(target_word(memory, address));
}

static bool slice_at(const struct target_memory *memory, const uint64_t *words,
		     struct go_slice *slice)
{
	*slice = (struct go_slice){words[0], words[1]};
	return words[1] == words[2] && words[1] && words[1] <= PART_BYTES_MAX &&
	       is_in_file(memory, words[0]) && words[0] + words[1] > words[0];
}

/* Copies the table of functions, which must have the bounds of the text. 0 or an error. */
static int copy_table(struct go_program *program, uint64_t start, uint64_t count)
{
	struct go_function_entry *entries = calloc(count, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	free(program->table.items);
	program->table.items = entries;
	program->table.count = program->table.capacity = count;
	if (target_read(program->memory, start, entries, count * sizeof(*entries)))
		return -ENOENT;
	for (size_t i = 1; i < count; i++) {
		if (entries[i].entry < entries[i - 1].entry)
			return -ENOENT;
	}
	return program->text_start + entries[0].entry == program->text.start &&
			       program->text_start + entries[count - 1].entry == program->text.end
		       ? 0
		       : -ENOENT;
}

/* Takes module data from words. 0; -ENOENT: no module data; -ENOMEM. */
static int take_module(struct go_program *program, const uint64_t *words)
{
	struct target_memory *memory = program->memory;
	uint64_t count = words[MODULE_TABLE + 1];

	if (!is_header(memory, words[MODULE_HEADER]) ||
	    !slice_at(memory, words + MODULE_NAMES, &program->names) ||
	    !slice_at(memory, words + MODULE_UNITS, &program->units) ||
	    !slice_at(memory, words + MODULE_FILES, &program->files) ||
	    !slice_at(memory, words + MODULE_VALUES, &program->values) ||
	    !slice_at(memory, words + MODULE_FUNCTIONS, &program->functions) || count < 2 ||
	    count > FUNCTIONS_MAX || !is_in_file(memory, words[MODULE_TABLE]) ||
	    target_word(memory, words[MODULE_HEADER] + 8) != count - 1)
		return -ENOENT;
	program->code_unit = target_word(memory, words[MODULE_HEADER]) >> 48 & 0xff;
	program->text = (struct go_range){words[MODULE_LOW], words[MODULE_HIGH]};
	program->text_start = words[MODULE_TEXT];
	return copy_table(program, words[MODULE_TABLE], count);
}

/* Data. */

/* Copies the data: noptrdata, data, bss and noptrbss are adjacent, in any order. 0 or an error. */
static int copy_data(struct go_program *program, const uint64_t *words)
{
	const uint64_t *ranges = words + MODULE_DATA;
	uint64_t start = UINT64_MAX, end = 0, first;

	for (size_t i = 0; i < 8; i += 2) {
		start = MIN(start, ranges[i]);
		end = MAX(end, ranges[i + 1]);
	}
	first = start & ~(MEMORY_PAGE - 1);
	if (end <= start || end - first > DATA_BYTES_MAX)
		return -ENOENT;
	free(program->words);
	program->data = (struct go_range){first, align_up(end, MEMORY_PAGE)};
	program->words = malloc(program->data.end - first);
	if (!program->words)
		return -ENOMEM;
	copy_pages(program->memory, first, program->words, program->data.end - first);
	return 0;
}

/* Takes "1.24.4" of "go1.24.4 X:nocoverageredesign"; others, such as "devel go1.28-1234", stay
 * unchanged. */
static void take_version(struct go_program *program, const char *text)
{
	const char *from = text_begins(text, "go1.") ? text + 2 : text;
	size_t length = strcspn(from, from == text ? "" : " -");

	snprintf(program->version, sizeof(program->version), "%.*s", (int)length, from);
}

static const struct go_layout *layout_of(const char *version)
{
	char *end;
	unsigned long minor;

	if (!text_begins(version, "1.") || !isdigit((unsigned char)version[2]))
		return NULL;
	minor = strtoul(version + 2, &end, 10);
	for (size_t i = 0; i < ARRAY_SIZE(layouts) && (*end == '.' || !*end); i++) {
		if (layouts[i].minor == minor)
			return &layouts[i];
	}
	return NULL;
}

/* Finds the build information in a copy of a mapping, at multiples of 16. */
static bool find_build_info(struct go_program *program, const unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i + BUILD_INFO_TEXT + 1 + sizeof(program->version) <= size; i += 16) {
		const unsigned char *at = bytes + i;
		char text[128] = "";
		size_t length = at[BUILD_INFO_TEXT];

		if (memcmp(at, BUILD_INFO, strlen(BUILD_INFO)) != 0 ||
		    !(at[BUILD_INFO_FLAGS] & BUILD_INFO_INLINE) || length >= sizeof(text) ||
		    i + BUILD_INFO_TEXT + 1 + length > size)
			continue;
		memcpy(text, at + BUILD_INFO_TEXT + 1, length);
		for (size_t j = 0; j < length; j++)
			text[j] = isprint((unsigned char)text[j]) ? text[j] : '?';
		take_version(program, text);
		return true;
	}
	return false;
}

/* Returns whether a text is "go1.26.5" or "go1.26rc1", and nothing else. */
static bool is_release(const char *text)
{
	size_t length = text_begins(text, "go1.") ? 4 : 0;

	return length && isdigit((unsigned char)text[length]) &&
	       text[length + strspn(text + length, "0123456789.rcbeta")] == '\0';
}

/*
 * Finds runtime.buildVersion in a program without build information: a string in its data. 0: one,
 * or none; -EEXIST: several such texts, so that none can be chosen.
 */
static int find_build_version(const struct go_program *program, const uint64_t *words, size_t count,
			      char release[RELEASE_BYTES])
{
	for (size_t i = 0; i + 1 < count; i++) {
		char text[RELEASE_BYTES] = "";
		size_t length = words[i + 1];

		if (length < RELEASE_LEAST || length >= sizeof(text) || words[i] <= MEMORY_PAGE ||
		    !is_in_file(program->memory, words[i]) ||
		    target_read(program->memory, words[i], text, length) || !is_release(text) ||
		    !strcmp(text, release))
			continue;
		if (release[0])
			return -EEXIST;
		memcpy(release, text, sizeof(text));
	}
	return 0;
}

static void find_version(struct go_program *program, const uint64_t *words, size_t count)
{
	char release[RELEASE_BYTES] = "";

	if (program->version[0])
		return;
	if (!find_build_info(program, (const unsigned char *)words, count * WORD_SIZE) &&
	    !find_build_version(program, words, count, release) && release[0])
		take_version(program, release);
	program->layout = layout_of(program->version);
}

/*
 * Returns whether words contain module data: they begin with the address of the header of the table
 * of functions, followed by names: its first part, limited by its size.
 */
static bool has_module(const struct maps *maps, const uint64_t *words, size_t count)
{
	for (size_t i = 0; i + 3 < count; i++) {
		const struct mapping *mapping;
		uint64_t header;

		if (words[i] % HEADER_ALIGNMENT || words[i + 1] <= words[i] ||
		    words[i + 1] - words[i] > HEADER_BYTES_MAX || words[i + 2] != words[i + 3] ||
		    !words[i + 2])
			continue;
		mapping = maps_find(maps, words[i]);
		if (mapping && mapping->inode &&
		    memory_read(maps->source, words[i], &header, sizeof(header)) ==
			    sizeof(header) &&
		    is_magic(header))
			return true;
	}
	return false;
}

static bool has_program(const struct maps *maps, const struct mapping *mapping)
{
	uint64_t size = MIN(mapping->end - mapping->start, BUILD_INFO_WITHIN);
	_cleanup_free_ uint64_t *words = malloc(size);
	ssize_t read = words ? memory_read(maps->source, mapping->start, words, size) : 0;

	return read > 0 && (memmem(words, (size_t)read, BUILD_INFO, strlen(BUILD_INFO)) ||
			    has_module(maps, words, (size_t)read / WORD_SIZE));
}

bool go_is_program(const struct maps *maps)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->inode && !mapping->shared && mapping_is_data(mapping) &&
		    has_program(maps, mapping))
			return true;
	}
	return false;
}

bool go_is_alone(const struct maps *maps)
{
	const struct mapping *first = NULL;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (!mapping->inode || !mapping->executable ||
		    text_begins(text_path_base(mapping->path), "ld-"))
			continue;
		if (first && !mapping_same_file(first, mapping))
			return false;
		first = mapping;
	}
	return true;
}

int go_heap_find(const struct maps *maps, uint64_t address, struct runtime_heap *heap)
{
	struct go_range run = {0}, *kept;

	for (size_t i = 0; i < maps->list.count && run.end <= address; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (!mapping_is_anonymous(mapping) || mapping->executable)
			continue;
		if (mapping->start != run.end)
			run.start = mapping->start;
		run.end = mapping->end;
	}
	if (!address || address < run.start || address >= run.end)
		return 0;
	/* Extend it by the rest of the reservation. */
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->start == run.end && mapping_is_anonymous(mapping) &&
		    !mapping->executable)
			run.end = mapping->end;
	}
	kept = malloc(sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = run;
	*heap = (struct runtime_heap){.runtime = &runtime_go, .state = kept};
	return 0;
}

/* Findings in one mapping of data: module data, the version. */
struct search {
	struct go_program *program;
	size_t modules; /* number of module data found */
};

/* Searches words for module data; among several, such as plugins', none is chosen. 0 or -ENOMEM. */
static int search_words(struct search *search, const struct mapping *mapping, const uint64_t *words,
			size_t count)
{
	struct go_program *program = search->program;
	int error;

	for (size_t i = 0; i + MODULE_WORDS <= count; i++) {
		if (words[i] <= MEMORY_PAGE || !is_in_file(program->memory, words[i]))
			continue;
		error = take_module(program, words + i);
		if (!error)
			error = copy_data(program, words + i);
		if (error == -ENOMEM)
			return error;
		if (error)
			continue;
		search->modules++;
		program->path = mapping->path;
		if (program->layout)
			program->go_functions = words[i + program->layout->go_func / WORD_SIZE];
	}
	return 0;
}

static int search_mapping(struct search *search, const struct mapping *mapping)
{
	uint64_t size = mapping->end - mapping->start;
	_cleanup_free_ uint64_t *words = size <= DATA_BYTES_MAX ? malloc(size) : NULL;
	struct go_program *program = search->program;

	if (!words)
		return size <= DATA_BYTES_MAX ? -ENOMEM : 0;
	copy_pages(program->memory, mapping->start, words, size);
	find_version(program, words, size / WORD_SIZE);
	return search_words(search, mapping, words, size / WORD_SIZE);
}

/* Returns the bias: 0 for a file at fixed addresses (ELF: e_type), else the start of its first
 * mapping. */
static uint64_t bias_of(const struct go_program *program)
{
	const struct maps *maps = program->memory->maps;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->offset || strcmp(mapping->path, program->path) != 0)
			continue;
		return (target_word(program->memory, mapping->start + 16) & 0xffff) == 3
			       ? mapping->start
			       : 0;
	}
	return 0;
}

int go_program_open(struct target_memory *memory, struct go_program *program, const char **why)
{
	struct search search = {.program = program};
	int error = 0;

	*program = (struct go_program){.memory = memory};
	for (size_t i = 0; !error && i < memory->maps->list.count; i++) {
		const struct mapping *mapping = &memory->maps->list.items[i];

		if (mapping->inode && !mapping->shared && mapping_is_data(mapping))
			error = search_mapping(&search, mapping);
	}
	if (error)
		return error;
	*why = !program->version[0]  ? "neither its build information nor its version is found"
	       : !program->layout    ? "this version of Go is not known"
	       : search.modules != 1 ? "its table of functions is not found"
				     : NULL;
	if (*why)
		return program->layout ? -ENOENT : -ENOTSUP;
	program->bias = bias_of(program);
	return 0;
}

void go_program_close(struct go_program *program)
{
	for (size_t i = 0; i < program->lines.capacity; i++) {
		struct frames *frames = (struct frames *)(uintptr_t)program->lines.entries[i].value;

		if (program->lines.entries[i].used && frames) {
			vec_free(&frames->list);
			free(frames);
		}
	}
	free(program->words);
	hash_free(&program->lines);
	vec_free(&program->table);
	*program = (struct go_program){0};
}

static struct heap_floor go_floor(const struct maps *maps)
{
	struct go_memory go;

	return go_memory_read(maps, &go) ? (struct heap_floor){0} : go_floor_of(&go);
}

const struct program_reader go_program_reader = {.is_program = go_is_program,
						 .is_alone = go_is_alone,
						 .tasks = goroutines_read,
						 .heap_profile = heap_profile_read};

const struct runtime runtime_go = {
	.key = GO_KEY,
	.name = "Go runtime",
	.tool = "`leakmon retain -p %d` (or go tool pprof) shows what allocates in it, `leakmon "
		"threads -p %d` its goroutines",
	.collects = true,
	.floor = go_floor,
	.memory = &go_memory_reader,
	.program = &go_program_reader,
	.profile = &own_profile_go,
	.detect = detect,
	.detect_memory = go_is_program,
	.owns = owns,
	.walker = &go_walker,
};
