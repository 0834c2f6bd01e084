// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/selector.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "process/proc/host_file.h"
#include "process/proc/mounts.h"
#include "process/proc/process_list.h"

/* TASK_COMM_LEN - 1: the kernel truncates longer names. */
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
	/*
	 * A chosen id ("web") must match in full; if users other than root chose it, it is only a
	 * claim.
	 */
	return (subject->id.source == CONTAINER_BY_PATH &&
		!strncmp(word, subject->id.id, strlen(word))) ||
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

/* Returns whether the container merely claims the name given by the word. */
static bool word_is_claimed(enum selector_kind kind, const char *word,
			    const struct container *container)
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

static int word_marks_init(struct word_marks *marks, const struct word_list words[SELECT_MAX_])
{
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++) {
		marks->matched[kind] = calloc(words[kind].count + 1, sizeof(bool));
		if (!marks->matched[kind])
			return -ENOMEM;
	}
	return 0;
}

static void word_marks_free(struct word_marks *marks)
{
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++)
		free(marks->matched[kind]);
}

/* The possible values, for a word that matched nothing. */

/* A message has room for about 2,000 bytes, mostly escapes if names are hostile. */
#define SHOWN_MAX 20
#define SHOWN_BYTES 1200

/* Distinct names, at least half of the limit: enough to show what exists. */
#define NAMES_MAX 4096
#define PROCESSES_MAX 4194304

struct names {
	VEC(char *) list;
	bool full;
};

static void names_free(struct names *names)
{
	for (size_t i = 0; i < names->list.count; i++)
		free(names->list.items[i]);
	vec_free(&names->list);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts, and drops duplicates. */
static void names_settle(struct names *names)
{
	size_t kept = 0;

	if (!names->list.count)
		return;
	qsort(names->list.items, names->list.count, sizeof(*names->list.items), by_text);
	for (size_t i = 1; i < names->list.count; i++) {
		if (strcmp(names->list.items[kept], names->list.items[i]) != 0)
			names->list.items[++kept] = TAKE_PTR(names->list.items[i]);
		else
			free(TAKE_PTR(names->list.items[i]));
	}
	names->list.count = kept + 1;
}

/* Most names recur: duplicates are dropped before any name is left out. */
static bool has_room(struct names *names)
{
	if (names->list.count == NAMES_MAX && !names->full) {
		names_settle(names);
		names->full = names->list.count > NAMES_MAX / 2;
	}
	return names->list.count < NAMES_MAX;
}

static void names_add(struct names *names, const char *text)
{
	char **slot = has_room(names) ? vec_push(&names->list) : NULL;

	if (!slot)
		return;
	*slot = strdup(text);
	if (!*slot)
		names->list.count--;
}

static void add_comm(const struct process_entry *entry, struct container_cache *containers,
		     struct names *names)
{
	(void)containers;
	names_add(names, entry->comm);
}

static void add_cgroups(const struct process_entry *entry, struct container_cache *containers,
			struct names *names)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};

	(void)containers;
	cgroup_paths_read(entry->pid, &paths);
	for (size_t i = 0; i < paths.list.count; i++)
		names_add(names, paths.list.items[i].path);
}

static void add_container(const struct process_entry *entry, struct container_cache *containers,
			  struct names *names)
{
	const struct container *container = container_find(containers, entry->pid);
	char text[80];
	bool named;

	if (!container)
		return;
	named = container->name && !container_is_named_by_id(container);
	snprintf(text, sizeof(text), "%.*s%s%.40s%s%s", named || !container->name ? 12 : 40,
		 container->id, named ? " (" : "", named ? container->name : "", named ? ")" : "",
		 container->doubt ? " (unproven)" : "");
	names_add(names, text);
}

static void add_pod(const struct process_entry *entry, struct container_cache *containers,
		    struct names *names)
{
	const struct container *container = container_find(containers, entry->pid);
	char text[2 * 256];

	if (!container || !container->pod)
		return;
	snprintf(text, sizeof(text), "%s%s%s", container->namespace ? container->namespace : "",
		 container->namespace ? "/" : "", container->pod);
	names_add(names, text);
}

static const struct {
	const char *option, *nothing, *there, *none;
	void (*add)(const struct process_entry *, struct container_cache *, struct names *);
} kinds[] = {
	[SELECT_COMM] = {"--comm", "no process has that name", "processes here", "", add_comm},
	[SELECT_CGROUP] = {"--cgroup", "no process is in that cgroup or below it", "cgroups here",
			   "no process shows its cgroup", add_cgroups},
	[SELECT_CONTAINER] = {"--container", "no container has that name, or an id that begins so",
			      "containers here", "no process here runs in a container",
			      add_container},
	[SELECT_POD] = {"--pod", "no process runs in a pod of that name", "pods here",
			"no process here runs in a pod with a known name", add_pod},
};

_Static_assert(ARRAY_SIZE(kinds) == SELECT_MAX_, "a row for every kind");

static void names_print(FILE *out, const struct names *names)
{
	size_t shown = 0, bytes = 0;

	for (; shown < names->list.count && shown < SHOWN_MAX; shown++) {
		bytes += strlen(names->list.items[shown]) + 2;
		if (bytes > SHOWN_BYTES)
			break;
		fprintf(out, "%s%s", shown ? ", " : "", names->list.items[shown]);
	}
	if (shown < names->list.count)
		fprintf(out, "%s%zu %s", shown ? ", and " : "", names->list.count - shown,
			shown ? "more" : "with long names");
}

