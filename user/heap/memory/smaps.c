// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/smaps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "process/proc/stuck_read.h"

#define KIB 1024

struct field {
	const char *name;
	size_t offset;
};

#define FIELD(text, member)                                                                        \
	{                                                                                          \
		text, offsetof(struct smaps_figures, member)                                       \
	}
static const struct field fields[] = {
	FIELD("Size", size),
	FIELD("Rss", rss),
	FIELD("Pss", pss),
	FIELD("Swap", swap),
	FIELD("SwapPss", swap_pss),
	FIELD("Locked", locked),
	FIELD("Private_Dirty", private_dirty),
	FIELD("Private_Clean", private_clean),
	FIELD("Shared_Dirty", shared_dirty),
	FIELD("Shared_Clean", shared_clean),
	FIELD("Anonymous", anonymous),
	FIELD("AnonHugePages", anon_huge),
	FIELD("FilePmdMapped", file_huge),
	FIELD("ShmemPmdMapped", shmem_huge),
	FIELD("Shared_Hugetlb", hugetlb),
	FIELD("Private_Hugetlb", hugetlb),
};
#undef FIELD

#define FIELD(text, member)                                                                        \
	{                                                                                          \
		text, offsetof(struct memory_status, member)                                       \
	}
static const struct field status_fields[] = {
	FIELD("VmPTE", page_tables),  FIELD("VmLck", locked),	  FIELD("HugetlbPages", hugetlb),
	FIELD("VmSwap", swap),	      FIELD("RssAnon", rss_anon), FIELD("RssFile", rss_file),
	FIELD("RssShmem", rss_shmem),
};
#undef FIELD

/* Adds "Name: 12 kB" to its field by the table; ignores other lines. */
static void take_field(const char *line, const struct field *table, size_t count, void *figures)
{
	const char *colon = strchr(line, ':');
	uint64_t kib;

	for (size_t i = 0; colon && i < count; i++) {
		size_t length = strlen(table[i].name);

		if (length != (size_t)(colon - line) || memcmp(line, table[i].name, length) != 0)
			continue;
		if (sscanf(colon + 1, " %" SCNu64 " kB", &kib) == 1 && kib < UINT64_MAX / KIB)
			*(uint64_t *)((char *)figures + table[i].offset) += kib * KIB;
		return;
	}
}

/* Returns whether a line begins a mapping: addresses are lower-case hexadecimal digits, names begin
 * with a capital letter. */
static bool is_header(const char *line)
{
	return (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f');
}

static int add_entry(struct smaps *smaps, char *line)
{
	struct mapping mapping = {0};
	struct smaps_entry *entry;

	if (maps_parse_line(line, &mapping))
		return -EBADMSG;
	if (smaps->list.count)
		smaps->list.count =
			mappings_drop_rewritten(&smaps->list.items->mapping, smaps->list.count,
						sizeof(*smaps->list.items), mapping.start);
	mapping.path = strdup(mapping.path);
	entry = mapping.path ? vec_push(&smaps->list) : NULL;
	if (!entry) {
		free(mapping.path);
		return -ENOMEM;
	}
	*entry = (struct smaps_entry){.mapping = mapping};
	return 0;
}

int smaps_parse(FILE *file, struct smaps *smaps)
{
	_cleanup_free_ char *line = NULL;
	struct smaps made = {0};
	size_t size = 0;
	int error = 0;

	while (!error && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (is_header(line))
			error = add_entry(&made, line);
		else if (!made.list.count)
			error = -EBADMSG;
		else
			take_field(line, fields, ARRAY_SIZE(fields),
				   &made.list.items[made.list.count - 1].figures);
	}
	if (!error && ferror(file))
		error = -ESRCH; /* it has ended */
	if (error)
		smaps_free(&made);
	else
		*smaps = made;
	return error;
}

struct smaps_file {
	int fd, pid;
};

static ssize_t read_some(void *cookie, char *buffer, size_t size)
{
	const struct smaps_file *file = cookie;
	const long arguments[6] = {file->fd, (long)buffer, (long)size};
	long got = stuck_read_call(file->pid, SYS_read, arguments);

	if (got >= 0)
		return got;
	errno = (int)-got;
	return -1;
}

int smaps_read(int pid, int task, struct smaps *smaps)
{
	_cleanup_fclose_ FILE *stream = NULL;
	_cleanup_close_ int fd = -1;
	struct smaps_file file;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/smaps", pid, task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	file = (struct smaps_file){fd, pid};
	stream = fopencookie(&file, "r", (cookie_io_functions_t){.read = read_some});
	return stream ? smaps_parse(stream, smaps) : -ENOMEM;
}

#define WINDOW 512

static void count_pages(struct memory_source source, int pagemap, struct smaps_entry *entry)
{
	struct smaps_figures *figures = &entry->figures;
	uint64_t entries[WINDOW];

	for (uint64_t at = entry->mapping.start; at < entry->mapping.end;
	     at += WINDOW * MEMORY_PAGE) {
		size_t count = MIN((entry->mapping.end - at) / MEMORY_PAGE, (uint64_t)WINDOW);

		pagemap_read(source, pagemap, at, entries, count);
		for (size_t i = 0; i < count; i++) {
			bool shared = pagemap_is_shared(entries[i]) || entry->mapping.shared;

			if (!pagemap_is_present(entries[i]))
				continue;
			figures->rss += MEMORY_PAGE;
			figures->anonymous += shared ? 0 : MEMORY_PAGE;
			figures->private_dirty += shared ? 0 : MEMORY_PAGE;
			figures->private_clean += shared ? MEMORY_PAGE : 0;
		}
	}
	figures->pss = figures->rss;
}

int smaps_of_core(const struct maps *maps, int pagemap, struct smaps *smaps)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		char *path = strdup(maps->list.items[i].path);
		struct smaps_entry *entry = path ? vec_push(&smaps->list) : NULL;

		if (!entry) {
			free(path);
			return -ENOMEM;
		}
		entry->mapping = maps->list.items[i];
		entry->mapping.path = path;
		entry->figures.size = entry->mapping.end - entry->mapping.start;
		count_pages(maps->source, pagemap, entry);
	}
	return 0;
}

