// SPDX-License-Identifier: GPL-2.0-or-later
/* Pushed documents, and their fate if a server rejects them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>

#include "app/monitor/report_push.h"
#include "base/serve/push_queue.h"
#include "output/json/json.h"
#include "report/leak_event.h"
#include "report/triage_report.h"

static struct push_document document(size_t size, char mark)
{
	struct push_document made = {malloc(size), size, strdup("name=x")};

	memset(made.body, mark, size);
	return made;
}

static void a_full_queue_loses_the_oldest_and_counts_them(void **state)
{
	struct push_queue queue = {0};

	(void)state;
	for (int i = 0; i < PUSH_QUEUE_DOCUMENTS + 3; i++)
		push_queue_add(&queue, document(10, (char)i));
	assert_int_equal(queue.count, PUSH_QUEUE_DOCUMENTS);
	assert_int_equal(queue.lost, 3);
	assert_int_equal(queue.items[0].body[0], 3);
	push_queue_free(&queue);
	assert_int_equal(queue.bytes, 0);
}

static void the_bytes_of_a_queue_are_bounded(void **state)
{
	struct push_queue queue = {0};

	(void)state;
	for (int i = 0; i < 40; i++) {
		push_queue_add(&queue, document(1 << 20, (char)i));
		assert_true(queue.bytes <= PUSH_QUEUE_BYTES);
	}
	assert_int_equal(queue.count + queue.lost, 40);
	assert_int_equal(queue.items[queue.count - 1].body[0], 39);
	/* It would fit into no queue: waiting ones are dropped for it, and it is dropped, too. */
	push_queue_add(&queue, document(PUSH_QUEUE_BYTES, 'x'));
	assert_int_equal(queue.count, 0);
	assert_int_equal(queue.lost, 41);
	push_queue_free(&queue);
}

static void one_that_is_being_sent_stays(void **state)
{
	struct push_queue queue = {0};

	(void)state;
	push_queue_add(&queue, document(10, 'a'));
	queue.sending = true;
	for (int i = 0; i < PUSH_QUEUE_DOCUMENTS; i++)
		push_queue_add(&queue, document(10, 'b'));
	assert_int_equal(queue.items[0].body[0], 'a');
	assert_int_equal(queue.lost, 1);
	push_queue_remove(&queue, true);
	assert_int_equal(queue.lost, 1);
	assert_false(queue.sending);
	push_queue_remove(&queue, false);
	assert_int_equal(queue.lost, 2);
	push_queue_free(&queue);
}

