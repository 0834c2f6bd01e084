// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --descriptors: the tables that the BPF side keeps (leakmon_descriptor.h), from what was open
 * before to the rows of a snapshot. /proc/PID/fd is the second witness: each snapshot compares.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "process/proc/file_kinds.h"
#include "process/proc/process_list.h"
#include "trace/collect/event_streams.h"
#include "trace/probe/map_walk.h"

/* The kinds of so many descriptors are looked up for one snapshot; the rest waits for the next. */
#define LOOKS_MAX 65536
/* Kinds of files of one process that are told apart. */
#define PATTERNS_MAX 4096
/* Named in a row. */
#define PATTERNS_SHOWN 3
/* The two witnesses of a descriptor may differ while a call is under way. */
#define DOUBT_TURNS 5
#define DOUBT_WAIT_NS 2000000

/* One that is open, as the BPF side has it. */
struct open_slot {
	uint32_t fd;
	struct lm_descriptor is;
};

/* The kind of its file, since it was opened. */
struct look {
	uint64_t born_ns;
	uint64_t path;	  /* hash of its path */
	uint32_t pattern; /* place in table.patterns */
	enum site_kind kind;
};

struct table {
	pid_t pid;
	uint32_t index;
	uint64_t followed_ns;
	uint64_t before, adopted, given_up;
	bool inexact;
	bool over;		 /* it had ended when the latest walk began */
	struct hash look_places; /* fd -> place in `looks` */
	VEC(struct look) looks;
	VEC(char *) patterns;	    /* each owned */
	VEC(struct open_slot) open; /* of the latest walk, by number */
	VEC(uint32_t) kept;	    /* every slot's number, of one that is over */
};

struct descriptor_stream {
	struct event_stream base;
	const struct bpf_side *bpf;
	VEC(struct table *) tables; /* each owned */
	struct table **by_index;    /* bpf->max_processes */
	struct descriptor_ledger gone;
	uint64_t misses;
};

/* -------- tables */

static struct lm_descriptor_table *counts_of(const struct descriptor_stream *stream,
					     const struct table *table)
{
	return &stream->bpf->descriptor_tables[table->index];
}

static bool is_over(const struct descriptor_stream *stream, const struct table *table)
{
	return __atomic_load_n(&counts_of(stream, table)->ended, __ATOMIC_ACQUIRE);
}

static void table_free(struct table *table)
{
	for (size_t i = 0; i < table->patterns.count; i++)
		free(table->patterns.items[i]);
	vec_free(&table->patterns);
	vec_free(&table->looks);
	vec_free(&table->open);
	vec_free(&table->kept);
	hash_free(&table->look_places);
	free(table);
}

static struct table *table_add(struct descriptor_stream *stream, pid_t pid)
{
	uint32_t index = 0;
	struct table **place, *table;

	while (index < stream->bpf->max_processes && stream->by_index[index])
		index++;
	if (index == stream->bpf->max_processes)
		return NULL;
	table = calloc(1, sizeof(*table));
	place = table ? vec_push(&stream->tables) : NULL;
	if (!place) {
		free(table);
		return NULL;
	}
	table->pid = pid;
	table->index = index;
	table->followed_ns = monotonic_ns();
	*place = stream->by_index[index] = table;
	return table;
}

static void table_remove(struct descriptor_stream *stream, size_t place)
{
	struct table *table = stream->tables.items[place];

	memset(counts_of(stream, table), 0, sizeof(struct lm_descriptor_table));
	stream->by_index[table->index] = NULL;
	stream->tables.items[place] = stream->tables.items[--stream->tables.count];
	table_free(table);
}

/* That is followed; NULL: none is. */
static struct table *table_find(const struct descriptor_stream *stream, pid_t pid)
{
	for (size_t i = 0; i < stream->tables.count; i++) {
		struct table *table = stream->tables.items[i];

		if (table->pid == pid && !is_over(stream, table))
			return table;
	}
	return NULL;
}

