// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/usdt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/trap.h"

/* By register numbers in instructions (Intel SDM, volume 2, table 2-2). */
static const char *const names[16][4] = {
	{"rax", "eax", "ax", "al"},	 {"rcx", "ecx", "cx", "cl"},
	{"rdx", "edx", "dx", "dl"},	 {"rbx", "ebx", "bx", "bl"},
	{"rsp", "esp", "sp", "spl"},	 {"rbp", "ebp", "bp", "bpl"},
	{"rsi", "esi", "si", "sil"},	 {"rdi", "edi", "di", "dil"},
	{"r8", "r8d", "r8w", "r8b"},	 {"r9", "r9d", "r9w", "r9b"},
	{"r10", "r10d", "r10w", "r10b"}, {"r11", "r11d", "r11w", "r11b"},
	{"r12", "r12d", "r12w", "r12b"}, {"r13", "r13d", "r13w", "r13b"},
	{"r14", "r14d", "r14w", "r14b"}, {"r15", "r15d", "r15w", "r15b"},
};

static const char unknown_register[] = "an argument is in a register that leakmon cannot read";

/*
 * Parses "%name". Only 64-bit ones form an address: `widths` is 1 there, else 4. Returns -1 if
 * unknown.
 */
static int take_register(const char **at, size_t widths)
{
	size_t length;

	if (**at != '%')
		return -1;
	length = strcspn(*at + 1, ",)");
	for (int number = 0; number < 16; number++) {
		for (size_t i = 0; i < widths; i++) {
			if (strlen(names[number][i]) != length ||
			    memcmp(names[number][i], *at + 1, length) != 0)
				continue;
			*at += 1 + length;
			return number;
		}
	}
	return -1;
}

/* "(base)", "(base,index,scale)", "(,index,scale)" */
static const char *read_address(const char *at, struct lm_usdt_operand *operand)
{
	int64_t scale = 1;
	int number;

	if (!strncmp(at, "(%rip)", 6))
		return "an argument is a variable of the program, by its name";
	at++;
	if (*at != ',') {
		number = take_register(&at, 1);
		if (number < 0)
			return unknown_register;
		operand->base = (uint8_t)number;
	}
	if (*at == ',') {
		at++;
		number = take_register(&at, 1);
		if (number < 0 || !strcmp(names[number][0], "rsp"))
			return unknown_register;
		operand->index = (uint8_t)number;
		if (*at == ',') {
			at++;
			if (!usdt_take_number(&at, &scale))
				return usdt_malformed;
		}
	}
	if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
		return usdt_malformed;
	operand->scale = (uint8_t)scale;
	return strcmp(at, ")") != 0 ? usdt_malformed : NULL;
}

const char *usdt_place_read(const char *at, struct lm_usdt_operand *operand)
{
	int number;

	if (*at == '$') {
		at++;
		operand->kind = LM_USDT_CONSTANT;
		return usdt_take_number(&at, (int64_t *)&operand->value) && !*at ? NULL
										 : usdt_malformed;
	}
	if (*at == '%') {
		operand->kind = LM_USDT_REGISTER;
		number = take_register(&at, 4);
		operand->base = (uint8_t)number;
		return number < 0 || *at ? unknown_register : NULL;
	}
	operand->kind = LM_USDT_MEMORY;
	if (*at != '(' && !usdt_take_number(&at, (int64_t *)&operand->value))
		return "an argument is a variable of the program, by its name";
	return *at == '(' ? read_address(at, operand) : usdt_malformed;
}

bool usdt_has_register(uint8_t number)
{
	return number < ARRAY_SIZE(names);
}

static bool is_single_nop(uint8_t byte)
{
	return byte == 0x90;
}

/* Intel's recommended multi-byte nop of 5 bytes, and one of 10 that the kernel recognizes. */
static const uint8_t nop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t nop10[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00};

const char *usdt_place_check(const uint8_t *code, size_t size)
{
	if (size && is_single_nop(code[0]))
		return trap_classify(code, 1) == TRAP_EMULATED ? NULL : "the kernel takes no probe";
	if (size >= sizeof(nop5) && !memcmp(code, nop5, sizeof(nop5)))
		return "a 5-byte nop stands there: kernels that make it a call can kill a forked "
		       "child";
	if (size >= sizeof(nop10) && !memcmp(code, nop10, sizeof(nop10)))
		return "a 10-byte nop stands there, which this kernel may refuse";
	return "no instruction stands there that does nothing";
}
