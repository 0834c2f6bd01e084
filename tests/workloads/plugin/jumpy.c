// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * To be preloaded to leakmon: the wall clock jumps by a day, to and fro, between any two readings.
 * The other clocks are unchanged.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_NEXT */
#endif
#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

#define DAY_S 86400

static atomic_uint looks;
static int (*real_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void start(void)
{
	real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
}

static long jump(void)
{
	static const long days[] = {0, 1, -1, 0, -1, 1};

	return days[atomic_fetch_add(&looks, 1) % 6] * DAY_S;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result;

	if (!real_gettime)
		start();
	result = real_gettime(clock, time);

	if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		time->tv_sec += jump();
	return result;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
