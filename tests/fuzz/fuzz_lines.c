// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the reading of line information (units, inlined functions, line tables,
 * through libdw): the input is a whole ELF file (asked_addresses.h). The answer about any file must
 * pass the monitor's checks.
 *
 * Seeds: small shared objects with debug information, whole. -max_len must cover them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/parse/lines.h"
#include "fuzz/asked_addresses.h"
#include "unit/decode_answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);
	_cleanup_(line_answer_free) struct line_answer answer = {0};
	_cleanup_(bytes_free) struct bytes body = {0};
	struct wire_lines_question question = {.key = 1};
	void *state = NULL;
	const struct parse_input input = {
		.files = &fd,
		.file_count = 1,
		.question = &question,
		.question_size = sizeof(question),
		.state = &state,
	};
	int error;

	asked_addresses(data, size, question.addresses);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	error = lines_kind.parse(&input, &body);
	if (state)
		lines_kind.release(state);
	if (error)
		return 0;
	if (decode_lines(&body, WIRE_MAX_ADDRESSES, &answer) || answer.count != WIRE_MAX_ADDRESSES)
		abort();
	return 0;
}
