// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/page.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/family.h"
#include "report/history.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"
#include "app/top/columns.h"

static const char help[] =
	"Keys\n"
	"\n"
	"  Up Down j k        one row             PgUp PgDn   one screen\n"
	"  Home End           first, last\n"
	"  Enter Right        open: a process's call stacks, a call stack's frames;\n"
	"                     of the machine's processes: track that one exactly if it\n"
	"                     allocates less than 5000 times a second, else profile it\n"
	"  x                  track it exactly in any case, as `leakmon top -p PID` does\n"
	"  C                  count its objects by class: it stands for at most 100 ms\n"
	"  Esc Left           back\n"
	"  Tab                the other list: processes and containers, or processes and\n"
	"                     call stacks of all of them\n"
	"\n"
	"  + -                polls of the machine may cost twice as much, or half (5 %\n"
	"                     of a core while somebody types, else 1 %, or --budget)\n"
	"\n"
	"  F3 /               search; n and N: next, previous\n"
	"  F4 \\ f             filter: only rows with that text in a name, file, container\n"
	"                     or verdict; Esc while typing: no filter\n"
	"  F6 >               sort by ...; b bytes, c count, g growth, i integral, a age,\n"
	"                     u urgency, t threads, o open files, m mappings; I inverts\n"
	"\n"
	"  Space p            pause: the screen stands still, counting goes on\n"
	"  r                  new numbers now\n"
	"  F2 s               save a snapshot: of tracked processes into a recording, for\n"
	"                     `leakmon report` and `leakmon diff`; else as text into a file.\n"
	"                     The line at the bottom says which file\n"
	"  F8 l               messages so far         Ctrl-L     draw again\n"
	"  F1 h ?             this page               F10 q      quit\n"
	"\n"
	"Columns\n"
	"\n"
	"  BYTES, COUNT       outstanding: allocated since the attach, not freed. A ~ says that\n"
	"                     the number is not exact; the heading says why\n"
	"  GROWTH             the slope of what is outstanding, where it is beyond chance\n"
	"  BYTES·S            bytes held times seconds: what it has cost so far\n"
	"  VERDICT            leaking: grows all the time; growing: not for sure, or in steps;\n"
	"                     plateau: a cache that is full; churning: up and down; one-off;\n"
	"                     steady; too-early: a verdict takes a dozen reports, of the\n"
	"                     machine's processes 24, or those of two minutes if rarer\n"
	"  AT LEAST           of a profile: growth that is sure (95 %); BLOCKS/S: allocated\n"
	"  STAY, FOR          share of its blocks that nobody touched for so long\n"
	"  CONF               confidence that the growth is real and goes on\n"
	"  TREND              bytes over time, oldest first; flat: it moves by less than 5 %\n"
	"  ANON+SWAP          anonymous memory, resident and swapped out\n";

void top_page_free(struct top_page *page)
{
	free(page->text);
	vec_free(&page->lines);
	*page = (struct top_page){0};
}

static void page_set(struct top_page *page, char *text)
{
	top_page_free(page);
	page->text = text;
}

void top_page_help(struct top_page *page)
{
	page_set(page, strdup(help));
}

/* Writes one line of untrusted text. */
static void line_write(FILE *out, const char *text, size_t length)
{
	_cleanup_free_ char *line = strndup(text, length);

	if (line)
		text_print_inert(out, line);
	fputc('\n', out);
}

static void lines_write(FILE *out, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		line_write(out, text, length);
		text += length + !!text[length];
	}
}

void top_page_raw(struct top_page *page, const char *text)
{
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);

	if (out) {
		lines_write(out, text);
		fclose(out);
	}
	page_set(page, copy);
}

static void ages_write(FILE *out, const struct site *site)
{
	static const char *const ages[SITE_AGES_MAX_] = {"1 s", "10 s", "1 min", "10 min",
							 "1 h", "6 h",	"1 day"};

	fputs("  Of that age   ", out);
	for (size_t i = 0; i < SITE_AGES_MAX_ && (!i || site->ages[i - 1]); i++)
		fprintf(out, "%s%s: %" PRIu64, i ? ", " : "", ages[i], site->ages[i]);
	fputs(" blocks\n", out);
}

static void trend_write(FILE *out, const struct top_row *row)
{
	fputs("  Trend         ", out);
	for (size_t i = 0; i < row->spark_count; i++)
		fputs(sparkline_block(row->spark[i]), out);
	fputc('\n', out);
}

