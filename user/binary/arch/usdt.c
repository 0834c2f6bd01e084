// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/usdt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 96

const char usdt_malformed[] = "an argument is not written as arguments are";

bool usdt_take_number(const char **at, int64_t *number)
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

const char *usdt_operand_read(const char *text, size_t length, struct lm_usdt_operand *operand)
{
	struct lm_usdt_operand read = {
		.base = LM_USDT_NO_REGISTER, .index = LM_USDT_NO_REGISTER, .scale = 1};
	char copy[MAX_TEXT];
	const char *at = copy, *why;
	int64_t size;

	if (length >= sizeof(copy) || memchr(text, '\0', length))
		return usdt_malformed;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (!usdt_take_number(&at, &size) || *at != '@')
		return usdt_malformed;
	if (size != 1 && size != 2 && size != 4 && size != 8 && size != -1 && size != -2 &&
	    size != -4 && size != -8)
		return "an argument has a size that no integer has";
	read.size = (uint8_t)(size < 0 ? -size : size);
	read.is_signed = size < 0;
	why = usdt_place_read(at + 1, &read);
	if (!why)
		*operand = read;
	return why;
}
