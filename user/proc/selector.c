// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/selector.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/process_list.h"
#include "proc/selector_words.h"
#include "proc/small_file.h"

/* PID_MAX_LIMIT, include/linux/threads.h: all there can be. */
#define PROCESSES_MAX 4194304
#define MOUNTINFO_MAX_BYTES (4u << 20)

struct selector {
	VEC(int) pids;
	struct word_list words[SELECT_MAX_];
	struct container_cache *containers;
	bool owns_containers;
	bool all;
	pid_t self;
};

static char *copy_word(enum selector_kind kind, const char *word, const char *mountinfo)
{
	return kind == SELECT_CGROUP ? cgroup_path_from_argument(word, mountinfo) : strdup(word);
}

static int copy_words(struct selector *selector, const struct selector_config *config,
		      const char *mountinfo)
{
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++) {
		for (size_t i = 0; i < config->words[kind].count; i++) {
			char **word = vec_push(&selector->words[kind]);

			if (word)
				*word = copy_word(kind, config->words[kind].items[i], mountinfo);
			if (!word || !*word)
				return -ENOMEM;
		}
	}
	for (size_t i = 0; i < config->pid_count; i++) {
		int *pid = vec_push(&selector->pids);

		if (!pid)
			return -ENOMEM;
		*pid = config->pids[i];
	}
	return 0;
}

struct selector *selector_new(const struct selector_config *config,
			      struct container_cache *containers)
{
	_cleanup_free_ char *mountinfo = NULL;
	struct selector *selector = calloc(1, sizeof(*selector));

	if (!selector)
		return NULL;
	selector->self = getpid();
	selector->all = config->all;
	selector->owns_containers = !containers;
	selector->containers = containers ? containers : container_cache_new();
	if (config->words[SELECT_CGROUP].count)
		small_file_read("/proc/self/mountinfo", MOUNTINFO_MAX_BYTES, &mountinfo);
	if (selector->containers && !copy_words(selector, config, mountinfo ? mountinfo : ""))
		return selector;
	selector_free(selector);
	return NULL;
}

void selector_free(struct selector *selector)
{
	if (!selector)
		return;
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++) {
		for (size_t i = 0; i < selector->words[kind].count; i++)
			free(selector->words[kind].items[i]);
		vec_free(&selector->words[kind]);
	}
	vec_free(&selector->pids);
	if (selector->owns_containers)
		container_cache_free(selector->containers);
	free(selector);
}

bool selector_is_open(const struct selector *selector)
{
	if (selector->all)
		return true;
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++) {
		if (selector->words[kind].count)
			return true;
	}
	return false;
}

static bool has_pid(const struct selector *selector, pid_t pid)
{
	for (size_t i = 0; i < selector->pids.count; i++) {
		if (selector->pids.items[i] == pid)
			return true;
	}
	return false;
}

static bool is_selectable(const struct selector *selector, const struct process_entry *entry)
{
	bool ended = (entry->state == 'Z' && entry->threads <= 1) || entry->state == 'X';

	return !entry->kernel_thread && !ended && entry->pid != selector->self &&
	       entry->parent != selector->self;
}

/* Whether any word matches; those that do are marked, if there is a place to. */
static bool match_words(struct selector *selector, const struct word_subject *subject,
			struct word_marks *marks)
{
	bool any = false;

	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++) {
		for (size_t i = 0; i < selector->words[kind].count; i++) {
			if (!word_matches(kind, selector->words[kind].items[i], subject))
				continue;
			any = true;
			if (!marks)
				return true;
			marks->matched[kind][i] = true;
		}
	}
	return any;
}

/* What is read of a process depends on what is asked for. */
static bool match_process(struct selector *selector, const struct process_entry *entry,
			  struct word_marks *marks)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};
	struct word_subject subject = {.comm = entry->comm, .paths = &paths};
	const struct cgroup_path *path;

	if (selector->all)
		return true;
	if (selector->words[SELECT_CGROUP].count || selector->words[SELECT_CONTAINER].count ||
	    selector->words[SELECT_POD].count)
		cgroup_paths_read(entry->pid, &paths);
	path = container_path(&paths, &subject.id);
	if (path && (selector->words[SELECT_POD].count || selector->words[SELECT_CONTAINER].count))
		subject.container =
			container_find_by_paths(selector->containers, entry->pid, &paths);
	return match_words(selector, &subject, marks);
}

int selector_matches(struct selector *selector, pid_t pid)
{
	struct process_entry entry;
	int error;

	if (has_pid(selector, pid))
		return 1;
	if (!selector_is_open(selector))
		return 0;
	error = process_read(pid, &entry);
	if (error)
		return error == -ESRCH ? -ESRCH : 0;
	return is_selectable(selector, &entry) && match_process(selector, &entry, NULL);
}

static int add_pid(struct selection *selection, pid_t pid)
{
	pid_t *slot = vec_push(&selection->pids);

	if (!slot)
		return -ENOMEM;
	*slot = pid;
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	pid_t one = *(const pid_t *)a, other = *(const pid_t *)b;

	return (one > other) - (one < other);
}

static int list_matching(struct selector *selector, struct selection *selection,
			 struct word_marks *marks)
{
	_cleanup_(process_list_free) struct process_list processes = {0};
	int error = process_list_read(PROCESSES_MAX, &processes);

	for (size_t i = 0; i < processes.list.count && !error; i++) {
		const struct process_entry *entry = &processes.list.items[i];

		if (is_selectable(selector, entry) && match_process(selector, entry, marks) &&
		    !has_pid(selector, entry->pid))
			error = add_pid(selection, entry->pid);
	}
	selection->truncated = processes.truncated;
	selection->hidden = processes.hidden;
	return error;
}

static int list_unmatched(const struct selector *selector, const struct word_marks *marks,
			  struct selection *selection)
{
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++) {
		for (size_t i = 0; i < selector->words[kind].count; i++) {
			struct unmatched *unmatched;

			if (marks->matched[kind][i])
				continue;
			unmatched = vec_push(&selection->unmatched);
			if (!unmatched)
				return -ENOMEM;
			unmatched->kind = kind;
			unmatched->word = selector->words[kind].items[i];
		}
	}
	return 0;
}

int selector_list(struct selector *selector, struct selection *selection)
{
	_cleanup_(selection_free) struct selection listed = {0};
	_cleanup_(word_marks_free) struct word_marks marks = {0};
	int error = word_marks_init(&marks, selector->words);

	for (size_t i = 0; i < selector->pids.count && !error; i++)
		error = add_pid(&listed, selector->pids.items[i]);
	if (!error && selector_is_open(selector))
		error = list_matching(selector, &listed, &marks);
	if (!error)
		error = list_unmatched(selector, &marks, &listed);
	if (error)
		return error;
	if (listed.pids.count)
		qsort(listed.pids.items, listed.pids.count, sizeof(*listed.pids.items), by_pid);
	*selection = listed;
	listed = (struct selection){0};
	return 0;
}

void selection_free(struct selection *selection)
{
	vec_free(&selection->pids);
	vec_free(&selection->unmatched);
}
