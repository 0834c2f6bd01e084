/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports to write: an ordinary one, and one of a target that picks its names to deceive.
 * fixture_free releases everything.
 */
#ifndef LEAKMON_TESTS_REPORT_FIXTURE_H
#define LEAKMON_TESTS_REPORT_FIXTURE_H

#include "report/analyze/report_build.h"
#include "report/report.h"
#include "process/proc/container.h"

#define SECOND UINT64_C(1000000000)

struct fixture {
	struct snapshot snapshot;
	struct report report;
};

static inline struct snapshot_process *fixture_process(struct fixture *fixture, uint32_t pid,
						       const char *comm, const char *exe)
{
	struct snapshot_process *process = vec_push(&fixture->snapshot.processes);

	process->key = (uint64_t)pid << 32 | 1;
	process->pid = pid;
	memcpy(process->comm, comm, strlen(comm) + 1);
	process->exe = exe ? strdup(exe) : NULL;
	process->exact = true;
	return process;
}

static inline void fixture_container(struct snapshot_process *process, const char *namespace,
				     const char *pod, const char *name)
{
	struct container container = {
		.id = "3f2a91c0b7d54e6688aa0011223344556677889900aabbccddeeff0123456789"};

	container.namespace = (char *)namespace;
	container.pod = (char *)pod;
	container.name = (char *)name;
	process->container = container_copy(&container);
}

/* A site with all other numbers derived from these; its one address is 0x1000 + index. */
static inline struct site *fixture_site(struct snapshot_process *process, uint32_t index,
					uint64_t bytes, uint64_t count, uint64_t oldest_ns)
{
	struct site *site = vec_push(&process->sites);

	*site = (struct site){
		.index = index,
		.bytes = bytes,
		.count = count,
		.allocated_bytes = bytes + 64,
		.allocated_count = count + 2,
		.freed_bytes = 64,
		.freed_count = 2,
		.oldest_ns = oldest_ns,
		.depth = 1,
		.addresses = malloc(sizeof(uint64_t)),
	};
	site->addresses[0] = 0x1000 + index;
	process->outstanding_bytes += bytes;
	process->outstanding_count += count;
	return site;
}

static inline void fixture_lose(struct site *site)
{
	site->lost = LM_LOST_SITES_FULL;
	site->depth = 0;
	free(site->addresses);
	site->addresses = NULL;
}

static inline void fixture_block(struct snapshot_process *process, uint32_t site, uint64_t address,
				 uint64_t size, uint64_t age_ns)
{
	struct block *block = vec_push(&process->blocks);

	*block = (struct block){
		.address = address, .size = size, .age_ns = age_ns, .site = site, .tid = 4242};
}

static inline void fixture_frame(struct report_site *site, struct frame frame)
{
	*(struct frame *)vec_push(&site->frames.list) = frame;
}

/* The frames of an ordinary stack: named, inlined, without line, without symbols, without file. */
static inline void fixture_frames_plain(struct report_site *site)
{
	site->id = 0x00c0ffee;
	fixture_frame(site, (struct frame){.address = 0x55d0c0de1234,
					   .function = "string_copy",
					   .module = "/usr/bin/redis-server",
					   .module_offset = 0x1234,
					   .build_id = "0123abcd",
					   .file = "src/string.c",
					   .line = 7,
					   .inlined = true});
	fixture_frame(site, (struct frame){.address = 0x55d0c0de1234,
					   .function = "list_append",
					   .offset = 0x34,
					   .module = "/usr/bin/redis-server",
					   .module_offset = 0x1234,
					   .build_id = "0123abcd",
					   .file = "src/list.c",
					   .line = 42});
	fixture_frame(site, (struct frame){.address = 0x7f0000001010,
					   .function = "std::vector<int>::reserve(unsigned long)",
					   .offset = 0x10,
					   .module = "/usr/lib/libstdc++.so.6",
					   .module_offset = 0x1010,
					   .build_id = "feed"});
	fixture_frame(site, (struct frame){.address = 0x7f0000402000,
					   .module = "/opt/vendor/libstripped.so",
					   .module_offset = 0x2000,
					   .why = "no symbols"});
	fixture_frame(site, (struct frame){.address = 0x7fffdeadbeef, .why = "in no mapped file"});
}

