// SPDX-License-Identifier: GPL-2.0-or-later
/* Prometheus' document as OTLP, and a process's description of its service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "app/monitor/report_push.h"
#include "base/hash.h"
#include "base/protobuf.h"
#include "base/serve/push_queue.h"
#include "output/otlp/otlp.h"
#include "process/proc/container.h"
#include "process/proc/service.h"

/* -------- protobuf */

static void numbers_and_texts_are_read_as_they_were_written(void **state)
{
	struct protobuf message = {0}, inner = {0};
	struct protobuf_reader reader, content;
	struct protobuf_field field;

	(void)state;
	protobuf_text(&inner, 3, "shop");
	protobuf_number(&message, 1, UINT64_MAX);
	protobuf_fixed(&message, 2000, 0x0102030405060708);
	protobuf_message(&message, 7, &inner);
	assert_false(message.failed);
	reader = (struct protobuf_reader){message.bytes, message.bytes + message.count};
	assert_true(protobuf_next(&reader, &field));
	assert_true(field.number == 1 && !field.is_bytes && field.value == UINT64_MAX);
	assert_true(protobuf_next(&reader, &field));
	assert_true(field.number == 2000 && field.value == 0x0102030405060708);
	assert_true(protobuf_next(&reader, &field));
	assert_true(field.number == 7 && field.is_bytes);
	content = field.content;
	assert_true(protobuf_next(&content, &field));
	assert_true(field.number == 3 && field.is_bytes);
	assert_memory_equal(field.content.at, "shop", 4);
	assert_false(protobuf_next(&reader, &field));
	protobuf_free(&message);
	protobuf_free(&inner);
}

/* Every beginning of a message, and lengths beyond its end. */
static void malformed_messages_end_within_their_bytes(void **state)
{
	static const uint8_t whole[] = {0x0a, 0x05, 'h', 'e', 'l', 'l',	 'o',  0x11,
					1,    2,    3,	 4,   5,   6,	 7,    8,
					0x1d, 1,    2,	 3,   4,   0x20, 0x96, 0x01};
	static const uint8_t hostile[][12] = {
		{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'x'},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0x0b, 0x0c, 0x0e, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0},
	};
	struct protobuf_field field;

	(void)state;
	for (size_t size = 0; size <= sizeof(whole); size++) {
		uint8_t *copy = malloc(size + 1);
		struct protobuf_reader reader = {copy, copy + size};
		size_t count = 0;

		memcpy(copy, whole, size);
		while (protobuf_next(&reader, &field))
			count++;
		assert_int_equal(count, size < 7    ? 0
					: size < 16 ? 1
					: size < 21 ? 2
					: size < 24 ? 3
						    : 4);
		free(copy);
	}
	for (size_t i = 0; i < 3; i++) {
		struct protobuf_reader reader = {hostile[i], hostile[i] + sizeof(hostile[i])};

		assert_false(protobuf_next(&reader, &field));
	}
}

/* -------- services */

#define NAME_SHOP "\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop"
#define VERSION_2                                                                                  \
	"\x0a\x16\x0a\x0fservice.version\x12\x03\x0a\x01"                                          \
	"2"

static void a_context_is_a_resource_or_has_one(void **state)
{
	static const char resource[] = NAME_SHOP VERSION_2;
	static const char process[] = "\x0a\x30" NAME_SHOP VERSION_2 "\x12\x05\x0a\x03key";
	static const struct {
		const char *payload;
		size_t size;
	} cases[] = {{resource, sizeof(resource) - 1}, {process, sizeof(process) - 1}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct service service = {0};

		assert_int_equal(service_context_parse((const uint8_t *)cases[i].payload,
						       cases[i].size, &service),
				 0);
		assert_string_equal(service.attributes[SERVICE_NAME], "shop");
		assert_string_equal(service.attributes[SERVICE_VERSION], "2");
		assert_null(service.attributes[SERVICE_INSTANCE]);
		service_free(&service);
	}
	/* Truncated anywhere, it names nothing, or only complete values. */
	for (size_t size = 0; size < sizeof(process); size++) {
		struct service service = {0};
		uint8_t *copy = malloc(size + 1);

		memcpy(copy, process, size);
		assert_int_equal(service_context_parse(copy, size, &service), 0);
		service_free(&service);
		free(copy);
	}
}

