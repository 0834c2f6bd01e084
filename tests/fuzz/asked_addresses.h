/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses that a fuzzer of a whole ELF file looks up: one in the file's last eight bytes; the
 * others are code of small shared objects.
 */
#ifndef LEAKMON_TESTS_FUZZ_ASKED_ADDRESSES_H
#define LEAKMON_TESTS_FUZZ_ASKED_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "binary/parse/wire.h"

#define CODE_AT 0x1000u
#define CODE_STEP 12u

static inline void asked_addresses(const uint8_t *data, size_t size,
				   uint64_t addresses[WIRE_MAX_ADDRESSES])
{
	for (size_t i = 0; i < WIRE_MAX_ADDRESSES; i++)
		addresses[i] = CODE_AT + i * CODE_STEP;
	if (size >= sizeof(addresses[0]))
		memcpy(addresses, data + size - sizeof(addresses[0]), sizeof(addresses[0]));
}

#endif