static void names_collect(enum selector_kind kind, struct names *names)
{
	_cleanup_(process_list_free) struct process_list processes = {0};
	struct container_cache *containers = container_cache_new();

	process_list_read(PROCESSES_MAX, &processes);
	for (size_t i = 0; containers && i < processes.list.count; i++) {
		if (!processes.list.items[i].kernel_thread)
			kinds[kind].add(&processes.list.items[i], containers, names);
	}
	container_cache_free(containers);
	names_settle(names);
}

/* Names the containers that claim the name without proof. Returns false if there are none. */
static bool explain_claim(const struct unmatched *unmatched)
{
	_cleanup_(process_list_free) struct process_list processes = {0};
	struct container_cache *containers = container_cache_new();
	bool claimed = false;

	process_list_read(PROCESSES_MAX, &processes);
	for (size_t i = 0; containers && i < processes.list.count && !claimed; i++) {
		pid_t pid = processes.list.items[i].pid;
		const struct container *container = processes.list.items[i].kernel_thread
							    ? NULL
							    : container_find(containers, pid);

		if (!container || !word_is_claimed(unmatched->kind, unmatched->word, container))
			continue;
		claimed = true;
		log_error(
			"%s %.200s: PID %d claims that name, and it is unproven: %s; choose it by --pid, --cgroup or --container ID",
			kinds[unmatched->kind].option, unmatched->word, pid,
			container_doubt_reason(container));
	}
	container_cache_free(containers);
	return claimed;
}

static void explain(const struct unmatched *unmatched, bool hidden)
{
	_cleanup_(names_free) struct names names = {0};
	_cleanup_free_ char *list = NULL;
	size_t size;
	FILE *out;

	names_collect(unmatched->kind, &names);
	out = open_memstream(&list, &size);
	if (out) {
		names_print(out, &names);
		fclose(out);
	}
	log_error("%s %.200s: %s; %s%s%s%s", kinds[unmatched->kind].option, unmatched->word,
		  kinds[unmatched->kind].nothing,
		  names.list.count ? kinds[unmatched->kind].there : kinds[unmatched->kind].none,
		  names.list.count ? ": " : "", names.list.count && list ? list : "",
		  hidden ? " (/proc is mounted with hidepid and hides the processes of others: run "
			   "leakmon as root)"
			 : "");
}

int selection_explain(const struct selection *selection)
{
	for (size_t i = 0; i < selection->unmatched.count; i++) {
		const struct unmatched *unmatched = &selection->unmatched.items[i];

		if ((unmatched->kind != SELECT_POD && unmatched->kind != SELECT_CONTAINER) ||
		    !explain_claim(unmatched))
			explain(unmatched, selection->hidden);
	}
	return selection->unmatched.count ? -ENOENT : 0;
}

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
	for (size_t i = 0; i < config->pids.count; i++) {
		int *pid = vec_push(&selector->pids);

		if (!pid)
			return -ENOMEM;
		*pid = config->pids.items[i];
	}
	return 0;
}

bool selector_config_is_empty(const struct selector_config *config)
{
	size_t words = 0;

	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++)
		words += config->words[kind].count;
	return !config->pids.count && !words;
}

void selector_config_free(struct selector_config *config)
{
	vec_free(&config->pids);
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++)
		vec_free(&config->words[kind]);
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

/* Returns whether any word matches; marks the matching ones, if `marks` is given. */
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

/* Reads only those details of a process that a word needs. */
static bool match_process(struct selector *selector, const struct process_entry *entry,
			  struct word_marks *marks)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};
	struct word_subject subject = {.comm = entry->comm, .paths = &paths};

	if (selector->all)
		return true;
	if (selector->words[SELECT_CGROUP].count || selector->words[SELECT_CONTAINER].count ||
	    selector->words[SELECT_POD].count)
		cgroup_paths_read(entry->pid, &paths);
	if (selector->words[SELECT_POD].count || selector->words[SELECT_CONTAINER].count)
		subject.container = container_find_by_paths(selector->containers, entry->pid,
							    &paths, &subject.id);
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

int selector_matched(const struct selector *selector, const char *comm)
{
	const struct word_list *names = &selector->words[SELECT_COMM];
	const struct word_subject subject = {.comm = comm};

	if (selector->all)
		return 1;
	for (size_t i = 0; i < names->count; i++) {
		if (word_matches(SELECT_COMM, names->items[i], &subject))
			return 1;
	}
	return selector->words[SELECT_CGROUP].count || selector->words[SELECT_CONTAINER].count ||
			       selector->words[SELECT_POD].count
		       ? -ENODATA
		       : 0;
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

int selection_take(const struct selector_config *config, struct selection *selection)
{
	struct selector *selector = selector_new(config, NULL);
	int error = selector ? selector_list(selector, selection) : -ENOMEM;

	if (error)
		log_error("cannot list processes: %s", strerror(-error));
	else
		error = selection_explain(selection); /* it borrows from the selector */
	selector_free(selector);
	return error;
}
