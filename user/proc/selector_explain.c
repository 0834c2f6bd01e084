// SPDX-License-Identifier: GPL-2.0-or-later
/* What there is, for an operator whose word named nothing. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/process_list.h"
#include "proc/selector.h"
#include "proc/selector_words.h"

/* A message has room for about 2,000 bytes, most of them escapes if names are hostile. */
#define SHOWN_MAX 20
#define SHOWN_BYTES 1200
/* Different names, at least half of it: enough to see what there is. */
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

/* Sorts, and drops what is there twice. */
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

/* Most names come many times: room is made before any is left out. */
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

	if (!container)
		return;
	snprintf(text, sizeof(text), "%.12s%s%.40s%s%s", container->id, container->name ? " (" : "",
		 container->name ? container->name : "", container->name ? ")" : "",
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
			"no process here runs in a pod whose name is known", add_pod},
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

/* Says who claims the name without proof. False: nobody does. */
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
		log_error("%s %.200s: PID %d claims that name, and it is unproven: %s; if it is "
			  "the one you mean, choose it by --pid, --cgroup or --container ID",
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
