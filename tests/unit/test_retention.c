// SPDX-License-Identifier: GPL-2.0-or-later
/* Retained sizes and verdicts against the definition: take the root away and count again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/retention.h"
#include "base/cleanup.h"

#define MAX_NODES 64
#define MAX_EDGES 512
#define GRAPHS 1000

struct sample {
	uint32_t blocks, strong, weak, lasting, through, stale;
	uint64_t sizes[MAX_NODES];
	uint32_t first[MAX_NODES + 2];
	uint32_t targets[MAX_EDGES];
	struct graph graph;
};

static uint64_t random_state = 88172645463325252ull;

/* xorshift64: the same graphs on every run. */
static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state % limit);
}

static void sample_make(struct sample *sample)
{
	uint32_t nodes, edges = 0;

	memset(sample, 0, sizeof(*sample));
	sample->blocks = 1 + random_below(40);
	sample->strong = random_below(6);
	sample->weak = random_below(4);
	sample->lasting = random_below(sample->strong + 1);
	sample->through = random_below(sample->weak + 1);
	sample->stale = random_below(sample->weak - sample->through + 1);
	nodes = sample->blocks + sample->strong + sample->weak;
	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t degree = random_below(4);

		if (i < sample->blocks)
			sample->sizes[i] = 1 + random_below(100);
		sample->first[i] = edges;
		/* Self-loops and double edges included. */
		for (uint32_t j = 0; j < degree; j++)
			sample->targets[edges++] = random_below(sample->blocks);
	}
	sample->first[nodes] = edges;
	for (uint32_t i = sample->blocks; i < nodes; i++)
		sample->targets[edges++] = i;
	sample->first[nodes + 1] = edges;
	sample->graph = (struct graph){nodes + 1, sample->first, sample->targets};
}

static void sample_compute(const struct sample *sample, struct retention *retention)
{
	struct retention_nodes nodes = {.blocks = sample->blocks,
					.strong = sample->strong,
					.weak = sample->weak,
					.lasting = sample->lasting,
					.through = sample->through,
					.stale = sample->stale};

	assert_int_equal(retention_compute(&sample->graph, sample->sizes, &nodes, retention), 0);
}

/* Marks what `node` reaches, without entering marked nodes. */
static void flood(const struct sample *sample, uint32_t node, bool *marked)
{
	for (uint32_t i = sample->first[node]; i < sample->first[node + 1]; i++) {
		uint32_t target = sample->targets[i];

		if (marked[target])
			continue;
		marked[target] = true;
		flood(sample, target, marked);
	}
}

/* Bytes that the groups [from, from + count) but for `without` reach, of blocks not in `outside`.
 */
static uint64_t held_without(const struct sample *sample, uint32_t from, uint32_t count,
			     uint32_t without, const bool *outside)
{
	bool marked[MAX_NODES] = {0};
	uint64_t bytes = 0;

	if (outside)
		memcpy(marked, outside, sizeof(marked));
	for (uint32_t i = from; i < from + count; i++) {
		if (i != without)
			flood(sample, i, marked);
	}
	for (uint32_t i = 0; i < sample->blocks; i++)
		bytes += marked[i] && !(outside && outside[i]) ? sample->sizes[i] : 0;
	return bytes;
}

static void expect_retained(const struct sample *sample, const struct retention *retention)
{
	uint32_t weak_from = sample->blocks + sample->strong;
	bool held[MAX_NODES] = {0};

	for (uint32_t i = sample->blocks; i < weak_from; i++)
		flood(sample, i, held);
	for (uint32_t i = 0; i < sample->strong; i++) {
		uint64_t all =
			held_without(sample, sample->blocks, sample->strong, GRAPH_NONE, NULL);
		uint64_t left = held_without(sample, sample->blocks, sample->strong,
					     sample->blocks + i, NULL);

		assert_int_equal(retention->retained[i], all - left);
	}
	for (uint32_t i = 0; i < sample->weak; i++) {
		uint64_t all = held_without(sample, weak_from, sample->weak, GRAPH_NONE, held);
		uint64_t left = held_without(sample, weak_from, sample->weak, weak_from + i, held);

		assert_int_equal(retention->retained[sample->strong + i], all - left);
	}
}

