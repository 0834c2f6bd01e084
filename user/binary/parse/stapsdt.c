// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/stapsdt.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "base/text.h"
#include "binary/arch/usdt.h"
#include "binary/elf/byte_reader.h"
#include "binary/parse/wire.h"

#define NOTE_TYPE 3 /* sys/sdt.h, _SDT_NOTE_TYPE */
#define OTEL_PROVIDER "otel_memory"
/* Bytes of code needed to identify the instruction at a place. */
#define PLACE_BYTES 16

/* Arguments that a kind of probe must have. */
static const struct {
	const char *name;
	size_t arguments;
} kinds[] = {
	[USDT_ALLOCATE] = {"alloc", 3},
	[USDT_FREE] = {"free", 1},
};
_Static_assert(ARRAY_SIZE(kinds) == USDT_KIND_MAX_, "a row for every kind");

/* Probes of allocators worth listing. */
static const struct {
	const char *provider, *prefix; /* of the names */
} allocators[] = {{"libc", "memory_"}};

const char *usdt_kind_name(enum usdt_kind kind)
{
	return kinds[kind].name;
}

/* A note; its strings are in the buffer of all notes. */
struct note {
	uint64_t pc, base, semaphore;
	const char *provider, *name, *arguments;
};

struct reader {
	const struct elf_file *file;
	uint64_t base; /* address of .stapsdt.base; 0: none, and nothing was moved */
	struct stapsdt *notes;
	size_t count;
};

/* Returns the next NUL-terminated string, or NULL. */
static const char *take_string(struct byte_reader *reader)
{
	const char *text = (const char *)reader->at;
	size_t length = strnlen(text, byte_reader_left(reader));

	return byte_reader_take(reader, length + 1) ? text : NULL;
}

static bool note_take(struct byte_reader *description, struct note *note)
{
	note->pc = byte_reader_fixed(description, 8);
	note->base = byte_reader_fixed(description, 8);
	note->semaphore = byte_reader_fixed(description, 8);
	note->provider = take_string(description);
	note->name = take_string(description);
	note->arguments = take_string(description);
	return note->provider && note->name && note->arguments && !description->failed;
}

static struct usdt_listed *listed_find(struct stapsdt *notes, const struct note *note)
{
	for (size_t i = 0; i < notes->listed.count; i++) {
		struct usdt_listed *listed = &notes->listed.items[i];

		if (!strcmp(listed->provider, note->provider) && !strcmp(listed->name, note->name))
			return listed;
	}
	return NULL;
}

/* Notes beyond the limit are not listed: the list is for people. */
static int list(struct stapsdt *notes, const struct note *note)
{
	struct usdt_listed *listed = listed_find(notes, note);

	if (!listed) {
		if (notes->listed.count == STAPSDT_MAX_LISTED ||
		    strlen(note->provider) >= sizeof(listed->provider) ||
		    strlen(note->name) >= sizeof(listed->name))
			return 0;
		listed = vec_push(&notes->listed);
		if (!listed)
			return -ENOMEM;
		strcpy(listed->provider, note->provider);
		strcpy(listed->name, note->name);
	}
	listed->places++;
	return 0;
}

/* Returns the length up to the next blank outside brackets: "[base, 16]" is one operand. */
static size_t argument_length(const char *text)
{
	size_t length = strcspn(text, " "), open = strcspn(text, "[");

	return open < length ? open + strcspn(text + open, "]") + (strchr(text, ']') != NULL)
			     : length;
}

static const char *read_arguments(const char *text, size_t wanted,
				  struct lm_usdt_operand *arguments)
{
	size_t count = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		size_t length = argument_length(text);
		const char *why;

		if (count == wanted)
			return "it has more arguments than the contract says";
		why = usdt_operand_read(text, length, &arguments[count++]);
		if (why)
			return why;
		text += length;
	}
	return count < wanted ? "it has fewer arguments than the contract says" : NULL;
}

static const struct elf_segment *segment_of(const struct elf_file *file, uint64_t vaddr,
					    uint64_t size)
{
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];

		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->file_size &&
		    segment->file_size - (vaddr - segment->vaddr) >= size)
			return segment;
	}
	return NULL;
}

/* Gets the file offset; only whole pages are mapped. */
static bool file_place(const struct elf_file *file, const struct elf_segment *segment,
		       uint64_t vaddr, uint64_t *offset)
{
	*offset = vaddr - segment->vaddr + segment->offset;
	return *offset < file->size && page_is_congruent(vaddr, *offset);
}

