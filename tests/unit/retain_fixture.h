/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A result of `leakmon retain` with something of everything; names as hostile as they can be. */
#ifndef LEAKMON_TESTS_RETAIN_FIXTURE_H
#define LEAKMON_TESTS_RETAIN_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "report/retain_result.h"

static inline void fixture_site(struct retain_result *result, uint64_t id, const char *function)
{
	struct retained_site *site = vec_push(&result->sites);
	const struct frame frames[] = {
		{.address = 0x7f0000001000 + id,
		 .function = function,
		 .offset = 16,
		 .module = "/usr/bin/server",
		 .module_offset = 0x1000 + id,
		 .build_id = "0123abcd",
		 .file = "src/list.c",
		 .line = 40},
		{.address = 0x55, .why = "anonymous code"},
	};

	site->id = id;
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		*(struct frame *)vec_push(&site->frames.list) = frames[i];
}

static inline struct retained_class *fixture_class(struct retain_result *result,
						   enum class_kind kind, const char *name,
						   uint64_t blocks, uint64_t bytes)
{
	struct retained_class *class = vec_push(&result->classes);

	class->kind = kind;
	class->name = name;
	class->module = name ? "/usr/bin/server" : NULL;
	class->total = class->verdicts[VERDICT_HELD] = (struct retention_total){blocks, bytes};
	class->distance = 3;
	return class;
}

static inline struct retained_root *fixture_root(struct retain_result *result, enum root_kind kind,
						 const char *name, uint64_t blocks, uint64_t bytes)
{
	struct retained_root *root = vec_push(&result->roots);

	root->kind = kind;
	root->name = name;
	root->module = "/usr/bin/server";
	root->address = 0x555500001000;
	root->offset = 0x1000;
	root->words = 2;
	root->retained = (struct retention_total){blocks, bytes};
	root->led = (struct retention_total){2 * blocks, 2 * bytes};
	root->through = kind == ROOT_STACK;
	if (blocks)
		result->retaining = result->roots.count;
	return root;
}

static inline void fixture_sample(struct retain_result *result, enum verdict verdict, uint32_t root,
				  uint32_t class, uint32_t site, uint64_t blocks, uint64_t bytes)
{
	*(struct retained_sample *)vec_push(&result->samples) =
		(struct retained_sample){verdict, root, class, site, {blocks, bytes}};
}

static inline void fixture_path(struct retain_result *result)
{
	struct retained_path *path = vec_push(&result->paths);

	path->class = 1;
	path->root = 0;
	path->sharing = 290;
	path->sampled = 300;
	*(struct retained_step *)vec_push(&path->steps) =
		(struct retained_step){.address = 0x5000, .size = 24, .width = 1, .repeated = 1};
	*(struct retained_step *)vec_push(&path->steps) = (struct retained_step){.offset = 16,
										 .address = 0x6000,
										 .size = 56,
										 .class = 1,
										 .width = 400,
										 .repeated = 7};
}

/* Strings are static: nothing is interned. Free with retain_result_free(). */
static inline void retain_fixture(struct retain_result *result)
{
	*result = (struct retain_result){.time = {.tv_sec = 1795179600, .tv_nsec = 5000000},
					 .pid = 1234,
					 .comm = "ser\n;ver",
					 .allocator = "glibc 2.27 to 2.42",
					 .settled = true,
					 .stopped = true,
					 .pagemap = true};
	for (size_t i = 0; i < RETAINED_NUMBER_MAX_; i++)
		result->numbers[i] = 1000 + i;
	result->numbers[NUMBER_BROKEN] = result->numbers[NUMBER_BROKEN_FREE_LISTS] = 0;
	result->numbers[NUMBER_BROKEN_AT] = result->numbers[NUMBER_SWAPPED_BYTES] = 0;
	result->totals[VERDICT_HELD] = (struct retention_total){400, 30000};
	result->totals[VERDICT_LOST] = (struct retention_total){10, 720};
	result->direct = (struct retention_total){2, 144};
	result->indirect = (struct retention_total){8, 576};
	result->through = (struct retention_total){3, 33};
	fixture_site(result, 0xabc, "make;</script>\x1b[31m");
	fixture_class(result, CLASS_CXX, "Cache\u202e", 300, 20000);
	fixture_class(result, CLASS_SITE, NULL, 100, 10000)->site = 1;
	fixture_class(result, CLASS_SIZE, NULL, 10, 720)->size = 72;
	fixture_root(result, ROOT_GLOBAL, "cache", 390, 29000);
	fixture_root(result, ROOT_STACK, "main", 10, 1000)->tid = 77;
	strcpy(result->roots.items[1].comm, "worker");
	fixture_root(result, ROOT_THREAD_LOCAL, "per\nthread", 5, 100)->threads = 3;
	fixture_root(result, ROOT_THREAD_LOCAL, NULL, 2, 50)->threads = 2;
	fixture_root(result, ROOT_REGISTER, "rbx", 0, 0)->tid = 77;
	*(struct retained_leak *)vec_push(&result->leaks) =
		(struct retained_leak){2, 1, result->direct, result->indirect, 0x55550000};
	fixture_path(result);
	fixture_sample(result, VERDICT_HELD, 0, 0, 0, 290, 19000);
	fixture_sample(result, VERDICT_HELD, 0, 1, 1, 100, 10000);
	fixture_sample(result, VERDICT_HELD, 1, 0, 0, 10, 1000);
	fixture_sample(result, VERDICT_LOST, RESULT_NONE, 2, 1, 10, 720);
	retain_result_identify(result);
}

#endif
