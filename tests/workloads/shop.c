// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shop [SECONDS]: a server's inner life without its sockets, for `make demo-report`. Its memory
 * behaves like that of real servers: a configuration that stays, a cache that fills up, an index
 * that is built once, reports that come and go, and sessions, of which those with an expired token
 * are lost: search for BUG. Built with -DFIXED as fixed/shop, without the bug.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* In a program of many source files these would be calls, too. */
#define CALLED __attribute__((noinline))

#ifdef FIXED
#define IS_FIXED true
#else
#define IS_FIXED false
#endif

#define TICK_MS 5
#define TICKS_A_SECOND (1000 / TICK_MS)
#define PAGES 220
#define SESSIONS 48
#define SETTINGS 60
#define ENTRIES 90
#define LINES 64

struct session {
	char user[32];
	char *basket;
};

static struct shop {
	char *settings[SETTINGS];
	char *pages[PAGES];
	struct session *sessions[SESSIONS];
	char *index[ENTRIES];
	char *lines[LINES];
	uint32_t random;
	unsigned tick;
} shop = {.random = 1};

/* xorshift32: the same run every time. */
static uint32_t pick(uint32_t below)
{
	shop.random ^= shop.random << 13;
	shop.random ^= shop.random >> 17;
	shop.random ^= shop.random << 5;
	return shop.random % below;
}

CALLED static void *xmalloc(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		abort();
	return memset(memory, 1, size);
}

CALLED static char *setting_parse(unsigned number)
{
	return xmalloc(600 + number * 40);
}

CALLED static void config_load(void)
{
	for (unsigned i = 0; i < SETTINGS; i++)
		shop.settings[i] = setting_parse(i);
}

CALLED static char *page_render(unsigned number)
{
	return xmalloc(1500 + number * 7);
}

CALLED static void page_show(unsigned number)
{
	if (!shop.pages[number])
		shop.pages[number] = page_render(number);
}

CALLED static char *basket_new(void)
{
	return xmalloc(1400);
}

CALLED static struct session *session_new(void)
{
	struct session *session = xmalloc(sizeof(*session));

	session->basket = basket_new();
	return session;
}

CALLED static void session_free(struct session *session)
{
	if (session)
		free(session->basket);
	free(session);
}

CALLED static struct session *session_open(bool token_is_valid)
{
	struct session *session = session_new();

	if (token_is_valid)
		return session;
	if (IS_FIXED)
		session_free(session);
	return NULL; /* BUG, unless it is fixed: the session is lost on this path */
}

CALLED static void login(void)
{
	struct session **place = &shop.sessions[pick(SESSIONS)];

	session_free(*place);
	*place = session_open(pick(10) != 7);
}

CALLED static char *row_format(unsigned length)
{
	return xmalloc(length);
}

CALLED static void report_send(void)
{
	char *rows[120];

	for (unsigned i = 0; i < 120; i++)
		rows[i] = row_format(3000);
	nanosleep(&(struct timespec){.tv_nsec = 800000000}, NULL);
	for (unsigned i = 0; i < 120; i++)
		free(rows[i]);
}

CALLED static char *entry_make(void)
{
	return xmalloc(2600);
}

CALLED static void index_build(void)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		shop.index[i] = entry_make();
}

CALLED static void log_line(void)
{
	char **line = &shop.lines[shop.tick % LINES];

	free(*line);
	*line = xmalloc(300 + pick(1200));
}

CALLED static void request_handle(void)
{
	log_line();
	if (shop.tick % 4 == 0)
		page_show(pick(PAGES));
	if (shop.tick % 2)
		login();
}

CALLED static void timer_run(void)
{
	if (shop.tick == 9 * TICKS_A_SECOND)
		index_build();
	if (shop.tick % (4 * TICKS_A_SECOND) == 3 * TICKS_A_SECOND)
		report_send();
}

/* Ticks follow the clock, so that a busy machine does not change the result. */
CALLED static void tick_end(struct timespec *next)
{
	next->tv_nsec += TICK_MS * 1000000;
	if (next->tv_nsec >= 1000000000) {
		next->tv_nsec -= 1000000000;
		next->tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 30;
	struct timespec next;

	puts("ready");
	fflush(stdout);
	sleep(3); /* until it is watched */
	config_load();
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (; shop.tick < seconds * TICKS_A_SECOND; shop.tick++) {
		timer_run();
		request_handle();
		tick_end(&next);
	}
	return 0;
}
