// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the sources of container names: the first byte chooses the reader, the rest
 * is the file, or the name of a log.
 *
 * Seeds: config.json and state of runc and crun, Docker's record, names of the kubelet's logs.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc/container.h"
#include "process/proc/container_names.h"

#define ID "3f2a91c0b7d54e6688aa0011223344556677889900aabbccddeeff0123456789"
#define UID "0aa1b2c3-d4e5-4f60-8123-456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_name(const char *name)
{
	check(!name || (*name && strlen(name) <= CONTAINER_NAME_MAX));
}

static int read_file(uint8_t reader, const char *text, size_t length, struct container *container)
{
	_cleanup_free_ char *bundle = NULL, *record = docker_find_config(text, length, ID);

	check(!record || *record == '/');
	if (reader & 8)
		return storage_read_containers(text, length, container);
	switch (reader % 4) {
	case 0:
		return oci_read_config(text, length, true, container);
	case 1:
		return oci_read_config(text, length, false, container);
	case 2:
		return docker_read_config(text, length, container);
	default:
		return oci_read_state(text, length, container, &bundle);
	}
}

/* A name in a directory, which cannot be longer. */
static int read_log_name(uint8_t reader, const char *text, struct container *container)
{
	if (!(reader & 8))
		return container_logs_take_link(text, container) ? 0 : -1;
	memcpy(container->pod_uid, UID, sizeof(UID));
	return container_logs_take_pod(text, container) ? 0 : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container *container = calloc(1, sizeof(*container));
	_cleanup_free_ char *text = NULL;
	int error;

	/* A separate copy, so that a read beyond it is detected; with the NUL that readers add. */
	text = size ? strndup((const char *)data + 1, size - 1) : NULL;
	if (!text || !container) {
		free(container);
		return 0;
	}
	memcpy(container->id, ID, sizeof(ID));
	error = data[0] & 4 ? read_log_name(data[0], text, container)
			    : read_file(data[0], text, strlen(text), container);
	check_name(container->name);
	check_name(container->pod);
	check_name(container->namespace);
	check(memchr(container->pod_uid, 0, sizeof(container->pod_uid)) != NULL);
	check(!strcmp(container->id, ID));
	/* A refusal leaves no names. */
	check(!error || (!container->name && !container->pod && !container->namespace));
	container_free(container);
	return 0;
}
