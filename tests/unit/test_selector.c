// SPDX-License-Identifier: GPL-2.0-or-later
/* Real processes of this machine, and words about made-up ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/selector.h"

#define ID "3f2a91c0b7d54e6688aa0011223344556677889900aabbccddeeff0123456789"

/*
 * A grandchild with this name, adopted away from us: the selector never takes our own children.
 * It lives until the keeper ends.
 */
struct stranger {
	pid_t keeper, pid;
};

static void stranger_main(const char *name, int ready)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		pid = getpid();
		write(ready, &pid, sizeof(pid));
	}
	for (;;)
		pause();
}

static void stranger_start(struct stranger *stranger, const char *name)
{
	int ready[2];

	assert_int_equal(pipe(ready), 0);
	stranger->keeper = fork();
	if (!stranger->keeper)
		stranger_main(name, ready[1]);
	assert_int_equal(read(ready[0], &stranger->pid, sizeof(stranger->pid)),
			 sizeof(stranger->pid));
	close(ready[0]);
	close(ready[1]);
}

static void stranger_end(const struct stranger *stranger)
{
	kill(stranger->pid, SIGKILL);
	kill(stranger->keeper, SIGKILL);
	waitpid(stranger->keeper, NULL, 0);
}

static struct selector *selector_of(enum selector_kind kind, const char **words, size_t count)
{
	struct selector_config config = {0};
	struct selector *selector;

	config.words[kind] = (struct selector_words){.items = words, .count = count};
	selector = selector_new(&config, NULL);

	assert_non_null(selector);
	return selector;
}

static bool has(const struct selection *selection, pid_t pid)
{
	for (size_t i = 0; i < selection->pids.count; i++) {
		if (selection->pids.items[i] == pid)
			return true;
	}
	return false;
}

static void a_name_selects_its_processes_and_no_others(void **state)
{
	static const char *words[] = {"lm-stranger-1", "lm-nobody"};
	struct selector *selector = selector_of(SELECT_COMM, words, 2);
	struct stranger one, other;
	struct selection selection;

	(void)state;
	stranger_start(&one, "lm-stranger-1");
	stranger_start(&other, "lm-stranger-10");
	assert_int_equal(selector_matches(selector, one.pid), 1);
	assert_int_equal(selector_matches(selector, other.pid), 0);
	assert_int_equal(selector_list(selector, &selection), 0);
	assert_int_equal(selection.pids.count, 1);
	assert_true(has(&selection, one.pid));
	assert_int_equal(selection.unmatched.count, 1);
	assert_int_equal(selection.unmatched.items[0].kind, SELECT_COMM);
	assert_string_equal(selection.unmatched.items[0].word, "lm-nobody");
	assert_int_equal(selection_explain(&selection), -ENOENT);
	selection_free(&selection);
	stranger_end(&one);
	stranger_end(&other);
	selector_free(selector);
}

static void fifteen_bytes_of_a_name_count(void **state)
{
	static const char *words[] = {"lm-stranger-long-name"};
	struct selector *selector = selector_of(SELECT_COMM, words, 1);
	struct stranger stranger;

	(void)state;
	stranger_start(&stranger, "lm-stranger-long-name");
	assert_int_equal(selector_matches(selector, stranger.pid), 1);
	stranger_end(&stranger);
	selector_free(selector);
}

static void we_and_our_children_and_the_dead_are_never_selected(void **state)
{
	static const char *words[] = {"/"};
	struct selector *selector = selector_of(SELECT_CGROUP, words, 1);
	struct stranger stranger;
	struct selection selection;
	pid_t child;

	(void)state;
	stranger_start(&stranger, "lm-x");
	child = fork();
	if (!child) {
		for (;;)
			pause();
	}
	assert_int_equal(selector_list(selector, &selection), 0);
	assert_true(has(&selection, stranger.pid));
	assert_false(has(&selection, getpid()));
	assert_false(has(&selection, child));
	assert_int_equal(selection.unmatched.count, 0);
	assert_int_equal(selection_explain(&selection), 0);
	selection_free(&selection);
	assert_int_equal(selector_matches(selector, getpid()), 0);
	assert_int_equal(selector_matches(selector, child), 0);
	/* Killed, but its keeper does not wait for it. */
	kill(stranger.pid, SIGKILL);
	usleep(50000);
	assert_int_equal(selector_matches(selector, stranger.pid), 0);
	stranger_end(&stranger);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(selector_matches(selector, child), -ESRCH);
	selector_free(selector);
}

static void given_pids_are_listed_once_and_as_they_are(void **state)
{
	static const char *words[] = {"lm-given"};
	struct stranger stranger;
	int pids[] = {1 << 21, 0};
	struct selector_config config = {.pids = {pids, 2}, .words[SELECT_COMM] = {words, 1}};
	struct selector *selector;
	struct selection selection;

	(void)state;
	stranger_start(&stranger, "lm-given");
	pids[1] = stranger.pid;
	selector = selector_new(&config, NULL);
	assert_true(selector_is_open(selector));
	assert_int_equal(selector_list(selector, &selection), 0);
	assert_int_equal(selection.pids.count, 2);
	assert_int_equal(selection.pids.items[0], stranger.pid);
	assert_int_equal(selection.pids.items[1], 1 << 21);
	assert_int_equal(selection.unmatched.count, 0);
	assert_int_equal(selector_matches(selector, 1 << 21), 1);
	selection_free(&selection);
	selector_free(selector);
	stranger_end(&stranger);
}