static bool slot_read(const struct descriptor_stream *stream, const struct table *table,
		      uint32_t fd, struct lm_descriptor *slot)
{
	struct lm_descriptor_key key = {.table = table->index, .fd = fd};

	return !bpf_map_lookup_elem(stream->bpf->descriptors_fd, &key, slot) &&
	       slot->born_ns != LM_DESCRIPTOR_CLOSED;
}

static int slot_write(const struct descriptor_stream *stream, const struct table *table,
		      uint32_t fd, uint64_t born_ns, uint64_t flags)
{
	struct lm_descriptor_key key = {.table = table->index, .fd = fd};
	struct lm_descriptor slot = {.born_ns = born_ns, .site = LM_SITE_LOST};

	return bpf_map_update_elem(stream->bpf->descriptors_fd, &key, &slot, flags) ? -errno : 0;
}

/* -------- the other witness */

struct fd_list {
	VEC(uint32_t) list; /* ascending */
};

static int number_compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static int fd_list_add(struct fd_list *open, const char *path)
{
	_cleanup_closedir_ DIR *directory = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return -errno;
	while ((entry = readdir(directory))) {
		uint32_t *fd = entry->d_name[0] == '.' ? NULL : vec_push(&open->list);

		if (fd)
			*fd = (uint32_t)strtoul(entry->d_name, NULL, 10);
		else if (entry->d_name[0] != '.')
			return -ENOMEM;
	}
	if (open->list.count)
		qsort(open->list.items, open->list.count, sizeof(*open->list.items),
		      number_compare);
	return 0;
}

/* A main thread that has ended has no table any more: the others' is that of the process. */
static int fd_list_read(pid_t pid, struct fd_list *open)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	char path[64];
	pid_t tid;
	int error;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	error = fd_list_add(open, path);
	if (error || open->list.count)
		return error;
	tasks = process_tasks_open(pid);
	while (!open->list.count && (tid = process_tasks_next(tasks))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", pid, tid);
		fd_list_add(open, path);
	}
	return 0;
}

static bool fd_list_has(const struct fd_list *open, uint32_t fd)
{
	return open->list.count &&
	       bsearch(&fd, open->list.items, open->list.count, sizeof(fd), number_compare) != NULL;
}

/* -------- from the beginning */

/*
 * Descriptors from before. The kernel has been counting since the table is followed: what was
 * opened or closed since has a slot already, and is left as it is. Of what was being closed right
 * then, a second look tells.
 */
static int enter_before(const struct descriptor_stream *stream, struct table *table)
{
	struct fd_list open = {0}, again = {0};
	struct lm_descriptor slot;
	int error = fd_list_read(table->pid, &open);

	for (size_t i = 0; i < open.list.count && !error; i++) {
		error = slot_write(stream, table, open.list.items[i], LM_DESCRIPTOR_BEFORE,
				   BPF_NOEXIST);
		table->before += !error;
		error = error == -EEXIST ? 0 : error;
	}
	if (open.list.count)
		counts_of(stream, table)->highest = MAX(counts_of(stream, table)->highest,
							open.list.items[open.list.count - 1]);
	counts_of(stream, table)->seeding = 0;
	if (!error)
		error = fd_list_read(table->pid, &again);
	for (size_t i = 0; i < open.list.count && !error; i++) {
		uint32_t fd = open.list.items[i];

		if (fd_list_has(&again, fd) || !slot_read(stream, table, fd, &slot) ||
		    slot.born_ns != LM_DESCRIPTOR_BEFORE)
			continue;
		slot_write(stream, table, fd, LM_DESCRIPTOR_CLOSED, BPF_EXIST);
		table->before--;
	}
	vec_free(&open.list);
	vec_free(&again.list);
	return error;
}

