// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/early_screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"

void early_screen_init(struct early_screen *screen, const struct output_options *output,
		       uint64_t count)
{
	bool text = !strcmp(output->format, "text");

	*screen = (struct early_screen){
		.terminal = text && !output->path && isatty(STDOUT_FILENO) &&
			    log_get_level() < LOG_DEBUG,
		.wanted = text && log_get_level() < LOG_DEBUG,
	};
	/* With COUNT, the reports go to a pipe unchanged. */
	if (count && !screen->terminal)
		screen->wanted = false;
}

static bool has_verdict(const struct triage_report *report)
{
	const struct triage_entries *both[] = {&report->processes, &report->groups};

	for (size_t i = 0; i < ARRAY_SIZE(both); i++) {
		if (both[i]->verdicts[TREND_LEAKING] || both[i]->verdicts[TREND_GROWING])
			return true;
	}
	return report->processes.verdicts[TREND_TOO_EARLY] < report->processes.total;
}

/* Returns a hash of the set of processes that seem to grow. */
static uint64_t growing(const struct triage_report *report)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		if (growth_is_early(&report->processes.items[i].growth))
			sum += hash_mix((uint64_t)report->processes.items[i].pid + 1);
	}
	return sum;
}

/* Colour sequences take no columns. */
static size_t width_of(const char *line, size_t length)
{
	const char *at = line;
	size_t columns = 0, step;
	uint32_t code;

	while (at < line + length) {
		if (*at == '\033') {
			at += strcspn(at, "m\n");
			at += *at == 'm';
			continue;
		}
		step = text_decode_utf8(at, &code);
		at += step ? step : 1;
		columns++;
	}
	return columns;
}

size_t early_screen_lines(const char *text, size_t columns)
{
	size_t lines = 0;

	while (*text) {
		size_t length = strcspn(text, "\n"), width = width_of(text, length);

		lines += width > columns && columns ? (width + columns - 1) / columns : 1;
		text += length + !!text[length];
	}
	return lines;
}

/* Moves to the beginning of the last report, and clears from there. */
static void take_away(const struct early_screen *screen)
{
	if (screen->lines && screen->messages == log_printed())
		printf("\033[%zuA\033[J", screen->lines);
}

static int draw(struct early_screen *screen, struct emitter *emitter,
		const struct triage_report *report, bool last)
{
	_cleanup_free_ char *text = NULL;
	FILE *terminal = emitter->out, *out;
	struct winsize window = {0};
	size_t size;
	int error;

	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	emitter->out = out;
	error = emit(emitter, OUTPUT_TRIAGE, report, last);
	emitter->out = terminal;
	if (fclose(out) || !text)
		return -ENOMEM;
	take_away(screen);
	fputs(text, terminal);
	screen->lines = 0;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) && window.ws_col)
		screen->lines = early_screen_lines(text, window.ws_col);
	/* Lines that have scrolled away cannot be cleared. */
	if (screen->lines >= window.ws_row)
		screen->lines = 0;
	screen->messages = log_printed();
	if (fflush(terminal))
		return -EPIPE;
	return error;
}

int early_screen_emit(struct early_screen *screen, struct emitter *emitter,
		      struct triage_report *report, bool asked, bool last)
{
	uint64_t grows = growing(report);
	bool urgent = report->kills || report->limits.count;

	screen->over |= has_verdict(report) || urgent;
	if (screen->wanted && screen->terminal && (!screen->over || screen->lines)) {
		int error = draw(screen, emitter, report, last);

		if (screen->over || asked || last)
			screen->lines = 0;
		return error;
	}
	if (!screen->wanted || screen->over || asked || last || grows != screen->grows) {
		screen->grows = grows;
		return emit(emitter, OUTPUT_TRIAGE, report, last);
	}
	emit_serve(emitter, OUTPUT_TRIAGE, report);
	emitter->served = false;
	return 0;
}
