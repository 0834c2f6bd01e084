// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The HTML page: one file that needs nothing else, with a place for a JSON object. Its sources are
 * in user/html/src/; report.html, which is embedded here, is made of them by `make html-bundle`.
 *
 * The data of the page, as one JSON object; user/html/src/model.js reads it:
 *
 *	kind		"report" or "diff"; of other kinds the members are those of JSON
 *	families[]	their words, and which figures make the line that balances
 *	times, sequences, labels	the columns; of a diff, in before and after
 *	hosts[], builds[]	of a fleet, as in JSON
 *	processes[]	id, what is held, threads as in JSON; first, bytes, counts: a series; trend
 *	sites[]		process (its place), stack, held_*, allocated_*, freed_*, a series, trend;
 *			of a diff before_* and trend_before instead of a series; those that hold
 *			nothing any more are there, too
 *	diagnoses[]	of a recording, their text
 *	ledger, mappings, losses[]	the ledgers, and each cause of a loss with its remedy
 *	frames[], strings[]	each once: a stack is numbers of frames, a frame numbers of strings
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/family.h"
#include "report/analyze/diff_build.h"
#include "report/analyze/report_build.h"
#include "report/diagnosis.h"
#include "report/history.h"
#include "report/analyze/site_trend.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "output/formats.h"
#include "output/output.h"
#include "output/json/json.h"
#include "output/text/text.h"
#include "process/symbol/intern.h"
#include "process/symbol/site_label.h"

#define NS_PER_MS 1000000

/*
 * The strings and frames of a page, each written once and referred to by number. Strings are
 * borrowed until the page is written, except labels.
 */

/* Indexes of strings, except the last three fields. 0 means NULL. */
struct html_frame {
	uint32_t function, module, build_id, file, why;
	uint32_t line;
	/* within the function; within the module, or an address without a module */
	uint64_t offset, place;
	bool inlined;
};

struct html_names {
	struct hash string_numbers, frame_numbers;
	VEC(const char *) strings; /* from number 1 on */
	VEC(struct html_frame) frames;
	struct intern labels; /* strings that no report owns */
	bool failed;	      /* out of memory: the output is not a valid page */
};

static uint32_t string_number(struct html_names *names, const char *text)
{
	uint64_t *number;
	bool fresh;

	if (!text)
		return 0;
	number = hash_put(&names->string_numbers, hash_text(text), &fresh);
	/* Two strings with the same hash: the second one is written each time. */
	if (number && !fresh && !strcmp(names->strings.items[*number - 1], text))
		return (uint32_t)*number;
	if (!number || !vec_push(&names->strings)) {
		names->failed = true;
		return 0;
	}
	names->strings.items[names->strings.count - 1] = text;
	if (fresh)
		*number = names->strings.count;
	return (uint32_t)names->strings.count;
}

static uint64_t frame_hash(const struct html_frame *frame)
{
	const uint64_t values[] = {frame->function, frame->module, frame->build_id,
				   frame->file,	    frame->why,	   frame->line,
				   frame->offset,   frame->place,  frame->inlined};
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		hash = hash_mix(hash ^ hash_mix(values[i] + i));
	return hash;
}

static bool frame_is(const struct html_frame *a, const struct html_frame *b)
{
	return a->function == b->function && a->module == b->module && a->build_id == b->build_id &&
	       a->file == b->file && a->why == b->why && a->line == b->line &&
	       a->offset == b->offset && a->place == b->place && a->inlined == b->inlined;
}

static size_t frame_number(struct html_names *names, const struct frame *frame)
{
	struct html_frame wanted = {
		.function = string_number(names, frame->function),
		.module = string_number(names, frame->module),
		.build_id = string_number(names, frame->build_id),
		.file = string_number(names, frame->file),
		.why = frame->function ? 0 : string_number(names, frame->why),
		.line = frame->line,
		.offset = frame->offset,
		.place = frame->module ? frame->module_offset : frame->address,
		.inlined = frame->inlined,
	};
	struct html_frame *made;
	bool fresh;
	uint64_t *number = hash_put(&names->frame_numbers, frame_hash(&wanted), &fresh);

	if (number && !fresh && frame_is(&names->frames.items[*number], &wanted))
		return *number;
	made = number ? vec_push(&names->frames) : NULL;
	if (!made) {
		names->failed = true;
		return 0;
	}
	*made = wanted;
	if (fresh)
		*number = names->frames.count - 1;
	return names->frames.count - 1;
}

