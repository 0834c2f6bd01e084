// SPDX-License-Identifier: GPL-2.0-or-later
/* The socket to the parser, with this test as a hostile parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/sandbox/child.h"

enum { ID = 5 };

struct ends {
	struct child child; /* the monitor's view */
	int parser;
};

static struct ends open_ends(void)
{
	struct ends ends = {0};
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	ends.child.fd = fds[0];
	ends.parser = fds[1];
	return ends;
}

static void close_ends(struct ends *ends)
{
	close(ends->child.fd);
	if (ends->parser >= 0)
		close(ends->parser);
}

static void answer(const struct ends *ends, uint32_t id, int32_t status, uint64_t size)
{
	struct worker_answer header = {id, status, size};

	assert_int_equal(send(ends->parser, &header, sizeof(header), 0), sizeof(header));
}

static void an_answer_arrives_in_pieces(void **state)
{
	static uint8_t chunk[WORKER_CHUNK_BYTES];
	struct receipt receipt = {.id = ID};
	struct ends ends = open_ends();

	(void)state;
	assert_int_equal(child_receive(&ends.child, &receipt), -EAGAIN);
	answer(&ends, ID, 0, sizeof(chunk) + 3);
	assert_int_equal(child_receive(&ends.child, &receipt), -EAGAIN);
	assert_true(receipt.begun);
	assert_int_equal(send(ends.parser, chunk, sizeof(chunk), 0), sizeof(chunk));
	assert_int_equal(child_receive(&ends.child, &receipt), -EAGAIN);
	assert_int_equal(send(ends.parser, "end", 3, 0), 3);
	assert_int_equal(child_receive(&ends.child, &receipt), 0);
	assert_int_equal(receipt.body.size, sizeof(chunk) + 3);
	assert_memory_equal(receipt.body.data + sizeof(chunk), "end", 3);
	bytes_free(&receipt.body);
	close_ends(&ends);
}

static void an_error_has_no_body(void **state)
{
	struct receipt receipt = {.id = ID};
	struct ends ends = open_ends();

	(void)state;
	answer(&ends, ID, -EBADMSG, 0);
	assert_int_equal(child_receive(&ends.child, &receipt), 0);
	assert_int_equal(receipt.header.status, -EBADMSG);
	close_ends(&ends);
}

static void headers_that_lie_are_refused(void **state)
{
	static const struct worker_answer lies[] = {
		{ID + 1, 0, 0},	     {0, 0, 0},		{ID, 1, 0},
		{ID, -5000, 0},	     {ID, -EBADMSG, 1}, {ID, 0, WORKER_MAX_ANSWER_BYTES + 1},
		{ID, 0, UINT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct receipt receipt = {.id = ID};
		struct ends ends = open_ends();

		answer(&ends, lies[i].id, lies[i].status, lies[i].size);
		assert_int_equal(child_receive(&ends.child, &receipt), -EPROTO);
		close_ends(&ends);
	}
}

static void packets_of_the_wrong_size_are_refused(void **state)
{
	static const char packet[WORKER_CHUNK_BYTES + 1];
	/* In place of the header, and of the ten bytes that it announced. */
	static const struct {
		bool begun;
		size_t size;
		int error;
	} cases[] = {
		{false, 1, -EPROTO}, {false, 15, -EPROTO},   {false, 17, -EPROTO},
		{true, 9, -EPROTO},  {true, 11, -EPROTO},    {true, sizeof(packet), -EPROTO},
		{true, 1, -EPROTO},  {true, 0, -ECONNRESET}, {false, 0, -ECONNRESET},
		{true, 10, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct receipt receipt = {.id = ID};
		struct ends ends = open_ends();

		if (cases[i].begun)
			answer(&ends, ID, 0, 10);
		assert_int_equal(send(ends.parser, packet, cases[i].size, 0), cases[i].size);
		assert_int_equal(child_receive(&ends.child, &receipt), cases[i].error);
		bytes_free(&receipt.body);
		close_ends(&ends);
	}
}

static void memory_grows_with_what_arrives_only(void **state)
{
	struct receipt receipt = {.id = ID};
	struct ends ends = open_ends();

	(void)state;
	answer(&ends, ID, 0, WORKER_MAX_ANSWER_BYTES);
	assert_int_equal(child_receive(&ends.child, &receipt), -EAGAIN);
	assert_true(receipt.body.capacity <= 2 * WORKER_CHUNK_BYTES);
	close(ends.parser);
	ends.parser = -1;
	assert_int_equal(child_receive(&ends.child, &receipt), -ECONNRESET);
	bytes_free(&receipt.body);
	close_ends(&ends);
}

static void descriptors_that_a_parser_sends_are_not_taken(void **state)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))) = {0};
	struct worker_answer header = {ID, 0, 0};
	struct iovec vector = {&header, sizeof(header)};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct receipt receipt = {.id = ID};
	struct ends ends = open_ends();
	int next = dup(0);

	(void)state;
	close(next);
	*CMSG_FIRSTHDR(&message) = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &ends.parser, sizeof(int));
	assert_int_equal(sendmsg(ends.parser, &message, 0), sizeof(header));
	assert_int_equal(child_receive(&ends.child, &receipt), 0);
	assert_int_equal(dup(0), next);
	close(next);
	close_ends(&ends);
}

static void a_call_to_an_ended_child_reports_its_end(void **state)
{
	struct worker_request request = {.id = ID};
	struct ends ends = open_ends();

	(void)state;
	close(ends.parser);
	ends.parser = -1;
	assert_int_equal(child_send(&ends.child, &request, NULL), -EPIPE);
	close_ends(&ends);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_arrives_in_pieces),
		cmocka_unit_test(an_error_has_no_body),
		cmocka_unit_test(headers_that_lie_are_refused),
		cmocka_unit_test(packets_of_the_wrong_size_are_refused),
		cmocka_unit_test(memory_grows_with_what_arrives_only),
		cmocka_unit_test(descriptors_that_a_parser_sends_are_not_taken),
		cmocka_unit_test(a_call_to_an_ended_child_reports_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
