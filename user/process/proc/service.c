// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "process/proc/cgroup.h"
#include "process/proc/container.h"
#include "process/proc/maps.h"
#include "process/proc/process_memory.h"
#include "process/proc/stuck_read.h"

#define CONTEXT_VERSION 2
#define ENVIRONMENT_MAX (256u << 10)
#define UNIT_SUFFIX ".service"

static const char *const names[] = {
	[SERVICE_NAME] = "service.name",
	[SERVICE_NAMESPACE] = "service.namespace",
	[SERVICE_VERSION] = "service.version",
	[SERVICE_INSTANCE] = "service.instance.id",
	[SERVICE_ENVIRONMENT] = "deployment.environment.name",
};
_Static_assert(ARRAY_SIZE(names) == SERVICE_ATTRIBUTE_MAX_, "a name for every attribute");

const char *service_attribute_name(enum service_attribute attribute)
{
	return names[attribute];
}

void service_free(struct service *service)
{
	for (size_t i = 0; i < SERVICE_ATTRIBUTE_MAX_; i++)
		free(service->attributes[i]);
	*service = (struct service){0};
}

static int set(struct service *service, enum service_attribute attribute, const char *text,
	       size_t length)
{
	char **place = &service->attributes[attribute];

	length = strnlen(text, length);
	if (*place || !length || length > SERVICE_TEXT_MAX)
		return 0;
	*place = strndup(text, length);
	return *place ? 0 : -ENOMEM;
}

/* -------- the context of an SDK */

/* Field numbers of opentelemetry/proto. */
enum { RESOURCE_ATTRIBUTES = 1 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE };
enum { ANY_VALUE_STRING = 1 };

static size_t size_of(const struct protobuf_reader *bytes)
{
	return (size_t)(bytes->end - bytes->at);
}

static bool field_of(struct protobuf_reader message, unsigned number, struct protobuf_reader *found)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (field.number == number && field.is_bytes) {
			*found = field.content;
			return true;
		}
	}
	return false;
}

/* Returns false if it is no KeyValue. */
static bool take_key_value(const struct protobuf_reader *message, struct service *service,
			   int *error)
{
	struct protobuf_reader key, value, text;

	if (!field_of(*message, KEY_VALUE_KEY, &key) ||
	    !field_of(*message, KEY_VALUE_VALUE, &value))
		return false;
	if (!field_of(value, ANY_VALUE_STRING, &text))
		return true;
	for (size_t i = 0; i < SERVICE_ATTRIBUTE_MAX_ && !*error; i++) {
		if (size_of(&key) == strlen(names[i]) && !memcmp(key.at, names[i], size_of(&key)))
			*error = set(service, i, (const char *)text.at, size_of(&text));
	}
	return true;
}

int service_context_parse(const uint8_t *payload, size_t size, struct service *service)
{
	struct protobuf_reader outer = {payload, payload + size};
	struct protobuf_field field, inner;
	int error = 0;

	while (!error && protobuf_next(&outer, &field)) {
		if (field.number != RESOURCE_ATTRIBUTES || !field.is_bytes ||
		    take_key_value(&field.content, service, &error))
			continue;
		/* The Resource of a ProcessContext is its first field, like attributes here. */
		while (!error && protobuf_next(&field.content, &inner)) {
			if (inner.number == RESOURCE_ATTRIBUTES && inner.is_bytes)
				take_key_value(&inner.content, service, &error);
		}
	}
	return error;
}

/* OTEP 4719, "Header Structure". */
struct context_header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_at_ns, payload;
};
_Static_assert(sizeof(struct context_header) == 32, "as SDKs write it");

static bool header_read(struct memory_source source, uint64_t address,
			struct context_header *header)
{
	return !memory_read_exact(source, address, header, sizeof(*header)) &&
	       !memcmp(header->signature, "OTEL_CTX", sizeof(header->signature)) &&
	       header->version == CONTEXT_VERSION && header->published_at_ns &&
	       header->payload_size && header->payload_size <= SERVICE_CONTEXT_MAX;
}