/* Writes the index of the frame that labels a site, and the label: process/symbol/site_label.h. */
static void label_write(struct json_writer *json, struct html_names *names,
			const struct frames *frames)
{
	const struct frame *frame = site_label_frame(frames);
	_cleanup_free_ char *label =
		frame && frame->function ? site_label_collapse(frame->function) : NULL;

	if (label)
		json_put_number(json, "label",
				string_number(names, intern_string(&names->labels, label)));
	if (frame && frame != frames->list.items)
		json_put_number(json, "label_frame", (uint64_t)(frame - frames->list.items));
}

/* Writes a member "stack" of frame numbers, the allocator's caller first; and its label. */
static void html_stack_write(struct json_writer *json, struct html_names *names,
			     const struct report_site *site)
{
	label_write(json, names, &site->frames);
	json_open(json, "stack", '[');
	for (size_t i = 0; i < site->frames.list.count; i++)
		json_put_number(json, NULL, frame_number(names, &site->frames.list.items[i]));
	for (size_t i = 0; !site->frames.list.count && i < site->site->depth; i++) {
		const struct frame frame = {.address = LM_FRAME_ADDRESS(site->site->addresses[i]),
					    .why = "not looked up"};

		json_put_number(json, NULL, frame_number(names, &frame));
	}
	json_close(json, ']');
}

/* Writes in hexadecimal: JavaScript's integers end at 2^53. */
static void place_write(struct json_writer *json, uint64_t place)
{
	char text[17];

	snprintf(text, sizeof(text), "%" PRIx64, place);
	json_put_string(json, NULL, text);
}

static void frame_write(struct json_writer *json, const struct html_frame *frame)
{
	json_open(json, NULL, '[');
	json_put_number(json, NULL, frame->function);
	json_put_number(json, NULL, frame->offset);
	json_put_number(json, NULL, frame->module);
	place_write(json, frame->place);
	json_put_number(json, NULL, frame->file);
	json_put_number(json, NULL, frame->line);
	json_put_number(json, NULL, frame->inlined);
	json_put_number(json, NULL, frame->why);
	json_put_number(json, NULL, frame->build_id);
	json_close(json, ']');
}

/* Writes the members "frames" and "strings". */
static void html_names_write(struct json_writer *json, const struct html_names *names)
{
	json_open(json, "frames", '[');
	for (size_t i = 0; i < names->frames.count; i++)
		frame_write(json, &names->frames.items[i]);
	json_close(json, ']');
	json_open(json, "strings", '[');
	json_put_null(json, NULL);
	for (size_t i = 0; i < names->strings.count; i++)
		json_put_string(json, NULL, names->strings.items[i]);
	json_close(json, ']');
}

static void html_names_free(struct html_names *names)
{
	hash_free(&names->string_numbers);
	hash_free(&names->frame_numbers);
	vec_free(&names->strings);
	vec_free(&names->frames);
	intern_free(&names->labels);
}

/*
 * Columns of series. A page has as many columns as a screen can show; a column of several snapshots
 * shows their maximum. The first and the last are always exact.
 */

struct html_columns {
	const struct history *history;
	size_t count;
};

/* A wide screen has fewer pixels for a graph... */
#define COLUMNS_MAX 1200
/* ...and all series together must stay small: 5 bytes per point, for bytes and counts. */
#define POINTS_MAX 1000000
#define COLUMNS_MIN 60

/* Computes the columns; `history` NULL: none. */
static struct html_columns html_columns_of(const struct history *history)
{
	struct html_columns columns = {.history = history};
	size_t room;

	if (!history)
		return columns;
	room = POINTS_MAX / (history->sites.count + history->processes.count + 1);
	columns.count = MIN(history->times.count, MIN(MAX(room, COLUMNS_MIN), COLUMNS_MAX));
	return columns;
}

/*
 * Returns the index of the first time in a column; for the column after the last, the number of
 * times.
 */
