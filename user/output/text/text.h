/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text format: a writer for each kind of report, and the parts that several of them, other
 * formats or the terminal use. The contract of writers is in output.h. */
#ifndef LEAKMON_OUTPUT_TEXT_TEXT_H
#define LEAKMON_OUTPUT_TEXT_TEXT_H

#include <stdio.h>
#include <time.h>

#include "report/family.h"
#include "report/task_report.h"
#include "report/profile_report.h"
#include "report/report.h"
#include "report/retain_diff.h"
#include "report/triage_report.h"
#include "report/memory_split.h"
#include "process/symbol/site_label.h"

int text_diff_write(FILE *out, const void *data);
int text_triage_write(FILE *out, const void *data);
int text_retain_write(FILE *out, const void *data);
int text_retain_diff_write(FILE *out, const void *data);
int text_threads_write(FILE *out, const void *data);
int text_profile_write(FILE *out, const void *data);
int text_profile_diff_write(FILE *out, const void *data);
int text_memory_write(FILE *out, const void *data);
int text_diagnosis_write(FILE *out, const void *data);

/* Those that a recording has; NULL: nothing. */
void text_stored_diagnoses_write(FILE *out, const struct stored_diagnoses *diagnoses);

/* For a Go program in `leakmon retain`; `top` sites, 0: all. */
void text_heap_profile_write(FILE *out, const struct text_form *form,
			     const struct heap_profile *profile, size_t top);

/* By the words of its view; what it says in the process's first line. */
struct runtime_figures;
void text_runtime_write(FILE *out, const struct text_form *form,
			const struct runtime_figures *figures);
void text_runtime_head_write(FILE *out, const struct runtime_figures *figures);

void text_tasks_write(FILE *out, const struct text_form *form, const struct task_kind *kind,
		      const struct task_report *report);
/* "12000 goroutines (+600 in 10 min) in chan receive at main.worker worker.go:31, created by
 * main.spawn worker.go:53: none has ended" */
void text_goroutine_growth_write(FILE *out, const struct task_group *group);

/* Terminal codes of colours, by whether there are any: &text_styles[report->form.colour]. */
struct text_style {
	const char *bold, *dim, *red, *green, *yellow, *plain;
};
extern const struct text_style text_styles[2];

/* At most `width` characters of what a target calls itself; "…" stands for the rest. Returns how
 * many were written; a column is filled up with blanks. */
size_t text_cut_write(FILE *out, const char *text, size_t width);
void text_column_write(FILE *out, const char *text, size_t width);

/* "2.16 MiB"; with form->bytes "2262000 bytes". A change has a sign. Returns text. */
#define TEXT_BYTES_SIZE 32
char *text_bytes(char text[TEXT_BYTES_SIZE], const struct text_form *form, uint64_t bytes);
char *text_change(char text[TEXT_BYTES_SIZE], const struct text_form *form, int64_t bytes);

/* In local time: "13:00:00"; "2026-11-20 13:00:00". Both return text. */
#define TEXT_TIME_SIZE 32
char *text_clock(char text[TEXT_TIME_SIZE], time_t time);
char *text_date(char text[TEXT_TIME_SIZE], time_t time);

/*
 * Unless form->verbose, what a writer writes to the stream of text_page_begin() comes to `out` in
 * lines of at most TEXT_WIDTH columns: longer ones go on below, indented by TEXT_HANGING more; a
 * word that is longer is cut. text_page_end() is how a writer ends (output_finish()).
 */
#define TEXT_WIDTH 100
#define TEXT_HANGING 4
struct text_page {
	FILE *out, *lines;
	char *text;
	size_t size;
};
FILE *text_page_begin(struct text_page *page, FILE *out, const struct text_form *form);
int text_page_end(struct text_page *page);

/* The frames of a stack, the caller of the allocator first, and why it has none, or no more. Short:
 * the first of those that are the user's. */
void text_stack_write(FILE *out, const struct text_form *form, const struct report_site *ranked);
void text_frames_write(FILE *out, const struct text_form *form, const struct frames *frames);

/* A line for each kill that a report is made for; NULL: none. */
/* Nothing if all were written. */
void text_lost_reports_write(FILE *out, uint64_t count);
/* ", limit BYTES", and of which control group, if it is not its own. Nothing if there is none. */
void text_kill_limit_write(FILE *out, const struct oom_kill *kill);
void text_kills_write(FILE *out, const struct oom_kills *kills);

/* A function's readable name, its template arguments collapsed (process/symbol/site_label.h). */
void text_label_write(FILE *out, const char *function);
/* Function, file and line of a frame with a function. */
void text_function_write(FILE *out, const struct frame *frame);
/* The same of the innermost one, or the address where it has no name. */
void text_place_write(FILE *out, const struct frames *frames, uint64_t address);

/*
 * A stack on one line: "xmlDictLookup ← … ← parse_message load.py:8 ← main". Written inert, with
 * form->verbose from the label on with nothing left out; printed as the target has it.
 */
