// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "sandbox/marked.h"

/* Two kinds of requests. */
enum { IMAGE, LINES };

static struct file_identity file(uint64_t inode)
{
	return (struct file_identity){.device = 1, .inode = inode, .size = 10};
}

static void a_mark_holds_for_one_version_and_one_kind(void **state)
{
	struct marked_file crashed = {file(7), LINES, -ECONNRESET};
	struct file_identity changed = crashed.identity, other = file(8);
	struct marked_files marked = {0};

	(void)state;
	changed.modified.tv_nsec = 1;
	assert_int_equal(marked_find(&marked, &crashed.identity, LINES), 0);
	marked_add(&marked, &crashed);
	assert_int_equal(marked_find(&marked, &crashed.identity, LINES), -ECONNRESET);
	assert_int_equal(marked_find(&marked, &crashed.identity, IMAGE), 0);
	assert_int_equal(marked_find(&marked, &changed, LINES), 0);
	assert_int_equal(marked_find(&marked, &other, LINES), 0);
	vec_free(&marked.list);
}

static void many_marks_push_out_the_oldest(void **state)
{
	struct file_identity first = file(0), second = file(1), last = file(1024);
	struct marked_files marked = {0};

	(void)state;
	for (uint64_t i = 0; i <= 1024; i++) {
		struct marked_file hung = {file(i), IMAGE, -ETIMEDOUT};

		marked_add(&marked, &hung);
	}
	assert_int_equal(marked.list.count, 1024);
	assert_int_equal(marked_find(&marked, &first, IMAGE), 0);
	assert_int_equal(marked_find(&marked, &second, IMAGE), -ETIMEDOUT);
	assert_int_equal(marked_find(&marked, &last, IMAGE), -ETIMEDOUT);
	vec_free(&marked.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_holds_for_one_version_and_one_kind),
		cmocka_unit_test(many_marks_push_out_the_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
