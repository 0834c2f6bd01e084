// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/otlp/otlp.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "process/proc/container.h"

/* Field numbers of common.proto and resource.proto. */
enum { ANY_VALUE_STRING = 1, ANY_VALUE_INT = 3, ANY_VALUE_DOUBLE };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_NAME = 1, SCOPE_VERSION };

/* -------- resources */

static const struct otlp_attribute *attribute_find(const struct otlp_resource *resource,
						   const char *key)
{
	for (size_t i = 0; i < resource->list.count; i++) {
		if (!strcmp(resource->list.items[i].key, key))
			return &resource->list.items[i];
	}
	return NULL;
}

int otlp_resource_set(struct otlp_resource *resource, const char *key, const char *value)
{
	struct otlp_attribute *attribute;
	char *name, *text;

	if (!value || !*value || attribute_find(resource, key))
		return 0;
	name = strdup(key);
	text = text_inert(value);
	attribute = name && text ? vec_push(&resource->list) : NULL;
	if (attribute) {
		*attribute = (struct otlp_attribute){name, text};
		return 0;
	}
	free(name);
	free(text);
	return -ENOMEM;
}

static int hex_digit(char digit)
{
	const char *const digits = "0123456789abcdef";
	const char *found = digit ? strchr(digits, digit | 0x20) : NULL;

	return found ? (int)(found - digits) : -1;
}

static void percent_decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int high = *text == '%' ? hex_digit(text[1]) : -1;
		int low = high >= 0 ? hex_digit(text[2]) : -1;

		*to++ = (char)(low >= 0 ? high << 4 | low : *text);
		text += low >= 0 ? 2 : 0;
	}
	*to = '\0';
}

int otlp_resource_set_list(struct otlp_resource *resource, const char *list)
{
	_cleanup_free_ char *copy = strdup(list ? list : "");
	char *rest = copy, *pair;
	int error = copy ? 0 : -ENOMEM;

	while (!error && (pair = strsep(&rest, ","))) {
		char *value = strchr(pair, '=');

		if (!value || value == pair)
			continue;
		*value++ = '\0';
		percent_decode(value);
		error = otlp_resource_set(resource, pair, value);
	}
	return error;
}

int otlp_resource_set_container(struct otlp_resource *resource, const struct container *container)
{
	const struct {
		const char *key, *value;
	} pairs[] = {
		{"container.id", container_proven_id(container)},
		{"k8s.namespace.name", container ? container->namespace : NULL},
		{"k8s.pod.name", container ? container->pod : NULL},
		{"k8s.pod.uid", container ? container->pod_uid : NULL},
		{container && container->pod ? "k8s.container.name" : "container.name",
		 container ? container->name : NULL},
	};
	int error = 0;

	if (!pairs[0].value)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(pairs) && !error; i++)
		error = otlp_resource_set(resource, pairs[i].key, pairs[i].value);
	return error;
}

void otlp_resource_free(struct otlp_resource *resource)
{
	for (size_t i = 0; i < resource->list.count; i++) {
		free(resource->list.items[i].key);
		free(resource->list.items[i].value);
	}
	vec_free(&resource->list);
}

/* -------- messages in all requests */

static void key_value(struct protobuf *to, unsigned field, const char *key, struct protobuf *value)
{
	struct protobuf pair = {0};

	protobuf_text(&pair, KEY_VALUE_KEY, key);
	protobuf_message(&pair, KEY_VALUE_VALUE, value);
	protobuf_message(to, field, &pair);
	protobuf_free(&pair);
	protobuf_free(value);
}

void otlp_text(struct protobuf *to, unsigned field, const char *key, const char *value)
{
	struct protobuf any = {0};
	_cleanup_free_ char *inert = value && *value ? text_inert(value) : NULL;

	if (!value || !*value)
		return;
	if (!inert) {
		to->failed = true;
		return;
	}
	protobuf_text(&any, ANY_VALUE_STRING, inert);
	key_value(to, field, key, &any);
}

void otlp_number(struct protobuf *to, unsigned field, const char *key, uint64_t value)
{
	struct protobuf any = {0};

	if (!value)
		return;
	protobuf_number(&any, ANY_VALUE_INT, value);
	key_value(to, field, key, &any);
}

void otlp_real(struct protobuf *to, unsigned field, const char *key, double value)
{
	struct protobuf any = {0};

	if (isnan(value))
		return;
	protobuf_double(&any, ANY_VALUE_DOUBLE, value);
	key_value(to, field, key, &any);
}

void otlp_resource_encode(struct protobuf *to, unsigned field, const struct otlp_resource *resource)
{
	struct protobuf message = {0};

	for (size_t i = 0; i < resource->list.count; i++)
		otlp_text(&message, RESOURCE_ATTRIBUTES, resource->list.items[i].key,
			  resource->list.items[i].value);
	protobuf_message(to, field, &message);
	protobuf_free(&message);
}

void otlp_scope(struct protobuf *to, unsigned field)
{
	struct protobuf scope = {0};

	protobuf_text(&scope, SCOPE_NAME, "leakmon");
	protobuf_text(&scope, SCOPE_VERSION, LEAKMON_VERSION);
	protobuf_message(to, field, &scope);
	protobuf_free(&scope);
}
