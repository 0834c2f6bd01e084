// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the reader of servers' answers to --push, --webhook and --otlp: the input is
 * an answer. Read in one piece and byte by byte, it must give the same.
 *
 * Seeds: real answers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/serve/http_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *read_in_pieces(struct http_answer *answer, const uint8_t *data, size_t size,
				  size_t piece)
{
	const char *problem = NULL;
	bool complete = false;

	for (size_t at = 0; at < size && !problem && !complete; at += piece) {
		size_t length = size - at < piece ? size - at : piece;
		/* Exactly that size: ASan sees reads beyond. */
		char *copy = memcpy(malloc(length), data + at, length);

		problem = http_answer_take(answer, copy, length, &complete);
		free(copy);
	}
	return problem || complete ? problem : http_answer_end(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_answer *whole = calloc(1, sizeof(*whole)), *bytes = calloc(1, sizeof(*bytes));
	const char *problem = read_in_pieces(whole, data, size, size ? size : 1);

	/* Not its Retry-After: a date is a wait from now on. */
	if (read_in_pieces(bytes, data, size, 1) != problem || bytes->status != whole->status ||
	    bytes->kept_size != whole->kept_size)
		abort();
	if (whole->kept_size >= sizeof(whole->kept) || whole->kept[whole->kept_size] ||
	    (!problem && (whole->status < 101 || whole->status > 999)))
		abort();
	free(whole);
	free(bytes);
	return 0;
}
