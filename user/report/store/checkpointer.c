// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/checkpointer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

struct checkpointer {
	sqlite3 *writer, *database; /* database: the thread's own, while it runs */
	char *path;
	pthread_t thread;
	pthread_mutex_t lock; /* of all fields below */
	pthread_cond_t changed;
	uint64_t asked, done; /* checkpoints; done: the last one requested before it began */
	int error;	      /* of the latest one */
	bool stopping;
	/* Used by the writer only. */
	int pages;     /* in the log after the latest commit */
	int reported;  /* the error last reported */
	bool overfull; /* the log's overflow was reported */
};

static int open_own(struct checkpointer *checkpointer)
{
	_cleanup_free_ char *plain = database_path(checkpointer->path);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	int error =
		plain ? database_errno(sqlite3_open_v2(plain, &checkpointer->database, flags, NULL))
		      : -ENOMEM;

	if (!error)
		error = database_distrust(checkpointer->database);
	/* The first reader opens the log. */
	return error ? error
		     : database_run(checkpointer->database,
				    "PRAGMA synchronous=FULL; SELECT count(*) FROM sqlite_schema");
}

/* Makes one checkpoint, without the lock. If another process does the same, that is as good. */
static int move_pages(struct checkpointer *checkpointer)
{
	int error = database_errno(sqlite3_wal_checkpoint_v2(
		checkpointer->database, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));

	return error == -EBUSY ? 0 : error;
}

static void *run(void *argument)
{
	struct checkpointer *checkpointer = argument;

	pthread_mutex_lock(&checkpointer->lock);
	while (!checkpointer->stopping) {
		uint64_t asked = checkpointer->asked;
		int error;

		if (checkpointer->done == asked) {
			pthread_cond_wait(&checkpointer->changed, &checkpointer->lock);
			continue;
		}
		pthread_mutex_unlock(&checkpointer->lock);
		error = move_pages(checkpointer);
		pthread_mutex_lock(&checkpointer->lock);
		checkpointer->error = error;
		checkpointer->done = asked;
		pthread_cond_broadcast(&checkpointer->changed);
	}
	pthread_mutex_unlock(&checkpointer->lock);
	return NULL;
}

/* Requests a checkpoint, and waits for it if `waited`. Returns the latest one's error. */
static int ask(struct checkpointer *checkpointer, bool waited)
{
	uint64_t number;
	int error;

	pthread_mutex_lock(&checkpointer->lock);
	number = ++checkpointer->asked;
	pthread_cond_broadcast(&checkpointer->changed);
	while (waited && checkpointer->done < number)
		pthread_cond_wait(&checkpointer->changed, &checkpointer->lock);
	error = checkpointer->error;
	pthread_mutex_unlock(&checkpointer->lock);
	return error;
}

/* Once, not for every snapshot. */
static void complain(struct checkpointer *checkpointer, int error, bool overfull)
{
	if (error && error != checkpointer->reported)
		log_error(
			"snapshots stay in %s-wal, where they are safe, because %s cannot take them: %s%s",
			checkpointer->path, checkpointer->path, strerror(-error),
			error == -ENOSPC ? "; make room, and it goes on" : "");
	else if (!error && overfull && !checkpointer->overfull)
		log_warning(
			"%s-wal has grown to %d MB: slow disk, or a reader holds the recording; snapshots wait for it",
			checkpointer->path, CHECKPOINT_PAGES_MAX * 4096 / 1000000);
	checkpointer->reported = error;
	checkpointer->overfull = overfull;
}

static int on_commit(void *context, sqlite3 *writer, const char *name, int pages)
{
	struct checkpointer *checkpointer = context;
	/* One large snapshot alone is no reason to wait. */
	bool overfull = pages >= CHECKPOINT_PAGES_MAX && checkpointer->pages >= CHECKPOINT_PAGES;

	(void)writer, (void)name;
	checkpointer->pages = pages;
	if (pages >= CHECKPOINT_PAGES)
		complain(checkpointer, ask(checkpointer, overfull), overfull);
	/* An error here would be mistaken for one of the commit. */
	return SQLITE_OK;
}

void checkpointer_settle(struct checkpointer *checkpointer)
{
	ask(checkpointer, true);
}

/* Signals are left to the thread that waits for them. */
static int start_thread(struct checkpointer *checkpointer)
{
	sigset_t all, before;
	int code;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&checkpointer->thread, NULL, run, checkpointer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -code;
}

static void checkpointer_free(struct checkpointer *checkpointer)
{
	sqlite3_close(checkpointer->database);
	pthread_cond_destroy(&checkpointer->changed);
	pthread_mutex_destroy(&checkpointer->lock);
	free(checkpointer->path);
	free(checkpointer);
}

int checkpointer_start(struct checkpointer **checkpointer, const char *path, sqlite3 *writer)
{
	struct checkpointer *made = calloc(1, sizeof(*made));
	int error;

	if (!made)
		return -ENOMEM;
	made->writer = writer;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->changed, NULL);
	made->path = strdup(path);
	error = made->path ? open_own(made) : -ENOMEM;
	if (!error)
		error = start_thread(made);
	if (error) {
		checkpointer_free(made);
		return error;
	}
	sqlite3_wal_hook(writer, on_commit, made);
	*checkpointer = made;
	return 0;
}

void checkpointer_stop(struct checkpointer *checkpointer)
{
	if (!checkpointer)
		return;
	sqlite3_wal_hook(checkpointer->writer, NULL, NULL);
	pthread_mutex_lock(&checkpointer->lock);
	checkpointer->stopping = true;
	pthread_cond_broadcast(&checkpointer->changed);
	pthread_mutex_unlock(&checkpointer->lock);
	pthread_join(checkpointer->thread, NULL);
	checkpointer_free(checkpointer);
}