static size_t column_start(const struct html_columns *columns, size_t column)
{
	size_t times = columns->history->times.count, count = columns->count;

	if (times == count || !column)
		return column;
	/* The first and the last column have one snapshot each. */
	if (column >= count)
		return times;
	return 1 + (column - 1) * (times - 2) / (count - 2);
}

static size_t column_last(const struct html_columns *columns, size_t column)
{
	return column_start(columns, column + 1) - 1;
}

/* A slewed clock, or two clocks read one after the other, differ by less. */
#define SET_BACK_MS 1000

static int64_t wall_ms(const struct history_time *time)
{
	return (int64_t)time->time.tv_sec * 1000 + time->time.tv_nsec / NS_PER_MS;
}

/* Returns whether the clock was set back: less time passed on it than on the monotonic clock. */
static bool was_set_back(const struct history *history)
{
	for (size_t i = 1; i < history->times.count; i++) {
		const struct history_time *time = &history->times.items[i];
		int64_t truth_ms =
			(int64_t)(time->monotonic_ns - time[-1].monotonic_ns) / NS_PER_MS;

		if (truth_ms >= 0 && wall_ms(time) - wall_ms(time - 1) < truth_ms - SET_BACK_MS)
			return true;
	}
	return false;
}

/*
 * Returns ascending times for a graph. If the clock was set back, all are counted from the last one
 * on the monotonic clock.
 */
static int64_t time_ms(const struct history *history, const struct history_time *time,
		       bool set_back)
{
	const struct history_time *last = &history->times.items[history->times.count - 1];

	if (!set_back)
		return wall_ms(time);
	return wall_ms(last) - (int64_t)(last->monotonic_ns - time->monotonic_ns) / NS_PER_MS;
}

static void labels_write(struct json_writer *json, const struct html_columns *columns)
{
	json_open(json, "labels", '[');
	for (size_t column = 0, i = 0; column < columns->count; column++) {
		for (; i <= column_last(columns, column); i++) {
			const char *label = columns->history->times.items[i].label;

			if (!label)
				continue;
			json_open(json, NULL, '[');
			json_put_number(json, NULL, column);
			json_put_string(json, NULL, label);
			json_close(json, ']');
		}
	}
	json_close(json, ']');
}

/*
 * Writes "times" (milliseconds) and "sequences", both as a first value and differences; and
 * "labels", pairs of a column and a text. For each column, its last snapshot counts.
 */
static void html_columns_write(struct json_writer *json, const struct html_columns *columns)
{
	const struct history *history = columns->history;
	bool set_back = columns->count && was_set_back(history);
	int64_t before_ms = 0;
	uint64_t before = 0;

	json_open(json, "times", '[');
	for (size_t i = 0; i < columns->count; i++) {
		int64_t now_ms =
			time_ms(history, &history->times.items[column_last(columns, i)], set_back);

		json_put_signed(json, NULL, now_ms - before_ms);
		before_ms = now_ms;
	}
	json_close(json, ']');
	json_open(json, "sequences", '[');
	for (size_t i = 0; i < columns->count; i++) {
		uint64_t now = history->times.items[column_last(columns, i)].sequence;

		json_put_number(json, NULL, now - before);
		before = now;
	}
	json_close(json, ']');
	labels_write(json, columns);
}

struct peak {
	uint64_t bytes, count;
};

static struct peak column_peak(const struct html_columns *columns,
			       const struct history_series *series, size_t column)
{
	struct peak peak = {0};

	for (size_t i = column_start(columns, column); i <= column_last(columns, column); i++) {
		struct history_point point = history_point_at(series, i);

		peak.bytes = MAX(peak.bytes, point.bytes);
		peak.count = MAX(peak.count, point.count);
	}
	return peak;
}

static uint64_t peak_bytes(const struct peak *peak)
{
	return peak->bytes;
}

static uint64_t peak_count(const struct peak *peak)
{
	return peak->count;
}

/* Writes differences; zeros are written only if something follows. */
static void differences_write(struct json_writer *json, const char *key, const struct peak *peaks,
			      size_t count, uint64_t (*value_of)(const struct peak *))
{
	uint64_t before = 0;
	size_t owed = 0;

	json_open(json, key, '[');
	for (size_t i = 0; i < count; i++) {
		uint64_t value = value_of(&peaks[i]);

		if (i && value == before) {
			owed++;
			continue;
		}
		for (; owed; owed--)
			json_put_number(json, NULL, 0);
		json_put_signed(json, NULL, (int64_t)(value - before));
		before = value;
	}
	json_close(json, ']');
}

