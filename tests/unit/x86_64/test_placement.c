// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/placement.h"

/* Call shapes, as the allocator table has them. */
#define TAKES(n) .arguments = (n), .returns = true
#define FREES .arguments = 1, .null_is_trivial = true

struct example {
	const char *name;
	const char *code; /* hex, blanks ignored */
	unsigned arguments;
	bool returns, null_is_trivial;
	uint32_t offset;
	bool emulated, refused;
	const char *reason; /* a part of it */
};

static size_t bytes_from_hex(const char *hex, uint8_t *bytes, size_t room)
{
	size_t count = 0;
	unsigned byte;

	for (; *hex; hex += strspn(hex, " ")) {
		assert_true(count < room && sscanf(hex, "%2x", &byte) == 1);
		bytes[count++] = (uint8_t)byte;
		hex += 2;
	}
	return count;
}

static void check(const struct example *example)
{
	struct placement placement;
	uint8_t buffer[256];
	size_t size = bytes_from_hex(example->code, buffer, sizeof(buffer));
	/* On the heap at its exact size, so that the sanitizer sees a read past the end. */
	_cleanup_free_ uint8_t *code = malloc(size + 1);
	struct placement_request request = {
		.size = size,
		.arguments = example->arguments,
		.returns = example->returns,
		.null_is_trivial = example->null_is_trivial,
	};

	assert_non_null(code);
	request.code = (uint8_t *)memcpy(code + 1, buffer, size);
	placement_choose(&request, &placement);
	if (placement.offset != example->offset || placement.emulated != example->emulated ||
	    placement.refused != example->refused || !strstr(placement.reason, example->reason))
		fail_msg("%s: +%u%s%s, %s", example->name, placement.offset,
			 placement.emulated ? " emulated" : "", placement.refused ? " refused" : "",
			 placement.reason);
}

static void check_all(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check(&examples[i]);
}

