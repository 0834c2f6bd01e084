/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects targets: the processes that match any word of the operator, by PID, command name, cgroup,
 * container or pod.
 *
 * Never selected: leakmon itself and its children, kernel threads, and zombies without threads.
 */
#ifndef LEAKMON_PROC_SELECTOR_H
#define LEAKMON_PROC_SELECTOR_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/vec.h"
#include "process/proc/container.h"

enum selector_kind {
	SELECT_COMM,	  /* the whole name in /proc/PID/comm, of which 15 bytes count */
	SELECT_CGROUP,	  /* the cgroup or one below it: cgroup_is_within() */
	SELECT_CONTAINER, /* the container's name, or the first digits of its id */
	SELECT_POD,	  /* NAME, or NAMESPACE/NAME */
	SELECT_MAX_,
};

/* The words of one kind; borrowed. */
struct selector_words {
	const char **items;
	size_t count, capacity;
};

/* An operator's selection. */
struct selector_config {
	VEC(int) pids;
	struct selector_words words[SELECT_MAX_];
	bool all; /* every process, regardless of the words */
};

/* Returns whether it names no process, by PID or by word. */
bool selector_config_is_empty(const struct selector_config *config);
void selector_config_free(struct selector_config *config);

struct selector;

/*
 * Returns a new selector. The configuration is copied; `containers` is borrowed; NULL: the selector
 * creates its own. NULL: out of memory.
 */
struct selector *selector_new(const struct selector_config *config,
			      struct container_cache *containers);
void selector_free(struct selector *selector);

/*
 * Returns whether it names anything but PIDs: then processes that start, or exec, later may match.
 */
bool selector_is_open(const struct selector *selector);

/*
 * Returns whether a process matches: 1, 0, or -ESRCH if it has ended. Reads /proc/PID/stat, and
 * /proc/PID/cgroup if a word needs it; container names are looked up only for words of a pod or a
 * container, and only once per container. A runtime moves a process into its container between fork
 * and exec, and comm changes at exec: ask again after an exec.
 */
int selector_matches(struct selector *selector, pid_t pid);

/*
 * Returns whether an ended process would have matched, by its comm: 1, 0, or -ENODATA if words need
 * more than that.
 */
int selector_matched(const struct selector *selector, const char *comm);

/* The processes that match now. */
struct selection {
	VEC(pid_t) pids; /* ascending */
	/* A word that matched no process; the text is borrowed from the selector. */
	VEC(struct unmatched {
		enum selector_kind kind;
		const char *word;
	})
	unmatched;
	bool truncated; /* not all processes of the machine were examined */
	bool hidden;	/* /proc hides other users' processes (hidepid) */
};

/*
 * Lists the matching processes. Given PIDs are listed unchecked: the attach reports what is wrong
 * with them. Returns 0 or -errno; *selection is untouched on error.
 */
int selector_list(struct selector *selector, struct selection *selection);
void selection_free(struct selection *selection);

/*
 * Logs one error for each word that matched nothing, with the possible values: a bounded, inert
 * list. Returns 0 if every word matched something, else -ENOENT.
 */
int selection_explain(const struct selection *selection);

/*
 * Lists the selection once. Returns 0, or -errno after an error message, also for words that
 * matched nothing; to be freed in either case.
 */
int selection_take(const struct selector_config *config, struct selection *selection);

/* The meaning of a single word of a selector. Internal to proc/. */

struct word_list {
	char **items; /* owned, as are the words */
	size_t count, capacity;
};

/* The known properties of a process. */
struct word_subject {
	const char *comm;
	const struct cgroup_paths *paths;
	struct container_id id;		   /* "": in no container */
	const struct container *container; /* NULL: in none, or not looked up */
};

bool word_matches(enum selector_kind kind, const char *word, const struct word_subject *subject);

/* Which words matched so far. */
struct word_marks {
	bool *matched[SELECT_MAX_];
};

#endif