void smaps_free(struct smaps *smaps)
{
	for (size_t i = 0; i < smaps->list.count; i++)
		free(smaps->list.items[i].mapping.path);
	vec_free(&smaps->list);
}

struct smaps_figures smaps_sum(const struct smaps *smaps)
{
	struct smaps_figures sum = {0};
	uint64_t *to = (uint64_t *)&sum;

	_Static_assert(sizeof(sum) % sizeof(*to) == 0, "nothing but numbers");
	for (size_t i = 0; i < smaps->list.count; i++) {
		const uint64_t *from = (const uint64_t *)&smaps->list.items[i].figures;

		for (size_t j = 0; j < sizeof(sum) / sizeof(*to); j++)
			to[j] += from[j];
	}
	return sum;
}

struct memory_forked smaps_forked(const struct smaps *smaps)
{
	struct memory_forked forked = {0};

	for (size_t i = 0; i < smaps->list.count; i++) {
		const struct mapping *mapping = &smaps->list.items[i].mapping;
		const struct smaps_figures *figures = &smaps->list.items[i].figures;
		/* A file's own clean pages are not anonymous. */
		uint64_t own =
			MIN(figures->anonymous,
			    figures->private_dirty + (mapping->inode ? 0 : figures->private_clean));

		if (mapping->shared)
			continue;
		forked.own += own;
		forked.shared += figures->anonymous - own;
	}
	return forked;
}

/* Reads the innermost namespace's number, the last one; before 4.1 the line is missing. */
static void take_own_pid(const char *line, struct memory_status *status)
{
	const char *last = strrchr(line, '\t');

	if (strncmp(line, "NSpid:", 6) == 0 && last)
		status->own_pid = (int32_t)strtol(last, NULL, 10);
}

/* Reads "Uid:": the real UID, the effective one, and two more. */
static void take_uid(const char *line, struct memory_status *status)
{
	uint32_t uid;

	if (sscanf(line, "Uid: %*u %" SCNu32, &uid) == 1)
		status->uid = uid;
}

int memory_status_parse(FILE *file, struct memory_status *status)
{
	_cleanup_free_ char *line = NULL;
	struct memory_status read = {0};
	size_t size = 0;

	while (getline(&line, &size, file) > 0) {
		take_field(line, status_fields, ARRAY_SIZE(status_fields), &read);
		take_own_pid(line, &read);
		take_uid(line, &read);
	}
	if (ferror(file))
		return -ESRCH;
	*status = read;
	return 0;
}

int memory_status_read(int pid, struct memory_status *status)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	return file ? memory_status_parse(file, status) : -errno;
}
