// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * left_over: a server that forgets five sessions, to which only left-over words in a frame of its
 * own lead, and goes on opening and closing others. By reachability alone nothing is lost.
 *
 *	fill	opens 40 sessions, and forgets 5 more
 *	turn	closes these 40, and opens 40 others
 */
#include "workload.h"

#define SESSIONS 40
#define FORGOTTEN 5
#define SESSION_BYTES 200

static char *sessions[SESSIONS];
static unsigned generation;
/* In main()'s frame: left-over words, as a compiler leaves them of unused locals. */
static char *volatile *left_over;

SITE static char *session_open(unsigned number)
{
	char *session = opaque_pointer(malloc(SESSION_BYTES));

	memset(session, (int)(number + generation), SESSION_BYTES);
	return session;
}

static void fill(void)
{
	for (unsigned i = 0; i < SESSIONS; i++)
		sessions[i] = session_open(i);
	for (unsigned i = 0; i < FORGOTTEN; i++)
		left_over[i] = session_open(i);
}

static void turn(void)
{
	generation++;
	for (unsigned i = 0; i < SESSIONS; i++)
		free(sessions[i]);
	for (unsigned i = 0; i < SESSIONS; i++)
		sessions[i] = session_open(i);
}

int main(void)
{
	static const struct command commands[] = {{.name = "fill", .run = fill},
						  {.name = "turn", .run = turn}};
	static const struct truth truth;
	char *volatile words[FORGOTTEN] = {NULL};

	left_over = words;
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
