// SPDX-License-Identifier: GPL-2.0-or-later
/* smaps is read field by field; text that the kernel never writes is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/cleanup.h"
#include "heap/memory/memory_parts.h"
#include "heap/memory/smaps.h"

static int parse(const char *text, struct smaps *smaps)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	return smaps_parse(file, smaps);
}

static const char two[] = "00400000-00452000 rw-p 00000000 08:02 173521   /usr/bin/a b\\012c\n"
			  "Size:                328 kB\n"
			  "Rss:                 100 kB\n"
			  "Pss:                  50 kB\n"
			  "Private_Dirty:         8 kB\n"
			  "Anonymous:             8 kB\n"
			  "VmFlags: rd wr mr mw me ac sd\n"
			  "00452000-00453000 rw-p 00000000 00:00 0\n"
			  "Rss:                   4 kB\n"
			  "Shared_Hugetlb:        1 kB\n"
			  "Private_Hugetlb:       2 kB\n"
			  "Rss_of_the_future:     9 kB\n"
			  "AnonHugePages:      2048 kB\n";

static void every_field_goes_to_its_mapping(void **state)
{
	struct smaps smaps;
	struct smaps_figures sum;

	(void)state;
	assert_int_equal(parse(two, &smaps), 0);
	assert_int_equal(smaps.list.count, 2);
	assert_string_equal(smaps.list.items[0].mapping.path, "/usr/bin/a b\\012c");
	assert_int_equal(smaps.list.items[0].figures.size, 328 << 10);
	assert_int_equal(smaps.list.items[0].figures.pss, 50 << 10);
	assert_int_equal(smaps.list.items[0].figures.anonymous, 8 << 10);
	assert_int_equal(smaps.list.items[1].figures.rss, 4 << 10);
	assert_int_equal(smaps.list.items[1].figures.hugetlb, 3 << 10);
	assert_int_equal(smaps.list.items[1].figures.anon_huge, 2 << 20);
	sum = smaps_sum(&smaps);
	assert_int_equal(sum.rss, 104 << 10);
	assert_int_equal(mapping_owner(&smaps, 0), MEMORY_FILES);
	assert_int_equal(mapping_owner(&smaps, 1), MEMORY_MODULE_DATA);
	smaps_free(&smaps);
}

static void a_mapping_that_grew_while_it_was_read_counts_once(void **state)
{
	struct smaps smaps;

	(void)state;
	assert_int_equal(parse("01000000-02000000 rw-p 00000000 00:00 0 [heap]\n"
			       "Rss:                 100 kB\n"
			       "01000000-03000000 rw-p 00000000 00:00 0 [heap]\n"
			       "Rss:                 200 kB\n"
			       "04000000-05000000 rw-p 00000000 00:00 0\n"
			       "Rss:                   1 kB\n",
			       &smaps),
			 0);
	assert_int_equal(smaps.list.count, 2);
	assert_int_equal(smaps.list.items[0].mapping.end, 0x3000000);
	assert_int_equal(smaps_sum(&smaps).rss, 201 << 10);
	smaps_free(&smaps);
}

static void what_is_no_smaps_is_refused(void **state)
{
	static const char *const texts[] = {
		"Rss: 4 kB\n",
		"00400000 rw-p\n",
		"0040000000452000 rw-p 00000000 08:02 173521\n",
	};
	struct smaps smaps = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(parse(texts[i], &smaps), -EBADMSG);
		assert_int_equal(smaps.list.count, 0);
	}
}

static void sizes_beyond_64_bits_count_as_nothing(void **state)
{
	struct smaps smaps;

	(void)state;
	assert_int_equal(parse("00400000-00452000 rw-p 00000000 00:00 0\n"
			       "Rss: 18446744073709551615 kB\nPss: -1 kB\nSwap: x kB\n",
			       &smaps),
			 0);
	assert_int_equal(smaps.list.items[0].figures.rss, 0);
	assert_int_equal(smaps.list.items[0].figures.pss, 0);
	assert_int_equal(smaps.list.items[0].figures.swap, 0);
	smaps_free(&smaps);
}

static void an_owner_is_known_by_what_the_kernel_calls_it(void **state)
{
	static const struct {
		const char *line;
		enum memory_part part;
	} cases[] = {
		{"7f0000000000-7f0000001000 rw-s 00000000 00:01 2049 /memfd:x (deleted)\n",
		 MEMORY_SHARED},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:01 0 /SYSV00000000 (deleted)\n",
		 MEMORY_SHARED},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:01 9 /dev/zero (deleted)\n",
		 MEMORY_SHARED},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:19 9 /dev/shm/y\n", MEMORY_SHARED},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:19 9 /memfd:file\n", MEMORY_FILES},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [stack]\n", MEMORY_STACKS},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [anon:pool]\n", MEMORY_NAMED},
		{"7f0000000000-7f0000001000 r-xp 00000000 00:00 0 [vdso]\n", MEMORY_KERNEL},
		{"7f0000000000-7f0000001000 rwxp 00000000 00:00 0\n", MEMORY_CODE},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n", MEMORY_ANONYMOUS},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [heap]\n", MEMORY_ANONYMOUS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct smaps smaps;

		assert_int_equal(parse(cases[i].line, &smaps), 0);
		assert_int_equal(mapping_owner(&smaps, 0), cases[i].part);
		smaps_free(&smaps);
	}
}

/*
 * Relocated data that a child has not written to, its own copies, a heap half of which is shared;
 * shared memory is nobody's copy.
 */
