// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/class_count.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"

/* Limits of its report: classes and roots shown, and size of the output. */
#define CLASSES_SHOWN "6"
#define SAID_MAX (16u << 20)

extern char **environ;

static int spawn(struct class_count *count, pid_t pid, int out)
{
	posix_spawn_file_actions_t actions;
	char number[16];
	char *arguments[] = {"leakmon",	 "retain", "--census", "-p",	      number,
			     "--format", "json",   "-T",       CLASSES_SHOWN, NULL};
	int error;

	snprintf(number, sizeof(number), "%d", (int)pid);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	error = -posix_spawn(&count->child, "/proc/self/exe", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		count->child = 0;
	return error;
}

int class_count_start(struct class_count *count, pid_t pid)
{
	int ends[2], error;

	class_count_free(count);
	count->begin_cpu_s = count->cpu_s;
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	error = spawn(count, pid, ends[1]);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		return error;
	}
	count->pid = pid;
	count->fd = ends[0];
	return 0;
}

/* Charges a running child. */
static void charge(struct class_count *count)
{
	struct timespec used = {0};
	clockid_t clock;

	if (count->child && !clock_getcpuclockid(count->child, &clock) &&
	    !clock_gettime(clock, &used))
		count->cpu_s =
			count->begin_cpu_s + (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static void end(struct class_count *count)
{
	struct rusage usage = {0};

	if (count->child) {
		kill(count->child, SIGTERM);
		wait4(count->child, NULL, 0, &usage);
		count->cpu_s = count->begin_cpu_s +
			       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	}
	count->child = 0;
	cleanup_close(&count->fd);
	count->fd = -1;
}

/* Returns false when the output is complete, or too long. */
static bool add(struct class_count *count, const char *bytes, size_t size)
{
	char *grown =
		count->size + size < SAID_MAX ? realloc(count->said, count->size + size + 1) : NULL;

	if (!grown)
		return false;
	memcpy(grown + count->size, bytes, size);
	count->said = grown;
	count->size += size;
	grown[count->size] = '\0';
	return true;
}

bool class_count_take(struct class_count *count)
{
	char bytes[4096];
	ssize_t got;

	if (count->fd < 0)
		return false;
	while ((got = read(count->fd, bytes, sizeof(bytes))) > 0) {
		if (!add(count, bytes, (size_t)got))
			break;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		charge(count);
		return false;
	}
	end(count);
	count->text = class_count_text(count->said ? count->said : "");
	free(count->said);
	count->said = NULL;
	count->size = 0;
	return true;
}

void class_count_free(struct class_count *count)
{
	end(count);
	free(count->text);
	free(count->said);
	*count = (struct class_count){.fd = -1, .cpu_s = count->cpu_s};
}

/* -------- its words */

static const char *string_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "?";
}

static void classes_write(FILE *out, const json_t *report)
{
	const json_t *class;
	char bytes[16];
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		fprintf(out, "  %10s in %8" JSON_INTEGER_FORMAT "  ",
			units_bytes(bytes,
				    (double)json_integer_value(json_object_get(class, "bytes")),
				    ""),
			json_integer_value(json_object_get(class, "count")));
		if (json_is_string(json_object_get(class, "name")))
			fprintf(out, "%s\n", string_of(class, "name"));
		else
			fprintf(out, "blocks of %" JSON_INTEGER_FORMAT " bytes\n",
				json_integer_value(json_object_get(class, "size")));
	}
}

/* Prints the first root, from which most bytes are reachable. */
static void root_write(FILE *out, const json_t *report)
{
	const json_t *root = json_array_get(json_object_get(report, "roots"), 0);
	char bytes[16];

	if (root)
		fprintf(out, "  most is held by %s: %s\n", string_of(root, "name"),
			units_bytes(bytes,
				    (double)json_integer_value(json_object_get(root, "led_bytes")),
				    ""));
}

/* Prints the code that allocated a Go program's live bytes. */
static void profile_write(FILE *out, const json_t *profile)
{
	const json_t *site;
	char bytes[16];
	size_t i;

	if (json_is_string(json_object_get(profile, "cannot_tell")))
		fprintf(out, "  %s\n", string_of(profile, "cannot_tell"));
	json_array_foreach(json_object_get(profile, "sites"), i, site)
	{
		const json_t *frame = json_array_get(json_object_get(site, "frames"), 0);

		fprintf(out, "  %10s  %s\n",
			units_bytes(bytes,
				    (double)json_integer_value(json_object_get(site, "bytes")), ""),
			string_of(frame, "function"));
	}
}

static void report_write(FILE *out, const json_t *report)
{
	const json_t *picture = json_object_get(report, "picture");
	double pause_ms = (double)json_integer_value(json_object_get(picture, "pause_ns")) / 1e6;

	fputs("Its objects by class", out);
	if (pause_ms > 0)
		fprintf(out, ", for which it stood for %.0f ms", pause_ms);
	fputs("; `leakmon retain` shows what holds them:\n", out);
	classes_write(out, report);
	root_write(out, report);
	profile_write(out, json_object_get(report, "heap_profile"));
}

char *class_count_text(const char *said)
{
	const char *line = *said == '{' ? said : strstr(said, "\n{");
	json_t *report =
		line ? json_loads(line + (*line == '\n'), JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out && report)
		report_write(out, report);
	else if (out)
		fprintf(out, "Its objects cannot be counted: %s\n",
			*said ? said : "leakmon retain said nothing");
	if (out)
		fclose(out);
	json_decref(report);
	return text;
}