static int stream_follow(struct event_stream *base, int pid)
{
	struct descriptor_stream *stream = (struct descriptor_stream *)base;
	uint32_t tgid = (uint32_t)pid;
	struct table *table;
	int error;

	if (table_find(stream, pid))
		return 0;
	table = table_add(stream, pid);
	if (!table)
		return -ENOMEM;
	counts_of(stream, table)->seeding = 1;
	if (bpf_map_update_elem(stream->bpf->descriptor_targets_fd, &tgid, &table->index,
				BPF_ANY)) {
		error = -errno;
		table_remove(stream, stream->tables.count - 1);
		return error;
	}
	error = enter_before(stream, table);
	table->inexact |= error != 0;
	return error;
}

static void stream_forget(struct event_stream *base, int pid)
{
	struct descriptor_stream *stream = (struct descriptor_stream *)base;
	struct table *table = table_find(stream, pid);
	uint32_t tgid = (uint32_t)pid;

	if (!table)
		return;
	bpf_map_delete_elem(stream->bpf->descriptor_targets_fd, &tgid);
	__atomic_store_n(&counts_of(stream, table)->ended, 1, __ATOMIC_RELEASE);
}

static int stream_consume(struct event_stream *base)
{
	(void)base;
	return 0;
}

/* -------- a walk over all slots */

static int note_slot(struct table *table, const struct lm_descriptor_key *key,
		     const struct lm_descriptor *slot)
{
	struct open_slot *open;
	uint32_t *kept;

	if (table->over) {
		kept = vec_push(&table->kept);
		if (!kept)
			return -ENOMEM;
		*kept = key->fd;
	}
	if (slot->born_ns == LM_DESCRIPTOR_CLOSED)
		return 0;
	open = vec_push(&table->open);
	if (!open)
		return -ENOMEM;
	*open = (struct open_slot){key->fd, *slot};
	return 0;
}

static int note_slots(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_descriptor_key *key = keys;
	const struct lm_descriptor *slot = values;
	struct descriptor_stream *stream = context;
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		struct table *table = key[i].table < stream->bpf->max_processes
					      ? stream->by_index[key[i].table]
					      : NULL;

		if (table)
			error = note_slot(table, &key[i], &slot[i]);
	}
	return error;
}

static int slot_compare(const void *left, const void *right)
{
	return number_compare(&((const struct open_slot *)left)->fd,
			      &((const struct open_slot *)right)->fd);
}

static int walk(struct descriptor_stream *stream)
{
	int error;

	for (size_t i = 0; i < stream->tables.count; i++) {
		struct table *table = stream->tables.items[i];

		table->over = is_over(stream, table);
		table->open.count = 0;
		table->kept.count = 0;
	}
	error = map_walk(stream->bpf->descriptors_fd, sizeof(struct lm_descriptor_key),
			 sizeof(struct lm_descriptor), note_slots, stream);
	for (size_t i = 0; i < stream->tables.count; i++) {
		struct table *table = stream->tables.items[i];

		if (table->open.count)
			qsort(table->open.items, table->open.count, sizeof(*table->open.items),
			      slot_compare);
	}
	return error;
}

/* -------- both witnesses */

/* A descriptor that they disagree on. */
struct doubt {
	uint32_t fd;
	bool listed;	  /* in /proc/PID/fd */
	uint64_t born_ns; /* of its slot */
};

struct doubts {
	VEC(struct doubt) list;
};

static int doubts_add(struct doubts *doubts, uint32_t fd, bool listed, uint64_t born_ns)
{
	struct doubt *doubt = vec_push(&doubts->list);

	if (!doubt)
		return -ENOMEM;
	*doubt = (struct doubt){fd, listed, born_ns};
	return 0;
}

static const struct open_slot *slot_find(const struct table *table, uint32_t fd)
{
	const struct open_slot key = {.fd = fd};

	return table->open.count ? bsearch(&key, table->open.items, table->open.count, sizeof(key),
					   slot_compare)
				 : NULL;
}

static int find_doubts(const struct table *table, const struct fd_list *open, struct doubts *doubts)
{
	int error = 0;

	for (size_t i = 0; i < open->list.count && !error; i++) {
		if (!slot_find(table, open->list.items[i]))
			error = doubts_add(doubts, open->list.items[i], true, 0);
	}
	for (size_t i = 0; i < table->open.count && !error; i++) {
		const struct open_slot *slot = &table->open.items[i];

		if (!fd_list_has(open, slot->fd))
			error = doubts_add(doubts, slot->fd, false, slot->is.born_ns);
	}
	return error;
}

