// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Seeds for fuzz_worker_answer: what the honest parser answers about real files.
 *
 *   seed_worker_answer DIRECTORY FILE…
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz/worker_answer.h"
#include "worker/parser.h"

/* libFuzzer makes little of large ones. */
#define MAX_SEED_BYTES 65536

static const enum worker_kind kinds[] = {
	[FUZZ_DESCRIPTION] = WORKER_DESCRIBE,
	[FUZZ_IMAGE] = WORKER_IMAGE,
	[FUZZ_LINES] = WORKER_LINES,
	[FUZZ_UNWIND] = WORKER_UNWIND,
	[FUZZ_PLAN] = WORKER_PLAN,
};

static int write_seed(const char *path, uint8_t use, const struct bytes *body)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	if (!file || fputc(use, file) == EOF || fwrite(body->data, body->size, 1, file) != 1)
		return -EIO;
	return 0;
}

static int seed(struct parser *parser, const char *directory, size_t number, const char *name)
{
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC);
	char path[4096];
	int err = fd < 0 ? -errno : 0;

	for (size_t use = 0; !err && use < ARRAY_SIZE(kinds); use++) {
		struct worker_request request = {
			.kind = kinds[use], .file_count = 1, .key = number};
		_cleanup_(bytes_free) struct bytes body = {0};

		if (kinds[use] == WORKER_LINES)
			request.address_count = FUZZ_ADDRESSES;
		for (uint32_t i = 0; i < request.address_count; i++)
			request.addresses[i] = 0x1000 + i * 16;
		if (parser_run(parser, &request, &fd, &body) || !body.size ||
		    body.size > MAX_SEED_BYTES)
			continue;
		snprintf(path, sizeof(path), "%s/%zu-%zu", directory, number, use);
		err = write_seed(path, (uint8_t)use, &body);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct parser *parser = parser_new();
	int err = argc > 2 && parser ? 0 : -EINVAL;

	for (int i = 2; !err && i < argc; i++)
		err = seed(parser, argv[1], (size_t)i, argv[i]);
	parser_free(parser);
	if (err)
		fprintf(stderr, "seed_worker_answer: %s\n", strerror(-err));
	return err != 0;
}