/*
 * Writes "first", a column; and "bytes" and "counts" from there on, as a first value and
 * differences. An unchanged end is omitted.
 */
static void html_series_write(struct json_writer *json, const struct html_columns *columns,
			      const struct history_series *series)
{
	struct peak peaks[COLUMNS_MAX];
	size_t first = 0;

	for (size_t i = 0; i < columns->count; i++)
		peaks[i] = column_peak(columns, series, i);
	while (first < columns->count && !peaks[first].bytes && !peaks[first].count)
		first++;
	json_put_number(json, "first", first);
	differences_write(json, "bytes", peaks + first, columns->count - first, peak_bytes);
	differences_write(json, "counts", peaks + first, columns->count - first, peak_count);
}

/* -------- the page around its data */

/* Returns a writer for the contents of a <script> element that people will see. */
static struct json_writer page_json(FILE *out)
{
	return (struct json_writer){.out = out, .embedded = true};
}

/* The bundle contains this once; see user/html/src/page.html. */
#define PLACE_OF_DATA "LEAKMON_DATA"

__asm__(".pushsection .rodata\n"
	"page_bundle: .incbin \"user/html/report.html\"\n"
	"page_bundle_end:\n"
	".popsection\n");

/*
 * Hidden: otherwise compilers read the address from a table, where linkers of some processors put
 * that of the whole section.
 */
extern const char page_bundle[] __attribute__((visibility("hidden"))),
	page_bundle_end[] __attribute__((visibility("hidden")));

static const char *place_of_data(void)
{
	return memmem(page_bundle, (size_t)(page_bundle_end - page_bundle), PLACE_OF_DATA,
		      strlen(PLACE_OF_DATA));
}

/* Writes the page up to its data. The caller then writes one object with page_json(). */
static void page_begin(FILE *out)
{
	fwrite(page_bundle, 1, (size_t)(place_of_data() - page_bundle), out);
}

/* Writes the rest. Returns 0, or -EIO if any write to the stream failed. Flushes. */
static int page_end(FILE *out)
{
	const char *rest = place_of_data() + strlen(PLACE_OF_DATA);

	fwrite(rest, 1, (size_t)(page_bundle_end - rest), out);
	return output_finish(out);
}

/* Writes "schema", "kind" and the program's version. */
static void html_head_write(struct json_writer *json, const char *kind)
{
	json_put_number(json, "schema", 1);
	json_put_string(json, "kind", kind);
	json_put_string(json, "version", LEAKMON_VERSION);
}

static void term_write(struct json_writer *json, const struct figure *figure)
{
	static const char *const places[] = {
		[TERM_SUM] = "sum",   [TERM_ADDED] = "added",	[TERM_FIRST] = "part",
		[TERM_PART] = "part", [TERM_BESIDE] = "beside", [TERM_UNLESS_ZERO] = "beside",
	};

	if (!figure->term && !figure->inexact)
		return;
	json_open(json, NULL, '{');
	json_put_string(json, "figure", figure->json);
	json_put_string(json, "place", figure->inexact ? "lost" : places[figure->term]);
	json_put_string(json, "label", figure->inexact ? figure->inexact : figure->label);
	json_close(json, '}');
}

/* Writes "families": their names, and the use of their figures. */
static void families_write(struct json_writer *json)
{
	json_open(json, "families", '[');
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);

		json_open(json, NULL, '{');
		json_put_string(json, "name", family->name);
		json_put_string(json, "title", family->title);
		json_put_bool(json, "overlaps", family->overlaps);
		json_put_string(json, "section", family->section);
		json_open(json, "terms", '[');
		for (size_t i = 0; i < family->figures.count; i++)
			term_write(json, &family->figures.items[i]);
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Writes "time_ms", "sequence", "host", "sampled", "has_ages". */
static void html_snapshot_write(struct json_writer *json, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;

	json_put_signed(json, "time_ms",
			(int64_t)snapshot->time.tv_sec * 1000 + snapshot->time.tv_nsec / NS_PER_MS);
	json_put_number(json, "sequence", snapshot->sequence);
	json_put_string(json, "host", report->host);
	json_put_bool(json, "sampled", snapshot->sampled);
	json_put_bool(json, "has_ages", snapshot->has_ages);
}

