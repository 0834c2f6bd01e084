// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <errno.h>
#include <jansson.h>

/* Figures of sections that did not run are left out. */
static bool is_shown(const struct samples *samples)
{
	return samples->values.count || samples->why.text[0];
}

static void number_print(FILE *out, int width, int decimals, double value)
{
	if (isnan(value))
		fprintf(out, " %*s", width, "-");
	else
		fprintf(out, " %*.*f", width, decimals, value);
}

static void row_print(FILE *out, const struct results *results, enum figure figure)
{
	const struct figure_row *row = &figure_rows[figure];
	struct summary summary;

	figure_summarise(results, figure, &summary);
	fprintf(out, "%-47s", row->title);
	number_print(out, 9, row->decimals, summary.median);
	number_print(out, 9, row->decimals, summary.minimum);
	number_print(out, 9, row->decimals, summary.maximum);
	fprintf(out, " %-2s %3zu", row->unit, results->figures[figure].values.count);
	if (!isnan(row->aim))
		fprintf(out, "  <=%-5g  %s", row->aim, summary.verdict);
	fputc('\n', out);
}

static void reasons_print(FILE *out, const struct results *results)
{
	for (enum figure figure = 0; figure < FIGURE_MAX_; figure++) {
		const struct figure_row *row = &figure_rows[figure];
		const char *why = results->figures[figure].why.text;

		/* A ratio reports its missing part. */
		if (*why && row->over == row->under)
			fprintf(out, "  %s: %s\n", row->title, why);
	}
}

void table_print(FILE *out, const struct machine *machine, const struct results *results,
		 bool quick)
{
	fprintf(out, "%s, %ld cores, %s; kernel %s; load %.2f\n", machine->cpu, machine->cores,
		machine->virtualised ? "virtualised" : "bare metal", machine->kernel,
		machine->load);
	if (machine->load > 0.5)
		fputs("Something else was running: do not publish these figures.\n", out);
	if (quick)
		fputs("A quick run: it shows that the benchmark works, not how fast leakmon is.\n",
		      out);
	fprintf(out, "\n%-47s %9s %9s %9s    %3s  %-7s  %s\n", "figure", "median", "min", "max",
		"n", "aim", "verdict");
	for (enum figure figure = 0; figure < FIGURE_MAX_; figure++) {
		if (is_shown(&results->figures[figure]))
			row_print(out, results, figure);
	}
	fputs("\npair = malloc(100) and free, shallow stack with frame pointers. "
	      "x = ratio within one repetition.\n",
	      out);
	reasons_print(out, results);
}

static json_t *number_json(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

static json_t *samples_json(const struct samples *samples)
{
	json_t *array = json_array();

	for (size_t i = 0; i < samples->values.count; i++)
		json_array_append_new(array, json_real(samples->values.items[i]));
	return array;
}

static json_t *text_json(const char *text)
{
	json_t *string = *text ? json_string(text) : json_null();

	return string ? string : json_string("(not UTF-8)");
}

static json_t *figure_json(const struct results *results, enum figure figure)
{
	const struct figure_row *row = &figure_rows[figure];
	const struct samples *samples = &results->figures[figure];
	struct summary summary;

	figure_summarise(results, figure, &summary);
	return json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:i,s:o,s:o,s:o,s:o}", "key", row->key, "title",
			 row->title, "unit", row->unit, "median", number_json(summary.median),
			 "min", number_json(summary.minimum), "max", number_json(summary.maximum),
			 "n", (int)samples->values.count, "aim", number_json(row->aim), "verdict",
			 text_json(summary.verdict), "why", text_json(samples->why.text), "samples",
			 samples_json(samples));
}

int json_print(FILE *out, const struct machine *machine, const struct results *results, bool quick)
{
	json_t *figures = json_array(), *document;
	int failed;

	for (enum figure figure = 0; figure < FIGURE_MAX_; figure++) {
		if (is_shown(&results->figures[figure]))
			json_array_append_new(figures, figure_json(results, figure));
	}
	document = json_pack("{s:i,s:b,s:{s:s,s:i,s:s,s:b,s:f},s:o}", "schema", 1, "quick", quick,
			     "machine", "cpu", machine->cpu, "cores", (int)machine->cores, "kernel",
			     machine->kernel, "virtualised", machine->virtualised, "load",
			     machine->load, "figures", figures);
	if (!document)
		return -ENOMEM;
	failed = json_dumpf(document, out, JSON_COMPACT | JSON_REAL_PRECISION(6));
	json_decref(document);
	return failed || fputc('\n', out) == EOF || fflush(out) ? -EIO : 0;
}