static void retained_size_is_what_would_be_lost_without_the_root(void **state)
{
	(void)state;
	for (size_t i = 0; i < GRAPHS; i++) {
		struct retention retention = {0};
		struct sample sample;

		sample_make(&sample);
		sample_compute(&sample, &retention);
		expect_retained(&sample, &retention);
		retention_free(&retention);
	}
}

static enum verdict verdict_of(const struct sample *sample, uint32_t block)
{
	bool held[MAX_NODES] = {0}, maybe[MAX_NODES] = {0};

	for (uint32_t i = 0; i < sample->strong; i++)
		flood(sample, sample->blocks + i, held);
	for (uint32_t i = 0; i < sample->weak; i++)
		flood(sample, sample->blocks + sample->strong + i, maybe);
	return held[block] ? VERDICT_HELD : maybe[block] ? VERDICT_UNTRACKED : VERDICT_LOST;
}

/* Bytes of what is untracked, and reached by one of the first weak roots. */
static uint64_t led_through(const struct sample *sample, const struct retention *retention)
{
	bool reached[MAX_NODES] = {0};
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < sample->through; i++)
		flood(sample, sample->blocks + sample->strong + i, reached);
	for (uint32_t i = 0; i < sample->blocks; i++) {
		if (reached[i] && retention->verdicts[i] == VERDICT_UNTRACKED)
			bytes += sample->sizes[i];
	}
	return bytes;
}

/* Bytes reached only by the last weak roots; the blocks of these. */
static uint64_t held_by_stale(const struct sample *sample)
{
	uint32_t groups = sample->strong + sample->weak;
	bool others[MAX_NODES] = {0}, stale[MAX_NODES] = {0};
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < groups; i++)
		flood(sample, sample->blocks + i, i < groups - sample->stale ? others : stale);
	for (uint32_t i = 0; i < sample->blocks; i++)
		bytes += stale[i] && !others[i] ? sample->sizes[i] : 0;
	return bytes;
}

static uint64_t led_by_stale(const struct sample *sample, const struct retention *retention)
{
	uint32_t groups = sample->strong + sample->weak;
	uint64_t bytes = 0;

	for (uint32_t i = groups - sample->stale; i < groups; i++)
		bytes += retention->led[i].bytes;
	return bytes;
}

/* Blocks of strong short-lived groups: only those that no lasting one reaches. */
static void expect_passing(const struct sample *sample, const struct retention *retention)
{
	bool lasting[MAX_NODES] = {0}, passing[MAX_NODES] = {0};
	uint64_t held = 0, led = 0;

	for (uint32_t i = 0; i < sample->strong; i++)
		flood(sample, sample->blocks + i, i < sample->lasting ? lasting : passing);
	for (uint32_t i = 0; i < sample->blocks; i++)
		held += passing[i] && !lasting[i] ? sample->sizes[i] : 0;
	for (uint32_t i = sample->lasting; i < sample->strong; i++)
		led += retention->led[i].bytes;
	assert_int_equal(led, held);
}

/* Every lost block belongs to exactly one direct leak, which reaches it; none reaches another. */
static void expect_owners(const struct sample *sample, const struct retention *retention)
{
	for (uint32_t i = 0; i < sample->blocks; i++) {
		bool reached[MAX_NODES] = {0};
		uint32_t owner = retention->owners[i];

		if (retention->verdicts[i] != VERDICT_LOST)
			continue;
		assert_int_equal(retention->verdicts[owner], VERDICT_LOST);
		assert_int_equal(retention->owners[owner], owner);
		flood(sample, owner, reached);
		assert_true(owner == i || reached[i]);
		for (uint32_t j = 0; owner == i && j < sample->blocks; j++) {
			if (j != i && retention->verdicts[j] == VERDICT_LOST &&
			    retention->owners[j] == j)
				assert_false(reached[j]);
		}
	}
}

