// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's counts for a process, and the contents of its slab caches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/memory/kernel_counts.h"
#include "heap/memory/slab_caches.h"

#define SLABINFO                                                                                   \
	"slabinfo - version: 2.1\n"                                                                \
	"# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : "      \
	"tunables "                                                                                \
	"<limit>\n"

static int parse(const char *text, struct slab_caches *caches)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	return slab_caches_parse(file, caches);
}

static void a_cache_grows_by_its_objects(void **state)
{
	static const char before[] =
		SLABINFO "dentry  1000 2000 192 21 1 : tunables 0 0 0 : slabdata 96 96 0\n"
			 "kmalloc-64  10 20 64 64 1 : tunables 0 0 0 : slabdata 1 1 0\n"
			 "kmalloc-cg-1k  10 20 1024 16 4 : tunables 0 0 0 : slabdata 1 1 0\n";
	static const char after[] =
		SLABINFO "dentry  1500 2000 192 21 1 : tunables 0 0 0 : slabdata 96 96 0\n"
			 "kmalloc-64  20 20 64 64 1 : tunables 0 0 0 : slabdata 1 1 0\n"
			 "kmalloc-cg-1k  9 20 1024 16 4 : tunables 0 0 0 : slabdata 1 1 0\n";
	_cleanup_(slab_caches_free) struct slab_caches was = {0}, is = {0};

	(void)state;
	assert_int_equal(parse(before, &was), 0);
	assert_int_equal(parse(after, &is), 0);
	assert_int_equal(is.list.count, 3);
	assert_int_equal(slab_caches_growth(&was, &is, "dentry"), 500 * 192);
	assert_int_equal(slab_caches_growth(&was, &is, ""), 10 * 64 - 1024);
	assert_int_equal(slab_caches_growth(&was, &is, "unknown"), -1);
}

static void another_text_is_none_of_caches(void **state)
{
	struct slab_caches caches = {0};

	(void)state;
	assert_int_equal(parse("dentry 1 2 3\n", &caches), -EBADMSG);
	assert_int_equal(parse("slabinfo - version: 2.1\n\nx\n", &caches), 0);
	assert_int_equal(caches.list.count, 0);
}

static void a_name_that_leads_elsewhere_is_not_followed(void **state)
{
	(void)state;
	assert_true(slab_cache_is_reclaimable("../../../tmp"));
	assert_true(slab_cache_is_reclaimable("no such cache"));
	assert_false(slab_cache_is_reclaimable("")); /* kmalloc */
}

static void locks_count_for_their_owner(void **state)
{
	static const char text[] = "1: POSIX  ADVISORY  WRITE 812 08:01:1234 0 EOF\n"
				   "2: FLOCK  ADVISORY  WRITE 812 08:01:1234 0 EOF\n"
				   "2: -> POSIX  ADVISORY  WRITE 812 08:01:1234 0 EOF\n"
				   "3: POSIX  ADVISORY  READ  8120 08:01:1234 0 EOF\n"
				   "4: POSIX  ADVISORY  READ  812 08:01:99 5 9\n"
				   "5: POSIX\n";
	_cleanup_fclose_ FILE *file = fmemopen((void *)text, strlen(text), "r");
	bool whole = false;

	(void)state;
	assert_int_equal(kernel_counts_locks(file, 812, &whole), 2);
	assert_true(whole);
}

static void a_line_counts_by_its_beginning(void **state)
{
	char text[2048] = "pos:\t0\ninotify wd:3 ino:9\n";
	_cleanup_fclose_ FILE *file = NULL;
	bool whole = false;

	/* A line that is too long for the reader's buffer is one. */
	memset(text + strlen(text), 'x', 1500);
	strcat(text, "\ninotify wd:1 ino:9\n x inotify wd:1\n");
	(void)state;
	file = fmemopen(text, strlen(text), "r");
	assert_int_equal(kernel_counts_lines(file, "inotify wd:", &whole), 2);
	assert_true(whole);
}

/* Of this process itself. */
static void what_a_process_has_is_counted(void **state)
{
	struct kernel_counts before, after;
	struct epoll_event event = {.events = EPOLLIN};
	int inotify = inotify_init1(0), epoll = epoll_create1(0), event_fd = eventfd(0, 0);

	(void)state;
	kernel_counts_read(getpid(), &before);
	assert_int_equal(inotify_add_watch(inotify, "/", IN_CREATE), 1);
	assert_int_equal(inotify_add_watch(inotify, "/tmp", IN_CREATE), 2);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, event_fd, &event), 0);
	kernel_counts_read(getpid(), &after);
	assert_true(after.of[THING_INOTIFY_WATCHES].known);
	assert_int_equal(after.of[THING_INOTIFY_WATCHES].count,
			 before.of[THING_INOTIFY_WATCHES].count + 2);
	assert_int_equal(after.of[THING_EPOLL_ITEMS].count, before.of[THING_EPOLL_ITEMS].count + 1);
	close(inotify);
	close(epoll);
	close(event_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cache_grows_by_its_objects),
		cmocka_unit_test(another_text_is_none_of_caches),
		cmocka_unit_test(a_name_that_leads_elsewhere_is_not_followed),
		cmocka_unit_test(locks_count_for_their_owner),
		cmocka_unit_test(a_line_counts_by_its_beginning),
		cmocka_unit_test(what_a_process_has_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
