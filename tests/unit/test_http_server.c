// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/serve/listener.h"

static void requests_get_what_they_ask_for_or_a_status(void **state)
{
	static const struct {
		const char *head;
		int status;
		enum http_target target;
		enum http_document document;
		bool head_only;
	} cases[] = {
		{"GET / HTTP/1.1\r\n\r\n", 0, HTTP_TARGET_DOCUMENT, HTTP_PAGE, false},
		{"GET /metrics HTTP/1.0\n\n", 0, HTTP_TARGET_DOCUMENT, HTTP_METRICS, false},
		{"GET /profile?seconds=5 HTTP/1.1\r\n\r\n", 0, HTTP_TARGET_DOCUMENT, HTTP_PROFILE,
		 false},
		{"HEAD /debug/pprof/heap HTTP/1.1\r\n\r\n", 0, HTTP_TARGET_DOCUMENT, HTTP_PROFILE,
		 true},
		{"GET /healthz HTTP/1.1\r\n\r\n", 0, HTTP_TARGET_HEALTH, HTTP_METRICS, false},
		{"GET /metrics/ HTTP/1.1\r\n\r\n", 404, 0, 0, false},
		{"GET  / HTTP/1.1\r\n\r\n", 400, 0, 0, false},
		{"GET / HTTP/1.1x\r\n\r\n", 505, 0, 0, false},
		{"GET / HTTP/2\r\n\r\n", 505, 0, 0, false},
		{"GET / HTTP\r\n\r\n", 400, 0, 0, false},
		{"GET /\r\n\r\n", 400, 0, 0, false},
		{"\r\n\r\n", 400, 0, 0, false},
		{"\n\n", 400, 0, 0, false},
		{" / HTTP/1.1\n\n", 405, 0, 0, false},
		{"get / HTTP/1.1\n\n", 405, 0, 0, false},
		{"DELETE / HTTP/1.1\n\n", 405, 0, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Exactly that size: ASan sees reads beyond. */
		size_t size = strlen(cases[i].head);
		char *head = memcpy(malloc(size), cases[i].head, size);
		struct http_request request = {0};

		assert_int_equal(http_request_parse(head, size, &request), cases[i].status);
		if (!cases[i].status) {
			assert_int_equal(request.target, cases[i].target);
			assert_int_equal(request.document, cases[i].document);
		}
		assert_int_equal(request.head_only, cases[i].head_only);
		free(head);
	}
}

/* Every beginning of a request, and every byte of it replaced by every other. */
static void no_bytes_are_read_beyond_a_request(void **state)
{
	static const char good[] = "HEAD /debug/pprof/heap?x HTTP/1.1\r\n\r\n";
	struct http_request request;

	(void)state;
	for (size_t size = 1; size < sizeof(good); size++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			char *head = memcpy(malloc(size), good, size);
			int status;

			head[size - 1] = (char)byte;
			status = http_request_parse(head, size, &request);
			assert_true(!status || status == 400 || status == 404 || status == 405 ||
				    status == 505);
			free(head);
		}
	}
}

static void addresses_are_numbers(void **state)
{
	static const char *const good[] = {"9464",	"0",	       ":9464",	 "127.0.0.1:9464",
					   "0.0.0.0:1", "[::1]:65535", "[::]:80"};
	static const char *const bad[] = {"",
					  ":",
					  "x",
					  "65536",
					  "-1",
					  "+80",
					  "80x",
					  "localhost:80",
					  "1.2.3:80",
					  "::1:80",
					  "[::1]",
					  "[::1:80",
					  "[]:80",
					  "1.2.3.4.5:80",
					  "[1.2.3.4]:80"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(listener_is_address(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(listener_is_address(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_get_what_they_ask_for_or_a_status),
		cmocka_unit_test(no_bytes_are_read_beyond_a_request),
		cmocka_unit_test(addresses_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
