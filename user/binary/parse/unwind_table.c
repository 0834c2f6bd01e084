// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/unwind_table.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sandbox/bytes.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "binary/elf/cfi.h"
#include "binary/elf/eh_frame.h"
#include "binary/parse/image.h"
#include "binary/parse/wire.h"

/* The pages of the kernel side's search, which are independent of the machine's. */
#define ROW_PAGE (1ull << LM_UNWIND_PAGE_SHIFT)

struct range {
	uint64_t start, end;
};

struct ranges {
	VEC(struct range) list;
};

/* Code with known rows, but without an FDE. */
struct bare_range {
	uint64_t start, end;
	struct lm_unwind_row row;
};

struct compiler {
	struct eh_section section;
	struct eh_frame frame;
	struct ranges code;	     /* executable addresses; ascending, disjoint */
	struct cfa_rules *initial;   /* by CIE */
	bool *understood;	     /* by CIE: its initial rules were understood */
	VEC(struct bare_range) bare; /* code known from the ABI; ascending by start */
	struct row_builder builder;
};

static void compiler_free(struct compiler *compiler)
{
	eh_section_free(&compiler->section);
	eh_frame_free(&compiler->frame);
	vec_free(&compiler->code.list);
	free(compiler->initial);
	free(compiler->understood);
	vec_free(&compiler->bare);
	vec_free(&compiler->builder.rows);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

/* By address, else in section order: the first one wins. */
static int compare_fdes(const void *a, const void *b)
{
	const struct eh_fde *left = a, *right = b;

	if (left->start != right->start)
		return left->start > right->start ? 1 : -1;
	return (left->code.offset > right->code.offset) - (left->code.offset < right->code.offset);
}

/* Merges overlapping ranges, so that one pass over both lists clips all functions. */
static void join_ranges(struct ranges *ranges)
{
	size_t kept = 0;

	for (size_t i = 0; i < ranges->list.count; i++) {
		struct range *range = &ranges->list.items[i];
		struct range *last = kept ? &ranges->list.items[kept - 1] : NULL;

		if (last && range->start <= last->end)
			last->end = MAX(last->end, range->end);
		else
			ranges->list.items[kept++] = *range;
	}
	ranges->list.count = kept;
}

static uint64_t lowest_page(const struct elf_file *file)
{
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < file->segments.count; i++)
		lowest = MIN(lowest, file->segments.items[i].vaddr);
	return lowest & ~(ROW_PAGE - 1);
}

/* Finds the file's code within reach of a row's 32 bits. */
static int find_code(const struct elf_file *file, uint64_t base, struct ranges *ranges)
{
	uint64_t limit = base > UINT64_MAX - UINT32_MAX ? UINT64_MAX : base + UINT32_MAX;

	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];
		uint64_t end = MIN(segment->vaddr + segment->memory_size, limit);
		struct range *range;

		if (!segment->executable || segment->vaddr >= end)
			continue;
		range = vec_push(&ranges->list);
		if (!range)
			return -ENOMEM;
		*range = (struct range){segment->vaddr, end};
	}
	if (ranges->list.count)
		qsort(ranges->list.items, ranges->list.count, sizeof(struct range), compare_ranges);
	join_ranges(ranges);
	return 0;
}

/* Linkers sort .eh_frame like the code, so it is mostly sorted already. */
static void sort_functions(struct eh_frame *frame)
{
	for (size_t i = 1; i < frame->fdes.count; i++) {
		if (compare_fdes(&frame->fdes.items[i - 1], &frame->fdes.items[i]) <= 0)
			continue;
		qsort(frame->fdes.items, frame->fdes.count, sizeof(struct eh_fde), compare_fdes);
		return;
	}
}

/* Drops functions that start outside the code: discarded functions leave such FDEs. */
static void clip_functions(struct eh_frame *frame, const struct ranges *code)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < frame->fdes.count; i++) {
		struct eh_fde fde = frame->fdes.items[i];

		while (at < code->list.count && code->list.items[at].end <= fde.start)
			at++;
		if (at == code->list.count)
			break;
		if (fde.start < code->list.items[at].start)
			continue;
		fde.end = MIN(fde.end, code->list.items[at].end);
		frame->fdes.items[kept++] = fde;
	}
	frame->fdes.count = kept;
}