static void what_may_pass_is_tried_again(void **state)
{
	static const struct {
		long status;
		enum push_result result;
	} cases[] = {
		{200, PUSH_DELIVERED}, {204, PUSH_DELIVERED}, {0, PUSH_RETRY},
		{408, PUSH_RETRY},     {429, PUSH_RETRY},     {500, PUSH_RETRY},
		{503, PUSH_RETRY},     {301, PUSH_REFUSED},   {400, PUSH_REFUSED},
		{401, PUSH_REFUSED},   {404, PUSH_REFUSED},   {410, PUSH_REFUSED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(push_result_of(cases[i].status, false), cases[i].result);
}

static void waits_double_up_to_half_a_minute(void **state)
{
	(void)state;
	for (unsigned failures = 1; failures < 100; failures++) {
		double middle = fmin(20 * pow(2, failures - 1), 30000);

		for (uint32_t random = 0; random < 100000; random += 997) {
			uint64_t wait = push_backoff_ms(failures, random);

			assert_true((double)wait >= middle * 0.75 && (double)wait < middle * 1.25);
		}
	}
}

static void urls_have_a_host_and_no_password(void **state)
{
	static const struct {
		const char *url, *host; /* NULL: it is refused */
		uint16_t port;
	} cases[] = {
		{"http://pyroscope:4040", "pyroscope", 4040},
		{"https://example.org/a/b?c=d", "example.org", 443},
		{"http://[::1]:80/", "::1", 80},
		{"https://[fe80::1]", "fe80::1", 443},
		{"http://h?x", "h", 80},
		{"http://h/a@b", "h", 80},
		{"http://user:secret@h/", NULL, 0},
		{"http://user@h", NULL, 0},
		{"ftp://h/", NULL, 0},
		{"file:///etc/passwd", NULL, 0},
		{"http://", NULL, 0},
		{"http:///x", NULL, 0},
		{"http://:80", NULL, 0},
		{"http://h:", NULL, 0},
		{"http://h:0", NULL, 0},
		{"http://h:65536", NULL, 0},
		{"http://h:8x", NULL, 0},
		{"http://[::1", NULL, 0},
		{"http://[::1]x", NULL, 0},
		{"http://[]", NULL, 0},
		{"http://h/a b", NULL, 0},
		{"http://h/#x", NULL, 0},
		{"http://h\n/", NULL, 0},
		{"h:80", NULL, 0},
		{"", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char host[PUSH_HOST_SIZE];
		uint16_t port = 0;

		if (push_is_url(cases[i].url) != (cases[i].host != NULL))
			fail_msg("%s", cases[i].url);
		if (!cases[i].host)
			continue;
		assert_true(push_url_host(cases[i].url, host, &port));
		assert_string_equal(host, cases[i].host);
		assert_int_equal(port, cases[i].port);
	}
}

static void expect_series(const struct push_series *series, const char *expected)
{
	char text[512] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	push_series_print(out, series);
	fclose(out);
	assert_string_equal(text, expected);
}

/* Neither a process nor a container can write into another's labels. */
static void series_have_the_proven_labels(void **state)
{
	struct container container = {
		.id = "0123", .namespace = "shop", .pod = "web-0", .name = "web"};

	(void)state;
	expect_series(&(struct push_series){"nginx: worker", "node1", 7, NULL},
		      "nginx__worker%7Bpid%3D7%2Chost%3Dnode1%7D");
	expect_series(&(struct push_series){"a{pod=b,c}&x=%7D", "h,pod=y", 7, NULL},
		      "a_pod_b_c__x__7D%7Bpid%3D7%2Chost%3Dh_pod_y%7D");
	expect_series(&(struct push_series){"", "", 7, &container},
		      "unknown%7Bpid%3D7%2Cnamespace%3Dshop%2Cpod%3Dweb-0%2Ccontainer%3Dweb%7D");
	container.doubt = CONTAINER_UNPROVEN;
	expect_series(&(struct push_series){"x", "h", 7, &container}, "x%7Bpid%3D7%2Chost%3Dh%7D");
}

static void what_goes_on_is_reported_once(void **state)
{
	struct news news = {0};

	(void)state;
	assert_true(news_is_new(&news, 1, 0));
	for (int now_s = 5; now_s < 3600; now_s += 5)
		assert_false(news_is_new(&news, 1, now_s));
	assert_true(news_is_new(&news, 2, 3600));
	/* It came, went, and came again: no news. Much later, it is. */
	assert_false(news_is_new(&news, 1, 3595 + PUSH_QUIET_S - 1));
	assert_true(news_is_new(&news, 1, 3595 + 2 * PUSH_QUIET_S));
	for (uint64_t key = 10; key < 20000; key++)
		assert_true(news_is_new(&news, key, 10000));
	assert_true(news.seen.count <= 4096);
	vec_free(&news.seen);
}

static json_t *event_json(const struct leak_event *event)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *object;

	assert_int_equal(json_event_write(out, event), 0);
	fclose(out);
	object = json_loadb(text, size, 0, NULL);
	assert_non_null(object);
	free(text);
	return object;
}

static void expect_text(json_t *object, const char *text)
{
	assert_string_equal(json_string_value(json_object_get(object, "text")), text);
}

static void events_have_a_sentence_with_cause_and_place(void **state)
{
	struct container container = {
		.id = "0123", .namespace = "shop", .pod = "web-0", .name = "web"};
	struct frame frame = {.function = "session_open"};
	struct frames frames = {{&frame, 1, 1}};
	char group[] = "/shop";
	struct limit limit = {.path = group,
			      .kind = LIMIT_MAX,
			      .bytes = 100 << 20,
			      .used = 95 << 20,
			      .left = {.known = true, .seconds = 180}};
	struct leak_event event = {
		.kind = EVENT_LEAKING,
		.host = "node1",
		.pid = 7,
		.comm = "w\x1b[31m",
		.container = &container,
		.quantity = "heap",
		.bytes_per_s = 1024,
		.confidence = 0.97,
		.site = 0xabc,
		.frames = &frames,
	};
	json_t *object = event_json(&event);

	(void)state;
	expect_text(object, "w\x1b[31m (PID 7) in shop/web-0/web on node1 is leaking at "
			    "session_open: +3.52 MiB an hour, 97 % sure");
	assert_string_equal(json_string_value(json_object_get(object, "event")), "leaking");
	assert_string_equal(json_string_value(json_object_get(object, "next")),
			    "leakmon diagnose -p 7");
	json_decref(object);
	event.kind = EVENT_LIMIT_NEAR;
	event.limit = &limit;
	event.frames = NULL;
	event.container = NULL;
	object = event_json(&event);
	expect_text(object, "memory.max of /shop is near: 95.0 MiB of 100.0 MiB used, reached in "
			    "3.0 min; w\x1b[31m (PID 7) on node1 grows most");
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_queue_loses_the_oldest_and_counts_them),
		cmocka_unit_test(the_bytes_of_a_queue_are_bounded),
		cmocka_unit_test(one_that_is_being_sent_stays),
		cmocka_unit_test(what_may_pass_is_tried_again),
		cmocka_unit_test(waits_double_up_to_half_a_minute),
		cmocka_unit_test(urls_have_a_host_and_no_password),
		cmocka_unit_test(series_have_the_proven_labels),
		cmocka_unit_test(what_goes_on_is_reported_once),
		cmocka_unit_test(events_have_a_sentence_with_cause_and_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