/* Most of them are calls that came and went while the two were read. */
static void dispel_doubts(const struct descriptor_stream *stream, const struct table *table,
			  const struct fd_list *open, struct doubts *doubts)
{
	size_t kept = 0;

	for (size_t i = 0; i < doubts->list.count; i++) {
		const struct doubt *doubt = &doubts->list.items[i];
		struct lm_descriptor slot = {0};
		bool has_slot = slot_read(stream, table, doubt->fd, &slot);

		if (has_slot == fd_list_has(open, doubt->fd) || has_slot == doubt->listed ||
		    (has_slot && slot.born_ns != doubt->born_ns))
			continue;
		doubts->list.items[kept++] = *doubt;
	}
	doubts->list.count = kept;
}

static void settle_doubt(const struct descriptor_stream *stream, struct table *table,
			 const struct doubt *doubt)
{
	uint64_t born_ns = doubt->listed ? monotonic_ns() : LM_DESCRIPTOR_CLOSED;
	int error = slot_write(stream, table, doubt->fd, born_ns, BPF_EXIST);

	if (error == -ENOENT && doubt->listed)
		error = slot_write(stream, table, doubt->fd, born_ns, BPF_NOEXIST);
	table->inexact = true;
	table->adopted += doubt->listed && !error;
	table->given_up += !doubt->listed && !error;
}

/* 0; -ESRCH: it has ended; -errno. True in *mended: the slots have changed. */
static int compare(const struct descriptor_stream *stream, struct table *table, bool *mended)
{
	const struct timespec wait = {.tv_nsec = DOUBT_WAIT_NS};
	struct doubts doubts = {0};
	struct fd_list open = {0};
	int error = fd_list_read(table->pid, &open);

	if (!error)
		error = find_doubts(table, &open, &doubts);
	for (int turn = 0; turn < DOUBT_TURNS && doubts.list.count && !error; turn++) {
		nanosleep(&wait, NULL);
		open.list.count = 0;
		error = fd_list_read(table->pid, &open);
		dispel_doubts(stream, table, &open, &doubts);
	}
	for (size_t i = 0; i < doubts.list.count && !error && !is_over(stream, table); i++) {
		settle_doubt(stream, table, &doubts.list.items[i]);
		*mended = true;
	}
	vec_free(&doubts.list);
	vec_free(&open.list);
	return error == -ENOENT ? -ESRCH : error;
}

static int compare_all(struct descriptor_stream *stream)
{
	bool mended = false;

	for (size_t i = 0; i < stream->tables.count; i++) {
		struct table *table = stream->tables.items[i];
		int error;

		if (is_over(stream, table))
			continue;
		error = compare(stream, table, &mended);
		/* One that cannot be asked is as exact as the kernel's side alone. */
		if (error == -ENOMEM)
			return error;
	}
	return mended ? walk(stream) : 0;
}

/* -------- what they are of */

static uint32_t pattern_of(struct table *table, const char *name)
{
	char **place;

	for (size_t i = 0; i < table->patterns.count; i++) {
		if (!strcmp(table->patterns.items[i], name))
			return (uint32_t)i;
	}
	if (table->patterns.count >= PATTERNS_MAX)
		return UINT32_MAX;
	place = vec_push(&table->patterns);
	if (place)
		*place = strdup(name);
	if (place && *place)
		return (uint32_t)(table->patterns.count - 1);
	table->patterns.count -= place != NULL;
	return UINT32_MAX;
}