static void loss_write(struct json_writer *json, const char *kind, const char *cause,
		       uint64_t count, const char *advice)
{
	if (!count)
		return;
	json_open(json, NULL, '{');
	json_put_string(json, "kind", kind);
	json_put_string(json, "cause", cause);
	json_put_number(json, "count", count);
	json_put_string(json, "advice", advice);
	json_close(json, '}');
}

/* Writes "ledger" and "losses": each nonzero cause, with advice. */
static void html_ledgers_write(struct json_writer *json, const struct snapshot *snapshot)
{
	const struct family *heap = family_get(FAMILY_HEAP);

	json_ledgers_write(json, snapshot, NULL);
	json_open(json, "losses", '[');
	for (size_t i = 0; i < heap->figures.count; i++) {
		const struct figure *figure = &heap->figures.items[i];
		const struct causes *causes = figure->causes;

		for (unsigned j = causes ? causes->first : 0; causes && j < causes->count; j++)
			loss_write(json, causes->label, causes->name(j),
				   figure_by_cause(figure, &snapshot->ledger, j),
				   causes->advice(j));
	}
	for (size_t i = 0; i < INEXACT_MAX_; i++) {
		/* The other causes are listed above, or elsewhere, with their numbers. */
		if (inexact_advice(i))
			loss_write(json, "inexact processes", inexact_name(i),
				   snapshot_count_inexact(snapshot, i), inexact_advice(i));
	}
	json_close(json, ']');
}

/* Writes "id", "family", "kind", "lost", "end", "stack". */
static void html_site_write(struct json_writer *json, struct html_names *names,
			    const struct report_site *site)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	json_put_string(json, "id", id);
	json_put_string(json, "family", family_name(site->site->family));
	json_put_string(json, "kind", kind_name(site->site->kind));
	json_put_string(json, "lost", site->site->lost ? lost_name(site->site->lost) : NULL);
	if (site->site->end != LM_WALK_ROOT)
		json_put_string(json, "end", walk_end_name(site->site->end));
	html_stack_write(json, names, site);
}

/*
 * A report as a page: its processes and sites with all of their series, including ended ones,
 * because the page shows any time of the run.
 */

/* Rows for each list of a retain run. */
#define RETAINED_ROWS 200

struct html_page {
	struct json_writer json;
	const struct report *report;
	struct html_columns columns;
	struct html_names names;
	bool *shown;		 /* by index in history.sites: the report has the site */
	size_t *process_numbers; /* by index in history.processes */
	size_t process_count;
};

static const struct history_process *series_of(const struct html_page *page,
					       const struct report_process *process)
{
	const struct history *history = page->report->history;

	return history ? history_process_find(history, process->process->key, process->process->pid)
		       : NULL;
}

static void series_write(struct html_page *page, const struct history_process *process)
{
	struct site_trend trend;

	if (!process)
		return;
	page->process_numbers[process - page->report->history->processes.items] =
		page->process_count;
	html_series_write(&page->json, &page->columns, &process->series);
	site_trend_of_process(&trend, page->report->history, process);
	json_trend_fields(&page->json, "trend", &trend);
}

static void process_write(struct html_page *page, const struct report_process *ranked)
{
	struct json_writer *json = &page->json;
	const struct ledger *ledger = &ranked->process->ledger;

	json_open(json, NULL, '{');
	json_process_write(json, ranked->process);
	json_put_number(json, "outstanding_bytes", ranked->process->outstanding_bytes);
	json_put_number(json, "outstanding_count", ranked->process->outstanding_count);
	json_put_number(json, "sites_total", ranked->sites_total);
	json_put_number(json, "allocations", ledger->allocations);
	json_put_number(json, "frees", ledger->frees);
	json_process_threads_write(json, page->report->snapshot, ranked);
	series_write(page, series_of(page, ranked));
	html_split_write(json, memory_series_of(page->report, ranked->process));
	json_close(json, '}');
	page->process_count++;
}

