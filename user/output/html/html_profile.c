// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile as one page: its call stacks, what each grows by, and how its blocks survive. It needs
 * nothing else and runs no script; curves are drawn here.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/html/html.h"
#include "output/output.h"
#include "output/text/text.h"
#include "report/profile_report.h"

/* More would make a page that nobody reads. */
#define SITES_SHOWN 50

/* Of the drawing, in its own units. */
#define WIDTH 420.0
#define HEIGHT 130.0
#define LEFT 42.0
#define BOTTOM 18.0
#define TOP 8.0
#define RIGHT 10.0

static const char head_begin[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
	"'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<title>";
static const char head_end[] =
	"</title>\n<style>\n"
	":root{color-scheme:light dark;--page:#f6f7f9;--panel:#fff;--text:#16191f;--dim:#5c6470;"
	"--line:#dfe2e8;--bad:#b3400a;--curve:#0b66c3;--area:#dbe7f3}\n"
	"@media(prefers-color-scheme:dark){:root{--page:#101317;--panel:#181c22;--text:#e8ebf0;"
	"--dim:#98a2b0;--line:#2b323c;--bad:#ff9a5c;--curve:#62aef5;--area:#24384d}}\n"
	"body{margin:0 auto;padding:1rem;max-width:72rem;background:var(--page);color:var(--text);"
	"font:14px/1.45 system-ui,sans-serif}\n"
	"h1{font-size:1.3rem;margin:.2rem 0}h2{font-size:1.1rem;margin:1.6rem 0 .3rem}\n"
	"p{margin:.2rem 0}.dim,figcaption{color:var(--dim)}\n"
	"section{background:var(--panel);border:1px solid var(--line);border-radius:6px;"
	"padding:.7rem .9rem;margin:.7rem 0;display:flex;flex-wrap:wrap;gap:.6rem 1.4rem}\n"
	".told{flex:1 1 24rem;min-width:0}figure{margin:0;flex:0 1 26rem}\n"
	"h3{font-size:1rem;margin:0}.leaking{color:var(--bad)}\n"
	"pre{margin:.5rem 0 0;overflow-x:auto;font-size:12px;tab-size:1}\n"
	"svg{width:100%;height:auto;display:block}svg text{font-size:10px;fill:var(--dim)}\n"
	".grid{stroke:var(--line);fill:none}.area{fill:var(--area)}\n"
	".curve{stroke:var(--curve);stroke-width:1.6;fill:none}\n"
	"table{border-collapse:collapse;width:100%;background:var(--panel)}\n"
	"td,th{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left}\n"
	"td pre{white-space:pre-wrap;overflow-wrap:anywhere;tab-size:8}\n"
	".number{text-align:right;font-variant-numeric:tabular-nums}\n"
	".undead{stroke:var(--dim);stroke-dasharray:4 3;fill:none}.point{fill:var(--curve)}\n"
	"</style></head><body>\n";

void html_plain_begin(FILE *out, const char *title)
{
	fprintf(out, "%s%s%s", head_begin, title, head_end);
}

void html_plain_end(FILE *out)
{
	fputs("</body></html>\n", out);
}

/* Text that was made inert, with what HTML gives a meaning. */
void html_escaped_write(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

/* Whatever a target calls itself. */
int html_name_write(FILE *out, const char *name)
{
	_cleanup_free_ char *inert = text_inert(name);

	if (!inert)
		return -ENOMEM;
	html_escaped_write(out, inert);
	return 0;
}

static void rate_write(FILE *out, const struct interval *growth)
{
	char estimate[16], low[16], high[16];

	fprintf(out, "%s/s <span class=\"dim\">(95&nbsp;%%: %s to %s)</span>",
		units_bytes(estimate, growth->estimate, "+"), units_bytes(low, growth->low, "+"),
		isfinite(growth->high) ? units_bytes(high, growth->high, "+") : "?");
}

/* -------- curves */

struct axes {
	double span; /* log10 of the greatest age, from 1 s */
};

static double x_of(const struct axes *axes, double age_s)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * log10(fmax(age_s, 1)) / axes->span;
}

static double y_of(double share)
{
	double bound = isnan(share) ? 0 : fmin(fmax(share, 0), 1);

	return TOP + (HEIGHT - TOP - BOTTOM) * (1 - bound);
}

static void grid_write(FILE *out, const struct axes *axes)
{
	static const double ages_s[] = {1, 10, 60, 600, 3600, 21600, 86400};
	char age[16];

	for (int i = 0; i <= 2; i++) {
		double y = y_of(i / 2.0);

		fprintf(out,
			"<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"2\" "
			"y=\"%.1f\">%d %%</text>",
			LEFT, y, WIDTH - RIGHT, y + 3, i * 50);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ages_s); i++) {
		double x = x_of(axes, ages_s[i]);

		if (log10(ages_s[i]) > axes->span)
			break;
		fprintf(out,
			"<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
			"text-anchor=\"middle\">%s</text>",
			x, TOP, HEIGHT - BOTTOM, x, HEIGHT - 5, units_time(age, ages_s[i]));
	}
}

static void area_write(FILE *out, const struct axes *axes, const struct site_judgement *judgement)
{
	fputs("<path class=\"area\" d=\"", out);
	for (size_t i = 0; i < judgement->points; i++)
		fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', x_of(axes, judgement->survival[i].age_s),
			y_of(judgement->survival[i].untouched.high));
	for (size_t i = judgement->points; i-- > 0;)
		fprintf(out, "L%.1f %.1f", x_of(axes, judgement->survival[i].age_s),
			y_of(judgement->survival[i].untouched.low));
	fputs("Z\"/>", out);
}