/* From the name of the kind, process/proc/file_kinds.h; leaves of it what the kind does not say. */
static enum site_kind kind_of(char *name)
{
	static const struct {
		const char *begin;
		enum site_kind kind;
		bool tells; /* all */
	} kinds[] = {
		{"/dev/", KIND_DEVICE, false}, {"/", KIND_FILE, false},
		{"socket", KIND_SOCKET, true}, {"pipe", KIND_PIPE, true},
		{"memfd", KIND_MEMFD, true},
	};
	char *protocol = strchr(name, '(');

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strncmp(name, kinds[i].begin, strlen(kinds[i].begin)) != 0)
			continue;
		if (kinds[i].kind == KIND_SOCKET && protocol)
			memmove(name, protocol + 1, strcspn(protocol + 1, ")") + 1);
		else if (kinds[i].tells)
			*name = '\0';
		if (kinds[i].kind == KIND_SOCKET)
			name[strcspn(name, ")")] = '\0';
		return kinds[i].kind;
	}
	return KIND_ANONYMOUS;
}

/* NULL: already closed, or not looked up yet. */
static const struct look *look_at(const struct descriptor_stream *stream, struct table *table,
				  const struct open_slot *slot, size_t *budget)
{
	const uint64_t *known = hash_get(&table->look_places, slot->fd);
	struct look *look = known ? &table->looks.items[*known] : NULL;
	char path[64], name[FILE_KIND_SIZE];
	struct lm_descriptor now;
	uint64_t *place, hash;

	if ((look && look->born_ns == slot->is.born_ns) || !*budget)
		return look && look->born_ns == slot->is.born_ns ? look : NULL;
	(*budget)--;
	snprintf(path, sizeof(path), "/proc/%d/fd/%u", table->pid, slot->fd);
	if (!file_kind_read(path, name, sizeof(name), &hash) ||
	    !slot_read(stream, table, slot->fd, &now) || now.born_ns != slot->is.born_ns)
		return NULL;
	if (!look) {
		place = hash_put(&table->look_places, slot->fd, NULL);
		look = place ? vec_push(&table->looks) : NULL;
		if (!look) {
			hash_remove(&table->look_places, slot->fd);
			return NULL;
		}
		*place = table->looks.count - 1;
	}
	look->born_ns = slot->is.born_ns;
	look->path = hash;
	look->kind = kind_of(name);
	look->pattern = *name ? pattern_of(table, name) : UINT32_MAX;
	return look;
}

/* -------- rows of a snapshot */

struct share {
	uint32_t pattern, fd; /* fd: the first one */
	uint64_t count, path; /* path: of all; 0: they are of several files */
};

struct row {
	uint32_t site;
	enum lm_lost lost;
	enum site_kind kind;
	uint64_t count, oldest_ns, ages[SITE_AGES_MAX_];
	VEC(struct share) shares;
};

struct rows {
	VEC(struct row) list;
	struct hash places;
};

static void rows_free(struct rows *rows)
{
	for (size_t i = 0; i < rows->list.count; i++)
		vec_free(&rows->list.items[i].shares);
	vec_free(&rows->list);
	hash_free(&rows->places);
}

static enum lm_lost lost_of(const struct lm_descriptor *slot)
{
	if (slot->born_ns == LM_DESCRIPTOR_BEFORE)
		return LM_LOST_BEFORE;
	if (slot->site != LM_SITE_LOST)
		return LM_LOST_NONE;
	return slot->by_worker ? LM_LOST_WORKER : LM_LOST_SITES_FULL;
}

/* No site has this bit (SITES_LIMIT of app/command/options.c). */
#define ROW_OF_LOST (1u << 22)

/* A site of the heap and those of descriptors are rows of their own, as those of mappings. */
static uint32_t row_index(uint32_t site, enum site_kind kind, enum lm_lost lost)
{
	_Static_assert(KIND_MAX_ < 255, "room in the index of a row");
	return (lost ? ROW_OF_LOST | lost : site) | ((uint32_t)kind + 1) << 24;
}

static struct row *row_of(struct rows *rows, const struct lm_descriptor *slot, enum site_kind kind)
{
	enum lm_lost lost = lost_of(slot);
	uint32_t site = lost ? LM_SITE_LOST : slot->site;
	bool fresh;
	uint64_t *place = hash_put(
		&rows->places, (uint64_t)site << 16 | (uint64_t)kind << 8 | (uint64_t)lost, &fresh);
	struct row *row;