/* Writes a process that is no longer in the report. */
static void past_process_write(struct html_page *page, const struct history_process *process)
{
	struct snapshot_process past = {.pid = process->pid, .exact = true, .exited = true};

	memcpy(past.comm, process->comm, sizeof(past.comm));
	json_open(&page->json, NULL, '{');
	json_process_write(&page->json, &past);
	json_put_number(&page->json, "outstanding_bytes", 0);
	json_put_number(&page->json, "outstanding_count", 0);
	series_write(page, process);
	json_close(&page->json, '}');
	page->process_count++;
}

static void processes_write(struct html_page *page)
{
	const struct report *report = page->report;

	json_open(&page->json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(page, &report->processes.items[i]);
	for (size_t i = 0; report->history && i < report->history->processes.count; i++) {
		const struct history_process *process = &report->history->processes.items[i];

		/* A process without a key had not yet allocated, and appears again with one. */
		if (page->process_numbers[i] == SIZE_MAX && process->key)
			past_process_write(page, process);
	}
	json_close(&page->json, ']');
}

static void numbers_write(struct json_writer *json, const struct site *site, bool has_ages)
{
	json_put_number(json, "held_bytes", site->bytes);
	json_put_number(json, "held_count", site->count);
	json_put_number(json, "allocated_bytes", site->allocated_bytes);
	json_put_number(json, "allocated_count", site->allocated_count);
	json_put_number(json, "freed_bytes", site->freed_bytes);
	json_put_number(json, "freed_count", site->freed_count);
	if (has_ages)
		json_put_number(json, "oldest_ms", site->oldest_ns / NS_PER_MS);
}

static void site_write(struct html_page *page, size_t process, const struct report_site *site)
{
	struct json_writer *json = &page->json;

	json_open(json, NULL, '{');
	json_put_number(json, "process", process);
	html_site_write(json, &page->names, site);
	numbers_write(json, site->site, page->report->snapshot->has_ages);
	if (site->series) {
		page->shown[site->series - page->report->history->sites.items] = true;
		html_series_write(json, &page->columns, &site->series->series);
		json_trend_write(json, page->report, site);
	}
	json_close(json, '}');
}

/* Writes a site that has held blocks and is now empty. */
static void past_site_write(struct html_page *page, const struct history_site *past)
{
	const struct history_series *series = &past->series;
	struct history_point last =
		history_point_at(series, page->report->history->times.count - 1);
	struct site site = {.allocated_bytes = last.allocated_bytes,
			    .allocated_count = last.allocated_count,
			    .freed_bytes = last.freed_bytes,
			    .freed_count = last.freed_count,
			    .lost = past->lost,
			    .family = past->family,
			    .kind = past->kind};
	struct report_site ranked = {
		.site = &site, .id = past->id, .frames = past->frames, .series = past};

	/* The others were cut by --top. */
	if (!last.bytes && !last.count)
		site_write(page, page->process_numbers[past->process_index], &ranked);
}

static void sites_write(struct html_page *page)
{
	const struct report *report = page->report;

	json_open(&page->json, "sites", '[');
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			site_write(page, i, &process->sites.items[j]);
	}
	for (size_t i = 0; report->history && i < report->history->sites.count; i++) {
		if (!page->shown[i])
			past_site_write(page, &report->history->sites.items[i]);
	}
	json_close(&page->json, ']');
}

static void cost_write(struct json_writer *json, const struct report_cost *cost)
{
	if (!cost->rss_bytes)
		return;
	json_open(json, "cost", '{');
	json_put_real(json, "cpu_s", cost->cpu_s);
	json_put_number(json, "rss_bytes", cost->rss_bytes);
	json_close(json, '}');
}

/* Writes the top rows of each list; the recording has all. */
static void retention_write(struct json_writer *json, const struct report *report)
{
	if (!report->retained_count)
		return;
	json_open(json, "retention", '[');
	for (size_t i = 0; i < report->retained_count; i++)
		json_retain_object(json, &(struct retain_report){.result = &report->retained[i],
								 .top = RETAINED_ROWS});
	json_close(json, ']');
}

