// SPDX-License-Identifier: GPL-2.0-or-later
/* OOM kills that the kernel reports, and that control groups count, at the same poll. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/triage/kills.h"
#include "trace/probe/victims.h"

#define VICTIM_PID 4999999 /* beyond the kernel's: nothing can be read of it */

/* Replaces the BPF program: the contents of its ring, and the handler. */
static struct {
	int error;
	unsigned reported;
	victim_handler handler;
	void *context;
} kernel;

int victims_open(struct victims **victims, victim_handler handler, void *context)
{
	kernel.handler = handler;
	kernel.context = context;
	if (!kernel.error)
		*victims = (struct victims *)&kernel;
	return kernel.error;
}

void victims_close(struct victims *victims)
{
	(void)victims;
}

int victims_fd(const struct victims *victims)
{
	(void)victims;
	return -1;
}

void victims_consume(struct victims *victims)
{
	const struct lm_victim victim = {.pid = VICTIM_PID,
					 .has_task = 1,
					 .anon = 3,
					 .page_tables = 12345,
					 .comm = "victim"};

	(void)victims;
	for (; kernel.reported; kernel.reported--)
		kernel.handler(&victim, kernel.context);
}

uint64_t victims_lost(const struct victims *victims)
{
	(void)victims;
	return 0;
}

static int file_of(const char *text)
{
	int fd = memfd_create("oom_control", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

/*
 * Makes a process that this poll finds gone, in a group that has counted a kill since the previous
 * poll.
 */
static void poll_with_a_victim(struct triage *triage)
{
	struct group *group = calloc(1, sizeof(*group));
	struct member *member = calloc(1, sizeof(*member));

	assert_non_null(group);
	assert_non_null(member);
	group->path = strdup("/victims");
	group->stat_fd = group->swap_fd = group->kernel_fd = group->sock_fd = -1;
	group->oom_fd = file_of("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	*(struct group **)vec_push(&triage->groups.list) = group;
	member->reading.pid = VICTIM_PID;
	member->group = group;
	*(struct member **)vec_push(&triage->population.ended) = member;
	assert_int_equal(groups_poll(&triage->groups, &triage->population, 1), 0);
}

static void victim_free(struct triage *triage)
{
	free(triage->population.ended.items[0]);
	vec_free(&triage->population.ended);
	groups_free(&triage->groups);
}

static void a_kill_is_reported_once_however_it_is_noticed(void **state)
{
	static const struct {
		int error;	      /* of the BPF program */
		unsigned before_poll; /* reports that are read before the poll, and after it */
		unsigned after_poll;
		bool by_counter;
	} cases[] = {
		{0, 1, 0, false},
		{0, 0, 1, false},
		{0, 0, 2, false},
		{-EPERM, 0, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct triage triage = {0};
		struct triage_report report = {0};
		const struct triage_kill_memory *memory;
		struct kills *kills;

		kernel.error = cases[i].error;
		kills = kills_new(&triage, true);
		assert_non_null(kills);
		kernel.reported = cases[i].before_poll;
		assert_int_equal(kills_take(kills), cases[i].before_poll > 0);
		poll_with_a_victim(&triage);
		kernel.reported = cases[i].after_poll;
		assert_true(kills_take(kills));
		kills_show(kills, &report);
		assert_non_null(report.kills);
		assert_int_equal(report.kills->list.count, 1);
		assert_int_equal(report.kills->list.items[0].by_counter, cases[i].by_counter);
		memory = &report.kills->list.items[0].memory;
		/* Page tables come in bytes, the rest in pages. */
		assert_int_equal(memory->page_tables, memory->known ? 12345 : 0);
		assert_int_equal(memory->anonymous, memory->known ? 3 * getpagesize() : 0);
		assert_int_equal(memory->known, !cases[i].by_counter);
		kills_free(kills);
		victim_free(&triage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kill_is_reported_once_however_it_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