/* A context in the middle of a replacement is ignored. */
static int context_read(struct memory_source source, uint64_t address, struct service *service)
{
	struct context_header before, after;
	_cleanup_free_ uint8_t *payload = NULL;

	if (!header_read(source, address, &before))
		return 0;
	payload = malloc(before.payload_size);
	if (!payload)
		return -ENOMEM;
	if (memory_read_exact(source, before.payload, payload, before.payload_size) ||
	    !header_read(source, address, &after) || memcmp(&before, &after, sizeof(before)) != 0)
		return 0;
	return service_context_parse(payload, before.payload_size, service);
}

static int context_find(pid_t pid, struct service *service)
{
	static const char *const beginnings[] = {"/memfd:OTEL_CTX", "[anon:OTEL_CTX",
						 "[anon_shmem:OTEL_CTX"};
	_cleanup_(maps_free) struct maps maps = {0};
	int error = 0;

	if (maps_read(pid, MAPS_ALL, &maps))
		return 0;
	for (size_t i = 0; i < maps.list.count && !error && !service->attributes[SERVICE_NAME];
	     i++) {
		const struct mapping *mapping = &maps.list.items[i];

		if (text_begins_with_any(mapping->path, beginnings, ARRAY_SIZE(beginnings)))
			error = context_read(maps.source, mapping->start, service);
	}
	return error;
}

/* -------- its environment, its unit, its container */

/* A page of it may never arrive: see stuck_read.h. */
static size_t environment_read(pid_t pid, char *text)
{
	_cleanup_close_ int fd = -1;
	char path[32];
	size_t size = 0;
	long got = 1;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && got > 0 && size < ENVIRONMENT_MAX) {
		const long arguments[6] = {fd, (long)(text + size), (long)(ENVIRONMENT_MAX - size),
					   (long)size};

		got = stuck_read_call(pid, SYS_pread64, arguments);
		size += got > 0 ? (size_t)got : 0;
	}
	return size;
}

static int environment_find(pid_t pid, struct service *service)
{
	static const char variable[] = "OTEL_SERVICE_NAME=";
	_cleanup_free_ char *text = malloc(ENVIRONMENT_MAX + 1);
	size_t size = text ? environment_read(pid, text) : 0;

	if (!text)
		return -ENOMEM;
	text[size] = '\0';
	for (const char *at = text; at < text + size; at += strlen(at) + 1) {
		if (text_begins(at, variable))
			return set(service, SERVICE_NAME, at + strlen(variable),
				   SERVICE_TEXT_MAX + 1);
	}
	return 0;
}

bool service_unit_of(const char *cgroup, char *unit, size_t size)
{
	const char *end = cgroup, *found = NULL;
	size_t length = 0;

	while ((end = strstr(end, UNIT_SUFFIX))) {
		const char *begin = end;

		while (begin > cgroup && begin[-1] != '/')
			begin--;
		end += strlen(UNIT_SUFFIX);
		/* user@1000.service is a session, not a service. */
		if ((*end && *end != '/') || text_begins(begin, "user@"))
			continue;
		found = begin;
		length = (size_t)(end - begin) - strlen(UNIT_SUFFIX);
	}
	if (!found || !length || length >= size)
		return false;
	memcpy(unit, found, length);
	unit[length] = '\0';
	return true;
}

int service_of_place(const char *cgroup, const char *comm, const struct container *container,
		     struct service *service)
{
	char text[SERVICE_TEXT_MAX + 1];

	if (container_proven_id(container))
		return set(service, SERVICE_NAME, container->name ? container->name : container->id,
			   sizeof(text));
	if (!cgroup || !service_unit_of(cgroup, text, sizeof(text))) {
		if (!comm || !*comm)
			return 0;
		snprintf(text, sizeof(text), "unknown_service:%s", comm);
	}
	return set(service, SERVICE_NAME, text, sizeof(text));
}

int service_find(pid_t pid, const char *comm, const struct container *container,
		 struct service *service)
{
	_cleanup_free_ char *cgroup = NULL;
	bool unified;
	int error = context_find(pid, service);

	if (!error && !service->attributes[SERVICE_NAME])
		error = environment_find(pid, service);
	if (error || service->attributes[SERVICE_NAME])
		return error;
	cgroup = container_proven_id(container) ? NULL : cgroup_memory_path(pid, &unified);
	return service_of_place(cgroup, comm, container, service);
}