static void data_write(struct html_page *page)
{
	struct json_writer *json = &page->json;

	json_open(json, NULL, '{');
	html_head_write(json, "report");
	families_write(json);
	html_snapshot_write(json, page->report);
	html_ledgers_write(json, page->report->snapshot);
	cost_write(json, &page->report->cost);
	json_stored_diagnoses_write(json, page->report->diagnoses);
	html_columns_write(json, &page->columns);
	json_fleet_write(json, page->report);
	processes_write(page);
	sites_write(page);
	retention_write(json, page->report);
	html_names_write(json, &page->names);
	json_close(json, '}');
}

static int page_prepare(struct html_page *page)
{
	const struct history *history = page->report->history;
	size_t processes = history ? history->processes.count : 0;
	size_t sites = history ? history->sites.count : 0;

	page->columns = html_columns_of(history);
	page->shown = calloc(sites + 1, sizeof(*page->shown));
	page->process_numbers = malloc((processes + 1) * sizeof(*page->process_numbers));
	if (!page->shown || !page->process_numbers)
		return -ENOMEM;
	for (size_t i = 0; i < processes; i++)
		page->process_numbers[i] = SIZE_MAX;
	return 0;
}

static void page_free(struct html_page *page)
{
	free(page->shown);
	free(page->process_numbers);
	html_names_free(&page->names);
}

static int html_report_write(FILE *out, const void *data)
{
	const struct report *report = data;
	_cleanup_(page_free) struct html_page page = {.json = page_json(out), .report = report};
	int error = page_prepare(&page);

	if (error)
		return error;
	page_begin(out);
	data_write(&page);
	return page.names.failed ? -ENOMEM : page_end(out);
}

/*
 * A difference as a page: both totals over time, and every call stack before and after. The page
 * groups them itself, so this compares single call stacks, whatever --by is.
 */

