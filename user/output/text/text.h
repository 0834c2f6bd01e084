/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text format: a writer for each kind of report, and parts shared by several of them, other
 * formats or the terminal. The contract of writers is in output.h.
 */
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

/* Writes the diagnoses of a recording; NULL: nothing. */
void text_stored_diagnoses_write(FILE *out, const struct stored_diagnoses *diagnoses);

/* Writes a Go program's heap profile in `leakmon retain`; `top` sites, 0: all. */
void text_heap_profile_write(FILE *out, const struct text_form *form,
			     const struct heap_profile *profile, size_t top);

/* Write the figures of a runtime, and those in a process's first line, by the words of its view. */
struct runtime_figures;
void text_runtime_write(FILE *out, const struct text_form *form,
			const struct runtime_figures *figures);
void text_runtime_head_write(FILE *out, const struct runtime_figures *figures);

/* Writes other tasks in `leakmon threads`. */
void text_tasks_write(FILE *out, const struct text_form *form, const struct task_kind *kind,
		      const struct task_report *report);
/*
 * Writes "12000 goroutines (+600 in 10 min) in chan receive at main.worker worker.go:31, created by
 * main.spawn worker.go:53: none has ended".
 */
void text_goroutine_growth_write(FILE *out, const struct task_group *group);

/* Terminal codes, without and with colours: &text_styles[report->form.colour]. */
struct text_style {
	const char *bold, *dim, *red, *green, *yellow, *plain;
};
extern const struct text_style text_styles[2];

/*
 * Write at most `width` characters of a target's name, cut with "…". text_cut_write() returns the
 * number written; text_column_write() pads with blanks.
 */
size_t text_cut_write(FILE *out, const char *text, size_t width);
void text_column_write(FILE *out, const char *text, size_t width);

/* Format "2.16 MiB", or with form->bytes "2262000 bytes". A change has a sign. Return text. */
#define TEXT_BYTES_SIZE 32
char *text_bytes(char text[TEXT_BYTES_SIZE], const struct text_form *form, uint64_t bytes);
char *text_change(char text[TEXT_BYTES_SIZE], const struct text_form *form, int64_t bytes);

/* Format local time: "13:00:00"; "2026-11-20 13:00:00". Return text. */
#define TEXT_TIME_SIZE 32
char *text_clock(char text[TEXT_TIME_SIZE], time_t time);
char *text_date(char text[TEXT_TIME_SIZE], time_t time);

/*
 * Unless form->verbose, text written to the stream of text_page_begin() reaches `out` in lines of
 * at most TEXT_WIDTH columns: longer ones continue below, indented by TEXT_HANGING more; longer
 * words are cut. text_page_end() ends a writer as output_finish() does.
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

/*
 * Write the frames of a stack, the caller of the allocator first, and why there are none, or no
 * more. The short form has the first of the program's own.
 */
void text_stack_write(FILE *out, const struct text_form *form, const struct report_site *ranked);
void text_frames_write(FILE *out, const struct text_form *form, const struct frames *frames);

/* Writes the number of lost reports; nothing for 0. */
void text_lost_reports_write(FILE *out, uint64_t count);
/*
 * text_kill_limit_write() writes ", limit BYTES", and its control group if it is not the process's
 * own; nothing without a limit. text_kills_write() writes a line for each kill; NULL: none.
 */
void text_kill_limit_write(FILE *out, const struct oom_kill *kill);
void text_kills_write(FILE *out, const struct oom_kills *kills);

/*
 * Writes a function's readable name, with template arguments collapsed
 * (process/symbol/site_label.h).
 */
void text_label_write(FILE *out, const char *function);
/* Writes function, file and line of a frame that has a function. */
void text_function_write(FILE *out, const struct frame *frame);
/* Writes the innermost frame in that form, or the address if it has no name. */
void text_place_write(FILE *out, const struct frames *frames, uint64_t address);

/*
 * Write a stack on one line: "xmlDictLookup ← … ← parse_message load.py:8 ← main".
 * text_code_write() makes it inert, and with form->verbose writes all from the label on;
 * text_code_print() writes raw names.
 */
void text_code_write(FILE *out, const struct text_form *form, const struct frames *frames);
void text_code_print(FILE *out, const struct frames *frames, enum label_room room);
struct leak_event;
/* Prints an event as one sentence, with raw names. */
void text_event_print(FILE *out, const struct leak_event *event);
/* Prints one step, with raw names. */
void text_step_print(FILE *out, const struct label_step *step);

/*
 * Writes " allocations = ... + N dropped", the balance of a family's figures, up to that term. The
 * short form omits zeros.
 */
