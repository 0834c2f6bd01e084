/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls without the C library, including those with other names on newer processors. */
#ifndef LEAKMON_RAW_CALL_H
#define LEAKMON_RAW_CALL_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

/* The kernel's result: a failure is -errno. */
static inline long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#endif
}

#define CALL(name, a, b, c, d, e, f)                                                               \
	raw_call(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* `milliseconds` < 0: without a limit. */
static inline long raw_poll(void *polled, long count, long milliseconds)
{
#ifdef SYS_poll
	return CALL(poll, polled, count, milliseconds, 0, 0, 0);
#else
	struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	return CALL(ppoll, polled, count, milliseconds < 0 ? NULL : &limit, NULL, 0, 0);
#endif
}

static inline long raw_select(long seconds)
{
	struct timespec limit = {.tv_sec = seconds}; /* a timeval of whole seconds, too */

#ifdef SYS_select
	return CALL(select, 0, NULL, NULL, NULL, &limit, 0);
#else
	return CALL(pselect6, 0, NULL, NULL, NULL, &limit, NULL);
#endif
}

static inline long raw_epoll_wait(int epoll, void *events, long milliseconds)
{
#ifdef SYS_epoll_wait
	return CALL(epoll_wait, epoll, events, 1, milliseconds, 0, 0);
#else
	return CALL(epoll_pwait, epoll, events, 1, milliseconds, NULL, 0);
#endif
}

/* Until a handler has run. */
static inline long raw_pause(void)
{
#ifdef SYS_pause
	return CALL(pause, 0, 0, 0, 0, 0, 0);
#else
	return CALL(ppoll, NULL, 0, NULL, NULL, 0, 0);
#endif
}

static inline long raw_open(const char *path, int flags)
{
	return CALL(openat, AT_FDCWD, path, flags, 0, 0, 0);
}

#endif
