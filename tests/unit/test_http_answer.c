// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers of servers to a plain POST: good ones, in pieces of every size, and hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/serve/http_answer.h"
#include "base/serve/plain_post.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Reads `text` in pieces of that size, as long as the answer goes on. Returns the problem; "more":
 * not complete and not closed; NULL: complete.
 */
static const char *read_pieces(struct http_answer *answer, const char *text, size_t size,
			       size_t piece, bool closes)
{
	bool complete = false;

	memset(answer, 0, sizeof(*answer));
	for (size_t at = 0; at < size && !complete; at += piece) {
		size_t length = size - at < piece ? size - at : piece;
		/* Exactly that size: ASan sees reads beyond. */
		char *copy = memcpy(malloc(length), text + at, length);
		const char *problem = http_answer_take(answer, copy, length, &complete);

		free(copy);
		if (problem)
			return problem;
	}
	if (!complete && closes)
		return http_answer_end(answer);
	return complete ? NULL : "more";
}

static const struct {
	const char *text;
	long status;
	uint64_t retry_after_s;
	const char *kept;
	bool closes; /* the end of the connection ends it */
} good[] = {
	{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, 0, "ok", false},
	{"HTTP/1.1 200 OK\r\ncontent-length:2 \r\nContent-Length: 2\r\n\r\nok", 200, 0, "ok",
	 false},
	{"HTTP/1.0 500 \nContent-Length:\t4\n\nbusy", 500, 0, "busy", false},
	{"HTTP/1.1 204\r\nContent-Length: 9\r\n\r\n", 204, 0, "", false},
	{"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 202, 0, "", false},
	{"HTTP/1.1 200 OK\r\n\r\nto the end", 200, 0, "to the end", true},
	{"HTTP/1.1 200 OK\r\n\r\n", 200, 0, "", true},
	{"HTTP/1.1 503 Busy\r\nRetry-After: 17\r\nContent-Length: 0\r\n\r\n", 503, 17, "", false},
	{"HTTP/1.1 503 Busy\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 503, 0, "", false},
	{"HTTP/1.1 503 Busy\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: "
	 "0\r\n\r\n",
	 503, 0, "", false},
	{"HTTP/1.1 429 x\r\nRetry-After: -3\r\nContent-Length: 0\r\n\r\n", 429, 0, "", false},
	{"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789"
	 "\r\n0\r\nX: y\r\n\r\n",
	 200, 0, "abc0123456789", false},
	{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n",
	 200, 0, "ab", false},
	{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nRetry-After: 5\r\nContent-Length: "
	 "5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
	 200, 0, "x", false},
	{"HTTP/1.1 101 Switching\r\n\r\n", 101, 0, "", false},
};

static void good_answers_are_read_in_pieces_of_every_size(void **state)
{
	struct http_answer *answer = malloc(sizeof(*answer));

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		size_t size = strlen(good[i].text);

		for (size_t piece = 1; piece <= size; piece++) {
			const char *problem =
				read_pieces(answer, good[i].text, size, piece, good[i].closes);

			if (problem)
				fail_msg("%s: %s", good[i].text, problem);
			assert_int_equal(answer->status, good[i].status);
			assert_int_equal(answer->retry_after_s, good[i].retry_after_s);
			assert_string_equal(answer->kept, good[i].kept);
			assert_int_equal(answer->kept_size, strlen(good[i].kept));
		}
	}
	free(answer);
}

static void no_truncated_answer_is_complete(void **state)
{
	struct http_answer *answer = malloc(sizeof(*answer));

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		const char *body = strstr(good[i].text, "\r\n\r\n");

		for (size_t size = 0; size < strlen(good[i].text); size++) {
			/* Without a length, the server alone knows the end. */
			if (good[i].closes && body && size >= (size_t)(body - good[i].text) + 4)
				break;
			assert_string_equal(read_pieces(answer, good[i].text, size, 7, false),
					    "more");
			assert_string_equal(read_pieces(answer, good[i].text, size, 7, true),
					    "it closed the connection before its answer was "
					    "complete");
		}
	}
	free(answer);
}

static void invalid_answers_are_refused(void **state)
{
	static const struct {
		const char *text, *problem;
	} cases[] = {
		{"HTTP/2 200 OK\r\n", "its answer is not HTTP/1.1"},
		{"HTTP/1.1 20 OK\r\n", "its answer is not HTTP/1.1"},
		{"HTTP/1.1 2000 OK\r\n", "its answer is not HTTP/1.1"},
		{"HTTP/1.1 099 OK\r\n", "its answer is not HTTP/1.1"},
		{"HTTP/1.1 -20 OK\r\n", "its answer is not HTTP/1.1"},
		{"HTTP/1.1\r\n", "its answer is not HTTP/1.1"},
		{"HTTP/1.\r\n", "its answer is not HTTP/1.1"},
		{"HTTP/1.1 2\r\n", "its answer is not HTTP/1.1"},
		{"\r\n", "its answer is not HTTP/1.1"},
		{"SSH-2.0-OpenSSH\r\n", "its answer is not HTTP/1.1"},
		{"HTTP/1.1 200 OK\r\nno colon\r\n", "it answers with an invalid header"},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
		 "it answers with an invalid Content-Length"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1 2\r\n",
		 "it answers with an invalid Content-Length"},
		{"HTTP/1.1 200 OK\r\nContent-Length:\r\n",
		 "it answers with an invalid Content-Length"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551617\r\n",
		 "it answers with an invalid Content-Length"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
		 "it answers with an invalid Content-Length"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n",
		 "it answers with an unknown Transfer-Encoding"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
		 "it answers with an invalid chunk"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
		 "it answers with an invalid chunk"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
		 "it answers with an invalid chunk"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
		 "it answers with an invalid chunk"},
	};
	struct http_answer *answer = malloc(sizeof(*answer));

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t piece = 1; piece < 8; piece++) {
			const char *problem = read_pieces(answer, cases[i].text,
							  strlen(cases[i].text), piece, false);

			if (!problem || strcmp(problem, cases[i].problem) != 0)
				fail_msg("%s: %s", cases[i].text, problem ? problem : "complete");
		}
	}
	assert_string_equal(read_pieces(answer, "HTTP/1.1 200 \0\r\n", 16, 16, false),
			    "it answers with an invalid line");
	free(answer);
}