	if (!place)
		return NULL;
	if (!fresh)
		return &rows->list.items[*place];
	*place = rows->list.count;
	row = vec_push(&rows->list);
	if (row)
		*row = (struct row){.site = site, .lost = lost, .kind = kind};
	return row;
}

static int row_add_pattern(struct row *row, uint32_t fd, const struct look *look)
{
	struct share *share;

	if (look->pattern == UINT32_MAX)
		return 0;
	for (size_t i = 0; i < row->shares.count; i++) {
		share = &row->shares.items[i];
		if (share->pattern != look->pattern)
			continue;
		share->count++;
		share->path = share->path == look->path ? share->path : 0;
		return 0;
	}
	share = vec_push(&row->shares);
	if (!share)
		return -ENOMEM;
	*share = (struct share){look->pattern, fd, 1, look->path};
	return 0;
}

static int rows_add(struct rows *rows, const struct open_slot *slot, const struct look *look,
		    uint64_t age_ns)
{
	struct row *row = row_of(rows, &slot->is, look ? look->kind : KIND_NONE);

	if (!row)
		return -ENOMEM;
	row->count++;
	row->oldest_ns = MAX(row->oldest_ns, age_ns);
	for (size_t i = 0; i < SITE_AGES_MAX_ && age_ns >= site_age_limits_ns[i]; i++)
		row->ages[i]++;
	return look ? row_add_pattern(row, slot->fd, look) : 0;
}

static int share_compare(const void *left, const void *right)
{
	const struct share *a = left, *b = right;

	return a->count == b->count ? (a->pattern > b->pattern) - (a->pattern < b->pattern)
				    : (a->count < b->count) - (a->count > b->count);
}

/* Bytes of one of them that are shown. */
#define PATTERN_SHOWN_MAX 45

/* The file's path where all descriptors are of one and it is short enough; else its directory. */
static void share_print(const struct table *table, const struct share *share, enum site_kind kind,
			char text[PATTERN_SHOWN_MAX + 1])
{
	char link[64], path[PATTERN_SHOWN_MAX + 1];
	ssize_t length = -1;

	snprintf(link, sizeof(link), "/proc/%d/fd/%u", table->pid, share->fd);
	if (kind == KIND_FILE && share->count > 1 && share->path)
		length = readlink(link, path, sizeof(path));
	path[MAX(MIN(length, PATTERN_SHOWN_MAX), 0)] = '\0';
	if (length < 0 || length > PATTERN_SHOWN_MAX || hash_text(path) != share->path)
		snprintf(path, sizeof(path), "%s", table->patterns.items[share->pattern]);
	memcpy(text, path, sizeof(path));
}

/* The most frequent ones, comma-separated. NULL: out of memory, or there is nothing to say. */
static char *patterns_print(const struct table *table, struct row *row)
{
	char text[SITE_PATTERNS_SIZE];
	int length = 0;

	if (!row->shares.count)
		return NULL;
	qsort(row->shares.items, row->shares.count, sizeof(*row->shares.items), share_compare);
	for (size_t i = 0; i < MIN(row->shares.count, PATTERNS_SHOWN); i++) {
		char shown[PATTERN_SHOWN_MAX + 1];

		share_print(table, &row->shares.items[i], row->kind, shown);
		length += snprintf(text + length, sizeof(text) - (size_t)length, "%s%s",
				   i ? ", " : "", shown);
	}
	if (row->shares.count > PATTERNS_SHOWN)
		snprintf(text + length, sizeof(text) - (size_t)length, ", %zu more",
			 row->shares.count - PATTERNS_SHOWN);
	return strdup(text);
}

static int stack_copy(const struct bpf_side *bpf, const struct row *row, struct site *site)
{
	site->lost = row->lost;
	if (row->lost)
		return 0;
	return event_stack_copy(
		bpf, row->site < bpf->max_sites ? bpf->descriptor_sites[row->site].process : 0,
		row->site, site);
}