/* The first bytes of each function as Debian 12 ships it (glibc 2.36, libstdc++ 12). */
static void debian_12_functions_get_the_best_place(void **state)
{
	static const struct example examples[] = {
		{"malloc", "4154 55 53 4889fb 4883ec10 803d461b140000 0f84f8010000 4885db",
		 TAKES(1), .offset = 0, .emulated = true, .reason = "`push r12` at +0: emulated"},
		{"free", "4885ff 0f84bf000000 55 488d77f0 53 4883ec18", FREES, .offset = 9,
		 .emulated = true, .reason = "`push rbp` at +9: emulated, NULL already filtered"},
		{"calloc", "4155 4889f8 4154 55 53 4883ec18 48f7e6", TAKES(2), .offset = 0,
		 .emulated = true, .reason = "`push r13` at +0"},
		{"realloc", "4157 4156 4155 4154 55 4889f5 53", TAKES(2), .offset = 0,
		 .emulated = true, .reason = "`push r15` at +0"},
		{"memalign",
		 "803d710e140000 7407 e932f6ffff 6690 4883ec18 4889742408 48893c24 e8bebcffff",
		 TAKES(2), .offset = 7, .emulated = true, .reason = "`je 0x10` at +7: emulated"},
		{"posix_memalign", "803d0102140000 4154 4989d4 55 4889fd 53", TAKES(3), .offset = 7,
		 .emulated = true, .reason = "`push r12` at +7: emulated"},
		{"reallocarray",
		 "4889f0 48f7e2 4889c6 7005 e940b8f8ff 488b05e9850000 64c7000c000000 31c0 c3",
		 TAKES(3), .offset = 0, .reason = "`mul rdx` at +3 writes an argument"},
		{"valloc", "803d310e140000 53 4889fb 741b", TAKES(1), .offset = 7, .emulated = true,
		 .reason = "`push rbx` at +7"},
		{"pvalloc", "803d010e140000 53 4889fb 742b", TAKES(1), .offset = 7,
		 .emulated = true, .reason = "`push rbx` at +7"},
		{"operator new", "f30f1efa 4885ff b801000000 53 480f45c7 4889c3", TAKES(1),
		 .offset = 12, .emulated = true, .reason = "`push rbx` at +12"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void five_byte_nops_are_never_chosen(void **state)
{
	static const struct example examples[] = {
		{"endbr64, nop5, push", "f30f1efa 0f1f440000 55", TAKES(1), .offset = 9,
		 .emulated = true, .reason = "`push rbp` at +9"},
		{"nop5, push", "0f1f440000 55", TAKES(1), .offset = 5, .emulated = true,
		 .reason = "`push rbp` at +5"},
		{"nop5, then only stepped code", "0f1f440000 4883ec18 4889fb", TAKES(1),
		 .offset = 5, .reason = "`sub rsp, 0x18` at +5: stepped"},
		{"nop5, then the end", "0f1f440000", TAKES(1), .refused = true,
		 .reason = "must not be probed"},
		{"nop5, then an argument is gone at once", "0f1f440000 c3", TAKES(1), .offset = 5,
		 .reason = "`ret` at +5"},
		{"nop5, and the next is a loop head", "0f1f440000 55 ebfd", TAKES(1),
		 .refused = true, .reason = "`push rbp` at +5 is in a loop"},
		{"endbr64, nop5, argument overwritten", "f30f1efa 0f1f440000 31ff 55", TAKES(1),
		 .offset = 0, .reason = "`xor edi, edi` at +9 writes an argument"},
		{"nopl of another 5-byte form", "410f1f4000 55", TAKES(1), .offset = 5,
		 .emulated = true, .reason = "`push rbp` at +5"},
		{"prefixed one-byte nop", "6666666690 55", TAKES(1), .offset = 5, .emulated = true,
		 .reason = "`push rbp` at +5"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void only_what_every_kernel_emulates_is_called_emulated(void **state)
{
	static const struct example examples[] = {
		{"one-byte nop", "90", TAKES(1), .emulated = true, .reason = "`nop` at +0"},
		{"short jmp", "f30f1efa eb10", TAKES(1), .offset = 4, .emulated = true,
		 .reason = "`jmp 0x16` at +4"},
		{"near jmp", "f30f1efa e910000000", TAKES(1), .offset = 4, .emulated = true,
		 .reason = "`jmp 0x19` at +4"},
		{"jmp with bnd", "f30f1efa f2e910000000", TAKES(1), .offset = 4, .emulated = true,
		 .reason = "at +4: emulated"},
		{"call", "4883ec08 e800010000", .arguments = 1, .offset = 4, .emulated = true,
		 .reason = "`call 0x109` at +4"},
		{"indirect jmp", "f30f1efa ff2500000000", TAKES(1), .offset = 0,
		 .reason = "at +4 ends what can be proven"},
		{"indirect call", "4889fb ffd0 55", .arguments = 1, .offset = 0,
		 .reason = "`call rax` at +3 ends"},
		{"jrcxz is no jcc", "f30f1efa e310 55", TAKES(1), .offset = 0,
		 .reason = "`jrcxz 0x16` at +4 ends"},
		{"push with an idle rex", "f30f1efa 4055", TAKES(1), .offset = 0,
		 .reason = "at +4 moves the stack pointer"},
		{"push of a constant", "f30f1efa 6a01 55", TAKES(1), .offset = 0,
		 .reason = "`push 1` at +4 moves the stack pointer"},
		{"push from memory", "f30f1efa ff37 55", TAKES(1), .offset = 0,
		 .reason = "at +4 moves the stack pointer"},
		{"long nop where nothing better is", "f30f1efa 0f1f00 4883ec18 c3", TAKES(1),
		 .offset = 4, .reason = "newer kernels only"},
		{"long nop, but a push follows", "0f1f00 55", TAKES(1), .offset = 3,
		 .emulated = true, .reason = "`push rbp` at +3"},
		{"66 90 at the entry is refused by 6.1", "6690 4889fb c3", TAKES(1), .offset = 2,
		 .reason = "`mov rbx, rdi` at +2: stepped"},
		{"cs prefix is refused", "662e0f1f840000000000 4889fb c3", TAKES(1), .offset = 10,
		 .reason = "`mov rbx, rdi` at +10: stepped"},
		{"a breakpoint is there already", "cc", TAKES(1), .refused = true,
		 .reason = "must not be probed"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void null_checks_are_passed_only_where_null_does_not_count(void **state)
{
	static const struct example examples[] = {
		{"cmp form", "4883ff00 7410 55", FREES, .offset = 6, .emulated = true,
		 .reason = "`push rbp` at +6: emulated, NULL already filtered"},
		{"something that keeps the flags in between", "4885ff 488d77f0 7410 53", FREES,
		 .offset = 9, .emulated = true, .reason = "`push rbx` at +9: emulated, NULL"},
		{"something that changes the flags in between", "4885ff 4885f6 7410 53", FREES,
		 .offset = 6, .emulated = true, .reason = "`je 0x18` at +6"},
		{"the other sense", "4885ff 7510 c3", FREES, .offset = 3, .emulated = true,
		 .reason = "`jne 0x15` at +3"},
		{"another register", "4885f6 7410 53", FREES, .offset = 3, .emulated = true,
		 .reason = "`je 0x15` at +3"},
		{"32 bits only", "85ff 7410 53", FREES, .offset = 2, .emulated = true,
		 .reason = "`je 0x14` at +2"},
		{"NULL counts", "4885ff 7410 53", TAKES(1), .offset = 3, .emulated = true,
		 .reason = "`je 0x15` at +3"},
		{"no push near by", "4885ff 7410 4889c3 4889c3 4889c3 4889c3 4889c3 53", FREES,
		 .offset = 3, .emulated = true, .reason = "`je 0x15` at +3: emulated"},
		{"a push just near enough", "4885ff 7410 4889c3 4889c3 4889c3 53", FREES,
		 .offset = 14, .emulated = true, .reason = "`push rbx` at +14"},
		{"argument gone before the push", "4885ff 7410 488b3f 53", FREES, .offset = 3,
		 .emulated = true, .reason = "`je 0x15` at +3: emulated"},
		{"argument gone before the check", "488b3f 4885ff 7410 53", FREES, .offset = 0,
		 .reason = "`mov rdi, qword ptr [rdi]` at +0"},
		{"tail call behind the check", "4885ff 7405 e900010000", FREES, .offset = 5,
		 .emulated = true, .reason = "`jmp 0x10a` at +5: emulated, NULL already filtered"},
		{"the push is a loop head", "4885ff 7410 53 4889c3 ebfa", FREES, .offset = 3,
		 .emulated = true, .reason = "`je 0x15` at +3: emulated"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void jumps_back_keep_the_probe_out_of_loops(void **state)
{
	static const struct example examples[] = {
		{"to the push", "4889f8 55 48ffc8 75fa c3", .arguments = 1, .offset = 0,
		 .reason = "`push rbp` at +3 is in a loop"},
		{"to before the push", "4889f8 4889f9 55 48ffc8 75f7 c3", .arguments = 1,
		 .offset = 0, .reason = "`push rbp` at +6 is in a loop"},
		{"to behind the push", "4889f8 55 48ffc8 75fb c3", .arguments = 1, .offset = 3,
		 .emulated = true, .reason = "`push rbp` at +3"},
		{"to the entry: a new call in effect", "4889f8 55 48ffc8 75f7 c3", .arguments = 1,
		 .offset = 3, .emulated = true, .reason = "`push rbp` at +3"},
		{"behind bytes that are no code", "4889f8 55 c3 0606 ebfa", .arguments = 1,
		 .offset = 0, .reason = "`push rbp` at +3 is in a loop"},
		{"loop instruction", "4889f8 90 e2fd c3", .arguments = 1, .offset = 0,
		 .reason = "`nop` at +3 is in a loop"},
		{"behind a loop head there is no place either", "4889f8 55 53 48ffc8 75f9 c3",
		 .arguments = 1, .offset = 0, .reason = "`push rbp` at +3 is in a loop"},
		{"a jump that spins on itself", "4889f8 ebfe", .arguments = 1, .offset = 0,
		 .reason = "`jmp 3` at +3 is in a loop"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

/* One register after the other, under each of its names and by each kind of write. */
static void a_written_argument_ends_the_search(void **state)
{
	static const struct example examples[] = {
		{"edi", "bf00000000 55", TAKES(1), .reason = "writes an argument"},
		{"di", "66bf0000 55", TAKES(1), .reason = "writes an argument"},
		{"dil", "40b701 55", TAKES(1), .reason = "writes an argument"},
		{"rsi", "4889c6 55", TAKES(2), .reason = "writes an argument"},
		{"sil", "40b601 55", TAKES(2), .reason = "writes an argument"},
		{"edx", "31d2 55", TAKES(3), .reason = "writes an argument"},
		{"dl", "b201 55", TAKES(3), .reason = "writes an argument"},
		{"dh", "b601 55", TAKES(3), .reason = "writes an argument"},
		{"ch", "b501 55", TAKES(4), .reason = "writes an argument"},
		{"r8d", "4531c0 55", TAKES(5), .reason = "writes an argument"},
		{"r9b", "41b101 55", TAKES(6), .reason = "writes an argument"},
		{"lea", "488d7c3e0f 55", TAKES(1), .reason = "writes an argument"},
		{"add", "4801f7 55", TAKES(1), .reason = "writes an argument"},
		{"cmov", "480f45f8 55", TAKES(1), .reason = "writes an argument"},
		{"setcc", "400f94c7 55", TAKES(1), .reason = "writes an argument"},
		{"pop", "5f 55", .arguments = 1, .reason = "writes an argument"},
		{"shr", "48c1ef03 55", TAKES(1), .reason = "writes an argument"},
		{"inc", "48ffc7 55", TAKES(1), .reason = "writes an argument"},
		{"neg", "48f7df 55", TAKES(1), .reason = "writes an argument"},
		{"imul of two", "480faffe 55", TAKES(1), .reason = "writes an argument"},
		{"cqo writes rdx", "4899 55", TAKES(3), .reason = "writes an argument"},
		{"movq from a vector", "66480f7ec7 55", TAKES(1), .reason = "writes an argument"},
		{"xchg: not on the list", "4897 55", TAKES(1), .reason = "ends what can be proven"},
		{"rep stos: not on the list", "f348ab 55", TAKES(1), .reason = "ends what can be"},
		{"syscall: not on the list", "0f05 55", TAKES(1), .reason = "ends what can be"},
		{"ret", "c3 55", TAKES(1), .reason = "ends what can be proven"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

/* mimalloc's malloc, calloc and realloc of Debian 12, and code that is not a copy. */
static void an_argument_may_move_where_the_program_can_be_told(void **state)
{
	static const struct {
		const char *name, *code;
		unsigned arguments;
		uint32_t offset;
		bool emulated, moved;
		uint8_t registers[PLACEMENT_ARGUMENTS];
	} examples[] = {
		{"malloc",
		 "488b0549b40000 4889fe 64488b38 4881fe00040000 7729",
		 1,
		 21,
		 true,
		 true,
		 {6}},
		{"calloc",
		 "488b1549b40000 4889f8 64488b3a 4883f801 740c",
		 2,
		 18,
		 true,
		 true,
		 {0, 6}},
		{"realloc",
		 "488b0549b40000 4889f2 4889fe 64488b00 4889c7 e9f74effff",
		 2,
		 20,
		 true,
		 true,
		 {6, 2}},
		{"nothing moves", "4889fb 55", 1, 3, true, false, {7}},
		{"a copy, and the original stays", "4889fe 55", 1, 3, true, false, {7}},
		{"the copy is gone too", "4889fe 31ff 31f6 55", 1, 0, false, false, {7}},
		{"half a copy is none", "89fe 31ff 55", 1, 0, false, false, {7}},
		{"a sum is no copy", "488d7e01 55", 1, 0, false, false, {7}},
		{"back again", "4889f8 31ff 4889c7 55", 1, 8, true, false, {7}},
		{"into r12", "4989fc 31ff 55", 1, 5, true, true, {12}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		uint8_t code[256];
		struct placement placement;
		struct placement_request request = {
			.code = code,
			.size = bytes_from_hex(examples[i].code, code, sizeof(code)),
			.arguments = examples[i].arguments,
			.returns = true,
			.movable = true,
		};

		placement_choose(&request, &placement);
		if (placement.offset != examples[i].offset ||
		    placement.emulated != examples[i].emulated ||
		    placement.moved != examples[i].moved ||
		    memcmp(placement.registers, examples[i].registers, PLACEMENT_ARGUMENTS) != 0)
			fail_msg("%s: +%u, %s%u, %u", examples[i].name, placement.offset,
				 placement.moved ? "moved to " : "", placement.registers[0],
				 placement.registers[1]);
		/* Without a known program, everything stays at the entry. */
		request.movable = false;
		placement_choose(&request, &placement);
		assert_false(placement.moved);
	}
}

static void other_registers_and_memory_may_be_touched(void **state)
{
	static const struct example examples[] = {
		{"rsi is no argument of one", "4889c6 55", TAKES(1), .offset = 3, .emulated = true,
		 .reason = "`push rbp` at +3"},
		{"rdx is no argument of two", "4889f8 48f7e6 55", TAKES(2), .offset = 6,
		 .emulated = true, .reason = "`push rbp` at +6"},
		{"arguments are only read", "4889f8 4839f7 48893e 55", TAKES(2), .offset = 9,
		 .emulated = true, .reason = "`push rbp` at +9"},
		{"thread-local read", "64488b042528000000 55", TAKES(1), .offset = 9,
		 .emulated = true, .reason = "`push rbp` at +9"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void a_probed_return_needs_the_return_address_at_the_stack_pointer(void **state)
{
	static const struct example examples[] = {
		{"sub rsp", "4883ec18 55", TAKES(1), .offset = 0,
		 .reason = "`sub rsp, 0x18` at +0 moves the stack pointer"},
		{"sub rsp, return not probed", "4883ec18 55", .arguments = 1, .offset = 4,
		 .emulated = true, .reason = "`push rbp` at +4"},
		{"lea rsp", "488d6424e8 55", TAKES(1), .offset = 0,
		 .reason = "moves the stack pointer"},
		{"and rsp", "4883e4f0 55", TAKES(1), .offset = 0,
		 .reason = "moves the stack pointer"},
		{"pop", "58 55", TAKES(1), .offset = 0, .reason = "moves the stack pointer"},
		{"a stepped push, then an emulated one", "6a00 55", TAKES(1), .offset = 0,
		 .reason = "moves the stack pointer"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

static void code_that_ends_or_makes_no_sense_keeps_the_entry(void **state)
{
	static const struct example examples[] = {
		{"no code", "", TAKES(1), .refused = true, .reason = "after 0 bytes"},
		{"garbage", "0606", TAKES(1), .refused = true, .reason = "undecodable code"},
		{"garbage behind the entry", "4889f8 06 55", TAKES(1), .offset = 0,
		 .reason = "undecodable code after 3 bytes"},
		{"cut inside an instruction", "4889f8 0f84bf", TAKES(1), .offset = 0,
		 .reason = "after 3 bytes"},
		{"ends without a place", "4889f8", TAKES(1), .offset = 0,
		 .reason = "the code known ends after 3 bytes"},
	};

	(void)state;
	check_all(examples, ARRAY_SIZE(examples));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(debian_12_functions_get_the_best_place),
		cmocka_unit_test(five_byte_nops_are_never_chosen),
		cmocka_unit_test(only_what_every_kernel_emulates_is_called_emulated),
		cmocka_unit_test(null_checks_are_passed_only_where_null_does_not_count),
		cmocka_unit_test(jumps_back_keep_the_probe_out_of_loops),
		cmocka_unit_test(a_written_argument_ends_the_search),
		cmocka_unit_test(an_argument_may_move_where_the_program_can_be_told),
		cmocka_unit_test(other_registers_and_memory_may_be_touched),
		cmocka_unit_test(a_probed_return_needs_the_return_address_at_the_stack_pointer),
		cmocka_unit_test(code_that_ends_or_makes_no_sense_keeps_the_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
