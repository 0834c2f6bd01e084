// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/usdt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arm64/instruction.h"
#include "arch/trap.h"
#include "base/cleanup.h"

#define MAX_TEXT 96

static const char unknown_register[] = "an argument is in a register that leakmon cannot read",
		  malformed[] = "an argument is not written as arguments are";

/* Passes "x3", "w3" or "sp". Only 64-bit ones make an address: `wide`. -1: not known. */
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

/* Passes a number; false: there is none. */
static bool take_number(const char **at, int64_t *number)
{
	const char *digits = **at == '-' ? *at + 1 : *at;
	char *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*number = strtoll(*at, &end, 0);
	if (errno || end == *at)
		return false;
	*at = end;
	return true;
}

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " ");
}

/* The shift of an index: ", lsl 3", behind the index's register. */
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
	if (!take_number(at, &shift) || shift < 0 || shift > 3)
		return malformed;
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
		if (!take_number(&at, (int64_t *)&operand->value)) {
			number = take_register(&at, true);
			if (number < 0 || number == A64_STACK_POINTER)
				return unknown_register;
			operand->index = (uint8_t)number;
			why = read_shift(&at, operand);
		}
	}
	if (why)
		return why;
	return strcmp(at, "]") != 0 ? malformed : NULL;
}

static const char *read_place(const char *at, struct lm_usdt_operand *operand)
{
	int number;

	if (*at == '[') {
		operand->kind = LM_USDT_MEMORY;
		return read_address(at, operand);
	}
	if (*at == '#' || *at == '-' || (*at >= '0' && *at <= '9')) {
		at += *at == '#';
		operand->kind = LM_USDT_CONSTANT;
		return take_number(&at, (int64_t *)&operand->value) && !*at ? NULL : malformed;
	}
	operand->kind = LM_USDT_REGISTER;
	number = take_register(&at, false);
	if (number >= 0) {
		operand->base = (uint8_t)number;
		return *at ? unknown_register : NULL;
	}
	return strchr(at, '[') || strchr(at, ']') ? malformed : unknown_register;
}

const char *usdt_operand_read(const char *text, size_t length, struct lm_usdt_operand *operand)
{
	struct lm_usdt_operand read = {
		.base = LM_USDT_NO_REGISTER, .index = LM_USDT_NO_REGISTER, .scale = 1};
	char copy[MAX_TEXT];
	const char *at = copy, *why;
	int64_t size;

	if (length >= sizeof(copy) || memchr(text, '\0', length))
		return malformed;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (!take_number(&at, &size) || *at != '@')
		return malformed;
	if (size != 1 && size != 2 && size != 4 && size != 8 && size != -1 && size != -2 &&
	    size != -4 && size != -8)
		return "an argument has a size that no integer has";
	read.size = (uint8_t)(size < 0 ? -size : size);
	read.is_signed = size < 0;
	why = read_place(at + 1, &read);
	if (!why)
		*operand = read;
	return why;
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