/* Fewer of the closes than one in so many came at a greater age: a server that reconnects once has
 * one close at any age. */
#define LATE_CLOSES 50

/* The end of the class of ages by which nearly all closes had come; 0: there were none. */
static uint64_t closes_reach_ns(const struct lm_descriptor_site *calls)
{
	uint64_t late = 0, closed = 0;

	for (size_t i = 0; i < LM_DESCRIPTOR_AGES; i++)
		closed += calls->closed_ages[i];
	for (size_t i = LM_DESCRIPTOR_AGES; i-- > 0;) {
		late += calls->closed_ages[i];
		if (late * LATE_CLOSES > closed)
			return UINT64_C(1) << (LM_DESCRIPTOR_AGE_SHIFT + i);
	}
	return 0;
}

/* The calls of one stack are counted together, whatever it opened: by its largest row. */
static void count_calls(const struct bpf_side *bpf, const struct rows *rows, const struct row *row,
			struct site *site)
{
	const struct lm_descriptor_site *calls = &bpf->descriptor_sites[row->site];
	bool largest = true;

	site->allocated_count = row->count;
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct row *other = &rows->list.items[i];

		if (other->site == row->site && !other->lost &&
		    (other->count > row->count || (other->count == row->count && other < row)))
			largest = false;
	}
	if (row->lost || !largest)
		return;
	site->freed_count = calls->closed;
	site->freed_reach_ns = closes_reach_ns(calls);
	site->allocated_count += calls->closed;
}

static int site_fill(const struct descriptor_stream *stream, const struct table *table,
		     const struct rows *rows, struct row *row, struct snapshot_process *process)
{
	struct site *site = vec_push(&process->sites);

	if (!site)
		return -ENOMEM;
	*site = (struct site){
		.family = FAMILY_DESCRIPTORS,
		.kind = row->kind,
		.index = row_index(row->site, row->kind, row->lost),
		.count = row->count,
		.oldest_ns = row->oldest_ns,
	};
	memcpy(site->ages, row->ages, sizeof(site->ages));
	count_calls(stream->bpf, rows, row, site);
	site->patterns = patterns_print(table, row);
	return stack_copy(stream->bpf, row, site);
}

/* An open descriptor is not bytes: --show-allocs has the number as an address. */
static int keep_block(struct snapshot_process *process, const struct open_slot *slot,
		      enum site_kind kind, uint64_t age_ns)
{
	enum lm_lost lost = lost_of(&slot->is);
	struct block *block = vec_push(&process->blocks);

	if (!block)
		return -ENOMEM;
	*block = (struct block){.address = slot->fd,
				.age_ns = age_ns,
				.site = row_index(slot->is.site, kind, lost)};
	return 0;
}

static int rows_fill(const struct descriptor_stream *stream, struct table *table,
		     const struct collect_options *options, struct snapshot *snapshot,
		     struct snapshot_process *process)
{
	uint64_t older_ns = process->exited ? 0 : options->older_ns;
	_cleanup_(rows_free) struct rows rows = {0};
	size_t budget = LOOKS_MAX;
	int error = 0;

	for (size_t i = 0; i < table->open.count && !error; i++) {
		const struct open_slot *slot = &table->open.items[i];
		bool before = slot->is.born_ns == LM_DESCRIPTOR_BEFORE;
		uint64_t born_ns = before ? table->followed_ns : slot->is.born_ns;
		uint64_t age_ns = snapshot->monotonic_ns - MIN(snapshot->monotonic_ns, born_ns);
		const struct look *look = look_at(stream, table, slot, &budget);

		if (!before && age_ns < older_ns)
			continue;
		error = rows_add(&rows, slot, look, age_ns);
		if (!error && options->keep_blocks)
			error = keep_block(process, slot, look ? look->kind : KIND_NONE, age_ns);
	}
	for (size_t i = 0; i < rows.list.count && !error; i++)
		error = site_fill(stream, table, &rows, &rows.list.items[i], process);
	return error;
}