/* Two creators: one known, one from before the attach. */
static inline void fixture_threads(struct snapshot_process *process)
{
	struct thread_figures *threads = &process->threads;

	*threads = (struct thread_figures){.counted = true,
					   .followed = true,
					   .exact = true,
					   .alive = 12,
					   .dead = 113,
					   .dead_stack_bytes = 113 * (8ull << 20),
					   .dead_resident_bytes = 113 * 8192,
					   .dead_heap_bytes = 7200,
					   .dead_heap_count = 100,
					   .created = 150,
					   .joined = 40,
					   .detached = 7};
	*vec_push(&threads->groups) = (struct dead_group){.count = 100,
							  .oldest_ns = 3600 * SECOND,
							  .newest_ns = SECOND / 10,
							  .stack_bytes = 100 * (8ull << 20),
							  .resident_bytes = 100 * 8192,
							  .heap_bytes = 7200,
							  .heap_count = 100,
							  .start_routine = 0x55d0c0de5000,
							  .addresses = calloc(1, sizeof(uint64_t)),
							  .depth = 1,
							  .site = 12};
	threads->groups.items[0].addresses[0] = 0x55d0c0de1234;
	*vec_push(&threads->groups) = (struct dead_group){.count = 13,
							  .before_attach = 13,
							  .stack_bytes = 13 * (8ull << 20),
							  .resident_bytes = 13 * 8192};
}

static inline void fixture_dead_named(struct report_dead *dead)
{
	dead->id = 0xdead;
	*(struct frame *)vec_push(&dead->stack.list) =
		(struct frame){.address = 0x55d0c0de1234,
			       .function = "request_dispatch",
			       .offset = 0x48,
			       .module = "/usr/bin/redis-server",
			       .module_offset = 0x1234,
			       .build_id = "0123abcd",
			       .file = "src/server.c",
			       .line = 52};
	*(struct frame *)vec_push(&dead->start.list) =
		(struct frame){.address = 0x55d0c0de5000,
			       .function = "request_serve",
			       .module = "/usr/bin/redis-server",
			       .module_offset = 0x5000,
			       .build_id = "0123abcd",
			       .file = "src/server.c",
			       .line = 26};
}

/* Two processes, a cut, a lost site, blocks, drops: everything that a report can contain. */
static inline void fixture_plain(struct fixture *fixture)
{
	const struct report_options options = {.top = 2, .show_allocs = true};
	struct snapshot_process *process;
	struct site *site;

	*fixture = (struct fixture){
		.snapshot = {
			.sequence = 3,
			.time = {.tv_sec = 1795179600, .tv_nsec = 123999999},
			.has_ages = true,
			.has_owners = true,
			.ledger = {
				.allocations = 1000,
				.frees = 980,
				.outstanding = 11,
				.purged = 4,
				.untracked_frees = 6,
				.inherited_frees = 1,
				.filtered = 2,
				.failed = 8,
				.abandoned = 9,
				.dropped = {[LM_DROP_BLOCKS_FULL] = 3, [LM_DROP_MISSED_FREE] = 2},
				.lost_stacks = {[LM_LOST_SITES_FULL] = 1},
				.outstanding_bytes = 12545,
				.scanned = 14,
				.moved = 2}}};
	process = fixture_process(fixture, 77, "idle", NULL);
	fixture_site(process, 9, 1, 1, 90 * SECOND);
	process = fixture_process(fixture, 1234, "redis-server", "/usr/bin/redis-server");
	fixture_container(process, "shop", "cache-0", "redis");
	process->exited = true;
	snapshot_mark_inexact(process, INEXACT_DROPPED);
	snapshot_mark_inexact(process, INEXACT_FILE_UNREAD);
	process->ledger.scanned = 13;
	site = fixture_site(process, 3, 4096, 2, 12399 * SECOND / 1000);
	site->by_dead_bytes = 4000;
	site->by_dead_count = 1;
	fixture_lose(fixture_site(process, 4, 8192, 3, 200 * 3600 * SECOND));
	fixture_site(process, 5, 256, 4, 5 * SECOND);
	fixture_block(process, 3, 0x55d0d0000010, 96, SECOND / 4);
	fixture_block(process, 3, 0x55d0d0000800, 4000, 12399 * SECOND / 1000);
	process->blocks.items[1].by_dead = true;
	fixture_threads(process);
	report_build(&fixture->report, &fixture->snapshot, &options);
	fixture_frames_plain(&fixture->report.processes.items[0].sites.items[1]);
	fixture_dead_named(&fixture->report.processes.items[0].dead.items[0]);
}