void text_code_write(FILE *out, const struct text_form *form, const struct frames *frames);
void text_code_print(FILE *out, const struct frames *frames, enum label_room room);
struct leak_event;
/* An event as one sentence, printed as the target has it. */
void text_event_print(FILE *out, const struct leak_event *event);
/* One of its steps. Printed, too. */
void text_step_print(FILE *out, const struct label_step *step);

/* " allocations = ... + N dropped": what balances in a family's figures, up to that term. Short:
 * without what is zero. */
void text_balance_write(FILE *out, const struct text_form *form, const struct family *family,
			const void *figures, enum figure_term last);

/* A line about memory that malloc knows nothing of, and what shows it; nothing without a
 * runtime. */
void text_managed_share_write(FILE *out, pid_t pid, const struct managed_share *share);

/* A site: what it holds, and its stack. */
void text_site_write(FILE *out, const struct report *report, const struct report_site *ranked);

/* A site's growth, verdict, births and survival, without its frames. */
void text_profile_numbers_write(FILE *out, const struct text_form *form,
				const struct profile_report_site *site);
/* For one that a triage suspects: below its row. */
void text_profile_suspect_write(FILE *out, const struct text_form *form,
				const struct profile_report_process *process);

/* Where it runs, as shortly as possible: pod/container, container id, service. Untrusted.
 * Returns text. */
#define TRIAGE_PLACE_SIZE 128
char *text_triage_place(char text[TRIAGE_PLACE_SIZE], const struct triage_entry *entry);

/* Its course between the lowest and the highest point, for what moves is what matters: heights for
 * sparkline_block(). Returns how many. */
size_t text_triage_heights(const struct triage_entry *entry,
			   unsigned char heights[TRIAGE_SPARK_POINTS]);

/* "+2.32 MiB", "+1.5 threads": what comes in a minute. Returns text. */
#define TRIAGE_RATE_SIZE 32
char *text_triage_rate(char text[TRIAGE_RATE_SIZE], enum quantity kind, double per_s);
/* The columns of PID, name, place, heap and growth, these two with their widths. */
void text_triage_columns_write(FILE *out, const struct triage_entry *entry, int place_width,
			       int growth_width);
/* The columns of a verdict and its confidence; a longer verdict takes more room. */
#define TRIAGE_VERDICT_WIDTH 9
void text_triage_verdict_write(FILE *out, const struct text_style *style,
			       const struct triage_entry *entry);

/* A table that fits a screen, with one line for each suspect; `first` heads its first column. */
void text_triage_short_write(FILE *out, const struct triage_report *report,
			     const struct triage_entries *entries, const char *first);

/* The line of a suspect: what is known, a newline, and the command that shows more, as far as there
 * are any. Not inert: names of a target may have newlines, the command has none. */
void text_triage_suspect_print(FILE *out, const struct triage_entry *entry);

/* Why a verdict is what it is, without a newline. */
void text_triage_evidence_write(FILE *out, const struct growth *growth);
/* Likewise, of an entry with a garbage collector: what its heap has to do with the growth. */
void text_triage_managed_write(FILE *out, const struct triage_entry *entry);
/* A group's parts, the one that grew most first. */
/* "; why", of a group whose processes do not grow; what the cut left out: "… and 14 more: 3
 * leaking,
 * ..."; and the line on the machine. */
void text_triage_why_write(FILE *out, const struct triage_entry *entry);
void text_triage_hidden_write(FILE *out, const struct triage_entries *entries);
/* `all`: also what does not grow. */
void text_triage_machine_write(FILE *out, const struct triage_machine *machine, bool all);
void text_triage_split_write(FILE *out, const struct triage_split *split, size_t most);

/* Pieces of the two for other reports. "global cache [holder]": */
void text_retain_root_write(FILE *out, const struct retained_root *root);
/* To what it leads, its root, a line for each step; and what refers to that class, in lines. */
void text_retain_path_write(FILE *out, const struct retain_result *result,
			    const struct retained_path *path);
void text_retain_referrers_write(FILE *out, const struct text_form *form,
				 const struct retain_result *result,
				 const struct retained_path *path);

/* " → +0x8 → blocks of 56 bytes", or " → one of 400 pointers → …" where many stand together. */
void text_retain_step_write(FILE *out, const struct retain_result *result,
			    const struct retained_step *step);

/* The same as strings that the caller frees; NULL: out of memory. */
char *text_retain_class(const struct retain_result *result, const struct retained_class *class);

/* The holder of the blocks of a sample: a root, "[unreachable]", ... */
char *text_retain_holder(const struct retain_result *result, const struct retained_sample *sample);

/* Two lines: where memory was at the latest reading, and what grew since the first. NULL: none. */
void text_split_write(FILE *out, const struct memory_series *series);
void text_split_changes_write(FILE *out, const struct memory_changes *changes, size_t top);

#endif