static const char *find_place(const struct elf_file *file, struct usdt_probe *probe)
{
	const struct elf_segment *segment = segment_of(file, probe->vaddr, 1);
	uint8_t code[PLACE_BYTES];
	ssize_t got;

	if (!segment || !segment->executable ||
	    !file_place(file, segment, probe->vaddr, &probe->offset))
		return "it lies outside the file's code";
	got = elf_file_read(file, probe->offset, code, sizeof(code));
	return got > 0 ? usdt_place_check(code, (size_t)got) : "it lies outside the file's code";
}

/*
 * The kernel counts listeners there. Data that the program uses must not be mistaken for a counter:
 * a counter is writable, in the file, and zero there.
 */
static const char *find_semaphore(const struct elf_file *file, uint64_t vaddr,
				  struct usdt_probe *probe)
{
	const struct elf_segment *segment = segment_of(file, vaddr, sizeof(uint16_t));
	uint16_t value = 0;

	if (!segment || !segment->writable || segment->executable ||
	    !file_place(file, segment, vaddr, &probe->semaphore) || !probe->semaphore)
		return "its semaphore lies outside the file's data";
	if (probe->semaphore & 1)
		return "its semaphore is not aligned";
	if (elf_file_read_exact(file, probe->semaphore, &value, sizeof(value)))
		return "its semaphore lies outside the file's data";
	return value ? "its semaphore does not begin at zero" : NULL;
}

static const char *read_probe(const struct reader *reader, const struct note *note,
			      struct usdt_probe *probe)
{
	/* Prelinking moves the noted addresses, and the section of that name with them. */
	uint64_t moved = reader->base ? reader->base - note->base : 0;
	const char *why;

	probe->vaddr = note->pc + moved;
	why = find_place(reader->file, probe);
	if (!why && note->semaphore)
		why = find_semaphore(reader->file, note->semaphore + moved, probe);
	if (!why)
		why = read_arguments(note->arguments, kinds[probe->kind].arguments,
				     probe->arguments);
	return why;
}

static bool is_there(const struct stapsdt *notes, const struct usdt_probe *probe)
{
	for (size_t i = 0; i < notes->probes.count; i++) {
		const struct usdt_probe *other = &notes->probes.items[i];

		if (!other->refused[0] && other->offset == probe->offset)
			return true;
	}
	return false;
}

static void refuse(struct stapsdt *notes, const char *why)
{
	vec_free(&notes->probes);
	snprintf(notes->refused, sizeof(notes->refused), "%s", why);
}

static int add_probe(struct reader *reader, const struct note *note, enum usdt_kind kind)
{
	struct stapsdt *notes = reader->notes;
	struct usdt_probe probe = {.kind = kind}, *added;
	const char *why = read_probe(reader, note, &probe);

	if (!why && is_there(notes, &probe))
		why = "another probe stands there";
	if (notes->probes.count == STAPSDT_MAX_PROBES) {
		refuse(notes, "it has more places of " OTEL_PROVIDER " than any program");
		return 0;
	}
	added = vec_push(&notes->probes);
	if (!added)
		return -ENOMEM;
	if (why)
		probe = (struct usdt_probe){.kind = kind, .vaddr = note->pc};
	*added = probe;
	snprintf(added->refused, sizeof(added->refused), "%s", why ? why : "");
	return 0;
}

static int take_note(struct reader *reader, const struct note *note)
{
	if (!strcmp(note->provider, OTEL_PROVIDER)) {
		int error = list(reader->notes, note);

		for (enum usdt_kind kind = 0; kind < USDT_KIND_MAX_ && !error; kind++) {
			if (!strcmp(note->name, kinds[kind].name))
				error = add_probe(reader, note, kind);
		}
		return error;
	}
	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++) {
		if (!strcmp(note->provider, allocators[i].provider) &&
		    !strncmp(note->name, allocators[i].prefix, strlen(allocators[i].prefix)))
			return list(reader->notes, note);
	}
	return 0;
}

static uint64_t padded(uint64_t size)
{
	return (size + 3) & ~3ull;
}

