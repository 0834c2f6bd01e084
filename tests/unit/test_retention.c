// SPDX-License-Identifier: GPL-2.0-or-later
/* Retained sizes, verdicts and paths against their definitions, on random graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/analyze/retention.h"

#define MAX_NODES 64
#define MAX_EDGES 512
#define GRAPHS 1000
#define PASSING 20

struct sample {
	uint32_t blocks, strong, weak, lasting, staying, through, stale;
	bool priced;
	uint8_t costs[MAX_EDGES], groups[MAX_NODES];
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
	sample->staying = random_below(sample->strong - sample->lasting + 1);
	sample->through = random_below(sample->weak + 1);
	sample->priced = random_below(2);
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
	for (uint32_t i = 0; i < edges; i++)
		sample->costs[i] = (uint8_t)(1 + random_below(sample->priced ? 30 : 1));
	for (uint32_t i = 0; i < sample->strong + sample->weak; i++)
		sample->groups[i] = (uint8_t)random_below(sample->priced ? 60 : 1);
	sample->graph = (struct graph){nodes + 1, sample->first, sample->targets};
}

static void sample_compute(const struct sample *sample, struct retention *retention)
{
	const struct retention_costs costs = {.graph = {.edges = sample->costs, .passing = PASSING},
					      .groups = sample->groups};
	struct retention_nodes nodes = {.blocks = sample->blocks,
					.strong = sample->strong,
					.weak = sample->weak,
					.costs = sample->priced ? &costs : NULL,
					.lasting = sample->lasting,
					.staying = sample->staying,
					.through = sample->through,
					.stale = sample->stale};

	assert_int_equal(retention_compute(&sample->graph, sample->sizes, &nodes, retention), 0);
}

/* Marks the nodes that `node` reaches, without entering marked ones. */
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

/*
 * Adds to the groups of each node, one bit each, those of the nodes that point to it in this round;
 * nodes of earlier rounds keep theirs.
 */
static void spread_masks(const struct sample *sample, const bool *done, bool firm, uint32_t *masks)
{
	uint32_t nodes = sample->blocks + sample->strong + sample->weak;

	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < nodes; i++) {
			for (uint32_t j = sample->first[i]; j < sample->first[i + 1]; j++) {
				uint32_t target = sample->targets[j];

				if (done[target] || (firm && sample->costs[j] >= PASSING) ||
				    (masks[target] | masks[i]) == masks[target])
					continue;
				masks[target] |= masks[i];
				changed = true;
			}
		}
	}
}

static void run_round(const struct sample *sample, uint32_t from, uint32_t count, bool firm,
		      uint32_t *masks)
{
	bool done[MAX_NODES] = {0};

	for (uint32_t i = 0; i < sample->blocks; i++)
		done[i] = masks[i];
	for (uint32_t i = from; i < from + count; i++)
		masks[i] = 1u << (i - sample->blocks);
	spread_masks(sample, done, firm, masks);
}

static void expect_retained(const struct sample *sample, const struct retention *retention)
{
	uint32_t strong = sample->blocks, weak = strong + sample->strong,
		 stay = sample->lasting + sample->staying;
	uint32_t masks[MAX_NODES] = {0};

	if (sample->priced)
		run_round(sample, strong, stay, true, masks);
	run_round(sample, strong, stay, false, masks);
	run_round(sample, strong + stay, sample->strong - stay, false, masks);
	run_round(sample, weak, sample->through, false, masks);
	run_round(sample, weak + sample->through, sample->weak - sample->through - sample->stale,
		  false, masks);
	run_round(sample, weak + sample->weak - sample->stale, sample->stale, false, masks);
	for (uint32_t i = 0; i < sample->strong + sample->weak; i++) {
		uint64_t bytes = 0, blocks = 0;

		for (uint32_t j = 0; j < sample->blocks; j++) {
			bytes += masks[j] == 1u << i ? sample->sizes[j] : 0;
			blocks += masks[j] == 1u << i;
		}
		assert_int_equal(retention->retained[i], bytes);
		assert_int_equal(retention->retained_blocks[i], blocks);
	}
}

static void retained_is_what_no_other_root_holds_as_well(void **state)
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

/* Returns bytes that are untracked, and reached by one of the first weak roots. */
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

/* Checks blocks of strong groups that do not last: only those that no lasting one reaches. */
static void expect_passing(const struct sample *sample, const struct retention *retention)
{
	bool lasting[MAX_NODES] = {0}, passing[MAX_NODES] = {0};

	for (uint32_t i = 0; i < sample->strong; i++)
		flood(sample, sample->blocks + i, i < sample->lasting ? lasting : passing);
	for (uint32_t i = 0; i < sample->blocks; i++)
		assert_int_equal(retention_is_passing(retention, i), passing[i] && !lasting[i]);
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
		sample.lasting = sample.staying = sample.through = sample.stale = 0;
		sample.priced = false;
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

/* The cheapest way to each block from the groups [from, from + count), not through `done`. */
static void find_cheapest(const struct sample *sample, uint32_t from, uint32_t count,
			  const bool *done, uint32_t *costs)
{
	uint32_t nodes = sample->blocks + sample->strong + sample->weak;

	for (uint32_t i = from; i < from + count; i++)
		costs[i] = sample->groups[i - sample->blocks];
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < nodes; i++) {
			for (uint32_t j = sample->first[i];
			     costs[i] != UINT32_MAX && !done[i] && j < sample->first[i + 1]; j++) {
				uint32_t target = sample->targets[j];

				if (done[target] || costs[i] + sample->costs[j] >= costs[target])
					continue;
				costs[target] = costs[i] + sample->costs[j];
				changed = true;
			}
		}
	}
}

