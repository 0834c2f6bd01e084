// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the heap profile that a process itself keeps: `leakmon profile --own`, `leakmon retain`.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "output/text/text.h"

#define NS_PER_S 1e9

static void when_write(FILE *out, const struct heap_profile *profile)
{
	char text[16];

	if (strcmp(profile->source, "Go") != 0)
		fputs("as of now", out);
	else if (!profile->collected)
		fputs("as of now, for there was no garbage collection yet", out);
	else if (profile->collected_ns)
		fprintf(out, "as of garbage collection %" PRIu64 ", %s ago", profile->collections,
			units_time(text, (double)profile->collected_ns / NS_PER_S));
	else
		fputs("as of the last garbage collection", out);
}

static void bounds_write(FILE *out, const struct text_form *form, const struct bounds *limits)
{
	char low[TEXT_BYTES_SIZE], high[TEXT_BYTES_SIZE];

	fprintf(out, " (95 %%: %s to %s)", text_bytes(low, form, (uint64_t)fmax(limits->low, 0)),
		text_bytes(high, form, (uint64_t)fmax(limits->high, 0)));
}

static void growth_write(FILE *out, const struct text_form *form,
			 const struct heap_profile *profile, const struct heap_profile_site *site)
{
	char change[TEXT_BYTES_SIZE], low[TEXT_BYTES_SIZE], high[TEXT_BYTES_SIZE], time[16];

	if (!profile->readings || site->growth == 0)
		return;
	fprintf(out, "\t\t%s in %s (95 %%: %s to %s)\n",
		text_change(change, form, (int64_t)site->growth),
		units_time(time, (double)profile->span_ns / NS_PER_S),
		text_change(low, form, (int64_t)site->growth_limits.low),
		text_change(high, form, (int64_t)site->growth_limits.high));
}

static void site_write(FILE *out, const struct text_form *form, const struct heap_profile *profile,
		       const struct heap_profile_site *site)
{
	char bytes[TEXT_BYTES_SIZE];

	fprintf(out, "\t%s in %s%.0f objects", text_bytes(bytes, form, (uint64_t)site->bytes),
		profile->rate == 1 ? "" : "~", site->objects);
	if (site->size)
		fprintf(out, " of %" PRIu64 " bytes", site->size);
	if (profile->rate != 1)
		bounds_write(out, form, &site->limits);
	fputc('\n', out);
	growth_write(out, form, profile, site);
	text_frames_write(out, form, &site->frames);
}

static void unknown_write(FILE *out, const struct heap_profile *profile)
{
	fprintf(out, "heap profile: not known: %s", profile->why);
	if (profile->version[0]) {
		fprintf(out, " (%s ", profile->source);
		text_print_inert(out, profile->version);
		fputc(')', out);
	}
	fputc('\n', out);
}

/* Writes the sampling rate. */
static void rate_write(FILE *out, const struct heap_profile *profile)
{
	if (profile->rate == 1)
		fputs("; every block is in it\n", out);
	else if (profile->rate % 1024)
		fprintf(out, "; estimated from a sample every %" PRIu64 " bytes\n", profile->rate);
	else if (profile->rate)
		fprintf(out, "; estimated from a sample every %" PRIu64 " KiB\n",
			profile->rate >> 10);
	else if (strcmp(profile->source, "Go") != 0)
		fputs("; the rate of sampling is not known\n", out);
	else
		fputs("; the rate of sampling is not known, so nothing is scaled\n", out);
}

void text_heap_profile_write(FILE *out, const struct text_form *form,
			     const struct heap_profile *profile, size_t top)
{
	char bytes[TEXT_BYTES_SIZE];

	if (profile->why) {
		unknown_write(out, profile);
		return;
	}
	fputs(profile->source, out);
	if (profile->version[0]) {
		fputc(' ', out);
		text_print_inert(out, profile->version);
	}
	fprintf(out, ": in use %s", text_bytes(bytes, form, (uint64_t)profile->bytes));
	if (profile->rate != 1)
		bounds_write(out, form, &profile->limits);
	fprintf(out, " from %zu call stacks, ", profile->sites.count);
	when_write(out, profile);
	rate_write(out, profile);
	if (profile->lacks)
		fprintf(out, "not in it: %s\n", profile->lacks);
	for (size_t i = 0; i < profile->sites.count && (!top || i < top); i++)
		site_write(out, form, profile, &profile->sites.items[i]);
}