static void a_name_that_is_too_long_is_none(void **state)
{
	struct protobuf key_value = {0}, value = {0}, resource = {0};
	struct service service = {0};
	char text[SERVICE_TEXT_MAX + 2];

	(void)state;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	protobuf_text(&value, 1, text);
	protobuf_text(&key_value, 1, "service.name");
	protobuf_message(&key_value, 2, &value);
	protobuf_message(&resource, 1, &key_value);
	assert_int_equal(service_context_parse(resource.bytes, resource.count, &service), 0);
	assert_null(service.attributes[SERVICE_NAME]);
	protobuf_free(&key_value);
	protobuf_free(&value);
	protobuf_free(&resource);
}

static void units_are_those_of_systemd_services(void **state)
{
	static const struct {
		const char *cgroup, *unit; /* NULL: none */
	} cases[] = {
		{"/system.slice/nginx.service", "nginx"},
		{"/system.slice/nginx.service/worker", "nginx"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/web.service", "web"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice", NULL},
		{"/system.slice/nginx.service.d", NULL},
		{"/", NULL},
		{"/.service", NULL},
	};
	char unit[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = service_unit_of(cases[i].cgroup, unit, sizeof(unit));

		assert_int_equal(found, cases[i].unit != NULL);
		if (found)
			assert_string_equal(unit, cases[i].unit);
	}
	assert_false(service_unit_of("/system.slice/nginx.service", unit, 5));
}

/* -------- metrics */

static char *metrics_of(const char *document, const struct otlp_metrics *metrics, size_t *size,
			int expected)
{
	char *text = strdup(document), *bytes = NULL;
	FILE *out = open_memstream(&bytes, size);

	assert_int_equal(otlp_metrics_write(out, text, metrics), expected);
	fclose(out);
	free(text);
	return bytes;
}

static size_t occurrences(const char *bytes, size_t size, const char *text)
{
	size_t count = 0;
	const char *at = bytes;

	while ((at = memmem(at, size - (size_t)(at - bytes), text, strlen(text)))) {
		count++;
		at++;
	}
	return count;
}

#define DOCUMENT                                                                                   \
	"# HELP leakmon_outstanding_bytes Bytes held.\n# TYPE leakmon_outstanding_bytes gauge\n"   \
	"leakmon_outstanding_bytes{comm=\"web\"} 10\n"                                             \
	"leakmon_outstanding_bytes{comm=\"a\\\"b\\\\\",container=\"c\"} 20\n"                      \
	"# HELP leakmon_cpu_seconds_total CPU.\n# TYPE leakmon_cpu_seconds_total counter\n"        \
	"leakmon_cpu_seconds_total 1.5\n"

static void every_process_has_its_own_resource(void **state)
{
	struct otlp_resource host = {0}, web = {0}, other = {0};
	const struct otlp_subject subjects[] = {{"web", NULL, &web}, {"web", NULL, &other}};
	struct otlp_metrics metrics = {.host = &host, .subjects = subjects, .subject_count = 1};
	char *bytes;
	size_t size;

	(void)state;
	assert_int_equal(otlp_resource_set(&host, "host.name", "node1"), 0);
	assert_int_equal(otlp_resource_set(&web, "service.name", "shop"), 0);
	assert_int_equal(otlp_resource_set(&web, "host.name", "node1"), 0);
	assert_int_equal(otlp_resource_set(&other, "service.name", "checkout"), 0);
	assert_int_equal(otlp_resource_set(&other, "host.name", "node1"), 0);
	bytes = metrics_of(DOCUMENT, &metrics, &size, 0);
	/* The resources of web, of the unknown process, and of the machine. */
	assert_int_equal(occurrences(bytes, size, "node1"), 3);
	assert_int_equal(occurrences(bytes, size, "shop"), 1);
	assert_int_equal(occurrences(bytes, size, "a\"b\\"), 1);
	assert_int_equal(occurrences(bytes, size, "leakmon_outstanding_bytes"), 2);
	assert_int_equal(occurrences(bytes, size, "leakmon_cpu_seconds_total"), 1);
	free(bytes);
	/* With two services in one series, it is neither. */
	metrics.subject_count = 2;
	bytes = metrics_of(DOCUMENT, &metrics, &size, 0);
	assert_int_equal(occurrences(bytes, size, "shop"), 0);
	assert_int_equal(occurrences(bytes, size, "checkout"), 0);
	assert_int_equal(occurrences(bytes, size, "node1"), 3);
	free(bytes);
	free(metrics_of("leakmon_x 1\n", &metrics, &size, -EBADMSG));
	free(metrics_of("# HELP leakmon_x X.\nleakmon_x{a=\"b} 1\n", &metrics, &size, -EBADMSG));
	free(metrics_of("# HELP leakmon_x X.\nleakmon_x{a=\"b\"} y\n", &metrics, &size, -EBADMSG));
	otlp_resource_free(&host);
	otlp_resource_free(&web);
	otlp_resource_free(&other);
}

