// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/arm64/instruction.h"
#include "binary/arch/decoder.h"
#include "binary/arch/effects.h"
#include "binary/arch/placement.h"
#include "binary/arch/results.h"
#include "binary/arch/trap.h"
#include "binary/arch/usdt.h"

/* Instructions as the assembler encodes them; little-endian, as they lie in memory. */
#define STP_X29_X30 0xa9bc7bfdu /* stp x29, x30, [sp, #-64]! */
#define LDP_X29_X30 0xa8c47bfdu /* ldp x29, x30, [sp], #64 */
#define MOV_X29_SP 0x910003fdu	/* mov x29, sp */
#define SUB_SP 0xd10103ffu	/* sub sp, sp, #64 */
#define MOV_X19_X0 0xaa0003f3u	/* mov x19, x0 */
#define MOV_X0_X19 0xaa1303e0u	/* mov x0, x19 */
#define MOV_X0_1 0xd2800020u	/* mov x0, #1 */
#define ADRP_X1 0x90000001u	/* adrp x1, page */
#define CBZ_X0 0xb4000080u	/* cbz x0, .+16 */
#define CBZ_W0 0x34000080u	/* cbz w0, .+16 */
#define CMP_X0_0 0xf100001fu	/* cmp x0, #0 */
#define B_EQ 0x54000080u	/* b.eq .+16 */
#define B_BACK 0x17ffffffu	/* b .-4 */
#define BL 0x94000004u		/* bl .+16 */
#define NOP 0xd503201fu
#define BTI_C 0xd503245fu
#define PACIASP 0xd503233fu
#define AUTIASP 0xd50323bfu
#define RET 0xd65f03c0u
#define RETAA 0xd65f0bffu
#define LDR_LITERAL 0x58000080u /* ldr x0, .+16 */
#define LDXR 0xc85f7c20u	/* ldxr x0, [x1] */