/* Reads one note of any owner. Returns false if it is inconsistent, or with *error set. */
static bool read_note(struct reader *reader, struct byte_reader *all, int *error)
{
	Elf64_Nhdr header = {.n_namesz = (uint32_t)byte_reader_fixed(all, 4),
			     .n_descsz = (uint32_t)byte_reader_fixed(all, 4),
			     .n_type = (uint32_t)byte_reader_fixed(all, 4)};
	const uint8_t *owner = byte_reader_take(all, padded(header.n_namesz));
	uint64_t left = byte_reader_left(all);
	/* The last one may lack its padding. */
	const uint8_t *text = byte_reader_take(
		all, header.n_descsz <= left ? MIN(padded(header.n_descsz), left) : left + 1);
	struct byte_reader description;
	struct note note;

	if (all->failed || !owner || !text)
		return false;
	if (header.n_type != NOTE_TYPE || header.n_namesz != sizeof("stapsdt") ||
	    memcmp(owner, "stapsdt", sizeof("stapsdt")) != 0)
		return true;
	description = byte_reader(text, header.n_descsz);
	if (!note_take(&description, &note))
		return false;
	*error = take_note(reader, &note);
	return !*error;
}

static int read_notes(struct reader *reader, const uint8_t *bytes, size_t size)
{
	struct byte_reader all = byte_reader(bytes, size);
	struct stapsdt *notes = reader->notes;
	int error = 0;

	while (byte_reader_left(&all) && !notes->refused[0]) {
		if (++reader->count > STAPSDT_MAX_NOTES)
			refuse(notes, "its probe notes are more than any program has");
		else if (!read_note(reader, &all, &error) && !error)
			refuse(notes, "its probe notes contradict themselves");
		if (error)
			return error;
	}
	return 0;
}

static int by_place(const void *left, const void *right)
{
	const struct usdt_probe *a = left, *b = right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static int read_section(struct reader *reader, const struct elf_section *section)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	ssize_t got;

	if (section->type != SHT_NOTE || section->compressed)
		return 0;
	if (section->size > STAPSDT_MAX_BYTES) {
		refuse(reader->notes, "its probe notes are larger than any program's");
		return 0;
	}
	bytes = malloc(section->size + 1);
	if (!bytes)
		return -ENOMEM;
	got = elf_file_read(reader->file, section->offset, bytes, section->size);
	if (got < 0)
		return (int)got;
	if ((uint64_t)got < section->size) {
		refuse(reader->notes, "its probe notes lie outside the file");
		return 0;
	}
	return read_notes(reader, bytes, section->size);
}

int stapsdt_read(const struct elf_file *file, struct stapsdt *notes)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	_cleanup_(stapsdt_free) struct stapsdt read = {0};
	struct reader reader = {.file = file, .notes = &read};
	const struct elf_section *section;
	int error = elf_sections_read(file, &sections);

	if (error == -ENOMEM || error == -EIO)
		return error;
	section = elf_sections_find(&sections, ".stapsdt.base");
	reader.base = section ? section->address : 0;
	section = elf_sections_find(&sections, ".note.stapsdt");
	error = section ? read_section(&reader, section) : 0;
	if (error)
		return error;
	if (read.probes.count)
		qsort(read.probes.items, read.probes.count, sizeof(*read.probes.items), by_place);
	*notes = read;
	read = (struct stapsdt){0};
	return 0;
}

void stapsdt_free(struct stapsdt *notes)
{
	vec_free(&notes->probes);
	vec_free(&notes->listed);
}

size_t stapsdt_count(const struct stapsdt *notes, enum usdt_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < notes->probes.count; i++) {
		const struct usdt_probe *probe = &notes->probes.items[i];

		count += probe->kind == kind && !probe->refused[0];
	}
	return count;
}

void stapsdt_print(FILE *out, const struct stapsdt *notes)
{
	for (size_t i = 0; i < notes->listed.count; i++) {
		const struct usdt_listed *listed = &notes->listed.items[i];

		fputs("    carries ", out);
		text_print_inert(out, listed->provider);
		fputc(':', out);
		text_print_inert(out, listed->name);
		fprintf(out, " in %u place%s\n", listed->places, listed->places == 1 ? "" : "s");
	}
	if (notes->refused[0])
		fprintf(out, "    NOT READ: %s\n", notes->refused);
	for (size_t i = 0; i < notes->probes.count; i++) {
		const struct usdt_probe *probe = &notes->probes.items[i];

		fprintf(out, "    %s:%-4s 0x%llx  %s%s\n", OTEL_PROVIDER, kinds[probe->kind].name,
			(unsigned long long)probe->vaddr,
			probe->refused[0] ? "not probed: " : "a nop: emulated",
			probe->refused[0] ? probe->refused
					  : (probe->semaphore ? ", with a semaphore" : ""));
	}
}

