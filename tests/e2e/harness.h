/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * End-to-end tests: start a workload that knows its own truth, watch it with leakmon, compare.
 *
 * Nothing here sleeps to synchronise: a workload answers each command, and leakmon prints on stderr
 * `leakmon: attached to PID …` when its probes are set. Every wait has a limit (240 s, or
 * LEAKMON_TEST_LIMIT seconds), after which the test fails. The teardown kills the processes of a
 * failed test and frees every document, so tests own nothing. SIGINT and SIGTERM fail the
 * running test at its next wait, with its teardown, and those after it before they begin.
 *
 * LEAKMON_PROGRAM (build/leakmon) and LEAKMON_WORKLOADS (build/workloads) choose the programs.
 */
#ifndef LEAKMON_E2E_HARNESS_H
#define LEAKMON_E2E_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#define MAX_CHILDREN 256

/* Output of a child on one stream so far. */
struct stream {
	int fd;		    /* -1: closed */
	char *text;	    /* NUL-terminated */
	size_t size, taken; /* `taken` bytes were handed out as lines */
};

struct child {
	pid_t pid;   /* 0: reaped */
	pid_t group; /* its own group, with its children */
	int pidfd;
	char pid_text[16];
	int in; /* -1: closed */
	struct stream out, err;
	int code; /* exit code, or 128 + signal */
};

struct harness {
	struct child children[MAX_CHILDREN];
	size_t count;
	json_t *documents;  /* owns the results of the functions below */
	char directory[32]; /* for this test, removed at its end */
	long limit_ms;
};

#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

int harness_setup(void **state);
int harness_teardown(void **state);
#define e2e_test(name) cmocka_unit_test_setup_teardown(name, harness_setup, harness_teardown)

/* First line of a test. `harness_bpf` skips it, loudly, without root or BPF. */
struct harness *harness_bpf(void **state);
struct harness *harness_any(void **state);

/* Prints the child's standard error and fails the test. */
void child_fail(const struct child *child, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* True once after SIGINT or SIGTERM: the waits of the teardown must not fail as well. */
bool harness_interrupted(void);

/* Runs in the forked child before exec; returns on success, else _exit()s. */
typedef void (*before_exec)(void);

struct child *child_start(struct harness *harness, const char *path, const char *const *argv,
			  before_exec prepare);
void child_signal(const struct child *child, int signal);
/* Until the stream shows `text`; it fails when the stream ends first. */
void child_wait_text(struct harness *harness, struct child *child, struct stream *stream,
		     const char *text);
/* The next whole line; the caller frees it. */
char *child_line(struct harness *harness, struct child *child, struct stream *stream);
/* Until it has ended; returns its exit code, or 128 + signal. */
int child_end(struct harness *harness, struct child *child);

/* Ends it and its children, and frees everything. The teardown calls it. */
void child_kill(struct child *child);

/* workload_start(h, "mixed", ARGUMENTS("mixed", "4")): returns when it is ready. */
struct child *workload_start(struct harness *harness, const char *name, const char *const *argv);
/* Starts a program at another path. */
struct child *workload_start_at(struct harness *harness, const char *path, const char *const *argv);
#define WORKLOAD(harness, ...)                                                                     \
	workload_start(harness, ARGUMENTS(__VA_ARGS__)[0], ARGUMENTS(__VA_ARGS__))
/* Sends a command without waiting. */
void workload_send(const struct child *workload, const char *command);
/* Sends a command and waits for `done`. */
void workload_do(struct harness *harness, struct child *workload, const char *command);
/* Sends a command that answers with JSON ("ledger"). */
json_t *workload_ask(struct harness *harness, struct child *workload, const char *command);

/* The process that it made last, by its answer to "child". */
pid_t workload_child(struct harness *harness, struct child *workload);

/*
 * Creates a separate cgroup for a process in the hierarchy with the memory controller; skips the
 * test if it cannot. Remove it when the process has ended.
 */
void memory_group_make(const struct child *target, char *path, size_t size);

/* MONITOR(h, "-p", pid): starts leakmon. */
struct child *monitor_start(struct harness *harness, const char *const *argv, before_exec prepare);
#define MONITOR(harness, ...) monitor_start(harness, ARGUMENTS("leakmon", __VA_ARGS__), NULL)
/* Starts leakmon, and returns when it is attached. */
#define MONITOR_ATTACHED(harness, ...) monitor_attached(harness, MONITOR(harness, __VA_ARGS__))
struct child *monitor_attached(struct harness *harness, struct child *monitor);
/* Waits until the monitor is attached to the process `pid`. */
void monitor_wait_attached(struct harness *harness, struct child *monitor, pid_t pid);
/* The next report, as JSON. */
json_t *monitor_report(struct harness *harness, struct child *monitor);
/* A report that SIGUSR1 asks for. */
json_t *monitor_snapshot(struct harness *harness, struct child *monitor);
/* SIGINT, exit code 0, and the last report. */
json_t *monitor_stop(struct harness *harness, struct child *monitor);
/* Waits for the end: the exit code must be `code`, and stderr must hold `words`. */
void monitor_expect_error(struct harness *harness, struct child *monitor, int code,
			  const char *words);
/* A whole run: attach with every block shown (-o 0), run the command, stop. */
#define WATCH(harness, workload, command, ...)                                                     \
	watch(harness, workload, command,                                                          \
	      ARGUMENTS("leakmon", "-p", (workload)->pid_text, "-o", "0", "--format", "json",      \
			##__VA_ARGS__, "3600"))
json_t *watch(struct harness *harness, struct child *workload, const char *command,
	      const char *const *argv);

/* Fields of a report. Missing fields fail the test. */
json_int_t number_at(json_t *object, const char *key);
double real_at(json_t *object, const char *key);
json_int_t ledger_at(json_t *report, const char *key);
json_int_t dropped_sum(json_t *report);
json_t *process_of(json_t *report, pid_t pid);
/* Whether any frame of a call stack is of the function. */
bool stack_has_function(json_t *stack, const char *function);
/*
 * The first site with this innermost frame: site_rank() returns its rank (SIZE_MAX: none),
 * site_of() the site or NULL.
 */
size_t site_rank(json_t *process, const char *function);
json_t *site_of(json_t *process, const char *function);

/* Memory of the sites with the innermost frame `function`. */
struct held {
	json_int_t sites, count, bytes;
};
struct held held_by(json_t *process, const char *function);
#define expect_held(process, function, blocks, octets)                                             \
	do {                                                                                       \
		struct held held_ = held_by(process, function);                                    \
		assert_int_equal(held_.count, blocks);                                             \
		assert_int_equal(held_.bytes, octets);                                             \
	} while (0)

/* Whether this is among the causes for which a process is not exact. */
bool is_inexact_by(json_t *process, const char *cause);
/* Inexact numbers have one message with the cause. */
void expect_doubt(json_t *process, const char *cause);
/* allocations = frees + outstanding + purged + dropped. */
void expect_balance(json_t *report);
/* The report agrees with the workload's truth in every number, by site and in sum; exactly. */
void expect_truth(json_t *report, json_t *truth);

#endif
