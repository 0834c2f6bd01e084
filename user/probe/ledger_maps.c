// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/ledger_maps.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

enum map_size { FOR_BLOCKS, FOR_SITES, FOR_PROCESSES };

#define NOT_EXPORTED SIZE_MAX
#define FD(name) offsetof(struct bpf_side, name##_fd)

static const struct {
	const char *name;
	size_t fd_offset;
	enum map_size size;
} maps[] = {
	{"blocks", FD(blocks), FOR_BLOCKS},
	{"site_index", FD(site_index), FOR_SITES},
	{"sites", FD(sites), FOR_SITES},
	{"stacks", NOT_EXPORTED, FOR_SITES},
	{"free_sites", FD(free_sites), FOR_SITES},
	{"process_index", FD(process_index), FOR_PROCESSES},
	{"processes", FD(processes), FOR_PROCESSES},
	{"ledgers", FD(ledgers), FOR_PROCESSES},
	{"free_slots", FD(free_slots), FOR_PROCESSES},
	{"targets", FD(targets), FOR_PROCESSES},
};

void ledger_maps_size(const struct bpf_object *object, const struct loader_config *config)
{
	const uint32_t sizes[] = {
		[FOR_BLOCKS] = (uint32_t)config->max_blocks,
		[FOR_SITES] = config->max_sites,
		[FOR_PROCESSES] = config->max_processes,
	};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(object, maps[i].name),
					 sizes[maps[i].size]);
}

static size_t array_bytes(size_t count, size_t value_size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (count * value_size + page - 1) / page * page;
}

/* Read-only; NULL with errno. */
static const void *map_array(const struct bpf_object *object, const char *name, size_t value_size)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	void *memory = mmap(NULL, array_bytes(bpf_map__max_entries(map), value_size), PROT_READ,
			    MAP_SHARED, bpf_map__fd(map), 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void unmap_array(const void *array, size_t count, size_t value_size)
{
	if (array)
		munmap((void *)array, array_bytes(count, value_size));
}

void ledger_maps_close(struct bpf_side *bpf)
{
	unmap_array(bpf->sites, bpf->max_sites, sizeof(*bpf->sites));
	unmap_array(bpf->stacks, bpf->max_sites, sizeof(*bpf->stacks));
	unmap_array(bpf->processes, bpf->max_processes, sizeof(*bpf->processes));
	bpf->sites = NULL;
	bpf->stacks = NULL;
	bpf->processes = NULL;
}

int ledger_maps_export(struct bpf_side *bpf, const struct bpf_object *object)
{
	bpf->sites = map_array(object, "sites", sizeof(*bpf->sites));
	bpf->stacks = map_array(object, "stacks", sizeof(*bpf->stacks));
	bpf->processes = map_array(object, "processes", sizeof(*bpf->processes));
	if (!bpf->sites || !bpf->stacks || !bpf->processes)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		if (maps[i].fd_offset != NOT_EXPORTED)
			*(int *)(void *)((char *)bpf + maps[i].fd_offset) =
				bpf_object__find_map_fd_by_name(object, maps[i].name);
	}
	bpf->events_fd = bpf_object__find_map_fd_by_name(object, "events");
	return 0;
}

void ledger_fill_exp_table(uint32_t table[9][32])
{
	for (unsigned whole = 1; whole < 32; whole++)
		table[0][whole] = (uint32_t)(exp(-(double)whole) * 4294967296.0);
	for (unsigned row = 1; row <= 8; row++) {
		for (unsigned digit = 1; digit < 16; digit++)
			table[row][digit] =
				(uint32_t)(exp(-ldexp(digit, -4 * (int)row)) * 4294967296.0);
	}
}
