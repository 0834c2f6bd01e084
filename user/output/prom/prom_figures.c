// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes metrics from the descriptors of report/figures.h. */
#include <inttypes.h>
#include <math.h>

#include "output/prom/prom.h"
#include "report/figures.h"

static bool is_real(const struct figure *figure)
{
	return figure->type == FIGURE_REAL || figure->type == FIGURE_MADE;
}

void prom_figures_write(FILE *out, const struct figures *figures, const void *row)
{
	for (size_t i = 0; i < figures->count; i++) {
		const struct figure *figure = &figures->items[i];
		struct prom_value value = {figure->metric_name, "gauge", figure->help, 0};

		if (figure->metric != METRIC_GAUGE)
			continue;
		value.value = is_real(figure) ? figure_real(figure, row)
					      : (double)figure_value(figure, row);
		prom_values_write(out, &value, 1);
	}
}

static void sample_write(FILE *out, const struct figure *figure, const struct prom_series *series,
			 const void *report, size_t i)
{
	const void *row = series->row(report, i);

	if (!row || !figure_is_shown(figure, row) ||
	    (is_real(figure) && isnan(figure_real(figure, row))))
		return;
	fprintf(out, "leakmon_%s", figure->metric_name);
	series->labels(out, report, i);
	if (is_real(figure))
		fprintf(out, "} %.10g\n", figure_real(figure, row));
	else
		fprintf(out, "} %" PRIu64 "\n", figure_value(figure, row));
}

void prom_series_write(FILE *out, const struct figures *figures, const struct prom_series *series,
		       const void *report)
{
	for (size_t i = 0; i < figures->count; i++) {
		const struct figure *figure = &figures->items[i];

		if (figure->metric != METRIC_GAUGE)
			continue;
		prom_header(out, figure->metric_name, "gauge", figure->help);
		for (size_t j = 0; j < series->count; j++)
			sample_write(out, figure, series, report, j);
	}
}