static void numbers_write(FILE *out, const struct top_row *row)
{
	const struct site *site = &row->site;
	char text[16];

	if (row->numbers) {
		fputs(row->numbers, out);
		return;
	}
	fprintf(out, "  Outstanding   %" PRIu64 " bytes in %" PRIu64 " %s%s\n", site->bytes,
		site->count, family_get(site->family)->unit, row->inexact ? " (not exact)" : "");
	fprintf(out,
		"  Since attach  allocated %" PRIu64 " bytes in %" PRIu64 ", freed %" PRIu64
		" bytes in %" PRIu64 "\n",
		site->allocated_bytes, site->allocated_count, site->freed_bytes, site->freed_count);
	if (row->has_ages) {
		fprintf(out, "  Oldest        %s\n",
			units_time(text, (double)site->oldest_ns / 1e9));
		ages_write(out, site);
	}
	if (!isnan(row->fields[TOP_INTEGRAL]))
		fprintf(out, "  Residency     %s·s\n",
			units_bytes(text, row->fields[TOP_INTEGRAL], ""));
	if (row->spark_count)
		trend_write(out, row);
	fprintf(out, "  Verdict       %s%s%s\n", top_row_verdict(row), row->evidence ? ": " : "",
		row->evidence ? row->evidence : "");
}

static void stack_write(FILE *out, const struct top_row *row, const struct top_row *process)
{
	struct report_site site = {.site = &row->site, .frames = row->frames};

	fputs("Call stack", out);
	if (process) {
		fprintf(out, " of process %d ", process->pid);
		text_print_inert(out, process->name);
	}
	if (process && process->place) {
		fputs(" in ", out);
		text_print_inert(out, process->place);
	}
	fputs("\n\n", out);
	numbers_write(out, row);
	fputs("\nFrames, from the caller of the allocator to the root\n\n", out);
	text_stack_write(out, &(const struct text_form){.verbose = true}, &site);
}

/* Writes details of a process of the machine. */
static void details_write(FILE *out, const struct top_row *row, const char *classes)
{
	if (row->details && *row->details != '\n')
		lines_write(out, row->details);
	if (classes)
		lines_write(out, classes);
	if (!row->pid)
		return;
	if (row->managed && !classes)
		fputs("C counts its objects by class: it stands for at most a tenth of a second\n",
		      out);
	else if (!row->managed)
		fputs("Enter shows its call stacks; x tracks it exactly in any case; C "
		      "counts its objects by class\n",
		      out);
}

static void preview_write(FILE *out, const struct top_row *row, const struct top_row *process,
			  const char *classes)
{
	struct report_site site = {.site = &row->site, .frames = row->frames};
	bool stack = row->frames.list.count;

	if (!stack && !row->pid)
		fputs("Group ", out);
	else if (stack && process)
		fprintf(out, "The call stack that holds most of process %d ", process->pid);
	else if (stack)
		fputs("This call stack", out);
	else
		fprintf(out, "Process %d ", row->pid);
	if (!stack && !row->pid)
		text_print_inert(out, row->place);
	else if (process || !stack)
		text_print_inert(out, (stack ? process : row)->name);
	fprintf(out, ", %s", top_row_verdict(row));
	if (row->evidence)
		fprintf(out, ": %s", row->evidence);
	fputc('\n', out);
	if (stack)
		text_stack_write(out, &(const struct text_form){0}, &site);
	else if (row->said)
		details_write(out, row, classes);
}

/* Replaces the tabs at the beginning of output lines. */
static void tabs_replace(char *text)
{
	for (; *text; text++) {
		if (*text == '\t')
			*text = ' ';
	}
}

void top_page_stack(struct top_page *page, const struct top_row *row, const struct top_row *process)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out && row)
		stack_write(out, row, process);
	else if (out)
		fputs("This call stack holds nothing any more.\n", out);
	if (out)
		fclose(out);
	if (text)
		tabs_replace(text);
	page_set(page, text);
}

void top_page_preview(struct top_page *page, const struct top_row *row,
		      const struct top_row *process, const char *classes)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		preview_write(out, row, process, classes);
		fclose(out);
	}
	if (text)
		tabs_replace(text);
	page_set(page, text);
}

/* Wraps a long line; each part begins where the one before ended. */
static int line_wrap(struct top_page *page, size_t begin, size_t end)
{
	wchar_t cells[CELLS_SIZE];
	_cleanup_free_ char *line = strndup(page->text + begin, end - begin);
	size_t at = 0, taken;

	if (!line)
		return -ENOMEM;
	do {
		size_t *start = vec_push(&page->lines);

		if (!start)
			return -ENOMEM;
		*start = begin + at;
		taken = cells_wrap(cells, line + at, page->width);
		at += taken;
	} while (taken && begin + at < end);
	return 0;
}

size_t top_page_wrap(struct top_page *page, size_t width)
{
	size_t begin = 0, size = page->text ? strlen(page->text) : 0;

	if (page->width == width)
		return page->lines.count;
	vec_free(&page->lines);
	page->width = width;
	while (begin < size) {
		size_t end = begin + strcspn(page->text + begin, "\n");

		if (line_wrap(page, begin, end))
			break;
		begin = end + 1;
	}
	return page->lines.count;
}