/* Once per CIE, however many functions share it. */
static int run_cies(struct compiler *compiler)
{
	size_t count = compiler->frame.cies.count;

	if (!count)
		return 0;
	compiler->initial = calloc(count, sizeof(*compiler->initial));
	compiler->understood = calloc(count, sizeof(*compiler->understood));
	if (!compiler->initial || !compiler->understood)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		compiler->understood[i] = cfi_run_cie(
			&compiler->section, &compiler->frame.cies.items[i], &compiler->initial[i]);
	return 0;
}

#define CODE_CHUNK_BYTES 65536u
#define CODE_WORD 4

static bool is_bare(const struct cfi_bare_code *code, const uint8_t *bytes, size_t size)
{
	if (size < code->count * CODE_WORD)
		return false;
	for (size_t i = 0; i < code->count; i++) {
		uint32_t word;

		memcpy(&word, bytes + i * CODE_WORD, sizeof(word));
		if ((word & code->words[i].mask) != code->words[i].value)
			return false;
	}
	return true;
}

/* Merges neighbours of one kind: a linkage table has thousands of stubs. */
static int add_bare_word(struct compiler *compiler, uint64_t vaddr,
			 const struct cfi_bare_word *word)
{
	const struct lm_unwind_row row = {
		.kind = word->kind, .cfa_words = word->cfa_words, .fp_words = word->fp_words};
	size_t count = compiler->bare.count;
	struct bare_range *last;

	if (count) {
		last = &compiler->bare.items[count - 1];
		if (last->end == vaddr && !memcmp(&last->row, &row, sizeof(row))) {
			last->end += CODE_WORD;
			return 0;
		}
	}
	if (count >= UNWIND_MAX_ROWS)
		return -EFBIG;
	last = vec_push(&compiler->bare);
	if (!last)
		return -ENOMEM;
	*last = (struct bare_range){vaddr, vaddr + CODE_WORD, row};
	return 0;
}

/*
 * Searches one run of code: `chunk` holds `size` bytes of it from `vaddr` on. *end: end of the last
 * match.
 */
static int find_bare_in(const struct cfi_abi *abi, const uint8_t *chunk, size_t size,
			uint64_t vaddr, uint64_t *end, struct compiler *compiler)
{
	for (size_t at = 0; at + CODE_WORD <= size; at += CODE_WORD) {
		for (size_t i = 0; vaddr + at >= *end && i < abi->bare_count; i++) {
			const struct cfi_bare_code *code = &abi->bare[i];
			int error = 0;

			if (!is_bare(code, chunk + at, size - at))
				continue;
			for (size_t j = 0; !error && j < code->count; j++)
				error = add_bare_word(compiler, vaddr + at + j * CODE_WORD,
						      &code->words[j]);
			if (error)
				return error;
			*end = vaddr + at + code->count * CODE_WORD;
		}
	}
	return 0;
}

/* Finds the ABI's bare code. Unreadable code is skipped. */
static int find_bare(const struct elf_file *file, struct compiler *compiler)
{
	const struct cfi_abi *abi = &file->abi->cfi;
	_cleanup_free_ uint8_t *chunk = abi->bare_count ? malloc(CODE_CHUNK_BYTES) : NULL;
	int error = abi->bare_count && !chunk ? -ENOMEM : 0;
	uint64_t end = 0;

	for (size_t i = 0; chunk && !error && i < compiler->code.list.count; i++) {
		const struct range *range = &compiler->code.list.items[i];
		uint64_t vaddr = (range->start + CODE_WORD - 1) & ~(uint64_t)(CODE_WORD - 1),
			 offset;

		while (!error && vaddr < range->end && !elf_file_offset(file, vaddr, &offset)) {
			size_t wanted = MIN(range->end - vaddr, (uint64_t)CODE_CHUNK_BYTES);
			ssize_t got = elf_file_read(file, offset, chunk, wanted);

			if (got < CODE_WORD)
				break;
			error = find_bare_in(abi, chunk, (size_t)got, vaddr, &end, compiler);
			if (got < CODE_CHUNK_BYTES)
				break;
			/* A match that begins near the end is complete in the next chunk. */
			vaddr += CODE_CHUNK_BYTES - (CFI_BARE_WORDS - 1) * CODE_WORD;
		}
	}
	return error;
}

static bool is_known(const struct cfi_known_code *code, const uint8_t *bytes, size_t size)
{
	if (size < code->size)
		return false;
	for (size_t i = 0; i < code->size; i++) {
		if ((bytes[i] & code->mask[i]) != (code->bytes[i] & code->mask[i]))
			return false;
	}
	return true;
}

