// SPDX-License-Identifier: GPL-2.0-or-later
/* Sixteen places, and who keeps one, on a simulated clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "profile/places.h"

/* A suspect at that time: joins if there is room, and says so. */
static bool suspect(struct places *places, pid_t pid, double now_s, pid_t busy)
{
	struct place *place = places_find(places, pid, 5), *leaving;

	if (place) {
		place->suspect_s = now_s;
		return true;
	}
	if (!places_has_room(places, now_s, busy, false, &leaving))
		return false;
	if (leaving)
		places_leave(places, leaving);
	assert_non_null(places_take(
		places, &(struct place){.pid = pid, .start_ticks = 5, .suspect_s = now_s}));
	return true;
}

static void fill(struct places *places, double now_s)
{
	for (pid_t pid = 1; pid <= PROFILE_PLACES; pid++)
		assert_true(suspect(places, pid, now_s, 0));
}

static void free_places(struct places *places)
{
	vec_free(&places->list);
}
#define _cleanup_places_ __attribute__((cleanup(free_places)))

static void sixteen_have_places_and_no_more(void **state)
{
	_cleanup_places_ struct places places = {.limit = PROFILE_PLACES};

	(void)state;
	fill(&places, 0);
	assert_int_equal(places.list.count, 16);
	assert_false(suspect(&places, 17, 0, 0));
	assert_false(suspect(&places, 17, PLACES_STAY_S, 0));
	/* Those that have places are welcome. */
	assert_true(suspect(&places, 3, 0, 0));
	assert_int_equal(places.list.count, 16);
}

static void who_has_been_no_suspect_for_a_quarter_of_an_hour_gives_way(void **state)
{
	_cleanup_places_ struct places places = {.limit = PROFILE_PLACES};

	(void)state;
	fill(&places, 0);
	for (pid_t pid = 1; pid <= PROFILE_PLACES; pid++)
		suspect(&places, pid, pid == 9 ? 50 : pid == 4 ? 100 : 1000, 0);
	assert_false(suspect(&places, 17, 950, 0));
	/* The one for whom it is longest, unless a window of it is open. */
	assert_false(suspect(&places, 17, 951, 9));
	assert_true(suspect(&places, 17, 951, 0));
	assert_null(places_find(&places, 9, 5));
	assert_non_null(places_find(&places, 4, 5));
	assert_true(suspect(&places, 18, 1001, 0));
	assert_null(places_find(&places, 4, 5));
	assert_false(suspect(&places, 19, 1001, 0));
	assert_int_equal(places.list.count, 16);
}

/* Nobody goes where nobody waits. */
static void who_is_no_suspect_any_more_stays_while_there_is_room(void **state)
{
	_cleanup_places_ struct places places = {.limit = PROFILE_PLACES};
	struct place *leaving;

	(void)state;
	assert_true(suspect(&places, 1, 0, 0));
	assert_true(places_has_room(&places, 100000, 0, false, &leaving));
	assert_null(leaving);
	assert_true(suspect(&places, 2, 100000, 0));
	assert_non_null(places_find(&places, 1, 5));
}

/* Who grows least, of those that are not near to one themselves. */
static void to_who_is_near_to_a_memory_limit_another_one_gives_way(void **state)
{
	_cleanup_places_ struct places places = {.limit = PROFILE_PLACES};
	struct place *leaving;

	(void)state;
	fill(&places, 0);
	for (pid_t pid = 1; pid <= PROFILE_PLACES; pid++) {
		places_find(&places, pid, 5)->per_s = 100 + pid;
		places_find(&places, pid, 5)->near = pid != 7 && pid != 9;
	}
	assert_false(places_has_room(&places, 0, 0, false, &leaving));
	assert_true(places_has_room(&places, 0, 0, true, &leaving));
	assert_int_equal(leaving->pid, 7);
	assert_true(places_has_room(&places, 0, 7, true, &leaving));
	assert_int_equal(leaving->pid, 9);
	places_find(&places, 7, 5)->near = places_find(&places, 9, 5)->near = true;
	assert_false(places_has_room(&places, 0, 0, true, &leaving));
}

static bool is_even(const struct place *place, void *context)
{
	(*(int *)context)++;
	return place->pid % 2 == 0;
}

static void who_has_ended_is_forgotten_and_another_of_its_pid_is_another(void **state)
{
	_cleanup_places_ struct places places = {.limit = PROFILE_PLACES};
	int asked = 0;

	(void)state;
	fill(&places, 0);
	assert_null(places_find(&places, 2, 6));
	places_forget(&places, 1, is_even, &asked);
	assert_int_equal(asked, 16);
	assert_int_equal(places.list.count, 8);
	for (pid_t pid = 1; pid <= PROFILE_PLACES; pid++)
		assert_int_equal(places_find(&places, pid, 5) != NULL, pid % 2 == 0);
}

static void who_was_refused_keeps_no_place_and_is_asked_again_later(void **state)
{
	_cleanup_places_ struct places places = {.limit = PROFILE_PLACES};
	int asked = 0;

	(void)state;
	fill(&places, 0);
	places_find(&places, 6, 5)->refused = true;
	assert_true(suspect(&places, 17, 0, 0));
	assert_false(suspect(&places, 18, 0, 0));
	assert_int_equal(places.list.count, 17);
	for (pid_t pid = 17; pid >= 1; pid--)
		places_find(&places, pid, 5)->pid = 2 * pid;
	places_forget(&places, PLACES_REFUSED_S, is_even, &asked);
	assert_non_null(places_find(&places, 12, 5));
	places_forget(&places, PLACES_REFUSED_S + 1, is_even, &asked);
	assert_null(places_find(&places, 12, 5));
	assert_int_equal(places.list.count, 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sixteen_have_places_and_no_more),
		cmocka_unit_test(who_has_been_no_suspect_for_a_quarter_of_an_hour_gives_way),
		cmocka_unit_test(who_is_no_suspect_any_more_stays_while_there_is_room),
		cmocka_unit_test(to_who_is_near_to_a_memory_limit_another_one_gives_way),
		cmocka_unit_test(who_has_ended_is_forgotten_and_another_of_its_pid_is_another),
		cmocka_unit_test(who_was_refused_keeps_no_place_and_is_asked_again_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
