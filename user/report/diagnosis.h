/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One answer about one process: what of it grows, which code, what holds it, how sure that is, and
 * what to do next. Filled by app/diagnose/conclude.h from readings, a profile and heap scans.
 */
#ifndef LEAKMON_REPORT_DIAGNOSIS_H
#define LEAKMON_REPORT_DIAGNOSIS_H

#include "base/text.h"
#include "process/proc/container.h"
#include "report/task_report.h"
#include "report/heap_profile.h"
#include "report/memory_report.h"
#include "report/profile_report.h"
#include "report/report.h"
#include "report/retain_diff.h"
#include "report/thread_report.h"

enum diagnosis_verdict {
	DIAGNOSIS_UNKNOWN, /* something grows, and the evidence does not say more */
	DIAGNOSIS_NO_LEAK, /* nothing grew, or only what malloc or the kernel keeps */
	DIAGNOSIS_GROWS,   /* held objects, blocks, threads or descriptors become more */
	DIAGNOSIS_LEAKS,   /* nothing points to the new blocks, or nothing ever touches them */
	DIAGNOSIS_VERDICT_MAX_
};

enum diagnosis_part {
	DIAGNOSED_NOTHING,
	DIAGNOSED_BLOCKS,  /* live blocks of malloc */
	DIAGNOSED_OBJECTS, /* of a managed heap */
	DIAGNOSED_GOROUTINES,
	DIAGNOSED_THREADS,
	DIAGNOSED_DESCRIPTORS,
	DIAGNOSED_TMPFS,  /* a file in memory, of which nothing need be resident in the process */
	DIAGNOSED_KERNEL, /* objects that the kernel keeps for the process */
	DIAGNOSED_SYSV,	  /* segments of System V shared memory */
	DIAGNOSED_MEMORY, /* another part: diagnosis.group */
	DIAGNOSED_MAX_
};

/* "no-leak"; "native-blocks"; "live malloc blocks". Static. `group`: of DIAGNOSED_MEMORY. */
const char *diagnosis_verdict_name(enum diagnosis_verdict verdict);
const char *diagnosis_part_name(enum diagnosis_part part, enum memory_group group);
const char *diagnosis_part_words(enum diagnosis_part part, enum memory_group group);

/* Two readings of one number. */
struct diagnosed_count {
	bool known;
	uint64_t before, now;
};

/* Blocks of the leading call stack that a profile followed, looked up in the heap. */
struct diagnosed_blocks {
	size_t checked, unreachable, held;
};

/* Its blocks at the first scan and at the last. */
struct diagnosed_class {
	uint32_t class; /* of diagnosis.retention */
	bool lasting;	/* without what only stacks and registers lead to: that alone rises */
	bool garbage; /* objects that nothing reaches, where no collector runs; bytes are estimated
		       */
	struct retention_total was, is;
};

/* The call stack that opens most of the descriptors that stay, since they were seen to become
 * more. */
struct diagnosed_opener {
	const struct report_site *site; /* its largest row; borrowed; NULL: none is known */
	uint64_t opened, closed, open;
	uint64_t staying;	  /* of the open ones: older than its closes let one become */
	uint64_t oldest_ns;	  /* of the open ones */
	uint64_t closes_reach_ns; /* nearly all of the closed ones were younger; 0: none closed */
	double share;		  /* of the growth that the staying ones explain */
};

/* Threads that ended and were never joined. */
struct diagnosed_ended {
	struct diagnosed_count threads;
	uint64_t stack_bytes;		  /* of all their stacks, resident at the end */
	const struct thread_group *group; /* most of them; borrowed; NULL: no creator is known */
	double share;			  /* of the growth that this group explains, at least */
};

/* The call stack, with those through the same functions, that most of the new anonymous memory
 * outside malloc comes from, since that was seen to grow. */
struct diagnosed_mapper {
	const struct report_site *site; /* borrowed; NULL: none is known */
	uint64_t bytes, count;		/* that stay mapped; of how many mappings */
	uint64_t resident;		/* of these bytes, with what is swapped out */
	double share;			/* of the growth in that time */
};

/* The code of the process for which the kernel keeps most of its objects. */
struct diagnosed_kernel {
	const char *what;     /* "inotify watches"; static; NULL: not known */
	const char *function; /* of the kernel, that allocates most; borrowed; NULL: not known */
	const char *cache;    /* of that; borrowed; "": kmalloc */
	uint64_t count;	      /* of that */
	double bytes;	      /* of all objects that this code left; 0: nothing is known */
	double seconds;	      /* since they are followed */
	bool exact;
	const struct frames *frames;   /* of the process; borrowed */
	struct diagnosed_count things; /* by /proc, where that counts them */
};

/* Segments that nobody has attached, made by this process or by its children. */
struct diagnosed_sysv {
	uint64_t segments, bytes;
	bool by_children;
};

#define DIAGNOSIS_CLASSES_MAX 3
#define DIAGNOSIS_FINDINGS_MAX 4

/*
 * One thing that grows, as an engine found it. Findings compete by the share of the counted growth
 * that they explain; the first is the answer.
 */
