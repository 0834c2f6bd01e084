// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "binary/parse/questions.h"
#include "base/sandbox/worker_process.h"
#include "unit/elf_fixture.h"
#include "unit/decode_answers.h"

static struct worker_request lines_request(uint64_t key, size_t addresses)
{
	struct worker_request request = {
		.kind = PARSE_LINES,
		.file_count = 1,
		.question_size = (uint32_t)(offsetof(struct wire_lines_question, addresses) +
					    addresses * sizeof(uint64_t))};
	struct wire_lines_question question = {.key = key};

	memcpy(request.question, &question, request.question_size);
	return request;
}

static struct worker_request plan_request(const struct wire_plan_question *question)
{
	struct worker_request request = {
		.kind = PARSE_PLAN, .file_count = 1, .question_size = sizeof(*question)};

	memcpy(request.question, question, sizeof(*question));
	return request;
}

static void requests_that_make_no_sense_are_refused(void **state)
{
	const struct worker_request cases[] = {
		{.kind = PARSE_QUESTION_MAX_, .file_count = 1},
		{.kind = UINT32_MAX - 1, .file_count = 1},
		{.kind = PARSE_DESCRIPTION},
		{.kind = PARSE_DESCRIPTION, .file_count = 1, .question_size = 1},
		{.kind = PARSE_IMAGE, .file_count = 2},
		{.kind = PARSE_UNWIND},
		{.kind = PARSE_LINES, .question_size = 8},
		{.kind = PARSE_LINES, .file_count = 1},
		{.kind = PARSE_LINES, .file_count = 3, .question_size = 8},
		{.kind = PARSE_LINES,
		 .file_count = 1,
		 .question_size = sizeof(struct wire_lines_question) + 8},
		{.kind = WORKER_RELEASE, .file_count = 1},
		{.kind = PARSE_PLAN, .question_size = sizeof(struct wire_plan_question)},
		{.kind = PARSE_PLAN, .file_count = 1},
		{.kind = PARSE_PLAN,
		 .file_count = 2,
		 .question_size = sizeof(struct wire_plan_question)},
		plan_request(&(struct wire_plan_question){.probe_at = PROBE_AT_ENTRY + 1}),
	};
	static const int files[] = {-1, -1};
	struct parser *parser = parser_new(&parse_kinds);
	struct bytes body = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(parser_run(parser, &cases[i], files, &body), -EINVAL);
	assert_int_equal(body.size, 0);
	parser_free(parser);
}

static void a_prefix_without_an_end_is_refused(void **state)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct wire_plan_question question = {0};
	struct worker_request request;
	struct parser *parser = parser_new(&parse_kinds);
	_cleanup_(bytes_free) struct bytes body = {0};

	(void)state;
	memset(question.symbol_prefix, 'a', sizeof(question.symbol_prefix));
	request = plan_request(&question);
	assert_int_equal(parser_run(parser, &request, &own, &body), -EINVAL);
	question.symbol_prefix[sizeof(question.symbol_prefix) - 1] = '\0';
	request = plan_request(&question);
	assert_int_equal(parser_run(parser, &request, &own, &body), 0);
	parser_free(parser);
}

static int count_files(void)
{
	int next = dup(0);

	close(next);
	return next;
}

/* Files that differ only in their key: each is opened, and the oldest is closed. */
static void more_files_than_stay_open_can_be_asked_about(void **state)
{
	_cleanup_close_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct parser *parser = parser_new(&parse_kinds);
	int before = count_files();

	(void)state;
	for (uint64_t key = 0; key < 100; key++) {
		struct worker_request request = lines_request(key % 40, 2);
		_cleanup_(line_answer_free) struct line_answer answer = {0};
		_cleanup_(bytes_free) struct bytes body = {0};

		assert_int_equal(parser_run(parser, &request, &own, &body), 0);
		assert_int_equal(decode_lines(&body, 2, &answer), 0);
	}
	assert_int_not_equal(count_files(), before);
	assert_int_equal(
		parser_run(parser, &(struct worker_request){.kind = WORKER_RELEASE}, NULL, NULL),
		0);
	assert_int_equal(count_files(), before);
	parser_free(parser);
}

static void a_file_without_lines_is_reported_as_such(void **state)
{
	struct worker_request request = lines_request(0, 0);
	struct parser *parser = parser_new(&parse_kinds);
	struct elf_fixture elf = {0};
	struct bytes body = {0};
	int fd;

	(void)state;
	fixture_init(&elf);
	fd = fixture_file(&elf, sizeof(elf));
	assert_int_equal(parser_run(parser, &request, &fd, &body), -ENOENT);
	assert_int_equal(body.size, 0);
	close(fd);
	parser_free(parser);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_that_make_no_sense_are_refused),
		cmocka_unit_test(a_prefix_without_an_end_is_refused),
		cmocka_unit_test(more_files_than_stay_open_can_be_asked_about),
		cmocka_unit_test(a_file_without_lines_is_reported_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