static void verdicts_and_leaks_are_those_of_the_definition(void **state)
{
	(void)state;
	for (size_t i = 0; i < GRAPHS; i++) {
		struct retention retention = {0};
		uint64_t bytes[VERDICT_MAX_] = {0};
		struct sample sample;

		sample_make(&sample);
		sample_compute(&sample, &retention);
		for (uint32_t j = 0; j < sample.blocks; j++) {
			assert_int_equal(retention.verdicts[j], verdict_of(&sample, j));
			bytes[retention.verdicts[j]] += sample.sizes[j];
		}
		for (size_t j = 0; j < VERDICT_MAX_; j++)
			assert_int_equal(retention.totals[j].bytes, bytes[j]);
		assert_int_equal(retention.direct.bytes + retention.indirect.bytes,
				 bytes[VERDICT_LOST]);
		assert_int_equal(retention.through.bytes, led_through(&sample, &retention));
		assert_int_equal(led_by_stale(&sample, &retention), held_by_stale(&sample));
		expect_passing(&sample, &retention);
		expect_owners(&sample, &retention);
		retention_free(&retention);
	}
}

/* Every step of a path is an edge, and the distance is that of the definition. */
static void paths_are_the_shortest(void **state)
{
	(void)state;
	for (size_t i = 0; i < GRAPHS; i++) {
		struct retention retention = {0};
		struct sample sample;

		sample_make(&sample);
		/* Strong roots are preferred to near ones. */
		sample.lasting = sample.through = sample.stale = 0;
		sample_compute(&sample, &retention);
		for (uint32_t j = 0; j < sample.blocks; j++) {
			uint32_t parent = retention.parents[j];
			bool edge = false;

			if (retention.verdicts[j] == VERDICT_LOST)
				continue;
			assert_int_equal(retention.distances[j], retention.distances[parent] + 1);
			for (uint32_t k = sample.first[parent]; k < sample.first[parent + 1]; k++)
				edge |= sample.targets[k] == j;
			assert_true(edge);
			/* No edge from a nearer node of the same verdict. */
			for (uint32_t k = 0; k < sample.blocks; k++) {
				for (uint32_t e = sample.first[k]; e < sample.first[k + 1]; e++) {
					if (sample.targets[e] == j &&
					    retention.verdicts[k] == retention.verdicts[j])
						assert_true(retention.distances[k] + 1 >=
							    retention.distances[j]);
				}
			}
		}
		retention_free(&retention);
	}
}

static void a_list_of_a_million_blocks_needs_no_stack(void **state)
{
	const uint32_t length = 1000000;
	const struct retention_nodes nodes = {.blocks = length, .strong = 1};
	struct graph graph = {.nodes = length + 2};
	struct retention retention = {0};
	uint64_t *sizes = calloc(length, sizeof(*sizes));

	(void)state;
	graph.first = calloc(length + 3, sizeof(uint32_t));
	graph.targets = calloc(length + 2, sizeof(uint32_t));
	for (uint32_t i = 0; i < length; i++) {
		sizes[i] = 1;
		graph.targets[i] = i + 1 < length ? i + 1 : 0; /* a ring */
		graph.first[i + 1] = i + 1;
	}
	graph.targets[length] = 0;
	graph.first[length + 1] = length + 1;
	graph.targets[length + 1] = length;
	graph.first[length + 2] = length + 2;
	assert_int_equal(retention_compute(&graph, sizes, &nodes, &retention), 0);
	assert_int_equal(retention.retained[0], length);
	assert_int_equal(retention.distances[length - 1], length);
	retention_free(&retention);

	/* The same without its root: one direct leak. */
	graph.targets[length] = length;
	graph.first[length + 1] = length;
	graph.first[length + 2] = length + 1;
	assert_int_equal(retention_compute(&graph, sizes, &nodes, &retention), 0);
	assert_int_equal(retention.direct.blocks, 1);
	assert_int_equal(retention.indirect.blocks, length - 1);
	retention_free(&retention);
	free(graph.first);
	free(graph.targets);
	free(sizes);
}

