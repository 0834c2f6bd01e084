// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

extern const struct runtime runtime_hotspot, runtime_v8, runtime_go, runtime_mono, runtime_dotnet;

static const struct runtime *const runtimes[] = {
	&runtime_hotspot, &runtime_v8, &runtime_go, &runtime_mono, &runtime_dotnet,
};

const struct runtime *runtime_at(size_t n)
{
	return n < ARRAY_SIZE(runtimes) ? runtimes[n] : NULL;
}

const struct runtime *runtime_find(const char *key)
{
	for (size_t i = 0; key && i < ARRAY_SIZE(runtimes); i++) {
		if (!strcmp(runtimes[i]->key, key))
			return runtimes[i];
	}
	return NULL;
}

static const struct mapping *mapping_at(const struct mapping *first, size_t stride, size_t i)
{
	return (const struct mapping *)((const char *)first + i * stride);
}

static bool is_detected(const struct runtime *runtime, const struct mapping *first, size_t count,
			size_t stride)
{
	for (size_t i = 0; i < count; i++) {
		if (runtime->detect(mapping_at(first, stride, i)))
			return true;
	}
	return false;
}

static const struct runtime *detect(const struct mapping *first, size_t count, size_t stride)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (is_detected(runtimes[i], first, count, stride))
			return runtimes[i];
	}
	return NULL;
}

int runtime_heap_find(const struct mapping *first, size_t count, size_t stride,
		      struct runtime_heap *heap)
{
	const struct runtime *runtime = detect(first, count, stride);
	void *state = NULL;

	if (runtime && runtime->survey) {
		state = calloc(1, runtime->state_size);
		if (!state)
			return -ENOMEM;
		for (size_t i = 0; i < count; i++)
			runtime->survey(state, mapping_at(first, stride, i));
	}
	*heap = (struct runtime_heap){runtime, state};
	return 0;
}

bool runtime_heap_owns(const struct runtime_heap *heap, const struct mapping *mapping)
{
	return heap->runtime && heap->runtime->owns(heap->state, mapping);
}

void runtime_heap_free(struct runtime_heap *heap)
{
	free(heap->state);
	*heap = (struct runtime_heap){0};
}

const struct runtime *runtime_of_process(pid_t pid)
{
	_cleanup_(maps_free) struct maps maps = {0};

	if (maps_read(pid, MAPS_ALL, &maps))
		return NULL;
	return detect(maps.list.items, maps.list.count, sizeof(*maps.list.items));
}

const char *runtime_name(const char *key)
{
	const struct runtime *runtime = runtime_find(key);

	return runtime ? runtime->name : "runtime";
}

char *runtime_tool(const char *key, pid_t pid, char text[RUNTIME_TOOL_SIZE])
{
	const struct runtime *runtime = runtime_find(key);
	const char *from = runtime ? runtime->tool : "";
	FILE *out = fmemopen(text, RUNTIME_TOOL_SIZE, "w");

	*text = '\0';
	if (!out)
		return text;
	for (; *from; from++) {
		if (from[0] == '%' && from[1] == 'd') {
			fprintf(out, "%d", pid);
			from++;
		} else {
			fputc(*from, out);
		}
	}
	fclose(out);
	text[RUNTIME_TOOL_SIZE - 1] = '\0';
	return text;
}
