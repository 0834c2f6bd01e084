// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers, times, containers and stacks, shared by all kinds of objects. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "output/json/json.h"
#include "process/symbol/site_label.h"

#define NS_PER_MS UINT64_C(1000000)

void json_container_write(struct json_writer *json, const struct container *container)
{
	if (!container) {
		json_put_null(json, "container");
		return;
	}
	json_open(json, "container", '{');
	json_put_string(json, "id", container->id);
	json_put_string(json, "namespace", container->namespace);
	json_put_string(json, "pod", container->pod);
	json_put_string(json, "name", container->name);
	if (container->doubt) {
		json_put_bool(json, "proven", false);
		json_open(json, "claims", '{');
		json_put_string(json, "namespace", container->claims.namespace);
		json_put_string(json, "pod", container->claims.pod);
		json_put_string(json, "name", container->claims.name);
		json_close(json, '}');
	}
	json_close(json, '}');
}

void json_id_write(struct json_writer *json, const char *key, uint64_t id)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, id);
	json_put_string(json, key, text);
}

void json_time_write(struct json_writer *json, const char *key, const struct timespec *time)
{
	char seconds[32], text[40];
	struct tm utc = {0};

	gmtime_r(&time->tv_sec, &utc);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%03uZ", seconds,
		 (unsigned int)(time->tv_nsec / NS_PER_MS) % 1000);
	json_put_string(json, key, text);
}

void json_amounts_write(struct json_writer *json, const char *key, uint64_t before, uint64_t after)
{
	json_open(json, key, '{');
	json_put_number(json, "before", before);
	json_put_number(json, "after", after);
	json_put_signed(json, "difference", (int64_t)(after - before));
	json_close(json, '}');
}

void json_address_write(struct json_writer *json, uint64_t address)
{
	json_put_number(json, "address", address & INT64_MAX);
}

static void frame_write(struct json_writer *json, const struct frame *frame)
{
	json_open(json, NULL, '{');
	json_put_string(json, "function", frame->function);
	json_put_number(json, "offset", frame->offset);
	json_put_string(json, "module", frame->module);
	json_put_string(json, "build_id", frame->build_id);
	json_address_write(json, frame->address);
	json_put_string(json, "file", frame->file);
	json_put_known(json, "line", frame->line, frame->line);
	json_put_bool(json, "inlined", frame->inlined);
	if (frame->module)
		json_put_number(json, "module_offset", frame->module_offset);
	if (!frame->function)
		json_put_string(json, "why", frame->why);
	json_close(json, '}');
}

/* Writes the site's name as in every output, its frame, and the program's own first frame. */
static void label_write(struct json_writer *json, const struct frames *frames)
{
	const struct frame *frame = site_label_frame(frames), *program = site_label_program(frames);
	_cleanup_free_ char *collapsed =
		frame && frame->function ? site_label_collapse(frame->function) : NULL;

	if (collapsed)
		json_put_string(json, "label", collapsed);
	if (frame)
		json_put_number(json, "label_frame", (uint64_t)(frame - frames->list.items));
	if (program)
		json_put_number(json, "program_frame", (uint64_t)(program - frames->list.items));
}

void json_frames_write(struct json_writer *json, const struct report_site *site)
{
	label_write(json, &site->frames);
	json_open(json, "frames", '[');
	for (size_t i = 0; i < site->frames.list.count; i++)
		frame_write(json, &site->frames.list.items[i]);
	for (size_t i = 0; !site->frames.list.count && i < site->site->depth; i++)
		frame_write(json,
			    &(struct frame){.address = LM_FRAME_ADDRESS(site->site->addresses[i]),
					    .why = "not looked up"});
	json_close(json, ']');
}

void json_stack_write(struct json_writer *json, const uint64_t *addresses, size_t depth,
		      const struct frames *frames)
{
	struct site site = {.addresses = (uint64_t *)addresses, .depth = depth};
	struct report_site stack = {.site = &site, .frames = *frames};

	json_frames_write(json, &stack);
}

void json_managed_share_write(struct json_writer *json, pid_t pid,
			      const struct managed_share *share)
{
	char tool[RUNTIME_TOOL_SIZE];

	if (!share->runtime.key)
		return;
	json_open(json, "managed", '{');
	json_put_string(json, "runtime", share->runtime.key);
	json_put_number(json, "heap_bytes", share->heap_bytes);
	json_put_number(json, "anonymous_bytes", share->anonymous_bytes);
	json_put_string(json, "next", runtime_label_tool(&share->runtime, pid, tool));
	json_close(json, '}');
}
