// SPDX-License-Identifier: GPL-2.0-or-later
/* Columns of a suspect, shared by the table, the short table and the terminal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"

/* Smaller changes of a group's part are not mentioned. */
#define PART_WORTH_BYTES (64 << 10)

/* Puts the doubt first, because a column is short, and a name may be long. */
static void doubted_place(char text[TRIAGE_PLACE_SIZE], const struct container *container)
{
	const struct container_claims *claims = &container->claims;

	if (claims->pod)
		snprintf(text, TRIAGE_PLACE_SIZE, "(unproven) %s/%s", claims->pod,
			 claims->name ? claims->name : "");
	else
		snprintf(text, TRIAGE_PLACE_SIZE, "(unproven) %.*s", claims->name ? 200 : 12,
			 claims->name ? claims->name : container->id);
}

/* Puts the parent before a generated name, which is not meaningful. */
#define HASH_DIGITS_MIN 16
#define HASH_DIGITS_SHOWN 6

static void group_place(char text[TRIAGE_PLACE_SIZE], const char *cgroup)
{
	const char *slash = cgroup ? strrchr(cgroup, '/') : NULL;
	const char *name = slash && slash[1] ? slash + 1 : "-", *parent = slash;

	while (parent && parent > cgroup && parent[-1] != '/')
		parent--;
	if (parent && parent < slash && strlen(name) >= HASH_DIGITS_MIN &&
	    strspn(name, "0123456789abcdef") == strlen(name))
		snprintf(text, TRIAGE_PLACE_SIZE, "%.*s/%.*s", (int)MIN(slash - parent, 64), parent,
			 HASH_DIGITS_SHOWN, name);
	else
		snprintf(text, TRIAGE_PLACE_SIZE, "%s", name);
}

char *text_triage_place(char text[TRIAGE_PLACE_SIZE], const struct triage_entry *entry)
{
	const struct container *container = entry->container;

	if (container && container->doubt)
		doubted_place(text, container);
	else if (container && container->pod)
		snprintf(text, TRIAGE_PLACE_SIZE, "%s/%s", container->pod,
			 container->name ? container->name : "");
	else if (container && container->name)
		snprintf(text, TRIAGE_PLACE_SIZE, "%s", container->name);
	else if (container)
		snprintf(text, TRIAGE_PLACE_SIZE, "%.12s", container->id);
	else
		group_place(text, entry->cgroup);
	return text;
}

char *text_triage_rate(char text[TRIAGE_RATE_SIZE], enum quantity kind, double per_s)
{
	static const char *const units[] = {
		[QUANTITY_HEAP] = NULL,		[QUANTITY_MAPPING] = "maps",
		[QUANTITY_THREADS] = "threads", [QUANTITY_FILES] = "files",
		[QUANTITY_CHARGED] = NULL,
	};
	_Static_assert(ARRAY_SIZE(units) == QUANTITY_MAX_, "a unit for every kind");

	if (!units[kind])
		return units_bytes(text, 60 * per_s, "+");
	snprintf(text, TRIAGE_RATE_SIZE, "%+.*f %s", fabs(60 * per_s) < 10, 60 * per_s,
		 units[kind]);
	return text;
}

/* Formats growth: "~" precedes an early estimate; "-": it does not grow. Returns text. */
#define TRIAGE_GROWTH_SIZE (TRIAGE_RATE_SIZE + 1)
static char *growth_text(char text[TRIAGE_GROWTH_SIZE], const struct growth *growth)
{
	text[0] = '-';
	text[1] = '\0';
	if (trend_is_suspect(growth->verdict))
		text_triage_rate(text, growth->kind, growth->per_s);
	if (growth_is_early(growth)) {
		text[0] = '~';
		text_triage_rate(text + 1, growth->kind, growth->early.per_s);
	}
	return text;
}

/*
 * Returns the minimum range of a line's height. All rows share it, so that a nearly constant one
 * looks flat beside a growing one; for a suspect only the growth matters.
 */
#define SPARK_SHARE 0.05f
static float spark_range(const struct triage_entry *entry, float high)
{
	static const float least[] = {
		[QUANTITY_HEAP] = 4 << 20, [QUANTITY_MAPPING] = 64,	 [QUANTITY_THREADS] = 8,
		[QUANTITY_FILES] = 32,	   [QUANTITY_CHARGED] = 4 << 20,
	};
	_Static_assert(ARRAY_SIZE(least) == QUANTITY_MAX_, "a range for every kind");

	if (trend_is_suspect(entry->growth.verdict) || growth_is_early(&entry->growth))
		return 0;
	return fmaxf(least[entry->growth.kind], SPARK_SHARE * high);
}

size_t text_triage_heights(const struct triage_entry *entry,
			   unsigned char heights[TRIAGE_SPARK_POINTS])
{
	float low = INFINITY, high = -INFINITY, range;

	for (size_t i = 0; i < entry->spark_count; i++) {
		low = fminf(low, entry->spark[i]);
		high = fmaxf(high, entry->spark[i]);
	}
	range = fmaxf(high - low, spark_range(entry, high));
	for (size_t i = 0; i < entry->spark_count; i++) {
		float share = range > 0 ? (entry->spark[i] - low) / range : 0;

		heights[i] = (unsigned char)(1 + share * 7.99F);
	}
	return entry->spark_count;
}

