/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process under observation: may it be probed at all, which of its files hold an allocator,
 * and the probes on them.
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

/* Which functions of a process get probes, and of what kind. The texts are borrowed. */
struct probe_options {
	const char *object;	   /* only this file, not every mapped one with an allocator */
	const char *symbol_prefix; /* "je_" for je_malloc, ... ; "" */
	bool no_usdt;		   /* the allocator, also of programs that sample themselves */
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
	bool no_usdt; /* its allocator, also of a program that samples itself */
	struct kernel_features features;
	struct worker *worker; /* borrowed; reads the target's files. NULL: this process does */
	struct process_table *processes; /* borrowed; plans are facets of their files */
};

/* Causes of inexact numbers, whatever becomes of the probes. */
enum target_gap {
	TARGET_GAP_FILE,     /* a file that may be an allocator could not be read, or not in time */
	TARGET_GAP_FUNCTION, /* a function of an allocator has no probe, and should */
	TARGET_GAP_MAX_
};

/* By which probes a process is followed: one way or the other, from the first file that has any. */
enum target_means { TARGET_UNDECIDED, TARGET_ALLOCATOR, TARGET_USDT };

/* A file that was looked at, identified by its real device and inode. */
struct target_file {
	uint64_t device, inode;
	char *path;	  /* untrusted; owned */
	size_t functions; /* probed in it */
	bool nameless;	  /* linked statically and stripped: an allocator in it cannot be found */
	bool postponed;	  /* there was no time to read it: it is tried again */
};

struct target {
	pid_t pid;
	struct attachments attachments;
	VEC(struct target_file) files;
	struct mapped_files seen; /* not to be opened again */
	size_t functions;	  /* probed in all; of TARGET_USDT: places */
	enum target_means means;
	bool execed;		/* of TARGET_USDT: it may be a program that has no such probes */
	bool frees;		/* of TARGET_USDT: it also reports ends */
	uint32_t gaps;		/* 1 << enum target_gap, of any moment; see target_gaps() */
	struct code_watch code; /* what has become of the probes */
};

/* From now on plans can be made of these files. */
void target_plans_register(struct dso_cache *dsos);

/*
 * The rules of no harm: 0 when probing `pid` cannot hurt it, else -errno after an error that says
 * why not and what to do; that it has ended is news only of one that the user named. -ESRCH: no
 * such process. Refreshes what config->processes knows of it.
 */
int target_check(pid_t pid, const struct target_config *config, bool named);

/* Whether it has given up its memory, or never had any (a kernel thread). Says nothing. */
bool target_is_ending(pid_t pid, const struct target_config *config);

/*
 * Probes what is mapped and not yet probed; may be called again whenever the process may have
 * mapped more (dlopen), and has just been refreshed: of files that were seen before nothing is
 * looked at but whether the probes are still there (target->code). 0 (also when nothing was found:
 * see target->functions), or -errno after an error message.
 */
int target_attach(struct target *target, const struct process *process,
		  const struct target_config *config, const struct bpf_side *bpf);

/* Says and notes what target_attach() would probe, and sets no probe: the target is not slowed. */
int target_rehearse(struct target *target, const struct process *process,
		    const struct target_config *config, const struct bpf_side *bpf);

/* It has replaced itself: the next target_attach() finds out by which probes it is followed now. */
void target_note_exec(struct target *target);

/*
 * 1 << enum target_gap, for good; but a file that was postponed and turns out to be no allocator
 * is forgiven.
 */
uint32_t target_gaps(const struct target *target);

/* Logs that none of the files that were looked at is a known allocator. */
void target_explain_nothing(const struct target *target, const struct target_config *config);

/* For `leakmon doctor`: what would be probed, where and why. 0 or -errno. */
int target_describe(FILE *out, const struct process *process, const struct target_config *config);

void target_detach(struct target *target);

#endif