static void side_of_diff_write(struct json_writer *json, const char *key, const char *name,
			       const char *label, const struct report *report)
{
	struct html_columns columns = html_columns_of(report->history);
	const struct history *history = report->history;

	json_open(json, key, '{');
	json_put_string(json, "recording", name);
	json_put_string(json, "label", label);
	html_snapshot_write(json, report);
	html_ledgers_write(json, report->snapshot);
	html_columns_write(json, &columns);
	json_open(json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++) {
		json_open(json, NULL, '{');
		json_process_write(json, report->processes.items[i].process);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "series", '[');
	for (size_t i = 0; history && i < history->processes.count; i++) {
		json_open(json, NULL, '{');
		html_series_write(json, &columns, &history->processes.items[i].series);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void diff_trend_write(struct json_writer *json, const char *key, const struct report *report,
			     const struct report_site *site)
{
	struct site_trend trend;

	if (!site || !site->series)
		return;
	site_trend_of(&trend, report->history, site->series);
	json_trend_fields(json, key, &trend);
}

static void diff_row_write(struct json_writer *json, struct html_names *names,
			   const struct diff *diff, const struct diff_row *row)
{
	json_open(json, NULL, '{');
	json_put_string(json, "comm", row->comm);
	html_site_write(json, names, row->site);
	json_put_number(json, "before_bytes", row->before.bytes);
	json_put_number(json, "before_count", row->before.count);
	json_put_number(json, "held_bytes", row->after.bytes);
	json_put_number(json, "held_count", row->after.count);
	/* In one run, the earlier trend is the beginning of the later one. */
	if (!diff->same_run)
		diff_trend_write(json, "trend_before", diff->before, row->earlier);
	if (row->site != row->earlier)
		diff_trend_write(json, "trend", diff->after, row->site);
	json_close(json, '}');
}

static void diff_data_write(struct json_writer *json, struct html_names *names,
			    const struct diff *diff, const struct diff *by_site)
{
	json_open(json, NULL, '{');
	html_head_write(json, "diff");
	families_write(json);
	json_put_string(json, "by", diff_group_name(diff->by));
	json_put_bool(json, "same_run", diff->same_run);
	json_put_bool(json, "unrelated", diff->unrelated);
	side_of_diff_write(json, "before", diff->before_name, diff->before_label, diff->before);
	side_of_diff_write(json, "after", diff->after_name, diff->after_label, diff->after);
	json_open(json, "sites", '[');
	for (size_t i = 0; i < by_site->rows.count; i++)
		diff_row_write(json, names, diff, &by_site->rows.items[i]);
	json_close(json, ']');
	json_diff_dead_write(json, diff);
	json_split_changes_write(json, &diff->memory);
	html_names_write(json, names);
	json_close(json, '}');
}

static int html_diff_write(FILE *out, const void *data)
{
	const struct diff *diff = data;
	_cleanup_(diff_free) struct diff by_site = {0};
	_cleanup_(html_names_free) struct html_names names = {0};
	struct json_writer json = page_json(out);
	int error = diff_build(&by_site, diff->before, diff->after, DIFF_BY_SITE, SORT_BYTES);

	if (error)
		return error;
	page_begin(out);
	diff_data_write(&json, &names, diff, &by_site);
	return names.failed ? -ENOMEM : page_end(out);
}

/* Writes a run of `leakmon retain` as a separate page. */

static int html_retain_write(FILE *out, const void *data)
{
	const struct retain_report *report = data;
	struct json_writer json = page_json(out);

	page_begin(out);
	json_open(&json, NULL, '{');
	html_head_write(&json, "retention");
	json_open(&json, "retention", '[');
	json_retain_object(&json, report);
	json_close(&json, ']');
	json_close(&json, '}');
	return page_end(out);
}

/* Writes `leakmon memory` as a page: the parts of every process over time. */

static int html_memory_write(FILE *out, const void *data)
{
	const struct memory_report *report = data;
	struct json_writer json = page_json(out);

	page_begin(out);
	json_open(&json, NULL, '{');
	html_head_write(&json, "memory");
	json_put_signed(&json, "time_ms",
			(int64_t)report->time.tv_sec * 1000 + report->time.tv_nsec / NS_PER_MS);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct memory_process *process = &report->processes.items[i];

		json_open(&json, NULL, '{');
		json_put_number(&json, "pid", (uint64_t)process->pid);
		json_put_string(&json, "comm", process->comm);
		html_split_write(&json, memory_history_find(report->history, process->pid,
							    process->start_ticks));
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	return page_end(out);
}

/* Writes a page with the members of a JSON report, under its own kind. */

static int members_page_write(FILE *out, const char *kind,
			      void (*write)(struct json_writer *json, const void *report),
			      const void *report, char *answer)
{
	struct json_writer json = page_json(out);

	page_begin(out);
	json_open(&json, NULL, '{');
	html_head_write(&json, kind);
	write(&json, report);
	if (answer) {
		char *line;

		json_open(&json, "answer", '[');
		while ((line = strsep(&answer, "\n")))
			json_put_string(&json, NULL, line);
		json_close(&json, ']');
	}
	json_close(&json, '}');
	return page_end(out);
}

static int html_triage_write(FILE *out, const void *report)
{
	return members_page_write(out, "triage", json_triage_members, report, NULL);
}

static int html_profile_write(FILE *out, const void *report)
{
	return members_page_write(out, "profile", json_profile_members, report, NULL);
}

static int html_threads_write(FILE *out, const void *report)
{
	return members_page_write(out, "threads", json_threads_members, report, NULL);
}

/* Includes the text answer, line by line. */
static int html_diagnosis_write(FILE *out, const void *data)
{
	struct diagnosis_report plain = *(const struct diagnosis_report *)data; /* borrowed */
	_cleanup_free_ char *answer = NULL;
	size_t size;
	FILE *text = open_memstream(&answer, &size);
	int error;

	if (!text)
		return -ENOMEM;
	plain.form.colour = false;
	error = text_diagnosis_write(text, &plain);
	if (fclose(text) || error)
		return -ENOMEM;
	return members_page_write(out, "diagnosis", json_diagnosis_members, data, answer);
}

const struct output_format output_html = {
	.name = "html",
	.write = {[OUTPUT_REPORT] = html_report_write,
		  [OUTPUT_DIFF] = html_diff_write,
		  [OUTPUT_TRIAGE] = html_triage_write,
		  [OUTPUT_RETAIN] = html_retain_write,
		  [OUTPUT_PROFILE] = html_profile_write,
		  [OUTPUT_MEMORY] = html_memory_write,
		  [OUTPUT_THREADS] = html_threads_write,
		  [OUTPUT_DIAGNOSIS] = html_diagnosis_write},
	.single = true,
	.wants_history = true,
	.wants_retained = true,
	.retain_top = 200,
};
