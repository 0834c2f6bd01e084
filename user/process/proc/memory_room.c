// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/memory_room.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "process/proc/cgroup.h"

/* Left unused: stacks, page tables, and growth of others in the group. */
#define KEPT_BYTES (8ull << 20)
#define OTHERS_SHARE 8

/* The usual mount point of a hierarchy, and the names of its files. */
static const struct hierarchy {
	const char *mount, *limit, *usage, *idle;
	bool unified;
} hierarchies[] = {
	{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", true},
	{"/sys/fs/cgroup/unified", "memory.max", "memory.current", "inactive_file", true},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	 "total_inactive_file", false},
};

static FILE *open_in(const char *directory, const char *name)
{
	char path[4096 + 64];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return fopen(path, "re");
}

/* Returns `otherwise` for "max" and unreadable files. */
static uint64_t number_in(const char *directory, const char *name, uint64_t otherwise)
{
	_cleanup_fclose_ FILE *file = open_in(directory, name);
	unsigned long long number;

	return file && fscanf(file, "%llu", &number) == 1 ? number : otherwise;
}

/* Returns cached file contents, which the kernel would drop first. */
static uint64_t idle_in(const char *directory, const char *name)
{
	_cleanup_fclose_ FILE *file = open_in(directory, "memory.stat");
	unsigned long long number;
	char word[64];

	while (file && fscanf(file, "%63s %llu", word, &number) == 2) {
		if (!strcmp(word, name))
			return number;
	}
	return 0;
}

/* The group with the least room. */
struct room {
	uint64_t bytes, limit;
	char directory[4096];
};

static void room_in(const struct hierarchy *hierarchy, const char *directory, struct room *room)
{
	uint64_t limit = number_in(directory, hierarchy->limit, UINT64_MAX);
	uint64_t usage = number_in(directory, hierarchy->usage, 0);
	uint64_t idle = idle_in(directory, hierarchy->idle);

	/* v1 writes "no limit" as a number beyond all memory. */
	if (limit >= INT64_MAX / 2)
		return;
	usage -= MIN(usage, idle);
	if (limit - MIN(limit, usage) >= room->bytes)
		return;
	room->bytes = limit - MIN(limit, usage);
	room->limit = limit;
	snprintf(room->directory, sizeof(room->directory), "%s", directory);
}

/* Checks the group itself and all above it. */
static void room_of(const struct hierarchy *hierarchy, const char *path, struct room *room)
{
	char directory[4096];
	size_t mount = strlen(hierarchy->mount);

	if ((size_t)snprintf(directory, sizeof(directory), "%s%s", hierarchy->mount, path) >=
	    sizeof(directory))
		return;
	for (;;) {
		char *slash = strrchr(directory, '/');

		room_in(hierarchy, directory, room);
		if (strlen(directory) <= mount || !slash)
			return;
		*slash = '\0';
	}
}

static bool is_of(const struct hierarchy *hierarchy, const struct cgroup_path *path)
{
	return hierarchy->unified ? path->hierarchy == 0 : !strcmp(path->controllers, "memory");
}

static void room_find(struct room *room)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};

	*room = (struct room){.bytes = UINT64_MAX};
	if (cgroup_paths_read(getpid(), &paths))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		for (size_t j = 0; j < paths.list.count; j++) {
			if (is_of(&hierarchies[i], &paths.list.items[j]))
				room_of(&hierarchies[i], paths.list.items[j].path, room);
		}
	}
}

uint64_t memory_room(void)
{
	struct room room;

	room_find(&room);
	return room.bytes;
}

static void read_pressure(struct machine_memory *memory)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/pressure/memory", "re");

	if (!file || fscanf(file, "some avg10=%lf %*[^\n] full avg10=%lf", &memory->some_10s,
			    &memory->all_10s) != 2)
		memory->some_10s = memory->all_10s = NAN;
}

bool machine_memory_read(struct machine_memory *memory)
{
	struct machine_memory found = {.available = UINT64_MAX};
	const struct {
		const char *name;
		uint64_t *bytes;
	} lines[] = {
		{"MemTotal:", &found.total},
		{"MemAvailable:", &found.available},
		{"SwapTotal:", &found.swap_total},
		{"SwapFree:", &found.swap_free},
	};
	_cleanup_fclose_ FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[128], name[32];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%31s %llu", name, &kib) != 2)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
			if (!strcmp(name, lines[i].name))
				*lines[i].bytes = (uint64_t)kib << 10;
		}
	}
	if (!found.total || found.available > found.total)
		return false;
	read_pressure(&found);
	*memory = found;
	return true;
}

uint64_t memory_available(void)
{
	struct machine_memory memory;

	return machine_memory_read(&memory) ? memory.available : UINT64_MAX;
}

int memory_room_check(uint64_t bytes, const char *purpose)
{
	struct room room;

	room_find(&room);
	if (room.bytes >= bytes)
		return 0;
	log_error(
		"%s needs about %llu MB, and the memory cgroup %.1000s (limit %llu MB) leaves %llu: raise it, or move leakmon",
		purpose, (unsigned long long)(bytes >> 20), room.directory,
		(unsigned long long)(room.limit >> 20), (unsigned long long)(room.bytes >> 20));
	return -ENOMEM;
}

/* Returns the memory that RLIMIT_DATA counts, in bytes. */
static uint64_t data_bytes(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/status", "re");
	unsigned long long kib;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "VmData: %llu kB", &kib) == 1)
			return kib * 1024;
	}
	return 0;
}

/* Returns the available memory, less a share for other processes. */
static uint64_t machine_room(void)
{
	uint64_t available = memory_available();

	return available == UINT64_MAX ? available : available - available / OTHERS_SHARE;
}

uint64_t memory_room_keep(void)
{
	uint64_t room = MIN(memory_room(), machine_room());
	struct rlimit limit;

	if (room == UINT64_MAX || getrlimit(RLIMIT_DATA, &limit))
		return UINT64_MAX;
	room -= MIN(room, KEPT_BYTES);
	limit.rlim_cur = MIN(limit.rlim_max, data_bytes() + room);
	return setrlimit(RLIMIT_DATA, &limit) ? UINT64_MAX : room;
}

void memory_reserve_hold(struct memory_reserve *reserve, size_t bytes)
{
	void *pages;

	if (reserve->pages || memory_room() < bytes + KEPT_BYTES)
		return;
	pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pages == MAP_FAILED)
		return;
	reserve->pages = pages;
	reserve->size = bytes;
}

void memory_reserve_give_up(struct memory_reserve *reserve)
{
	if (reserve->pages)
		munmap(reserve->pages, reserve->size);
	*reserve = (struct memory_reserve){0};
}