/*
 * Adds two kinds of mappings to the heap: 4096 + 2 * 65536 bytes in 3 ranges, and 512 in 1 block.
 */
static inline void fixture_mapped(struct fixture *fixture)
{
	const struct report_options options = {.sort = SORT_BYTES};
	struct snapshot_process *process;
	struct site *site;

	*fixture = (struct fixture){.snapshot = {.sequence = 1,
						 .has_mappings = true,
						 .mapping = {.mapped = 200704,
							     .unmapped = 65536,
							     .outstanding = 135168,
							     .events_lost = 7,
							     .ranges = 3}}};
	process = fixture_process(fixture, 77, "web", NULL);
	process->mapping = fixture->snapshot.mapping;
	site = fixture_site(process, 1, 131072, 2, 0);
	site->family = FAMILY_MAPPING;
	site->kind = KIND_THREAD_STACK;
	site = fixture_site(process, 2, 4096, 1, 0);
	site->family = FAMILY_MAPPING;
	site->kind = KIND_ARENA;
	/* Figures of the heap alone. */
	process->outstanding_bytes = process->outstanding_count = 0;
	fixture_site(process, 3, 512, 1, 0);
	report_build(&fixture->report, &fixture->snapshot, &options);
}

/* Sockets of one call stack, and files from before. */
static inline void fixture_opened(struct fixture *fixture)
{
	const struct report_options options = {.sort = SORT_BYTES};
	struct snapshot_process *process;
	struct site *site;

	*fixture = (struct fixture){.snapshot = {.sequence = 1,
						 .has_ages = true,
						 .has_descriptors = true,
						 .descriptors = {.opened = 120,
								 .before = 3,
								 .closed = 22,
								 .outstanding = 101}}};
	process = fixture_process(fixture, 77, "web", NULL);
	process->descriptors = fixture->snapshot.descriptors;
	site = fixture_site(process, 1, 0, 98, 0);
	site->family = FAMILY_DESCRIPTORS;
	site->kind = KIND_SOCKET;
	site->patterns = strdup("TCP, UNIX-\033STREAM");
	site->allocated_count = 120;
	site->freed_count = 22;
	site = fixture_site(process, 2, 0, 3, 0);
	site->family = FAMILY_DESCRIPTORS;
	site->kind = KIND_FILE;
	site->lost = LM_LOST_BEFORE;
	site->depth = 0;
	process->outstanding_bytes = process->outstanding_count = 0;
	report_build(&fixture->report, &fixture->snapshot, &options);
}

/* Adds quotes, newlines, terminal escapes, invalid UTF-8, and text with reversed direction. */
static inline void fixture_hostile(struct fixture *fixture)
{
	const struct report_options options = {.sort = SORT_COUNT};
	struct report_site *site;

	*fixture = (struct fixture){
		.snapshot = {.sequence = 1, .sampled = true, .time = {.tv_nsec = 999999999}}};
	fixture_process(fixture, 1, "a\"\\\n\033[2Jb", "/tmp/\xff\xc0\xaf/\xed\xa0\x80");
	fixture->snapshot.processes.items[0].exact = false;
	fixture_container(&fixture->snapshot.processes.items[0], NULL, "p\"\xff\n}", "evil\033[2J");
	fixture_site(&fixture->snapshot.processes.items[0], 1, 10, 1, 0);
	report_build(&fixture->report, &fixture->snapshot, &options);
	site = &fixture->report.processes.items[0].sites.items[0];
	site->id = UINT64_MAX;
	fixture_frame(site,
		      (struct frame){.address = 0x1000,
				     .function = "evil\n\t4096 bytes in 2 allocations from stack",
				     .module = "/tmp/lib\xe2\x80\xae.so]\033]0;owned\a",
				     .file = "\xe2\x80\xa8\xc2\x9b\x7f\xf3\xa0\x81\x81/\xf0\x9f",
				     .build_id = "00",
				     .line = UINT32_MAX});
	fixture_frame(site, (struct frame){.address = 0x2000,
					   .function = "stra\xc3\x9f"
						       "e::\xe6\xbc\xa2::\xf0\x9f\x90\x9b",
					   .offset = 1});
	fixture_frame(site, (struct frame){.address = 0x3000,
					   .module = "/dir\r/",
					   .module_offset = 5,
					   .why = "gone\b\b\b\b"});
}

static inline void fixture_free(struct fixture *fixture)
{
	report_free(&fixture->report);
	snapshot_free(&fixture->snapshot);
}

#endif