static int add_known(struct compiler *compiler, const struct range *range, uint64_t vaddr,
		     const struct cfi_known_code *code)
{
	struct bare_range *added;

	if (compiler->bare.count >= UNWIND_MAX_ROWS)
		return -EFBIG;
	added = vec_push(&compiler->bare);
	if (!added)
		return -ENOMEM;
	*added = (struct bare_range){
		.start = vaddr - MIN(vaddr - range->start, (uint64_t)code->before),
		.end = vaddr + code->size,
		.row = {.kind = code->kind,
			.cfa_words = code->cfa_words,
			.fp_words = code->fp_words},
	};
	return 0;
}

/*
 * Searches one run of code: `chunk` holds `size` bytes of it from `vaddr` on. *end: end of the last
 * match.
 */
static int find_known_in(const struct cfi_known_code *code, const uint8_t *chunk, size_t size,
			 const struct range *range, uint64_t vaddr, uint64_t *end,
			 struct compiler *compiler)
{
	const uint8_t *at = chunk, *stop = chunk + size;
	int error = 0;

	while (!error && (at = memmem(at, (size_t)(stop - at), code->bytes, CFI_ANCHOR_BYTES))) {
		uint64_t place = vaddr + (uint64_t)(at - chunk);

		if (place >= *end && is_known(code, at, (size_t)(stop - at))) {
			error = add_known(compiler, range, place, code);
			*end = place + code->size;
		}
		at++;
	}
	return error;
}

static int find_known_code(const struct elf_file *file, const struct cfi_known_code *code,
			   uint8_t *chunk, struct compiler *compiler)
{
	uint64_t end = 0;
	int error = 0;

	for (size_t i = 0; !error && i < compiler->code.list.count; i++) {
		const struct range *range = &compiler->code.list.items[i];
		uint64_t vaddr = range->start, offset;

		while (!error && vaddr < range->end && !elf_file_offset(file, vaddr, &offset)) {
			size_t wanted = MIN(range->end - vaddr, (uint64_t)CODE_CHUNK_BYTES);
			ssize_t got = elf_file_read(file, offset, chunk, wanted);

			if (got <= 0)
				break;
			error = find_known_in(code, chunk, (size_t)got, range, vaddr, &end,
					      compiler);
			if (got < CODE_CHUNK_BYTES)
				break;
			/* A match that begins near the end is complete in the next chunk. */
			vaddr += CODE_CHUNK_BYTES - (code->size - 1);
		}
	}
	return error;
}