static uint32_t cost_of_path(const struct sample *sample, const struct retention *retention,
			     uint32_t block)
{
	uint32_t cost = 0, node = block;

	while (node < sample->blocks) {
		uint32_t parent = retention->parents[node], least = UINT32_MAX;

		for (uint32_t i = sample->first[parent]; i < sample->first[parent + 1]; i++) {
			if (sample->targets[i] == node && sample->costs[i] < least)
				least = sample->costs[i];
		}
		assert_int_not_equal(least, UINT32_MAX);
		cost += least;
		node = parent;
	}
	return cost + sample->groups[node - sample->blocks];
}

static void paths_are_the_cheapest_whatever_kind_of_strong_root_they_begin_at(void **state)
{
	(void)state;
	for (size_t i = 0; i < GRAPHS; i++) {
		struct retention retention = {0};
		struct sample sample;
		uint32_t costs[MAX_NODES];
		const bool none[MAX_NODES] = {0};

		sample_make(&sample);
		sample_compute(&sample, &retention);
		memset(costs, 0xff, sizeof(costs));
		find_cheapest(&sample, sample.blocks, sample.strong, none, costs);
		for (uint32_t j = 0; j < sample.blocks; j++) {
			if (retention.verdicts[j] == VERDICT_HELD)
				assert_int_equal(cost_of_path(&sample, &retention, j), costs[j]);
		}
		retention_free(&retention);
	}
}

/* Blocks 0 to 99 are a list, each at the same place of the one before. The first group (105) leads
 * to its head, the second one (106) by five blocks of other kinds to its last third. */
static void a_chain_costs_as_much_as_a_step(void **state)
{
	enum { LIST = 100, BLOCKS = 105, NODES = BLOCKS + 3 };
	uint32_t first[NODES + 1], targets[NODES + 2], places[NODES + 2], kinds[NODES];
	uint8_t edges[NODES + 2], groups[2] = {12, 0};
	uint64_t sizes[BLOCKS];
	struct retention_costs costs = {
		.graph = {.edges = edges, .places = places, .kinds = kinds, .placed = BLOCKS},
		.groups = groups};
	const struct retention_nodes nodes = {
		.blocks = BLOCKS, .strong = 2, .lasting = 2, .costs = &costs};
	struct graph graph = {NODES, first, targets};
	struct retention retention = {0};

	(void)state;
	for (uint32_t i = 0; i < NODES; i++) {
		first[i] = i;
		targets[i] = i + 1;
		places[i] = i < LIST ? 1 : i;
		kinds[i] = i < LIST ? 0 : i;
		edges[i] = 6;
		if (i < BLOCKS)
			sizes[i] = 1;
	}
	targets[LIST - 1] = 0;
	targets[BLOCKS - 1] = 70;
	targets[BLOCKS] = 0;
	targets[BLOCKS + 1] = LIST;
	targets[NODES - 1] = BLOCKS;
	targets[NODES] = BLOCKS + 1;
	edges[NODES] = 1;
	first[NODES] = NODES + 1;
	first[NODES - 1] = NODES - 1;
	assert_int_equal(retention_compute(&graph, sizes, &nodes, &retention), 0);
	assert_int_equal(retention.led[0].blocks, LIST);
	assert_int_equal(retention.distances[LIST - 1], LIST);
	retention_free(&retention);

	/* Without kinds, every step of the list counts. */
	costs.graph.placed = 0;
	assert_int_equal(retention_compute(&graph, sizes, &nodes, &retention), 0);
	assert_int_equal(retention.led[0].blocks, 70);
	retention_free(&retention);

	/* A long chain costs more: here at its 16th step. */
	costs.graph.placed = BLOCKS;
	costs.graph.chain = 200;
	assert_int_equal(retention_compute(&graph, sizes, &nodes, &retention), 0);
	assert_int_equal(retention.led[0].blocks, 70);
	retention_free(&retention);

	/* Steps that pass by are no chain. */
	costs.graph.chain = 0;
	costs.graph.passing = 6;
	assert_int_equal(retention_compute(&graph, sizes, &nodes, &retention), 0);
	assert_int_equal(retention.led[0].blocks, 70);
	retention_free(&retention);
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

/* Finds the root by climbing from every block separately. */
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
		cmocka_unit_test(retained_is_what_no_other_root_holds_as_well),
		cmocka_unit_test(verdicts_and_leaks_are_those_of_the_definition),
		cmocka_unit_test(paths_are_the_shortest),
		cmocka_unit_test(paths_are_the_cheapest_whatever_kind_of_strong_root_they_begin_at),
		cmocka_unit_test(a_chain_costs_as_much_as_a_step),
		cmocka_unit_test(every_block_has_the_root_of_its_path),
		cmocka_unit_test(a_list_of_a_million_blocks_needs_no_stack),
		cmocka_unit_test(doubtful_blocks_take_back_what_is_lost_with_them),
		cmocka_unit_test(doubtful_blocks_are_taken_from_stale_groups_with_what_is_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
