// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the parser of --listen's requests: the input is the head of a request.
 *
 * Seeds: real requests.
 */
#include <stdlib.h>
#include <string.h>

#include "base/serve/http_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_a_refusal(int status)
{
	return status == 400 || status == 404 || status == 405 || status == 505;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Exactly that size: ASan sees reads beyond. */
	char *head = malloc(size ? size : 1);
	struct http_request request = {0};
	int status;

	if (!size || !head) {
		free(head);
		return 0;
	}
	memcpy(head, data, size);
	status = http_request_parse(head, size, &request);
	if (status ? !is_a_refusal(status)
		   : request.document >= HTTP_DOCUMENT_MAX_ || request.target > HTTP_TARGET_HEALTH)
		abort();
	free(head);
	return 0;
}
