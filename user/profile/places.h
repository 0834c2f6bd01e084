/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who has a place in a profile whose processes are chosen as it runs: no more than there are
 * places. Who has one keeps it until it ends, or until it has been no suspect for a while and
 * another one is, or until another one is near to a memory limit. Pure: the clock is handed in.
 */
#ifndef LEAKMON_PROFILE_PLACES_H
#define LEAKMON_PROFILE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

#define PROFILE_PLACES 16
/* Who is no suspect any more goes on for so long: what a profile has learnt by then is worth it. */
#define PLACES_STAY_S 900.0
/* Who could not be probed is asked again after so long. */
#define PLACES_REFUSED_S 600.0

struct place {
	pid_t pid;
	uint64_t start_ticks;
	double suspect_s; /* when it was one last */
	double per_s, confidence;
	bool near;    /* a memory limit is near to it: it keeps its place */
	bool refused; /* not profiled: it keeps no place */
};

struct places {
	VEC(struct place) list;
	size_t limit; /* of those that are profiled at a time */
};

/* NULL: it is not there. Good until the next change. */
struct place *places_find(const struct places *places, pid_t pid, uint64_t start_ticks);

/* Whether a suspect that has none may have a place at `now_s`; *leaving is who gives way, not
 * `busy` (0: nobody) and NULL if there is room. To who is `near` to a memory limit, which may be
 * its end, any other gives way, who grows least first. */
bool places_has_room(const struct places *places, double now_s, pid_t busy, bool near,
		     struct place **leaving);

/* NULL: out of memory. */
struct place *places_take(struct places *places, const struct place *place);
/* Of the list; the others may move. */
void places_leave(struct places *places, struct place *place);

/* Those that are gone, and refusals that are long ago. */
void places_forget(struct places *places, double now_s,
		   bool (*is_there)(const struct place *place, void *context), void *context);

#endif
