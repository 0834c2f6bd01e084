// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/usdt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/arm64/instruction.h"
#include "binary/arch/trap.h"

static const char unknown_register[] = "an argument is in a register that leakmon cannot read";

/* Parses "x3", "w3" or "sp". Only 64-bit ones form an address: `wide`. Returns -1 if unknown. */
static int take_register(const char **at, bool wide)
{
	char *end;
	long number;

	if (!strncmp(*at, "sp", 2)) {
		*at += 2;
		return A64_STACK_POINTER;
	}
	if ((**at != 'x' && (wide || **at != 'w')) || (*at)[1] < '0' || (*at)[1] > '9')
		return -1;
	number = strtol(*at + 1, &end, 10);
	if (number > A64_LINK)
		return -1;
	*at = end;
	return (int)number;
}

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " ");
}

/* Parses the shift of an index: ", lsl 3", after the index's register. */
static const char *read_shift(const char **at, struct lm_usdt_operand *operand)
{
	int64_t shift;

	if (**at != ',')
		return NULL;
	++*at;
	skip_blanks(at);
	if (strncmp(*at, "lsl", 3) != 0)
		return unknown_register; /* of half a register: sxtw, uxtw */
	*at += 3;
	skip_blanks(at);
	*at += **at == '#';
	if (!usdt_take_number(at, &shift) || shift < 0 || shift > 3)
		return usdt_malformed;
	operand->scale = (uint8_t)(1u << shift);
	return NULL;
}

/* "[base]", "[base, 16]", "[base, x1]", "[base, x1, lsl 3]" */
static const char *read_address(const char *at, struct lm_usdt_operand *operand)
{
	const char *why = NULL;
	int number;

	at++;
	number = take_register(&at, true);
	if (number < 0)
		return unknown_register;
	operand->base = (uint8_t)number;
	if (*at == ',') {
		at++;
		skip_blanks(&at);
		at += *at == '#';
		if (!usdt_take_number(&at, (int64_t *)&operand->value)) {
			number = take_register(&at, true);
			if (number < 0 || number == A64_STACK_POINTER)
				return unknown_register;
			operand->index = (uint8_t)number;
			why = read_shift(&at, operand);
		}
	}
	if (why)
		return why;
	return strcmp(at, "]") != 0 ? usdt_malformed : NULL;
}

const char *usdt_place_read(const char *at, struct lm_usdt_operand *operand)
{
	int number;

	if (*at == '[') {
		operand->kind = LM_USDT_MEMORY;
		return read_address(at, operand);
	}
	if (*at == '#' || *at == '-' || (*at >= '0' && *at <= '9')) {
		at += *at == '#';
		operand->kind = LM_USDT_CONSTANT;
		return usdt_take_number(&at, (int64_t *)&operand->value) && !*at ? NULL
										 : usdt_malformed;
	}
	operand->kind = LM_USDT_REGISTER;
	number = take_register(&at, false);
	if (number >= 0) {
		operand->base = (uint8_t)number;
		return *at ? unknown_register : NULL;
	}
	return strchr(at, '[') || strchr(at, ']') ? usdt_malformed : unknown_register;
}

bool usdt_has_register(uint8_t number)
{
	return number <= A64_STACK_POINTER;
}

const char *usdt_place_check(const uint8_t *code, size_t size)
{
	if (size < MACHINE_INSTRUCTION_MAX ||
	    trap_classify(code, MACHINE_INSTRUCTION_MAX) != TRAP_NOP)
		return "no instruction stands there that does nothing";
	return NULL;
}