static void curve_write(FILE *out, const struct axes *axes, const struct site_judgement *judgement,
			bool undead)
{
	fprintf(out, "<path class=\"%s\" d=\"", undead ? "undead" : "curve");
	for (size_t i = 0; i < judgement->points; i++) {
		const struct survival_point *point = &judgement->survival[i];

		fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', x_of(axes, point->age_s),
			y_of(undead ? point->undead.estimate : point->untouched.estimate));
	}
	fputs("\"/>", out);
}

static void points_write(FILE *out, const struct axes *axes, const struct site_judgement *judgement)
{
	char age[16];

	for (size_t i = 0; i < judgement->points; i++) {
		const struct survival_point *point = &judgement->survival[i];

		fprintf(out,
			"<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\"><title>after "
			"%s: %.3g %% untouched (%.3g to %.3g), %.3g %% not known to be dead, of "
			"about %.0f blocks</title></circle>",
			x_of(axes, point->age_s), y_of(point->untouched.estimate),
			units_time(age, point->age_s), 100 * point->untouched.estimate,
			100 * point->untouched.low, 100 * point->untouched.high,
			100 * point->undead.estimate, point->samples);
	}
}

static void survival_write(FILE *out, const struct site_judgement *judgement)
{
	struct axes axes = {.span = 1};

	if (!judgement->points)
		return;
	axes.span = fmax(log10(judgement->survival[judgement->points - 1].age_s), 1);
	fprintf(out,
		"<figure><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"share of blocks "
		"by age\">",
		WIDTH, HEIGHT);
	grid_write(out, &axes);
	area_write(out, &axes, judgement);
	curve_write(out, &axes, judgement, true);
	curve_write(out, &axes, judgement, false);
	points_write(out, &axes, judgement);
	fputs("</svg><figcaption>of its blocks, by age: untouched (line, and limits of 95 %), not "
	      "known to be dead (dashes)</figcaption></figure>\n",
	      out);
}

/* -------- call stacks and processes */

static int stack_write(FILE *out, const struct frames *frames)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *stack = open_memstream(&text, &size);

	if (!stack)
		return -ENOMEM;
	text_frames_write(stack, &(const struct text_form){.verbose = true}, frames);
	if (fclose(stack))
		return -ENOMEM;
	fputs("<pre>", out);
	html_escaped_write(out, text);
	fputs("</pre>", out);
	return 0;
}

static int site_write(FILE *out, const struct profile_report_site *site)
{
	const struct site_judgement *judgement = &site->judgement;
	const char *verdict = profile_verdict_name(judgement->verdict);
	char ready[16];
	int error;

	fputs("<section><div class=\"told\"><h3>", out);
	rate_write(out, &judgement->growth_bytes_per_s);
	fprintf(out, "</h3><p><b class=\"%s\">%s</b>: ", verdict, verdict);
	html_escaped_write(out, judgement->why ? judgement->why : "");
	if (judgement->verdict == PROFILE_TOO_EARLY && judgement->ready_s > 0)
		fprintf(out, " (more in %s)", units_time(ready, judgement->ready_s));
	fprintf(out, "</p><p class=\"dim\">%.4g blocks/s allocated (95&nbsp;%%: %.4g to %.4g)</p>",
		judgement->births_per_s.estimate, judgement->births_per_s.low,
		judgement->births_per_s.high);
	error = stack_write(out, &site->frames);
	fputs("</div>\n", out);
	survival_write(out, judgement);
	fputs("</section>\n", out);
	return error;
}

static int process_write(FILE *out, const struct profile_report_process *process)
{
	char memory[16], growth[16];
	size_t shown = MIN(process->sites.count, (size_t)SITES_SHOWN);
	int error;

	fprintf(out, "<h2>PID %u (", process->pid);
	error = html_name_write(out, process->comm);
	fprintf(out,
		")%s</h2><p>%zu windows, %.2f s tracked, %.2f %% of its CPU time spent; %zu blocks "
		"followed</p>",
		process->exited ? ", which has ended" : "", process->judgement.windows,
		process->judgement.tracked_s, 100 * process->spent, process->samples);
	if (process->memory_bytes >= 0)
		fprintf(out, "<p>memory: %s", units_bytes(memory, process->memory_bytes, ""));
	if (process->memory_bytes >= 0 && process->has_memory_growth)
		fprintf(out, ", %s/s", units_bytes(growth, process->memory_growth_per_s, "+"));
	if (process->explained >= 0)
		fprintf(out, ", of which these call stacks explain %.0f %%",
			100 * process->explained);
	fputs("</p>\n", out);
	for (size_t i = 0; i < shown && !error; i++)
		error = site_write(out, &process->sites.items[i]);
	if (process->sites_total > shown)
		fprintf(out, "<p class=\"dim\">%zu more call stacks are not shown</p>\n",
			process->sites_total - shown);
	return error;
}

int html_profile_write(FILE *out, const void *data)
{
	const struct profile_report *report = data;
	char time[32] = "?";
	struct tm local;
	int error = 0;

	if (localtime_r(&report->time.tv_sec, &local))
		strftime(time, sizeof(time), "%Y-%m-%d %H:%M:%S", &local);
	html_plain_begin(out, "leakmon profile");
	fprintf(out,
		"<h1>Profile <span class=\"dim\">%s</span></h1><p>%zu windows, %.2f s tracked, %zu "
		"blocks followed; %.2f %% of the processes&rsquo; CPU time spent, of %.3g %%</p>\n",
		time, report->windows, report->tracked_s, report->samples, 100 * report->spent,
		100 * report->limit);
	if (!report->measured)
		fputs("<p>What a trap costs could not be measured: it is a guess.</p>\n", out);
	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = process_write(out, &report->processes.items[i]);
	html_plain_end(out);
	return error ? error : output_finish(out);
}
