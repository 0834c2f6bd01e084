/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes are targets: those that any word of the operator names, be it by PID, by command
 * name, by cgroup, by container or by pod.
 *
 * Never selected are leakmon itself and its children, kernel threads, and zombies without threads.
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

/* The words of one kind, which are borrowed. */
struct selector_words {
	const char **items;
	size_t count, capacity;
};

/* An operator's selection. */
struct selector_config {
	VEC(int) pids;
	struct selector_words words[SELECT_MAX_];
	bool all; /* every process, whatever the words say */
};

/* Whether it names no process, by PID or by word. */
bool selector_config_is_empty(const struct selector_config *config);
void selector_config_free(struct selector_config *config);

struct selector;

/* The configuration is copied; `containers` is borrowed, and may be NULL: then the selector has its
 * own. NULL: out of memory. */
struct selector *selector_new(const struct selector_config *config,
			      struct container_cache *containers);
void selector_free(struct selector *selector);

/* Whether it names anything but PIDs: then processes may match that start, or exec, later. */
bool selector_is_open(const struct selector *selector);

/*
 * Whether a process matches: 1, 0, or -ESRCH if it has ended. Reads /proc/PID/stat, and
 * /proc/PID/cgroup if a word needs it; the names of a container are looked up only when a word
 * asks for a pod or a container, and only once per container. A runtime moves a process into its
 * container between fork and exec, and comm changes at exec: ask again after an exec.
 */
int selector_matches(struct selector *selector, pid_t pid);

/* Whether a process that has ended would have matched, by its comm: 1, 0, or -ENODATA if words ask
 * for more than that. */
int selector_matched(const struct selector *selector, const char *comm);

/* The processes of now that match. */
struct selection {
	VEC(pid_t) pids; /* ascending */
	/* A word that named no process; the text is borrowed from the selector. */
	VEC(struct unmatched {
		enum selector_kind kind;
		const char *word;
	})
	unmatched;
	bool truncated; /* not all processes of the machine were looked at */
	bool hidden;	/* /proc hides processes of others (hidepid) */
};

/*
 * PIDs that were given are listed as they are, whether they exist or not: whoever attaches says
 * what is wrong with them. 0 or -errno; *selection is untouched on error.
 */
int selector_list(struct selector *selector, struct selection *selection);
void selection_free(struct selection *selection);

/*
 * One error message for each word that named nothing, with what there is instead: a list that is
 * bounded, and inert. 0 when every word named something, else -ENOENT.
 */
int selection_explain(const struct selection *selection);

/* Lists once what is chosen. 0, or -errno after an error message, also for words that named
 * nothing; to be freed in either case. */
int selection_take(const struct selector_config *config, struct selection *selection);

/* The meaning of a single word of a selector. Internal to proc/. */

struct word_list {
	char **items; /* owned, as are the words */
	size_t count, capacity;
};

/* A process, as far as it is known. */
struct word_subject {
	const char *comm;
	const struct cgroup_paths *paths;
	struct container_id id;		   /* "": in no container */
	const struct container *container; /* NULL: in none, or nobody asked */
};

bool word_matches(enum selector_kind kind, const char *word, const struct word_subject *subject);

/* Which words matched so far. */
struct word_marks {
	bool *matched[SELECT_MAX_];
};

#endif
