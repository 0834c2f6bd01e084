/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a single word of a selector means. Internal to proc/. */
#ifndef LEAKMON_PROC_SELECTOR_WORDS_H
#define LEAKMON_PROC_SELECTOR_WORDS_H

#include "proc/selector.h"

struct word_list {
	char **items; /* owned, as are the words */
	size_t count, capacity;
};

/* What is known of a process. */
struct word_subject {
	const char *comm;
	const struct cgroup_paths *paths;
	struct container_id id;		   /* "": in no container */
	const struct container *container; /* NULL: in none, or nobody asked */
};

bool word_matches(enum selector_kind kind, const char *word, const struct word_subject *subject);

/* Whether the container merely claims to be the one that the word names. */
bool word_is_claimed(enum selector_kind kind, const char *word, const struct container *container);

/* Which words matched so far. */
struct word_marks {
	bool *matched[SELECT_MAX_];
};

/* 0 or -ENOMEM (free it in either case). */
int word_marks_init(struct word_marks *marks, const struct word_list words[SELECT_MAX_]);
void word_marks_free(struct word_marks *marks);

#endif
