// SPDX-License-Identifier: GPL-2.0-or-later
/* With real BPF maps, as in leakmon.bpf.o; skipped without permission to create them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "trace/collect/collect.h"

#define ROOM 8
#define ENDED ((lm_process_key)77 << 32 | 1)

struct fixture {
	struct bpf_side bpf;
	struct collect_options options;
	struct collector *collector;
	uint32_t site_count, process_count, recycle_generation, strays;
	int64_t blocks_used, sites_used;
};

static int array_new(uint32_t value_size)
{
	LIBBPF_OPTS(bpf_map_create_opts, create, .map_flags = BPF_F_MMAPABLE);

	return bpf_map_create(BPF_MAP_TYPE_ARRAY, "array", 4, value_size, ROOM, &create);
}

/* Has room for one index only: it refuses the second. */
static int queue_new(void)
{
	return bpf_map_create(BPF_MAP_TYPE_QUEUE, "queue", 0, 4, 1, NULL);
}

static int hash_new(uint32_t key_size, uint32_t value_size)
{
	return bpf_map_create(BPF_MAP_TYPE_HASH, "hash", key_size, value_size, ROOM, NULL);
}

static const void *map_of(int fd, size_t size)
{
	return mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct bpf_side *bpf = &fixture->bpf;

	*state = fixture;
	bpf->sites_fd = array_new(sizeof(struct lm_site));
	if (bpf->sites_fd < 0)
		return 0;
	bpf->processes_fd = array_new(sizeof(struct lm_process));
	bpf->free_sites_fd = queue_new();
	bpf->free_slots_fd = queue_new();
	bpf->site_index_fd = hash_new(8, 4);
	bpf->process_index_fd = hash_new(8, 4);
	bpf->blocks_fd = hash_new(sizeof(struct lm_block_key), sizeof(struct lm_block));
	bpf->ledgers_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "ledgers", 4,
					 sizeof(struct lm_ledger), ROOM, NULL);
	bpf->sites = map_of(bpf->sites_fd, ROOM * sizeof(struct lm_site));
	bpf->processes = map_of(bpf->processes_fd, ROOM * sizeof(struct lm_process));
	bpf->max_sites = bpf->max_processes = ROOM;
	bpf->site_count = &fixture->site_count;
	bpf->process_count = &fixture->process_count;
	bpf->recycle_generation = &fixture->recycle_generation;
	bpf->strays = &fixture->strays;
	bpf->blocks_used = (__s64 *)&fixture->blocks_used;
	bpf->sites_used = (__s64 *)&fixture->sites_used;
	fixture->site_count = fixture->process_count = 4;
	fixture->collector = collector_new(bpf, &fixture->options);
	return fixture->collector ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	const struct bpf_side *bpf = &fixture->bpf;
	const int fds[] = {bpf->sites_fd,      bpf->processes_fd,  bpf->free_sites_fd,
			   bpf->free_slots_fd, bpf->site_index_fd, bpf->process_index_fd,
			   bpf->blocks_fd,     bpf->ledgers_fd};

	if (fixture->collector) {
		munmap((void *)bpf->sites, ROOM * sizeof(struct lm_site));
		munmap((void *)bpf->processes, ROOM * sizeof(struct lm_process));
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			close(fds[i]);
	}
	collector_free(fixture->collector);
	free(fixture);
	return 0;
}

static struct fixture *fixture_of(void **state)
{
	struct fixture *fixture = *state;

	if (!fixture->collector)
		skip();
	return fixture;
}

static void site_set(const struct fixture *fixture, uint32_t index, const struct lm_site *site)
{
	assert_int_equal(bpf_map_update_elem(fixture->bpf.sites_fd, &index, site, BPF_ANY), 0);
}

static void slot_set(const struct fixture *fixture, uint32_t slot, const struct lm_process *process)
{
	assert_int_equal(bpf_map_update_elem(fixture->bpf.processes_fd, &slot, process, BPF_ANY),
			 0);
}

/* The entry of the queue, or 0. */
static uint32_t pop(int queue_fd)
{
	uint32_t index = 0;

	bpf_map_lookup_and_delete_elem(queue_fd, NULL, &index);
	return index;
}

static size_t stray_sites(const struct fixture *fixture)
{
	size_t count = 0;

	for (uint32_t i = 0; i < ROOM; i++)
		count += fixture->bpf.sites[i].state == LM_INDEX_STRAY;
	return count;
}

/* Every index that the BPF side could not return goes to its queue, as soon as that has room. */
static void strays_go_back_to_their_queue(void **state)
{
	static const struct lm_site stray = {.state = LM_INDEX_STRAY, .hash = 5, .depth = 1};
	static const struct lm_process stray_slot = {.state = LM_PROCESS_STRAY, .tgid = 9};
	static const struct lm_site zero;
	struct fixture *fixture = fixture_of(state);
	struct bpf_side *bpf = &fixture->bpf;

	site_set(fixture, 1, &stray);
	site_set(fixture, 3, &stray);
	slot_set(fixture, 2, &stray_slot);
	fixture->strays = 3;
	assert_int_equal(collector_purge(fixture->collector), 0);
	assert_int_equal(fixture->strays, 1);
	assert_int_equal(stray_sites(fixture), 1);
	assert_int_equal(pop(bpf->free_slots_fd), 2);
	assert_int_equal(bpf->processes[2].state, 0);
	assert_int_equal(bpf->processes[2].tgid, 0);
	assert_int_equal(pop(bpf->free_sites_fd), 1);
	assert_memory_equal(&bpf->sites[1], &zero, sizeof(zero));
	assert_int_equal(collector_purge(fixture->collector), 0);
	assert_int_equal(fixture->strays, 0);
	assert_int_equal(pop(bpf->free_sites_fd), 3);
	assert_int_equal(stray_sites(fixture), 0);
	assert_int_equal(collector_purge(fixture->collector), 0);
	assert_int_equal(pop(bpf->free_sites_fd), 0);
}

/* The same for indexes that user space returns when a process has ended. */
static void what_an_ended_process_had_is_not_lost_to_a_queue_that_refuses(void **state)
{
	static const struct lm_site of_ended = {.process = ENDED, .hash = 5};
	static const struct lm_process ended = {.key = ENDED, .state = LM_PROCESS_EXITED};
	struct fixture *fixture = fixture_of(state);
	struct bpf_side *bpf = &fixture->bpf;

	for (uint32_t i = 1; i <= 3; i++)
		site_set(fixture, i, &of_ended);
	slot_set(fixture, 1, &ended);
	assert_int_equal(collector_purge(fixture->collector), 0);
	assert_int_equal(fixture->strays, 2);
	assert_int_equal(pop(bpf->free_slots_fd), 1);
	assert_int_equal(pop(bpf->free_sites_fd), 1);
	for (uint32_t i = 2; i <= 3; i++) {
		assert_int_equal(collector_purge(fixture->collector), 0);
		assert_int_equal(pop(bpf->free_sites_fd), i);
	}
	assert_int_equal(fixture->strays, 0);
	assert_int_equal(stray_sites(fixture), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(strays_go_back_to_their_queue, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_an_ended_process_had_is_not_lost_to_a_queue_that_refuses, set_up,
			tear_down),
	};

	return cmocka_run_group_tests_name("purge", tests, NULL, NULL);
}
