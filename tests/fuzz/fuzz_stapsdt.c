// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the reader of probe notes (.note.stapsdt): the input is a whole ELF file,
 * and also the text of an operand. The answer about any file must pass the monitor's checks.
 *
 * Seeds: small shared objects, one of which has otel_memory's probes.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/arch/usdt.h"
#include "binary/parse/stapsdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void read_file(const uint8_t *data, size_t size)
{
	_cleanup_(stapsdt_free) struct stapsdt notes = {0}, decoded = {0};
	_cleanup_(bytes_free) struct bytes body = {0};
	struct cursor cursor;
	struct elf_file file;

	if (elf_file_open_memory(data, size, &machine_abi, &file))
		return;
	check(!stapsdt_read(&file, &notes) && !encode_stapsdt(&notes, &body));
	elf_file_close(&file);
	cursor = (struct cursor){body.data, body.size};
	check(!decode_stapsdt(&cursor, size, &decoded) && !cursor.left);
	check(decoded.probes.count == notes.probes.count);
	check(decoded.listed.count == notes.listed.count);
}

static void read_operand(const uint8_t *data, size_t size)
{
	struct lm_usdt_operand operand = {0};

	if (usdt_operand_read((const char *)data, size, &operand))
		check(!operand.size);
	else
		check(operand.size && operand.scale && operand.kind < LM_USDT_OPERAND_MAX_);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_file(data, size);
	read_operand(data, size);
	return 0;
}