static void doubtful_blocks_take_back_what_is_lost_with_them(void **state)
{
	/* 0 -> 1 -> 2, 3 alone; nothing holds any of them. */
	static const uint64_t sizes[] = {1, 10, 100, 1000};
	uint32_t first[] = {0, 1, 2, 2, 2, 2}, targets[] = {1, 2};
	const struct retention_nodes nodes = {.blocks = 4};
	struct graph graph = {5, first, targets};
	struct retention retention = {0};
	uint32_t doubtful[] = {1};

	(void)state;
	assert_int_equal(retention_compute(&graph, sizes, &nodes, &retention), 0);
	assert_int_equal(retention.direct.bytes, 1001);
	assert_int_equal(retention_take_back(&graph, sizes, doubtful, 1, &retention), 0);
	assert_int_equal(retention.totals[VERDICT_LOST].bytes, 1001);
	assert_int_equal(retention.totals[VERDICT_UNTRACKED].bytes, 110);
	assert_int_equal(retention.direct.bytes, 1001);
	retention_free(&retention);
}

static void doubtful_blocks_are_taken_from_stale_groups_with_what_is_below(void **state)
{
	/* A strong group (6) leads to 0, two stale ones (7, 8) to 1 and 4; 1 -> 2 -> 3, 2 -> 0,
	 * 5 is lost. */
	static const uint64_t sizes[] = {1, 10, 100, 1000, 10000, 100000};
	uint32_t first[] = {0, 0, 1, 3, 3, 3, 3, 4, 5, 6, 9};
	uint32_t targets[] = {2, 3, 0, 0, 1, 4, 6, 7, 8};
	const struct retention_nodes nodes = {.blocks = 6, .strong = 1, .weak = 2, .stale = 2};
	struct graph graph = {10, first, targets};
	struct retention retention = {0};
	uint32_t doubtful[] = {0, 2, 5};

	(void)state;
	assert_int_equal(retention_compute(&graph, sizes, &nodes, &retention), 0);
	assert_int_equal(retention.led[1].bytes, 1110);
	assert_int_equal(retention.led[2].bytes, 10000);
	assert_int_equal(retention_take_back(&graph, sizes, doubtful, 3, &retention), 0);
	assert_int_equal(retention.led[0].bytes, 1);
	assert_int_equal(retention.led[1].bytes, 10);
	assert_int_equal(retention.led[1].blocks, 1);
	assert_int_equal(retention.retained[1], 10);
	assert_int_equal(retention.led[2].bytes, 10000);
	assert_int_equal(retention.totals[VERDICT_HELD].bytes, 1);
	assert_int_equal(retention.totals[VERDICT_UNTRACKED].bytes, 111110);
	assert_int_equal(retention.totals[VERDICT_LOST].bytes, 0);
	assert_int_equal(retention.parents[3], GRAPH_NONE);
	retention_free(&retention);
}

/* By climbing from every block on its own. */
static uint32_t root_by_climbing(const struct retention *retention, uint32_t block)
{
	uint32_t node = block;

	while (node < retention->blocks && retention->parents[node] != GRAPH_NONE)
		node = retention->parents[node];
	return node < retention->blocks ? ROOT_NONE : node - retention->blocks;
}

static void every_block_has_the_root_of_its_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < GRAPHS; i++) {
		struct retention retention = {0};
		struct sample sample;
		uint32_t *roots;

		sample_make(&sample);
		sample_compute(&sample, &retention);
		roots = retention_roots(&retention);
		for (uint32_t j = 0; j < sample.blocks; j++)
			assert_int_equal(roots[j], root_by_climbing(&retention, j));
		free(roots);
		retention_free(&retention);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retained_size_is_what_would_be_lost_without_the_root),
		cmocka_unit_test(verdicts_and_leaks_are_those_of_the_definition),
		cmocka_unit_test(paths_are_the_shortest),
		cmocka_unit_test(every_block_has_the_root_of_its_path),
		cmocka_unit_test(a_list_of_a_million_blocks_needs_no_stack),
		cmocka_unit_test(doubtful_blocks_take_back_what_is_lost_with_them),
		cmocka_unit_test(doubtful_blocks_are_taken_from_stale_groups_with_what_is_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