static void pids_alone_match_nothing_else(void **state)
{
	int pid = 1;
	struct selector_config config = {.pids = {&pid, 1}};
	struct selector *selector = selector_new(&config, NULL);

	(void)state;
	assert_false(selector_is_open(selector));
	assert_int_equal(selector_matches(selector, 1), 1);
	assert_int_equal(selector_matches(selector, 2), 0);
	selector_free(selector);
}

static void a_word_is_parsed_by_its_option(void **state)
{
	char namespace[] = "shop", pod[] = "web-0", name[] = "app";
	struct container container = {.id = ID, .namespace = namespace, .pod = pod, .name = name};
	struct cgroup_path path = {.path = (char[]){"/kubepods/pod1/x"}};
	struct cgroup_paths paths = {.list = {&path, 1, 1}};
	struct word_subject in = {"nginx", &paths, {.id = ID}, &container};
	struct container nameless = {.id = ID};
	struct word_subject unnamed = {"nginx", &paths, {.id = ID}, &nameless};
	struct word_subject out = {"nginx", &paths, {.id = ""}, NULL};
	char chosen_name[] = "web";
	struct container chosen = {.id = "web", .name = chosen_name}, claimed = {.id = "web"};
	struct word_subject by_state = {
		"nginx", &paths, {.id = "web", .source = CONTAINER_BY_STATE}, &chosen};
	struct word_subject by_claim = {
		"nginx", &paths, {.id = "web", .source = CONTAINER_BY_CLAIM}, &claimed};
	const struct {
		enum selector_kind kind;
		const char *word;
		const struct word_subject *subject;
		bool matches;
	} cases[] = {
		{SELECT_COMM, "nginx", &in, true},
		{SELECT_COMM, "ngin", &in, false},
		{SELECT_COMM, "nginxx", &in, false},
		{SELECT_CONTAINER, "3f2a", &in, true},
		{SELECT_CONTAINER, ID, &in, true},
		{SELECT_CONTAINER, "f2a", &in, false},
		{SELECT_CONTAINER, "3f2a", &out, false},
		{SELECT_CONTAINER, "app", &in, true},
		{SELECT_CONTAINER, "ap", &in, false},
		{SELECT_CONTAINER, "app", &unnamed, false},
		{SELECT_CONTAINER, "app", &out, false},
		{SELECT_CONTAINER, "web", &by_state, true},
		{SELECT_CONTAINER, "we", &by_state, false},
		{SELECT_CONTAINER, "web", &by_claim, false},
		{SELECT_POD, "web-0", &in, true},
		{SELECT_POD, "shop/web-0", &in, true},
		{SELECT_POD, "sho/web-0", &in, false},
		{SELECT_POD, "shopp/web-0", &in, false},
		{SELECT_POD, "web-", &in, false},
		{SELECT_POD, "web-0", &unnamed, false},
		{SELECT_POD, "web-0", &out, false},
		{SELECT_CGROUP, "/kubepods", &in, true},
		{SELECT_CGROUP, "pod1", &in, true},
		{SELECT_CGROUP, "/kubepods/pod", &in, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (word_matches(cases[i].kind, cases[i].word, cases[i].subject) !=
		    cases[i].matches)
			fail_msg("case %zu: %s", i, cases[i].word);
	}
}

static int matched_by_name(const char *comm, enum selector_kind kind, const char *word)
{
	const char *words[] = {"nginx", word};
	struct selector_config config = {.words[SELECT_COMM] = {words, 1}};
	struct selector *selector;
	int matched;

	config.words[kind] = (struct selector_words){.items = words + 1, .count = 1};
	selector = selector_new(&config, NULL);
	assert_non_null(selector);
	matched = selector_matched(selector, comm);
	selector_free(selector);
	return matched;
}

static void an_ended_process_is_selected_by_its_name_alone(void **state)
{
	(void)state;
	assert_int_equal(matched_by_name("redis", SELECT_COMM, "redis"), 1);
	assert_int_equal(matched_by_name("redis-server", SELECT_COMM, "redis"), 0);
	assert_int_equal(matched_by_name("nginx", SELECT_POD, "web"), 1);
	assert_int_equal(matched_by_name("sh", SELECT_POD, "web"), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_selects_its_processes_and_no_others),
		cmocka_unit_test(fifteen_bytes_of_a_name_count),
		cmocka_unit_test(we_and_our_children_and_the_dead_are_never_selected),
		cmocka_unit_test(given_pids_are_listed_once_and_as_they_are),
		cmocka_unit_test(pids_alone_match_nothing_else),
		cmocka_unit_test(a_word_is_parsed_by_its_option),
		cmocka_unit_test(an_ended_process_is_selected_by_its_name_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