struct diagnosis_finding {
	enum diagnosis_part part;
	enum memory_group group;	/* of DIAGNOSED_MEMORY */
	enum diagnosis_verdict verdict; /* DIAGNOSIS_GROWS or DIAGNOSIS_LEAKS */
	const char *why;		/* static */
	double bytes;			/* grown; of things that are counted, what they explain */
	double low, high; /* limits of the bytes, of call stacks: the counts' or 95 %; 0, 0: none */
	bool exact;	  /* all events were tracked, or counted: no estimate */
	double share;	  /* of diagnosis.grown_bytes; negative: not known */
	const struct profile_report_site *site; /* borrowed; NULL: no call stack */
	struct diagnosed_blocks blocks;		/* of that call stack */
	bool counted_lost;			/* unreachable blocks that were counted */
	bool ended;				/* threads that do not live any more */
	bool has_class;
	struct diagnosed_class class; /* of native blocks, where no call stack is known */
	bool has_root;
	uint32_t root;		 /* of diagnosis.retention: what it reaches became more */
	uint64_t root_was_bytes; /* that it reached at the first scan */
};

#define DIAGNOSIS_NEXT_SIZE RUNTIME_TOOL_SIZE

struct diagnosis {
	pid_t pid;
	char comm[16];	/* untrusted */
	double seconds; /* from the first reading to the last */
	bool ended;	/* before the last reading */
	enum diagnosis_verdict verdict;
	enum diagnosis_part part;
	enum memory_group group; /* of DIAGNOSED_MEMORY */
	const char *why;	 /* the rule behind the verdict; static */
	/* Borrowed from here on; NULL: there was none. */
	const struct container *container;	    /* that it runs in */
	const struct memory_process *memory;	    /* the last reading */
	const struct memory_conclusion *conclusion; /* from the first to the last */
	const struct profile_report_process *profile;
	/* The greatest first; [0] is the answer, unless the verdict is that nothing grows, or that
	 * what does is not known. */
	struct diagnosis_finding findings[DIAGNOSIS_FINDINGS_MAX];
	size_t finding_count;
	double grown_bytes; /* counted: all that grew and may be a leak; negative: not known */
	double explained;   /* of it, the share of the answer: of as many findings as it takes */
	const struct profile_report_site *site; /* that surely grows most, or loses most */
	bool counted_lost;			/* its blocks are among those of lost_blocks */
	const struct retain_result *retention;	/* the last scan */
	const struct task_group *goroutines;	/* that become more, and do not end */
	struct diagnosed_opener opener;		/* of most descriptors that stay open */
	struct diagnosed_mapper mapper;		/* of most of DIAGNOSED_MEMORY, GROUP_OTHER
						 * or GROUP_FILES */
	struct diagnosed_kernel kernel;		/* of most of DIAGNOSED_KERNEL */
	struct diagnosed_sysv sysv;		/* of DIAGNOSED_SYSV */
	struct diagnosed_ended ended_threads;	/* of DIAGNOSED_THREADS that do not live */
	const struct live_group *creator;	/* of most threads that stay */
	double creator_share;			/* of the growth that these explain, at least */
	struct {
		const char *path; /* untrusted; NULL: none */
		uint64_t before, now;
		bool open; /* in the process, for writing */
	} file;
	const struct heap_profile_site *sampled; /* that a Go program's own profile sees grow */
	double sampled_s;			 /* since its first reading */
	const struct retained_path *path;	 /* from a root to what grows */
	/* Garbage that became more, and whose collection would free the answer's blocks. */
	bool has_awaited;
	struct diagnosed_class awaited;
	struct diagnosed_class
		classes[DIAGNOSIS_CLASSES_MAX]; /* held objects that became more at every scan */
	size_t class_count;
	uint64_t class_bytes; /* grown, by all classes of objects that became more */
	/* A container with a limit of its own, on the path to the first of the classes, that fills.
	 * limit 0: there is none. */
	struct bounded_container filling;
	uint64_t filling_was; /* its entries at the first scan */
	/* Of native blocks: unreachable ones of this class became more than of any other. */
	bool has_lost_class;
	struct diagnosed_class lost_class;
	struct diagnosed_blocks blocks;
	struct diagnosed_count rss, threads, descriptors, lost_blocks, lost_bytes;
	double spent_core; /* share of a core that the profile has cost the process */
	double own_cpu_s;  /* CPU time of leakmon, for all processes of the run */
	unsigned scans;	   /* of the heap */
	/* The last scan would have taken so long, and the answer would have come too late: it was
	 * left out; 0: it was not. */
	double scan_left_out_s;
	unsigned stops; /* for them and for readings of memory */
	uint64_t longest_stop_ns;
	uint64_t limit_bytes;		/* of its control group; 0: none is known */
	double limit_in_s;		/* at this rate; negative: not known */
	char next[DIAGNOSIS_NEXT_SIZE]; /* the one command that says more; "": none */
};

struct diagnosis_report {
	struct timespec time;
	const struct diagnosis *items; /* borrowed */
	size_t count;
	struct text_form form;
};

#endif