static void attributes_of_the_environment_are_decoded(void **state)
{
	struct otlp_resource resource = {0};

	(void)state;
	assert_int_equal(otlp_resource_set_list(&resource,
						"k8s.node.name=n%2C1,x,=y,a=%zz,host.name="
						"no"),
			 0);
	assert_int_equal(resource.list.count, 3);
	assert_string_equal(resource.list.items[0].key, "k8s.node.name");
	assert_string_equal(resource.list.items[0].value, "n,1");
	assert_string_equal(resource.list.items[1].value, "%zz");
	otlp_resource_free(&resource);
}

static void only_proven_containers_are_attributes(void **state)
{
	struct container container = {.id = "0123", .namespace = "shop", .pod = "w-0", .name = "w"};
	struct otlp_resource resource = {0};

	(void)state;
	assert_int_equal(otlp_resource_set_container(&resource, &container), 0);
	assert_int_equal(resource.list.count, 4);
	otlp_resource_free(&resource);
	container.doubt = CONTAINER_UNPROVEN;
	assert_int_equal(otlp_resource_set_container(&resource, &container), 0);
	assert_int_equal(otlp_resource_set_container(&resource, NULL), 0);
	assert_int_equal(resource.list.count, 0);
}

/* -------- verdicts */

static void only_a_verdict_that_changes_is_a_record(void **state)
{
	static const struct {
		const char *verdict, *was;
		bool suspect, changed;
	} steps[] = {
		{"too-early", NULL, false, false},   {"growing", NULL, true, true},
		{"growing", "growing", true, false}, {"leaking", "growing", true, true},
		{"steady", "leaking", false, true},  {"steady", NULL, false, false},
		{"leaking", NULL, true, true},
	};
	struct hash verdicts = {0};
	const char *was;

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		assert_int_equal(
			verdict_has_changed(&verdicts, 7, steps[i].verdict, steps[i].suspect, &was),
			steps[i].changed);
		if (steps[i].was)
			assert_string_equal(was, steps[i].was);
		else
			assert_null(was);
	}
	hash_free(&verdicts);
}

static void only_what_otlp_calls_retryable_is_sent_again(void **state)
{
	static const struct {
		long status;
		enum push_result result;
	} cases[] = {{200, PUSH_DELIVERED}, {0, PUSH_RETRY},	 {429, PUSH_RETRY},
		     {503, PUSH_RETRY},	    {500, PUSH_REFUSED}, {400, PUSH_REFUSED},
		     {408, PUSH_REFUSED}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(push_result_of(cases[i].status, true), cases[i].result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_texts_are_read_as_they_were_written),
		cmocka_unit_test(malformed_messages_end_within_their_bytes),
		cmocka_unit_test(a_context_is_a_resource_or_has_one),
		cmocka_unit_test(a_name_that_is_too_long_is_none),
		cmocka_unit_test(units_are_those_of_systemd_services),
		cmocka_unit_test(every_process_has_its_own_resource),
		cmocka_unit_test(attributes_of_the_environment_are_decoded),
		cmocka_unit_test(only_proven_containers_are_attributes),
		cmocka_unit_test(only_a_verdict_that_changes_is_a_record),
		cmocka_unit_test(only_what_otlp_calls_retryable_is_sent_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
