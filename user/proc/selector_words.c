// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/selector_words.h"

#include <errno.h>

#include "base/cleanup.h"

/* TASK_COMM_LEN - 1: the kernel keeps no more of a name. */
#define COMM_LENGTH 15

static bool matches_comm(const char *word, const struct word_subject *subject)
{
	return !strncmp(word, subject->comm, COMM_LENGTH);
}

static bool matches_cgroup(const char *word, const struct word_subject *subject)
{
	for (size_t i = 0; i < subject->paths->list.count; i++) {
		if (cgroup_is_within(subject->paths->list.items[i].path, word))
			return true;
	}
	return false;
}

static bool matches_container(const char *word, const struct word_subject *subject)
{
	const struct container *container = subject->container;

	if (!subject->id.id[0])
		return false;
	return !strncmp(word, subject->id.id, strlen(word)) ||
	       (container && container->name && !strcmp(word, container->name));
}

static bool is_pod(const char *word, const char *namespace, const char *pod)
{
	const char *slash = strchr(word, '/');
	size_t length = slash ? (size_t)(slash - word) : 0;

	if (!pod || strcmp(slash ? slash + 1 : word, pod) != 0)
		return false;
	return !slash ||
	       (namespace && strlen(namespace) == length && !memcmp(namespace, word, length));
}

static bool matches_pod(const char *word, const struct word_subject *subject)
{
	const struct container *container = subject->container;

	return container && is_pod(word, container->namespace, container->pod);
}

bool word_is_claimed(enum selector_kind kind, const char *word, const struct container *container)
{
	const struct container_claims *claims = &container->claims;

	if (kind == SELECT_CONTAINER)
		return claims->name && !strcmp(word, claims->name);
	return kind == SELECT_POD && is_pod(word, claims->namespace, claims->pod);
}

bool word_matches(enum selector_kind kind, const char *word, const struct word_subject *subject)
{
	static bool (*const matches[])(const char *, const struct word_subject *) = {
		[SELECT_COMM] = matches_comm,
		[SELECT_CGROUP] = matches_cgroup,
		[SELECT_CONTAINER] = matches_container,
		[SELECT_POD] = matches_pod,
	};
	_Static_assert(ARRAY_SIZE(matches) == SELECT_MAX_, "a function for every kind");

	return matches[kind](word, subject);
}

int word_marks_init(struct word_marks *marks, const struct word_list words[SELECT_MAX_])
{
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++) {
		marks->matched[kind] = calloc(words[kind].count + 1, sizeof(bool));
		if (!marks->matched[kind])
			return -ENOMEM;
	}
	return 0;
}

void word_marks_free(struct word_marks *marks)
{
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++)
		free(marks->matched[kind]);
}
