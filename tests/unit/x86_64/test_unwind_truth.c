// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of real files equal libdw's for the same addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

#include "unit/unwind_fixture.h"

#define DEBIAN "/usr/lib/x86_64-linux-gnu/"
#define SAMPLED_ROWS 5000
#define SAMPLED_ADDRESSES 5000

enum reason {
	REASON_NONE,
	REASON_RETURN_ADDRESS, /* elsewhere than at CFA - 8 */
	REASON_STACK_POINTER,  /* the caller's is not the CFA */
	REASON_REGISTER,       /* CFA from neither rsp nor rbp */
	REASON_EXPRESSION,     /* CFA from an expression that rows do not have */
	REASON_RANGE,	       /* offset of the CFA */
	REASON_FRAME_POINTER,  /* rbp saved out of reach */
	REASON_MAX_,
};

static const char *const reason_names[] = {
	[REASON_NONE] = "none",
	[REASON_RETURN_ADDRESS] = "return address",
	[REASON_STACK_POINTER] = "stack pointer",
	[REASON_REGISTER] = "register",
	[REASON_EXPRESSION] = "expression",
	[REASON_RANGE] = "range",
	[REASON_FRAME_POINTER] = "frame pointer",
};
_Static_assert(ARRAY_SIZE(reason_names) == REASON_MAX_, "a name for every reason");

struct truth {
	const struct elf_file *file;
	const struct unwind_table *table;
	Dwarf_CFI *cfi;
	size_t addresses, wrong, uncovered, reasons[REASON_MAX_];
};

/* A register as libdw describes it. */
struct place {
	Dwarf_Op memory[3], *ops;
	size_t count;
};

/* libdw's `ops` may point into `memory`: a place must not be copied. */
static void read_place(Dwarf_Frame *frame, int number, struct place *place)
{
	assert_int_equal(
		dwarf_frame_register(frame, number, place->memory, &place->ops, &place->count), 0);
}

/* An empty list that is not NULL: undefined. NULL: the same value. */
static bool is_undefined(const struct place *place)
{
	return !place->count && place->ops;
}

static bool at_cfa(const struct place *place, int64_t *offset)
{
	const Dwarf_Op *ops = place->ops;

	if (!place->count || place->count > 2 || ops[0].atom != DW_OP_call_frame_cfa ||
	    (place->count == 2 && ops[1].atom != DW_OP_plus_uconst))
		return false;
	*offset = place->count == 2 ? (int64_t)ops[1].number : 0;
	return true;
}

static bool ends_with(const struct place *place, const Dwarf_Op *op)
{
	const Dwarf_Op *last = place->count ? &place->ops[place->count - 1] : NULL;

	return last && last->atom == op->atom && last->number == op->number;
}

static const Dwarf_Op plt[] = {
	{.atom = DW_OP_breg7, .number = 8},
	{.atom = DW_OP_breg16},
	{.atom = DW_OP_lit15},
	{.atom = DW_OP_and},
	{.atom = DW_OP_lit11},
	{.atom = DW_OP_ge},
	{.atom = DW_OP_lit3},
	{.atom = DW_OP_shl},
	{.atom = DW_OP_plus},
};

static bool is_plt(const Dwarf_Op *ops, size_t count)
{
	if (count != ARRAY_SIZE(plt))
		return false;
	for (size_t i = 0; i < count; i++)
		if (i != 4 && (ops[i].atom != plt[i].atom || ops[i].number != plt[i].number))
			return false;
	return ops[4].atom >= DW_OP_lit0 && ops[4].atom <= DW_OP_lit15;
}

static enum reason set_offset(int64_t offset, struct lm_unwind_row *row)
{
	row->cfa_words = (__s16)(offset / 8);
	return (int64_t)row->cfa_words * 8 == offset ? REASON_NONE : REASON_RANGE;
}

static enum reason set_cfa(Dwarf_Frame *frame, struct lm_unwind_row *row)
{
	Dwarf_Op *ops;
	size_t count;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &count), 0);
	if (count == 1 && ops[0].atom == DW_OP_bregx) {
		if (ops[0].number != 6 && ops[0].number != 7)
			return REASON_REGISTER;
		row->kind = ops[0].number == 7 ? LM_UNWIND_SP : LM_UNWIND_FP;
		return set_offset((int64_t)ops[0].number2, row);
	}
	if (is_plt(ops, count)) {
		row->kind = LM_UNWIND_PLT;
		row->cfa_words = ops[4].atom - DW_OP_lit0;
		return REASON_NONE;
	}
	if (count != 2 || ops[1].atom != DW_OP_deref ||
	    (ops[0].atom != DW_OP_breg6 && ops[0].atom != DW_OP_breg7))
		return REASON_EXPRESSION;
	row->kind = ops[0].atom == DW_OP_breg7 ? LM_UNWIND_SP_DEREF : LM_UNWIND_FP_DEREF;
	return set_offset((int64_t)ops[0].number, row);
}

static enum reason set_frame_pointer(Dwarf_Frame *frame, struct lm_unwind_row *row)
{
	static const Dwarf_Op at_frame_pointer = {.atom = DW_OP_breg6};
	struct place fp;
	int64_t offset;

	read_place(frame, 6, &fp);
	if (at_cfa(&fp, &offset)) {
		row->fp_words = (__s8)(offset / 8);
		return offset && (int64_t)row->fp_words * 8 == offset ? REASON_NONE
								      : REASON_FRAME_POINTER;
	}
	if (row->kind == LM_UNWIND_FP_DEREF)
		return ends_with(&fp, &at_frame_pointer) ? REASON_NONE : REASON_FRAME_POINTER;
	return fp.count ? REASON_FRAME_POINTER : REASON_NONE;
}