static int compare_bare(const void *a, const void *b)
{
	const struct bare_range *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

static bool has_section(const struct elf_sections *sections, const char *name)
{
	for (size_t i = 0; i < sections->list.count; i++) {
		if (!strcmp(sections->list.items[i].name, name))
			return true;
	}
	return false;
}

/* Finds the ABI's known code, in a file that has other rows as well. */
static int find_known(const struct elf_file *file, struct compiler *compiler)
{
	const struct cfi_abi *abi = &file->abi->cfi;
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	_cleanup_free_ uint8_t *chunk = NULL;
	int error = 0;

	if (!abi->known_count || !compiler->frame.fdes.count || elf_sections_read(file, &sections))
		return 0;
	for (size_t i = 0; !error && i < abi->known_count; i++) {
		if (!has_section(&sections, abi->known[i].section))
			continue;
		if (!chunk)
			chunk = malloc(CODE_CHUNK_BYTES);
		error = chunk ? find_known_code(file, &abi->known[i], chunk, compiler) : -ENOMEM;
	}
	if (compiler->bare.count)
		qsort(compiler->bare.items, compiler->bare.count, sizeof(struct bare_range),
		      compare_bare);
	return error;
}

/* Adds the bare ranges before `until`. */
static int add_bare(struct compiler *compiler, size_t *next, uint64_t until)
{
	int error = 0;

	for (; !error && *next < compiler->bare.count; ++*next) {
		const struct bare_range *range = &compiler->bare.items[*next];

		if (range->start >= until)
			break;
		error = row_builder_add(&compiler->builder, range->start, range->end, range->row);
	}
	return error;
}

static int run_fdes(struct compiler *compiler)
{
	size_t bare = 0;
	int error = 0;

	for (size_t i = 0; !error && i < compiler->frame.fdes.count; i++) {
		const struct eh_fde *fde = &compiler->frame.fdes.items[i];

		error = add_bare(compiler, &bare, fde->start);
		if (error)
			break;
		if (compiler->builder.rows.count && fde->end <= compiler->builder.end)
			continue;
		error = cfi_run_fde(&compiler->section, &compiler->frame.cies.items[fde->cie], fde,
				    compiler->understood[fde->cie] ? &compiler->initial[fde->cie]
								   : NULL,
				    &compiler->builder);
	}
	if (!error)
		error = add_bare(compiler, &bare, UINT64_MAX);
	return error ? error : row_builder_finish(&compiler->builder);
}

static int compile(const struct elf_file *file, struct compiler *compiler)
{
	int error = eh_section_read(file, &compiler->section);

	if (!error)
		error = eh_frame_parse(&compiler->section, &compiler->frame);
	else if (error == -ENOENT)
		error = 0;
	if (!error)
		error = find_code(file, compiler->builder.base, &compiler->code);
	if (!error)
		error = find_bare(file, compiler);
	if (!error)
		error = find_known(file, compiler);
	if (error)
		return error;
	sort_functions(&compiler->frame);
	clip_functions(&compiler->frame, &compiler->code);
	error = run_cies(compiler);
	return error ? error : run_fdes(compiler);
}

int unwind_table_compile(const struct elf_file *file, struct unwind_table *table)
{
	_cleanup_(compiler_free) struct compiler compiler = {.builder.base = lowest_page(file)};
	int error = compile(file, &compiler);

	if (error)
		return error;
	*table = (struct unwind_table){
		.base = compiler.builder.base,
		.count = compiler.builder.rows.count,
		.rows = TAKE_PTR(compiler.builder.rows.items),
	};
	return 0;
}

void unwind_table_free(struct unwind_table *table)
{
	free(table->rows);
	table->rows = NULL;
	table->count = 0;
}

const struct lm_unwind_row *unwind_table_find(const struct unwind_table *table, uint32_t pc)
{
	size_t begun = SORTED_BEFORE(row, table->rows, table->count, row->pc <= pc);

	return begun ? &table->rows[begun - 1] : NULL;
}

int encode_unwind(const struct elf_file *file, const struct unwind_table *table, struct bytes *body)
{
	struct wire_unwind wire = {.base = table->base, .count = table->count};
	size_t rows_size = table->count * sizeof(*table->rows);
	int error = encode_file(file, NULL, sizeof(wire) + rows_size, body);

	if (!error)
		error = bytes_append(body, &wire, sizeof(wire));
	return error ? error : bytes_append(body, table->rows, rows_size);
}

static bool is_row(const struct lm_unwind_row *row)
{
	unsigned place = row->kind & ~LM_UNWIND_KIND_MASK;

	if ((row->kind & LM_UNWIND_KIND_MASK) >= LM_UNWIND_MAX_)
		return false;
	return !place || (!machine_frame.return_words &&
			  (place == LM_RETURN_IN_RECORD || place == LM_RETURN_ALONE ||
			   place == LM_RETURN_BY_CFA));
}

static int check_rows(const struct lm_unwind_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_row(&rows[i]) || (i && rows[i].pc <= rows[i - 1].pc))
			return -EPROTO;
	}
	return 0;
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	struct unwind_answer *answer = out;
	_cleanup_(elf_file_close) struct elf_file read_file = {.fd = -1};
	_cleanup_(unwind_table_free) struct unwind_table read = {0};
	struct cursor cursor = {body->data, body->size};
	struct wire_unwind wire;
	struct wire_image header;
	int error = decode_file(&cursor, &header, &read_file);

	(void)origin;
	if (!error)
		error = cursor_take_one(&cursor, &wire, sizeof(wire));
	if (!error)
		error = cursor_take_copy(&cursor, wire.count, sizeof(*read.rows),
					 (void **)&read.rows);
	if (error)
		return error;
	if (cursor.left || wire.base % ROW_PAGE || check_rows(read.rows, wire.count))
		return -EPROTO;
	read.base = wire.base;
	read.count = wire.count;
	*answer->table = read;
	*answer->file = read_file;
	memset(&read, 0, sizeof(read));
	memset(&read_file.segments, 0, sizeof(read_file.segments));
	return 0;
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	int error = elf_file_open(input->files[0], &machine_abi, &file);

	if (!error)
		error = unwind_table_compile(&file, &table);
	return error ? error : encode_unwind(&file, &table, body);
}

const struct parse_kind unwind_kind = {
	.name = "unwind rows",
	.lane = WORKER_LANE_AWAITED,
	.haste = LANE_AT_ONCE,
	.max_files = 1,
	.parse = parse,
	.decode = decode,
};