static void ledger_of(const struct descriptor_stream *stream, const struct table *table,
		      struct descriptor_ledger *ledger)
{
	const struct lm_descriptor_table *counts = counts_of(stream, table);

	*ledger = (struct descriptor_ledger){
		/* The number counted first is read last. */
		.closed = __atomic_load_n(&counts->closed, __ATOMIC_ACQUIRE) + table->given_up,
		.opened = __atomic_load_n(&counts->opened, __ATOMIC_ACQUIRE) + table->adopted,
		.before = table->before,
		.dropped = counts->dropped,
		.adopted = table->adopted,
		.given_up = table->given_up,
		.foreign = counts->foreign,
	};
	ledger->outstanding = ledger->opened + ledger->before - ledger->closed - ledger->dropped;
}

static struct snapshot_process *process_of(struct snapshot *snapshot, const struct table *table,
					   bool over)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct snapshot_process *process = &snapshot->processes.items[i];

		if (process->pid == (uint32_t)table->pid && (over || !process->exited))
			return process;
	}
	return NULL;
}

static int table_fill(const struct descriptor_stream *stream, struct table *table,
		      const struct collect_options *options, struct snapshot *snapshot)
{
	struct snapshot_process *process = process_of(snapshot, table, is_over(stream, table));
	struct descriptor_ledger ledger;

	ledger_of(stream, table, &ledger);
	descriptor_ledger_add(&snapshot->descriptors, &ledger);
	if (!process)
		return 0;
	process->descriptors = ledger;
	if (table->inexact || ledger.dropped || ledger.foreign)
		snapshot_mark_inexact(process, INEXACT_DESCRIPTORS);
	return rows_fill(stream, table, options, snapshot, process);
}

/* Gives up tables of processes that have ended, with all of their slots. */
static void purge(struct descriptor_stream *stream)
{
	for (size_t i = stream->tables.count; i-- > 0;) {
		struct table *table = stream->tables.items[i];
		struct lm_descriptor_key key = {.table = table->index};
		struct descriptor_ledger ledger;

		if (!table->over)
			continue;
		ledger_of(stream, table, &ledger);
		ledger.purged = ledger.outstanding;
		ledger.outstanding = 0;
		descriptor_ledger_add(&stream->gone, &ledger);
		for (size_t j = 0; j < table->kept.count; j++) {
			key.fd = table->kept.items[j];
			bpf_map_delete_elem(stream->bpf->descriptors_fd, &key);
		}
		table_remove(stream, i);
	}
}

static int stream_fill(struct event_stream *base, const struct collect_options *options,
		       struct snapshot *snapshot)
{
	struct descriptor_stream *stream = (struct descriptor_stream *)base;
	int error = walk(stream);

	if (!error)
		error = compare_all(stream);
	if (!error && !options->keep_exited)
		purge(stream);
	snapshot->has_descriptors = true;
	snapshot->descriptors = stream->gone;
	snapshot->descriptors.missed = loader_descriptor_misses(stream->bpf);
	for (size_t i = 0; i < stream->tables.count && !error; i++)
		error = table_fill(stream, stream->tables.items[i], options, snapshot);
	return error;
}

static void stream_free(struct event_stream *base)
{
	struct descriptor_stream *stream = (struct descriptor_stream *)base;

	for (size_t i = 0; i < stream->tables.count; i++)
		table_free(stream->tables.items[i]);
	vec_free(&stream->tables);
	free(stream->by_index);
	free(stream);
}

struct event_stream *descriptor_stream_new(const struct bpf_side *bpf)
{
	static const struct event_stream_ops ops = {
		.free = stream_free,
		.follow = stream_follow,
		.forget = stream_forget,
		.consume = stream_consume,
		.fill = stream_fill,
	};
	struct descriptor_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->bpf = bpf;
	stream->base = (struct event_stream){&ops, -1};
	stream->by_index = calloc(bpf->max_processes, sizeof(struct table *));
	if (stream->by_index)
		return &stream->base;
	free(stream);
	return NULL;
}