static void pages_shared_by_fork_are_told_from_own_ones(void **state)
{
	static const char text[] =
		"00400000-00410000 rw-p 00000000 08:02 17   /usr/bin/a\n"
		"Rss:                  60 kB\n"
		"Private_Clean:        40 kB\n"
		"Private_Dirty:         8 kB\n"
		"Shared_Dirty:         12 kB\n"
		"Anonymous:            20 kB\n"
		"00500000-00600000 rw-p 00000000 00:00 0    [heap]\n"
		"Rss:                 800 kB\n"
		"Private_Clean:         4 kB\n"
		"Private_Dirty:       396 kB\n"
		"Shared_Dirty:        400 kB\n"
		"Anonymous:           800 kB\n"
		"00700000-00800000 rw-s 00000000 00:01 9    /dev/zero (deleted)\n"
		"Rss:                 100 kB\n"
		"Shared_Dirty:        100 kB\n"
		"Anonymous:           100 kB\n";
	struct memory_forked forked;
	struct smaps smaps;

	(void)state;
	assert_int_equal(parse(text, &smaps), 0);
	forked = smaps_forked(&smaps);
	assert_int_equal(forked.own, 408 << 10);
	assert_int_equal(forked.shared, 412 << 10);
	smaps_free(&smaps);
}

static void a_status_has_the_figures_that_no_mapping_has(void **state)
{
	static const char text[] = "Name:\tx\nUid:\t1\t33\t1\t1\nNSpid:\t4711\t12\nVmPTE:\t      "
				   "84 kB\nVmLck:\t 4 kB\n";
	_cleanup_fclose_ FILE *file = fmemopen((void *)text, strlen(text), "r");
	struct memory_status status;

	(void)state;
	assert_int_equal(memory_status_parse(file, &status), 0);
	assert_int_equal(status.page_tables, 84 << 10);
	assert_int_equal(status.locked, 4 << 10);
	assert_int_equal(status.own_pid, 12);
	assert_int_equal(status.uid, 33);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_goes_to_its_mapping),
		cmocka_unit_test(a_mapping_that_grew_while_it_was_read_counts_once),
		cmocka_unit_test(what_is_no_smaps_is_refused),
		cmocka_unit_test(sizes_beyond_64_bits_count_as_nothing),
		cmocka_unit_test(an_owner_is_known_by_what_the_kernel_calls_it),
		cmocka_unit_test(pages_shared_by_fork_are_told_from_own_ones),
		cmocka_unit_test(a_status_has_the_figures_that_no_mapping_has),
	};

	return cmocka_run_group_tests_name("smaps", tests, NULL, NULL);
}