/*
 * struct usdt_probe and struct usdt_listed are sent as they are: fixed sizes, asserted at the end.
 */
int encode_stapsdt(const struct stapsdt *notes, struct bytes *body)
{
	struct wire_stapsdt wire = {.probes = (uint32_t)notes->probes.count,
				    .listed = (uint32_t)notes->listed.count};
	int error;

	_Static_assert(sizeof(wire.refused) == sizeof(notes->refused), "the same text");
	memcpy(wire.refused, notes->refused, sizeof(wire.refused));
	error = bytes_append(body, &wire, sizeof(wire));
	if (!error && wire.probes)
		error = bytes_append(body, notes->probes.items,
				     wire.probes * sizeof(*notes->probes.items));
	if (!error && wire.listed)
		error = bytes_append(body, notes->listed.items,
				     wire.listed * sizeof(*notes->listed.items));
	return error;
}

static bool is_register(uint8_t number)
{
	return usdt_has_register(number) || number == LM_USDT_NO_REGISTER;
}

static bool is_operand(const struct lm_usdt_operand *operand)
{
	return operand->kind < LM_USDT_OPERAND_MAX_ && operand->is_signed <= 1 &&
	       (operand->size == 1 || operand->size == 2 || operand->size == 4 ||
		operand->size == 8) &&
	       (operand->scale == 1 || operand->scale == 2 || operand->scale == 4 ||
		operand->scale == 8) &&
	       is_register(operand->base) && is_register(operand->index);
}

static bool is_probe(const struct usdt_probe *probe, uint64_t file_size)
{
	if (probe->kind >= USDT_KIND_MAX_ || !is_terminated(probe->refused, sizeof(probe->refused)))
		return false;
	if (probe->refused[0])
		return !probe->offset && !probe->semaphore;
	for (size_t i = 0; i < kinds[probe->kind].arguments; i++) {
		if (!is_operand(&probe->arguments[i]))
			return false;
	}
	return probe->offset < file_size && page_is_congruent(probe->vaddr, probe->offset) &&
	       !(probe->semaphore & 1) && probe->semaphore < file_size;
}

static int take_probe(struct cursor *cursor, uint64_t file_size, struct stapsdt *notes)
{
	struct usdt_probe probe, *added;

	if (cursor_take_one(cursor, &probe, sizeof(probe)) || !is_probe(&probe, file_size) ||
	    (!probe.refused[0] && is_there(notes, &probe)))
		return -EPROTO;
	added = vec_push(&notes->probes);
	if (!added)
		return -ENOMEM;
	*added = probe;
	return 0;
}

static int take_listed(struct cursor *cursor, struct stapsdt *notes)
{
	struct usdt_listed listed, *added;

	if (cursor_take_one(cursor, &listed, sizeof(listed)) ||
	    !is_terminated(listed.provider, sizeof(listed.provider)) ||
	    !is_terminated(listed.name, sizeof(listed.name)))
		return -EPROTO;
	added = vec_push(&notes->listed);
	if (!added)
		return -ENOMEM;
	*added = listed;
	return 0;
}

int decode_stapsdt(struct cursor *cursor, uint64_t file_size, struct stapsdt *notes)
{
	_cleanup_(stapsdt_free) struct stapsdt read = {0};
	struct wire_stapsdt wire;
	int error = cursor_take_one(cursor, &wire, sizeof(wire));

	if (error || wire.probes > STAPSDT_MAX_PROBES || wire.listed > STAPSDT_MAX_LISTED ||
	    !is_terminated(wire.refused, sizeof(wire.refused)))
		return -EPROTO;
	for (uint32_t i = 0; i < wire.probes && !error; i++)
		error = take_probe(cursor, file_size, &read);
	for (uint32_t i = 0; i < wire.listed && !error; i++)
		error = take_listed(cursor, &read);
	if (error)
		return error;
	memcpy(read.refused, wire.refused, sizeof(read.refused));
	*notes = read;
	read = (struct stapsdt){0};
	return 0;
}