static enum reason expect(Dwarf_Frame *frame, struct lm_unwind_row *row)
{
	static const Dwarf_Op in_ucontext = {.atom = DW_OP_breg7, .number = 168};
	struct place ra, sp;
	enum reason reason;
	bool signal_frame;
	int64_t offset;

	read_place(frame, 16, &ra);
	read_place(frame, 7, &sp);
	dwarf_frame_info(frame, NULL, NULL, &signal_frame);
	row->kind = LM_UNWIND_END;
	if (is_undefined(&ra))
		return REASON_NONE;
	row->kind = LM_UNWIND_SIGNAL;
	if (signal_frame && ends_with(&ra, &in_ucontext))
		return REASON_NONE;
	if (!at_cfa(&ra, &offset) || offset != -8)
		return REASON_RETURN_ADDRESS;
	if (sp.count != 2 || sp.ops[0].atom != DW_OP_call_frame_cfa ||
	    sp.ops[1].atom != DW_OP_stack_value)
		return REASON_STACK_POINTER;
	reason = set_cfa(frame, row);
	return reason ? reason : set_frame_pointer(frame, row);
}

static void complain(struct truth *truth, uint64_t address, const struct lm_unwind_row *expected,
		     const struct lm_unwind_row *row)
{
	if (truth->wrong++ < 10)
		print_error("%#jx: kind %d cfa %d fp %d expected, kind %d cfa %d fp %d found\n",
			    (uintmax_t)address, expected->kind, expected->cfa_words,
			    expected->fp_words, row->kind, row->cfa_words, row->fp_words);
}

static void check_address(struct truth *truth, uint64_t address)
{
	static const struct lm_unwind_row none = {.kind = LM_UNWIND_NONE};
	const struct lm_unwind_row *row =
		unwind_table_find(truth->table, (uint32_t)(address - truth->table->base));
	struct lm_unwind_row expected = none;
	_cleanup_free_ Dwarf_Frame *frame = NULL;
	enum reason reason = REASON_NONE;

	truth->addresses++;
	if (dwarf_cfi_addrframe(truth->cfi, address, &frame))
		truth->uncovered++;
	else
		reason = expect(frame, &expected);
	truth->reasons[reason]++;
	if (reason)
		expected = (struct lm_unwind_row){.kind = LM_UNWIND_UNSUPPORTED};
	row = row ? row : &none;
	if (expected.kind != row->kind || expected.cfa_words != row->cfa_words ||
	    expected.fp_words != row->fp_words)
		complain(truth, address, &expected, row);
}

/* First and last byte of every row, or of some thousands all over the file. */
static void check_rows(struct truth *truth)
{
	const struct unwind_table *table = truth->table;
	size_t stride = table->count / SAMPLED_ROWS + 1;

	for (size_t i = 0; i < table->count; i += stride) {
		check_address(truth, table->base + table->rows[i].pc);
		if (i + 1 < table->count)
			check_address(truth, table->base + table->rows[i + 1].pc - 1);
	}
}

static void check_anywhere(struct truth *truth)
{
	uint64_t random = 0x9e3779b97f4a7c15;

	for (size_t i = 0; i < truth->file->segments.count; i++) {
		const struct elf_segment *segment = &truth->file->segments.items[i];

		for (size_t k = 0; segment->executable && k < SAMPLED_ADDRESSES; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			check_address(truth, segment->vaddr + random % segment->memory_size);
		}
	}
}

static void print_truth(const char *path, const struct truth *truth)
{
	size_t unsupported = truth->addresses - truth->reasons[REASON_NONE];

	print_message("%s: %zu rows; of %zu addresses %zu without FDE, %zu unsupported (%.3f%%)",
		      path, truth->table->count, truth->addresses, truth->uncovered, unsupported,
		      100.0 * (double)unsupported / (double)truth->addresses);
	for (size_t i = REASON_NONE + 1; i < REASON_MAX_; i++)
		if (truth->reasons[i])
			print_message(", %s %zu", reason_names[i], truth->reasons[i]);
	print_message("\n");
}

static void check_file(const char *path)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};
	struct truth truth = {.file = &file, .table = &table};
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	assert_true(fd >= 0);
	assert_int_equal(unwind_compile_path(path, &file, &table), 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf);
	truth.cfi = dwarf_getcfi_elf(elf);
	assert_non_null(truth.cfi);
	check_rows(&truth);
	check_anywhere(&truth);
	dwarf_cfi_end(truth.cfi);
	elf_end(elf);
	print_truth(path, &truth);
	assert_true(truth.reasons[REASON_NONE] > truth.uncovered);
	assert_int_equal(truth.wrong, 0);
}

static void every_row_is_what_libdw_says(void **state)
{
	check_file(*state);
}

/* Files that the tests can do without, where they are. */
static void rows_of_big_programs_are_what_libdw_says(void **state)
{
	static const char *const paths[] = {
		DEBIAN "libLLVM-14.so.1", DEBIAN "libcrypto.so.3", "/usr/bin/python3",
		"/usr/bin/node",	  "/usr/bin/gdb",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (!access(paths[i], R_OK))
			check_file(paths[i]);
}

#define FILE_TEST(path)                                                                            \
	{                                                                                          \
		"every_row_is_what_libdw_says: " path, every_row_is_what_libdw_says, NULL, NULL,   \
			path                                                                       \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST("/proc/self/exe"),
		FILE_TEST("/lib64/ld-linux-x86-64.so.2"),
		FILE_TEST(DEBIAN "libc.so.6"),
		FILE_TEST(DEBIAN "libstdc++.so.6"),
		FILE_TEST(DEBIAN "libm.so.6"),
		cmocka_unit_test(rows_of_big_programs_are_what_libdw_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