/* Repeats `piece` until the answer ends. Returns the number of bytes taken until then. */
static size_t read_endless(struct http_answer *answer, const char *head, const char *piece,
			   const char **problem, bool *complete)
{
	size_t taken = strlen(head), length = strlen(piece);

	memset(answer, 0, sizeof(*answer));
	*problem = http_answer_take(answer, head, taken, complete);
	while (!*problem && !*complete && taken < 1 << 20) {
		*problem = http_answer_take(answer, piece, length, complete);
		taken += length;
	}
	return taken;
}

static void endless_answers_end(void **state)
{
	static const struct {
		const char *head, *piece, *problem; /* NULL: the kept part is enough */
		size_t most;
	} cases[] = {
		{"", "x", "it answers with an invalid line", HTTP_ANSWER_LINE},
		{"HTTP/1.1 200 OK\r\n", "x", "it answers with an invalid line",
		 HTTP_ANSWER_LINE + 17},
		{"HTTP/1.1 200 OK\r\n", "X: y\r\n", "it answers with endless headers",
		 HTTP_ANSWER_HEAD_MAX + 6},
		{"", "HTTP/1.1 100 Continue\r\n\r\n", "it answers with endless headers",
		 HTTP_ANSWER_HEAD_MAX + 25},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n",
		 "it answers with endless headers", HTTP_ANSWER_HEAD_MAX + 9},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x",
		 "it answers with an invalid line", HTTP_ANSWER_LINE + 49},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", NULL,
		 47 + 6 * HTTP_ANSWER_KEPT},
		{"HTTP/1.1 200 OK\r\n\r\n", "x", NULL, 19 + HTTP_ANSWER_KEPT},
		{"HTTP/1.1 200 OK\r\nContent-Length: 999999999999999999\r\n\r\n", "x", NULL,
		 55 + HTTP_ANSWER_KEPT},
	};
	struct http_answer *answer = malloc(sizeof(*answer));

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *problem;
		bool complete;
		size_t taken =
			read_endless(answer, cases[i].head, cases[i].piece, &problem, &complete);

		if (taken > cases[i].most)
			fail_msg("case %zu took %zu bytes", i, taken);
		assert_int_equal(complete, !cases[i].problem);
		if (cases[i].problem)
			assert_string_equal(problem, cases[i].problem);
		else
			assert_int_equal(answer->kept_size, HTTP_ANSWER_KEPT - 1);
	}
	free(answer);
}

static void a_date_is_a_wait(void **state)
{
	struct http_answer *answer = malloc(sizeof(*answer));
	time_t at = time(NULL) + 30;
	char text[160], date[64];

	(void)state;
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&at));
	snprintf(text, sizeof(text),
		 "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", date);
	assert_null(read_pieces(answer, text, strlen(text), 5, false));
	assert_in_range(answer->retry_after_s, 20, 30);
	free(answer);
}

static void requests_have_one_header_of_each_name(void **state)
{
	static const struct {
		const char *url, *query, *headers, *head;
	} cases[] = {
		{"http://h:4040/ingest", "name=x&y", "",
		 "POST /ingest?name=x&y HTTP/1.1\r\nHost: h:4040\r\nUser-Agent: leakmon/" LEAKMON_VERSION
		 "\r\nAccept: */*\r\nContent-Type: text/x\r\n"
		 "Content-Length: 5\r\nConnection: close\r\n\r\n"},
		{"http://[::1]", "",
		 "Authorization: Bearer x\nhost: other\nUser-Agent:\nAccept: \t\n",
		 "POST / HTTP/1.1\r\nContent-Type: text/x\r\nAuthorization: Bearer x\r\n"
		 "host: other\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"},
		{"http://[::1]", "", "\n",
		 "POST / HTTP/1.1\r\nHost: [::1]\r\nUser-Agent: leakmon/" LEAKMON_VERSION
		 "\r\nAccept: */*\r\nContent-Type: text/x\r\n"
		 "Content-Length: 5\r\nConnection: close\r\n\r\n"},
		{"http://h?a=b", "",
		 "content-length: 9\nTransfer-Encoding: chunked\nConnection: keep-alive\n"
		 "Expect: 100-continue\nContent-Type: a/b\nUser-Agent: me\nX: y",
		 "POST /?a=b HTTP/1.1\r\nHost: h\r\nAccept: */*\r\nContent-Type: a/b\r\n"
		 "User-Agent: me\r\nX: y\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char query[32];
		const struct push_document document = {NULL, 5, query};
		const struct push_exchange exchange = {.url = cases[i].url,
						       .type = "text/x",
						       .headers = cases[i].headers,
						       .document = &document};
		char *head;

		snprintf(query, sizeof(query), "%s", cases[i].query);
		head = plain_post_head(&exchange);
		assert_string_equal(head, cases[i].head);
		free(head);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_answers_are_read_in_pieces_of_every_size),
		cmocka_unit_test(no_truncated_answer_is_complete),
		cmocka_unit_test(invalid_answers_are_refused),
		cmocka_unit_test(endless_answers_end),
		cmocka_unit_test(a_date_is_a_wait),
		cmocka_unit_test(requests_have_one_header_of_each_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