static void each_instruction_is_classified_as_kernels_do(void **state)
{
	static const struct {
		const char *text;
		uint32_t word;
		enum trap_kind kind;
	} rows[] = {
		{"b", 0x14000000, TRAP_EMULATED},
		{"bl", BL, TRAP_EMULATED},
		{"b.eq", B_EQ, TRAP_EMULATED},
		{"b.ne", 0x54ffffc1, TRAP_EMULATED},
		{"cbz x0", CBZ_X0, TRAP_EMULATED},
		{"cbnz w3", 0x35000083, TRAP_EMULATED},
		{"tbz", 0x36180081, TRAP_EMULATED},
		{"tbnz", 0x37180081, TRAP_EMULATED},
		{"br x17", 0xd61f0220, TRAP_EMULATED},
		{"blr x8", 0xd63f0100, TRAP_EMULATED},
		{"ret", RET, TRAP_EMULATED},
		{"ret x1", 0xd65f0020, TRAP_EMULATED},
		{"adr", 0x10000040, TRAP_EMULATED},
		{"adrp", ADRP_X1, TRAP_EMULATED},
		{"nop", NOP, TRAP_NOP},
		{"bti c", BTI_C, TRAP_STEPPED},
		{"paciasp", PACIASP, TRAP_STEPPED},
		{"xpaclri", 0xd50320ff, TRAP_STEPPED},
		{"autiasp", AUTIASP, TRAP_REFUSED},
		{"yield", 0xd503203f, TRAP_REFUSED},
		{"csdb", 0xd503229f, TRAP_REFUSED},
		{"retaa", RETAA, TRAP_REFUSED},
		{"braaz x8", 0xd61f091f, TRAP_REFUSED},
		{"eret", 0xd69f03e0, TRAP_REFUSED},
		{"ldr x0, literal", LDR_LITERAL, TRAP_HARMFUL},
		{"ldrsw x0, literal", 0x98000080, TRAP_HARMFUL},
		{"ldr q0, literal", 0x9c000080, TRAP_HARMFUL},
		{"prfm literal", 0xd8000080, TRAP_HARMFUL},
		{"ldxr", LDXR, TRAP_REFUSED},
		{"stxr", 0xc8027c20, TRAP_REFUSED},
		{"ldar", 0xc8dffc20, TRAP_REFUSED},
		{"stlr", 0xc89ffc20, TRAP_REFUSED},
		{"cas", 0xc8a07c41, TRAP_REFUSED},
		{"ldadd", 0xf8200041, TRAP_STEPPED},
		{"setp", 0x19c20420, TRAP_REFUSED},
		{"cpyfp", 0x19010440, TRAP_REFUSED},
		{"svc", 0xd4000001, TRAP_REFUSED},
		{"brk #5", 0xd42000a0, TRAP_REFUSED},
		{"brk #1", 0xd4200020, TRAP_REFUSED},
		{"udf", 0, TRAP_REFUSED},
		{"mrs x0, tpidr_el0", 0xd53bd040, TRAP_STEPPED},
		{"msr tpidr_el0, x0", 0xd51bd040, TRAP_REFUSED},
		{"dmb ish", 0xd5033bbf, TRAP_STEPPED},
		{"isb", 0xd5033fdf, TRAP_STEPPED},
		{"dc zva", 0xd50b7420, TRAP_STEPPED},
		{"stp", STP_X29_X30, TRAP_STEPPED},
		{"ldr x0, [x1, #8]", 0xf9400420, TRAP_STEPPED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum trap_kind kind = trap_classify((const uint8_t *)&rows[i].word, 4);

		if (kind != rows[i].kind)
			fail_msg("%s: %d, not %d", rows[i].text, kind, rows[i].kind);
	}
	assert_true(trap_is_breakpoint((const uint8_t[]){0xa0, 0x00, 0x20, 0xd4}));
	assert_false(trap_is_breakpoint((const uint8_t[]){0x20, 0x00, 0x20, 0xd4}));
}

struct example {
	const char *name;
	uint32_t code[16];
	unsigned arguments;
	bool returns, null_is_trivial, movable;
	uint32_t offset;
	bool emulated, refused;
	const char *reason; /* a part of it */
	uint8_t holder;	    /* register of the first argument */
};

static void check(const struct example *example)
{
	struct placement placement;
	size_t words = 0;
	/* On the heap at its exact size, so that the sanitizer sees a read past the end. */
	_cleanup_free_ uint8_t *code = malloc(sizeof(example->code));
	struct placement_request request = {
		.arguments = example->arguments,
		.returns = example->returns,
		.null_is_trivial = example->null_is_trivial,
		.movable = example->movable,
	};

	assert_non_null(code);
	while (words < ARRAY_SIZE(example->code) && example->code[words])
		words++;
	request.size = words * 4;
	request.code = (uint8_t *)memcpy(code, example->code, request.size);
	placement_choose(&request, &placement);
	if (placement.offset != example->offset || placement.emulated != example->emulated ||
	    placement.refused != example->refused || !strstr(placement.reason, example->reason))
		fail_msg("%s: +%u%s%s, %s", example->name, placement.offset,
			 placement.emulated ? " emulated" : "", placement.refused ? " refused" : "",
			 placement.reason);
	if (!placement.refused && example->arguments)
		assert_int_equal(placement.registers[0], example->holder);
}

/* The first words of each function as Debian 12 ships it (glibc 2.36). */
static void debian_12_functions_get_the_best_place(void **state)
{
	static const struct example examples[] = {
		{"malloc",
		 {STP_X29_X30, MOV_X29_SP, 0xa90363f7, 0x900008b7, 0x912462e1, 0xa9025bf5,
		  0xaa0003f5, 0x39404020, 0xa90153f3, 0x34000880},
		 .arguments = 1,
		 .returns = true,
		 .reason = "at +0 saves or signs the return address"},
		{"free",
		 {0xb4000880, STP_X29_X30, MOV_X29_SP, 0xa9025bf5, 0x900008b5, 0x912462a1},
		 .arguments = 1,
		 .null_is_trivial = true,
		 .offset = 16,
		 .emulated = true,
		 .reason = "at +16: emulated, NULL already filtered"},
		{"reallocarray",
		 {0x9bc27c23, 0x9b027c21, 0xb5000043, 0x17fe4b11},
		 .arguments = 3,
		 .returns = true,
		 .reason = "at +4 writes an argument"},
		{"realloc of a C library that asks first",
		 {CBZ_X0, STP_X29_X30},
		 .arguments = 2,
		 .returns = true,
		 .emulated = true,
		 .reason = "at +0: emulated"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
		check(&examples[i]);
}

static void the_return_address_is_where_a_return_probe_takes_it(void **state)
{
	static const struct example examples[] = {
		{"signed: a return probe behind it would be fatal",
		 {BTI_C, PACIASP, ADRP_X1, STP_X29_X30},
		 .arguments = 1,
		 .returns = true,
		 .reason = "stepped, `hint #0x19` at +4 saves or signs the return address"},
		{"the same without a return probe",
		 {BTI_C, PACIASP, ADRP_X1, STP_X29_X30},
		 .arguments = 1,
		 .offset = 8,
		 .emulated = true,
		 .reason = "at +8: emulated"},
		{"saved alone",
		 {0xf81f0ffe /* str x30, [sp, #-16]! */, ADRP_X1},
		 .arguments = 1,
		 .returns = true,
		 .reason = "saves or signs the return address"},
		{"overwritten",
		 {BL},
		 .arguments = 1,
		 .returns = true,
		 .emulated = true,
		 .reason = "+0"},
		{"the stack pointer has moved",
		 {SUB_SP, ADRP_X1},
		 .arguments = 1,
		 .returns = true,
		 .reason = "at +0 moves the stack pointer"},
		{"adrp comes first",
		 {BTI_C, ADRP_X1, PACIASP, STP_X29_X30},
		 .arguments = 1,
		 .returns = true,
		 .offset = 4,
		 .emulated = true,
		 .reason = "at +4: emulated"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
		check(&examples[i]);
}

static void arguments_loops_and_dangers_end_the_walk(void **state)
{
	static const struct example examples[] = {
		{"gone before anything emulated",
		 {MOV_X0_1, ADRP_X1},
		 .arguments = 1,
		 .reason = "at +0 writes an argument"},
		{"moved where the program can be told",
		 {MOV_X19_X0, MOV_X0_1, ADRP_X1},
		 .arguments = 1,
		 .movable = true,
		 .offset = 8,
		 .emulated = true,
		 .reason = "at +8: emulated",
		 .holder = 19},
		{"adrp is the head of a loop",
		 {MOV_X19_X0, ADRP_X1, B_BACK},
		 .arguments = 1,
		 .reason = "at +4 is in a loop"},
		{"NULL, by the flags",
		 {CMP_X0_0, B_EQ, MOV_X19_X0, ADRP_X1},
		 .arguments = 1,
		 .null_is_trivial = true,
		 .offset = 12,
		 .emulated = true,
		 .reason = "NULL already filtered"},
		{"half of the argument is 0: that is no NULL",
		 {CBZ_W0, MOV_X19_X0, ADRP_X1},
		 .arguments = 1,
		 .null_is_trivial = true,
		 .emulated = true,
		 .reason = "at +0: emulated"},
		{"a literal, and nothing else",
		 {LDR_LITERAL},
		 .arguments = 1,
		 .refused = true,
		 .reason = "must not be probed"},
		{"between ldxr and stxr nothing is safe",
		 {LDXR, CBZ_X0},
		 .arguments = 1,
		 .refused = true,
		 .reason = "ends what can be proven"},
		{"nop only", {NOP, MOV_X0_1}, .arguments = 1, .reason = "newer kernels only"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++)
		check(&examples[i]);
}

static void effects_name_what_is_read_and_written(void **state)
{
	static const struct {
		uint32_t word, reads, writes;
	} rows[] = {
		{STP_X29_X30, 1u << 29 | 1u << 30 | 1u << 31, 1u << 31},
		{LDP_X29_X30, 1u << 31, 1u << 29 | 1u << 30 | 1u << 31},
		{MOV_X29_SP, 1u << 31, 1u << 29},
		{SUB_SP, 1u << 31, 1u << 31},
		{MOV_X19_X0, 1u << 0, 1u << 19},
		{PACIASP, 1u << 30, 1u << 30},
		{CMP_X0_0, 1u << 0, 0},
		{0xf9400420 /* ldr x0, [x1, #8] */, 1u << 1, 1u << 0},
		{0xf8408420 /* ldr x0, [x1], #8 */, 1u << 1, 1u << 0 | 1u << 1},
		{0xf81f0ffe /* str x30, [sp, #-16]! */, 1u << 30 | 1u << 31, 1u << 31},
		{0x9b017c13 /* mul x19, x0, x1 */, 1u << 0 | 1u << 1, 1u << 19},
		{0x9bc17c02 /* umulh x2, x0, x1 */, 1u << 0 | 1u << 1, 1u << 2},
		{0xb3407c20 /* bfi x0, x1 */, 1u << 0 | 1u << 1, 1u << 0},
		{0xf2a00020 /* movk x0 */, 1u << 0, 1u << 0},
		{0x8b2063ff /* add sp, sp, x0 */, 1u << 0 | 1u << 31, 1u << 31},
		{0xdac10020 /* pacia x0, x1 */, 1u << 0 | 1u << 1, 1u << 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct a64 a64 = a64_decode(rows[i].word, 0);

		if (a64.kind != A64_PLAIN && a64.kind != A64_HINT)
			fail_msg("%08x is not known", rows[i].word);
		if ((a64.reads & rows[i].reads) != rows[i].reads || a64.writes != rows[i].writes)
			fail_msg("%08x reads %08x, writes %08x", rows[i].word, a64.reads,
				 a64.writes);
	}
}

/* A file that is nothing but code at address 0x1000. */
static struct code *code_in_memory(const uint32_t *words, size_t count, struct elf_file *file)
{
	struct code *code = calloc(1, sizeof(*code));
	struct elf_segment *segment;
	struct code_extent *extent;

	assert_non_null(code);
	*file = (struct elf_file){.fd = -1, .memory = words, .size = count * 4};
	segment = vec_push(&file->segments);
	extent = vec_push(&code->frames);
	assert_true(segment && extent);
	*segment = (struct elf_segment){.vaddr = 0x1000,
					.memory_size = count * 4,
					.file_size = count * 4,
					.executable = true};
	*extent = (struct code_extent){0x1000, 0x1000 + count * 4};
	code->file = file;
	assert_int_equal(decoder_open(&code->decoder), 0);
	cs_option(code->decoder, CS_OPT_DETAIL, CS_OPT_ON);
	code->instruction = cs_malloc(code->decoder);
	assert_non_null(code->instruction);
	return code;
}

static bool nothing_is_probed(const struct code_target *target, void *context)
{
	(void)target, (void)context;
	return false;
}

static void results_are_known_at_ret_which_is_emulated(void **state)
{
	static const uint32_t words[] = {STP_X29_X30, BL,	   CBZ_X0, MOV_X0_X19, LDP_X29_X30,
					 RET,	      LDP_X29_X30, RET,	   NOP,	       RET};
	struct results_request request = {.entry = 0x1000, .is_probed = nothing_is_probed};
	struct elf_file file;
	struct code *code = code_in_memory(words, 8, &file);
	struct results results;

	(void)state;
	assert_int_equal(results_find(code, &request, &results), 0);
	assert_int_equal(results.kind, RESULTS_FOUND);
	assert_int_equal(results.sites.count, 2);
	for (size_t i = 0; i < results.sites.count; i++) {
		assert_true(results.sites.items[i].emulated);
		assert_int_equal(results.sites.items[i].number, 0);
		assert_int_equal(results.sites.items[i].words, 0);
		assert_int_equal(results.sites.items[i].condition, 0);
	}
	results_free(&results);
	code_close(&code);
	elf_file_close(&file);
}

static void a_return_that_checks_its_signature_is_not_probed(void **state)
{
	static const uint32_t words[] = {PACIASP, STP_X29_X30, LDP_X29_X30, RETAA};
	struct results_request request = {.entry = 0x1000, .is_probed = nothing_is_probed};
	struct elf_file file;
	struct code *code = code_in_memory(words, ARRAY_SIZE(words), &file);
	struct results results;

	(void)state;
	assert_int_equal(results_find(code, &request, &results), 0);
	assert_int_equal(results.kind, RESULTS_UNKNOWN);
	assert_string_equal(results.reason, "0x100c is no plain return");
	results_free(&results);
	code_close(&code);
	elf_file_close(&file);
}

static void stubs_and_thread_pointers_are_read(void **state)
{
	static const uint32_t words[] = {
		BTI_C,
		0x90000090 /* adrp x16, 0x11000 */,
		0xf9401a11 /* ldr x17, [x16, #48] */,
		0x9100c210,
		0xd61f0220,
		0xd53bd040,
		0xd11d0000 /* sub x0, x0, #0x740 */,
		RET,
		0xd53bd040,
		RET,
	};
	struct elf_file file;
	struct code *code = code_in_memory(words, ARRAY_SIZE(words), &file);
	uint64_t slot = 0, below = 0;

	(void)state;
	assert_true(decoder_plt_slot(code, 0x1000, &slot));
	assert_int_equal(slot, 0x11030);
	assert_true(decoder_plt_slot(code, 0x1004, &slot));
	assert_false(decoder_plt_slot(code, 0x1008, &slot));
	assert_true(code_thread_self_below(code, 0x1014, &below));
	assert_int_equal(below, 0x740);
	assert_false(code_thread_self_below(code, 0x1020, &below));
	assert_false(code_thread_self_below(code, 0, &below));
	code_close(&code);
	elf_file_close(&file);
}

static void operands_of_probes_that_programs_carry(void **state)
{
	static const struct {
		const char *text;
		bool readable;
		struct lm_usdt_operand operand;
	} rows[] = {
#define NONE LM_USDT_NO_REGISTER
		{"8@x0",
		 true,
		 {.kind = LM_USDT_REGISTER, .size = 8, .base = 0, .index = NONE, .scale = 1}},
		{"-4@w30",
		 true,
		 {.kind = LM_USDT_REGISTER,
		  .size = 4,
		  .is_signed = 1,
		  .base = 30,
		  .index = NONE,
		  .scale = 1}},
		{"8@sp",
		 true,
		 {.kind = LM_USDT_REGISTER, .size = 8, .base = 31, .index = NONE, .scale = 1}},
		{"4@7",
		 true,
		 {.kind = LM_USDT_CONSTANT,
		  .value = 7,
		  .size = 4,
		  .base = NONE,
		  .index = NONE,
		  .scale = 1}},
		{"-8@-16",
		 true,
		 {.kind = LM_USDT_CONSTANT,
		  .value = -16,
		  .size = 8,
		  .is_signed = 1,
		  .base = NONE,
		  .index = NONE,
		  .scale = 1}},
		{"8@[x1]",
		 true,
		 {.kind = LM_USDT_MEMORY, .size = 8, .base = 1, .index = NONE, .scale = 1}},
		{"8@[sp, 16]",
		 true,
		 {.kind = LM_USDT_MEMORY,
		  .value = 16,
		  .size = 8,
		  .base = 31,
		  .index = NONE,
		  .scale = 1}},
		{"4@[x29, -24]",
		 true,
		 {.kind = LM_USDT_MEMORY,
		  .value = -24,
		  .size = 4,
		  .base = 29,
		  .index = NONE,
		  .scale = 1}},
		{"8@[x1, x2, lsl 3]",
		 true,
		 {.kind = LM_USDT_MEMORY, .size = 8, .base = 1, .index = 2, .scale = 8}},
		{"8@x31", false, {0}},
		{"8@q0", false, {0}},
		{"8@[w1]", false, {0}},
		{"8@[x1, w2, sxtw 3]", false, {0}},
		{"8@[x1, 8", false, {0}},
		{"8@x0 ", false, {0}},
		{"3@x0", false, {0}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lm_usdt_operand operand = {0};
		const char *why = usdt_operand_read(rows[i].text, strlen(rows[i].text), &operand);

		if (!why != rows[i].readable)
			fail_msg("%s: %s", rows[i].text, why ? why : "was read");
		assert_memory_equal(&operand, &rows[i].operand, sizeof(operand));
	}
	assert_null(usdt_place_check((const uint8_t[]){0x1f, 0x20, 0x03, 0xd5}, 4));
	assert_non_null(usdt_place_check((const uint8_t[]){0xc0, 0x03, 0x5f, 0xd6}, 4));
	assert_non_null(usdt_place_check((const uint8_t[]){0x1f, 0x20}, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_is_classified_as_kernels_do),
		cmocka_unit_test(debian_12_functions_get_the_best_place),
		cmocka_unit_test(the_return_address_is_where_a_return_probe_takes_it),
		cmocka_unit_test(arguments_loops_and_dangers_end_the_walk),
		cmocka_unit_test(effects_name_what_is_read_and_written),
		cmocka_unit_test(results_are_known_at_ret_which_is_emulated),
		cmocka_unit_test(a_return_that_checks_its_signature_is_not_probed),
		cmocka_unit_test(stubs_and_thread_pointers_are_read),
		cmocka_unit_test(operands_of_probes_that_programs_carry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