void text_balance_write(FILE *out, const struct text_form *form, const struct family *family,
			const void *figures, enum figure_term last);

/* Writes a line about memory outside malloc, and the tool for it; nothing without a runtime. */
void text_managed_share_write(FILE *out, pid_t pid, const struct managed_share *share);

/* Writes a site: its outstanding blocks, and its stack. */
void text_site_write(FILE *out, const struct report *report, const struct report_site *ranked);

/* Writes a site's growth, verdict, births and survival, without its frames. */
void text_profile_numbers_write(FILE *out, const struct text_form *form,
				const struct profile_report_site *site);
/* Writes the profile of a triage's suspect, below its row. */
void text_profile_suspect_write(FILE *out, const struct text_form *form,
				const struct profile_report_process *process);

/*
 * Formats the place where it runs in short form: pod/container, container id, service. Untrusted.
 * Returns text.
 */
#define TRIAGE_PLACE_SIZE 128
char *text_triage_place(char text[TRIAGE_PLACE_SIZE], const struct triage_entry *entry);

/*
 * Computes the heights of its curve between the minimum and the maximum, for sparkline_block().
 * Returns their number.
 */
size_t text_triage_heights(const struct triage_entry *entry,
			   unsigned char heights[TRIAGE_SPARK_POINTS]);

/* Formats growth per minute: "+2.32 MiB", "+1.5 threads". Returns text. */
#define TRIAGE_RATE_SIZE 32
char *text_triage_rate(char text[TRIAGE_RATE_SIZE], enum quantity kind, double per_s);
/* Writes the columns of PID, name, place, heap and growth, with the widths of place and growth. */
void text_triage_columns_write(FILE *out, const struct triage_entry *entry, int place_width,
			       int growth_width);
/* Writes the columns of a verdict and its confidence; a longer verdict takes more room. */
#define TRIAGE_VERDICT_WIDTH 9
void text_triage_verdict_write(FILE *out, const struct text_style *style,
			       const struct triage_entry *entry);

/*
 * Writes a table that fits a screen, with one line for each suspect; `first` heads its first
 * column.
 */
void text_triage_short_write(FILE *out, const struct triage_report *report,
			     const struct triage_entries *entries, const char *first);

/*
 * Prints the line of a suspect: the findings, a newline, and the command for details, if any. Not
 * inert: names of a target may have newlines, the command has none.
 */
void text_triage_suspect_print(FILE *out, const struct triage_entry *entry);

/* Writes the evidence for a verdict, without a newline. */
void text_triage_evidence_write(FILE *out, const struct growth *growth);
/* Writes the role of a garbage-collected heap in an entry's growth, without a newline. */
void text_triage_managed_write(FILE *out, const struct triage_entry *entry);
/*
 * Write "; why", for a group whose processes do not grow; and a summary of the entries that were
 * cut: "… and 14 more: 3 leaking, ...".
 */
void text_triage_why_write(FILE *out, const struct triage_entry *entry);
void text_triage_hidden_write(FILE *out, const struct triage_entries *entries);
/*
 * Write the line on the machine (`all`: with parts that do not grow), and a group's parts, the one
 * that grew most first.
 */
void text_triage_machine_write(FILE *out, const struct triage_machine *machine, bool all);
void text_triage_split_write(FILE *out, const struct triage_split *split, size_t most);

/* Writes "global cache [holder]". */
void text_retain_root_write(FILE *out, const struct retained_root *root);
/*
 * Write a path: its target, its root, and a line for each step; and the referrers of that class,
 * one per line.
 */
void text_retain_path_write(FILE *out, const struct retain_result *result,
			    const struct retained_path *path);
void text_retain_referrers_write(FILE *out, const struct text_form *form,
				 const struct retain_result *result,
				 const struct retained_path *path);

/* Writes " → +0x8 → blocks of 56 bytes", or " → one of 400 pointers → …" for one of many. */
void text_retain_step_write(FILE *out, const struct retain_result *result,
			    const struct retained_step *step);

/* Returns a class as a string that the caller frees; NULL: out of memory. */
char *text_retain_class(const struct retain_result *result, const struct retained_class *class);

/*
 * Returns the holder of a sample's blocks: a root, "[unreachable]", ...; the caller frees it. NULL:
 * out of memory.
 */
char *text_retain_holder(const struct retain_result *result, const struct retained_sample *sample);

/*
 * Write two lines: the breakdown of memory at the latest reading, and its growth since the first.
 * NULL: none.
 */
void text_split_write(FILE *out, const struct memory_series *series);
void text_split_changes_write(FILE *out, const struct memory_changes *changes, size_t top);

#endif
