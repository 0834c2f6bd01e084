// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/places.h"

struct place *places_find(const struct places *places, pid_t pid, uint64_t start_ticks)
{
	for (size_t i = 0; i < places->list.count; i++) {
		struct place *place = &places->list.items[i];

		if (place->pid == pid && place->start_ticks == start_ticks)
			return place;
	}
	return NULL;
}

/* Of those that are profiled, whoever has been no suspect for longest, if that is long enough. */
static struct place *who_leaves(const struct places *places, double now_s, pid_t busy)
{
	struct place *found = NULL;

	for (size_t i = 0; i < places->list.count; i++) {
		struct place *place = &places->list.items[i];

		if (!place->refused && place->pid != busy &&
		    now_s - place->suspect_s > PLACES_STAY_S &&
		    (!found || place->suspect_s < found->suspect_s))
			found = place;
	}
	return found;
}

static struct place *who_grows_least(const struct places *places, pid_t busy)
{
	struct place *found = NULL;

	for (size_t i = 0; i < places->list.count; i++) {
		struct place *place = &places->list.items[i];

		if (!place->refused && !place->near && place->pid != busy &&
		    (!found || place->per_s < found->per_s))
			found = place;
	}
	return found;
}

bool places_has_room(const struct places *places, double now_s, pid_t busy, bool near,
		     struct place **leaving)
{
	size_t taken = 0;

	for (size_t i = 0; i < places->list.count; i++)
		taken += !places->list.items[i].refused;
	*leaving = taken < places->limit ? NULL : who_leaves(places, now_s, busy);
	if (taken >= places->limit && !*leaving && near)
		*leaving = who_grows_least(places, busy);
	return taken < places->limit || *leaving;
}

struct place *places_take(struct places *places, const struct place *place)
{
	struct place *taken = vec_push(&places->list);

	if (taken)
		*taken = *place;
	return taken;
}

void places_leave(struct places *places, struct place *place)
{
	*place = places->list.items[--places->list.count];
}

void places_forget(struct places *places, double now_s,
		   bool (*is_there)(const struct place *place, void *context), void *context)
{
	for (size_t i = places->list.count; i-- > 0;) {
		struct place *place = &places->list.items[i];

		if ((place->refused && now_s - place->suspect_s > PLACES_REFUSED_S) ||
		    !is_there(place, context))
			places_leave(places, place);
	}
}
