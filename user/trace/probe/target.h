/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process under observation: whether it may be probed at all, which of its files contain an
 * allocator, and the probes on them.
 */
#ifndef LEAKMON_PROBE_TARGET_H
#define LEAKMON_PROBE_TARGET_H

#include <stdio.h>
#include <sys/types.h>

#include "binary/parse/plan.h"
#include "process/target/process.h"
#include "trace/probe/attach.h"
#include "trace/probe/code_watch.h"
#include "trace/probe/feature_probe.h"
#include "trace/probe/loader.h"

struct worker;

/* Selects the functions of a process to probe, and the kind of probes. The texts are borrowed. */
struct probe_options {
	const char *object;	   /* only this file, not every mapped one with an allocator */
	const char *symbol_prefix; /* "je_" for je_malloc, ... ; "" */
	bool no_usdt;		   /* probe the allocator even of programs that sample themselves */
	enum probe_at probe_at;
	enum attach_method attach_method;
	enum lm_stack_walk stack_walk;
};

#define PROBE_DEFAULTS                                                                             \
	{                                                                                          \
		.symbol_prefix = ""                                                                \
	}

struct target_config {
	const char *object;	   /* -O, or NULL: every mapped file */
	const char *symbol_prefix; /* -S */
	enum probe_at probe_at;
	bool no_usdt; /* probe the allocator even of a program that samples itself */
	struct kernel_features features;
	struct worker *worker;		 /* borrowed; reads the target's files. NULL: in-process */
	struct process_table *processes; /* borrowed; plans are facets of their files */
};

/* Causes of inexact numbers, whatever happens to the probes. */
enum target_gap {
	TARGET_GAP_FILE,     /* a possible allocator could not be read, or not in time */
	TARGET_GAP_FUNCTION, /* a function of an allocator should have a probe but has none */
	TARGET_GAP_MAX_
};

/*
 * The probes by which a process is followed: one kind or the other, from the first file that has
 * any.
 */
enum target_means { TARGET_UNDECIDED, TARGET_ALLOCATOR, TARGET_USDT };

/* An examined file, identified by its real device and inode. */
struct target_file {
	uint64_t device, inode;
	char *path;	  /* untrusted; owned */
	size_t functions; /* probed in this file */
	bool nameless;	  /* linked statically and stripped: an allocator in it cannot be found */
	bool postponed;	  /* there was no time to read it: retried */
};

struct target {
	pid_t pid;
	struct attachments attachments;
	VEC(struct target_file) files;
	struct mapped_files seen; /* not to be reopened */
	size_t functions;	  /* probed in total; of TARGET_USDT: places */
	enum target_means means;
	bool execed;		/* of TARGET_USDT: the new program may have no such probes */
	bool frees;		/* of TARGET_USDT: it also reports frees */
	uint32_t gaps;		/* 1 << enum target_gap, at any time; see target_gaps() */
	struct code_watch code; /* the state of the probes */
};

/* Enables plans of these files. */
void target_plans_register(struct dso_cache *dsos);

/*
 * The rules of no harm. Returns 0 if probing `pid` cannot hurt it, else -errno after an error with
 * the cause and the remedy; its end is logged only if the user named it. -ESRCH: no such process.
 * Refreshes its entry in config->processes.
 */
int target_check(pid_t pid, const struct target_config *config, bool named);

/* Returns whether it has released its memory, or never had any (a kernel thread). Logs nothing. */
bool target_is_ending(pid_t pid, const struct target_config *config);

/*
 * Probes files that are mapped and not yet probed; may be called again whenever the process may
 * have mapped more (dlopen), and has just been refreshed: of files seen before it only checks that
 * the probes are still there (target->code). Returns 0 (also if nothing was found: see
 * target->functions), or -errno after an error message.
 */
int target_attach(struct target *target, const struct process *process,
		  const struct target_config *config, const struct bpf_side *bpf);

/*
 * Logs and records what target_attach() would probe, without setting probes: the target is not
 * slowed.
 */
int target_rehearse(struct target *target, const struct process *process,
		    const struct target_config *config, const struct bpf_side *bpf);

/* Notes an exec: the next target_attach() determines the kind of probes again. */
void target_note_exec(struct target *target);

/*
 * Returns 1 << enum target_gap, for good; but a postponed file that proves to be no allocator is
 * cleared.
 */
uint32_t target_gaps(const struct target *target);

/* Logs that none of the examined files is a known allocator. */
void target_explain_nothing(const struct target *target, const struct target_config *config);

/* Prints what would be probed, where and why, for `leakmon doctor`. Returns 0 or -errno. */
int target_describe(FILE *out, const struct process *process, const struct target_config *config);

void target_detach(struct target *target);

#endif
