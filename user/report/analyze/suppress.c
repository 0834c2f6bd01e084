// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/suppress.h"

#include <errno.h>

#include "base/cleanup.h"

#define RULE "leak:"

static int add_rule(struct suppressions *suppressions, const char *pattern, size_t length,
		    unsigned line)
{
	char *copy = strndup(pattern, length);
	struct suppression *rule = copy ? vec_push(&suppressions->list) : NULL;

	if (!rule) {
		free(copy);
		return -ENOMEM;
	}
	*rule = (struct suppression){.pattern = copy, .line = line};
	return 0;
}

static int parse_line(struct suppressions *suppressions, const char *text, size_t length,
		      unsigned line)
{
	while (length && strchr(" \t\r", text[length - 1]))
		length--;
	while (length && strchr(" \t", *text)) {
		text++;
		length--;
	}
	if (!length || *text == '#')
		return 0;
	if (length <= strlen(RULE) || strncmp(text, RULE, strlen(RULE)) != 0) {
		suppressions->bad_line = line;
		return -EINVAL;
	}
	return add_rule(suppressions, text + strlen(RULE), length - strlen(RULE), line);
}

int suppressions_parse(struct suppressions *suppressions, const char *text)
{
	int error = 0;

	for (unsigned line = 1; *text && !error; line++) {
		size_t length = strcspn(text, "\n");

		error = parse_line(suppressions, text, length, line);
		text += length + (text[length] == '\n');
	}
	return error;
}

void suppressions_free(struct suppressions *suppressions)
{
	for (size_t i = 0; i < suppressions->list.count; i++)
		free(suppressions->list.items[i].pattern);
	vec_free(&suppressions->list);
}

/* A pattern without its anchors. */
struct glob {
	const char *start, *end;
	bool from_start, to_end;
};

static struct glob glob_of(const char *pattern)
{
	struct glob glob = {.start = pattern, .end = pattern + strlen(pattern)};

	if (*glob.start == '^') {
		glob.from_start = true;
		glob.start++;
	}
	if (glob.end > glob.start && glob.end[-1] == '$') {
		glob.to_end = true;
		glob.end--;
	}
	return glob;
}

/*
 * Without anchors, a star is implied at each end. On a mismatch, the latest star takes one more
 * character: at most length of text × length of pattern steps.
 */
static bool matches(const char *pattern, const char *text)
{
	struct glob glob = glob_of(pattern);
	const char *at = glob.start, *star = glob.from_start ? NULL : glob.start, *taken = text;

	while (true) {
		if (at == glob.end && (!glob.to_end || !*text))
			return true;
		if (at < glob.end && *at == '*') {
			star = ++at;
			taken = text;
		} else if (at < glob.end && *text && *at == *text) {
			at++;
			text++;
		} else if (star && *taken) {
			at = star;
			text = ++taken;
		} else {
			return false;
		}
	}
}

static bool frame_matches(const char *pattern, const struct frame *frame)
{
	return (frame->function && matches(pattern, frame->function)) ||
	       (frame->file && matches(pattern, frame->file)) ||
	       (frame->module && matches(pattern, frame->module));
}

struct suppression *suppressions_find(struct suppressions *suppressions,
				      const struct frames *frames)
{
	for (size_t i = 0; i < suppressions->list.count; i++) {
		struct suppression *rule = &suppressions->list.items[i];

		for (size_t j = 0; j < frames->list.count; j++) {
			if (frame_matches(rule->pattern, &frames->list.items[j]))
				return rule;
		}
	}
	return NULL;
}

static void count(struct suppression *rule, const struct site *site)
{
	rule->used = true;
	rule->sites++;
	rule->bytes += site->bytes;
	rule->blocks += site->count;
}

static int apply_to(struct suppressions *suppressions, struct report_process *process)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->sites.count; i++) {
		struct report_site *site = &process->sites.items[i], *taken;
		struct suppression *rule = suppressions_find(suppressions, &site->frames);

		if (!rule) {
			struct report_site moved = *site;

			*site = (struct report_site){0};
			process->sites.items[kept++] = moved;
			continue;
		}
		taken = vec_push(&process->suppressed);
		if (!taken)
			return -ENOMEM;
		count(rule, site->site);
		process->family_totals[site->site->family]--;
		process->sites_total--;
		*taken = *site;
		taken->rule = rule;
		*site = (struct report_site){0};
	}
	process->sites.count = kept;
	return 0;
}

int suppressions_apply(struct suppressions *suppressions, struct report *report)
{
	int error = 0;

	for (size_t i = 0; i < suppressions->list.count; i++) {
		struct suppression *rule = &suppressions->list.items[i];

		rule->sites = rule->bytes = rule->blocks = 0;
	}
	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = apply_to(suppressions, &report->processes.items[i]);
	return error;
}