static const char *colour_of(const struct text_style *style, enum trend_verdict verdict)
{
	if (verdict == TREND_LEAKING)
		return style->red;
	return verdict == TREND_GROWING ? style->yellow : "";
}

void text_triage_verdict_write(FILE *out, const struct text_style *style,
			       const struct triage_entry *entry)
{
	const struct growth *growth = &entry->growth;
	const char *colour = colour_of(style, growth->verdict);

	fprintf(out, "  %s%-*s%s", colour, TRIAGE_VERDICT_WIDTH, triage_entry_verdict(entry),
		*colour ? style->plain : "");
	if (trend_is_suspect(growth->verdict))
		fprintf(out, " %4.0f %%  ", 100 * growth->confidence);
	else
		fputs("      -  ", out);
}

void text_triage_split_write(FILE *out, const struct triage_split *split, size_t most)
{
	struct triage_part parts[TRIAGE_PARTS_MAX];
	size_t count = MIN(triage_split_parts(split, parts), most);
	char bytes[16], grown[16], span[16];

	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%s%s %s", i ? ", " : "", parts[i].words,
			units_bytes(bytes, parts[i].bytes, ""));
		if (fabs(parts[i].grown) >= PART_WORTH_BYTES)
			fprintf(out, " (%s)", units_bytes(grown, parts[i].grown, "+"));
	}
	if (count && split->since_s > 0)
		fprintf(out, "; changes in %s", units_time(span, split->since_s));
}

void text_triage_why_write(FILE *out, const struct triage_entry *entry)
{
	if (entry->why)
		fprintf(out, "; %s", entry->why);
}

void text_triage_hidden_write(FILE *out, const struct triage_entries *entries)
{
	static const enum trend_verdict told[] = {TREND_LEAKING, TREND_GROWING, TREND_TOO_EARLY};
	size_t hidden[TREND_MAX_];
	const char *before = ": ";

	if (entries->total <= entries->count)
		return;
	memcpy(hidden, entries->verdicts, sizeof(hidden));
	for (size_t i = 0; i < entries->count; i++) {
		enum trend_verdict verdict = entries->items[i].growth.verdict;

		hidden[verdict] -= hidden[verdict] > 0;
	}
	fprintf(out, "         … and %zu more", entries->total - entries->count);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		if (!hidden[told[i]])
			continue;
		fprintf(out, "%s%zu %s", before, hidden[told[i]], trend_verdict_name(told[i]));
		before = ", ";
	}
	fputc('\n', out);
}

static void figure_write(FILE *out, enum machine_part part, const struct machine_figure *figure)
{
	bool counted = triage_machine_quantity(part) != QUANTITY_CHARGED;
	char amount[16], rate[16];

	if (counted) {
		snprintf(amount, sizeof(amount), "%.0f", figure->now);
		snprintf(rate, sizeof(rate), "%+.*f", fabs(60 * figure->per_s) < 10,
			 60 * figure->per_s);
		fprintf(out, "%s %s", amount, triage_machine_words(part));
	} else {
		units_bytes(rate, 60 * figure->per_s, "+");
		fprintf(out, "%s %s", triage_machine_words(part),
			units_bytes(amount, figure->now, ""));
	}
	if (trend_is_suspect(figure->verdict))
		fprintf(out, " (%s, %s/min)", trend_verdict_name(figure->verdict), rate);
}

void text_triage_machine_write(FILE *out, const struct triage_machine *machine, bool all)
{
	const char *before = "machine: ";
	bool kernels = false;

	for (size_t i = 0; machine && i < MACHINE_PART_MAX_; i++) {
		const struct machine_figure *figure = &machine->parts[i];

		if (isnan(figure->now) || figure->now <= 0 ||
		    (!all && !trend_is_suspect(figure->verdict)))
			continue;
		fputs(before, out);
		figure_write(out, i, figure);
		before = ", ";
		kernels |= trend_is_suspect(figure->verdict) && triage_machine_is_kernels(i);
	}
	if (kernels)
		fputs("; leakmon kernel", out);
	if (*before == ',')
		fputc('\n', out);
}

void text_triage_columns_write(FILE *out, const struct triage_entry *entry, int place_width,
			       int growth_width)
{
	char place[TRIAGE_PLACE_SIZE], memory[16] = "-", rate[TRIAGE_GROWTH_SIZE];

	if (!isnan(entry->now.values[QUANTITY_HEAP]))
		units_bytes(memory, entry->now.values[QUANTITY_HEAP], "");
	if (entry->pid) {
		fprintf(out, "%7d  ", entry->pid);
		text_column_write(out, entry->comm, 15);
	} else {
		fprintf(out, "%7zu  %-15s", entry->processes,
			entry->container ? "(container)" : "(cgroup)");
	}
	fputs("  ", out);
	text_column_write(out, text_triage_place(place, entry), place_width);
	fprintf(out, " %10s %*s", memory, growth_width, growth_text(rate, &entry->growth));
}
