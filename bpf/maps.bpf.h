/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every shared map and every knob. Definitions are weak, so that each .bpf.c may include this file
 * and the linked object holds one of each. Sizes marked "set at load" come from the command line.
 */
#ifndef LEAKMON_BPF_MAPS_H
#define LEAKMON_BPF_MAPS_H

#include "kernel.h"

/* --- knobs, constant once loaded: the verifier removes what is switched off --- */

/* --empty-programs: the floor of any uprobe tool */
const volatile bool empty_programs __weak = false;
/* Allocating functions have one session program each, for entry and return, instead of two. */
const volatile bool session __weak = false;
/* A return probe is a system call that Syscall User Dispatch turns into a deadly signal. */
const volatile bool dispatch_kills __weak = false;
const volatile bool trace __weak = false; /* --trace: an event per call */
const volatile __u64 min_size __weak = 0;
const volatile __u64 max_size __weak = ~0ull;
const volatile __u32 max_sites __weak = 0;
const volatile __u32 max_processes __weak = 0;
const volatile __u64 sample_rate __weak = 1;  /* each allocation with probability 1/N */
const volatile __u64 sample_bytes __weak = 0; /* each byte with probability 1/N; 0: off */
/* e^-x in 32-bit fixed point, for account.bpf.h: row 0 for whole x (0..31), row r for the
 * r-th hexadecimal digit of the fraction. Filled at load. */
const volatile __u32 exp_table[9][32] __weak = {};
const volatile __u32 stack_walk __weak = LM_STACK_WALK_AUTO; /* enum lm_stack_walk */
/* Several processes share the room: --max-blocks and --max-sites, see account.bpf.h. */
const volatile bool fair_share __weak = false;
const volatile __u64 max_blocks __weak = 0;
/* Every exec is told to user space, and every fork of a traced process: it decides who joins. */
const volatile bool announce __weak = false;
/* What targets fork are targets, too: -f. */
const volatile bool follow_forks __weak = false;
/* The process that leakmon itself started (-c): stopped at each exec, until probed. 0: none. */
const volatile __u32 launched_tgid __weak = 0;
/* Probes see the threads of a process only, and no other process that shares its memory. */
const volatile bool sees_group_only __weak = false;

/* --- counters --- */

__u32 site_count __weak = 1;	/* next free index in `sites`; 0 is LM_SITE_LOST */
__u32 process_count __weak = 1; /* next free index in `processes`; 0 is LM_SLOT_LOST */
__u64 events_lost __weak = 0;	/* ring buffer full: what happened to processes */
__u64 calls_lost __weak = 0;	/* the same of calls: --trace */
__u32 strays __weak = 0;	/* indices of sites and slots that are in no queue */
__s64 blocks_used __weak = 0;	/* in `blocks`; only with fair_share */
__s64 sites_used __weak = 0;	/* of `sites` */
__s64 processes_alive __weak = 0;

/* The start of the launched process, once it has execed: its PID may be somebody else's later. */
__u64 launched_start __weak = 0;
__u32 launched_stops __weak = 0; /* how often it was stopped */

/* Raised by user space when slots and sites of ended processes came free. */
__u32 recycle_generation __weak = 1;

/* Raised by user space whenever it changed some process' mappings or rows. */
__u32 unwind_generation __weak = 1;

/* --- the live set: one entry per outstanding block --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load: --max-blocks */
	__type(key, struct lm_block_key);
	__type(value, struct lm_block);
} blocks __weak SEC(".maps");

/* --- sites: hash of (process, stack) -> index; the arrays are mapped by user space --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load: --max-sites */
	__type(key, u64);
	__type(value, u32);
} site_index __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load: --max-sites */
	__type(key, u32);
	__type(value, struct lm_site);
} sites __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load: --max-sites */
	__type(key, u32);
	__type(value, struct lm_stack);
} stacks __weak SEC(".maps");

/* Indices that user space has given back, all zeroed: taken before new ones. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* set at load: --max-sites */
	__type(value, u32);
} free_sites __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* set at load */
	__type(value, u32);
} free_slots __weak SEC(".maps");

/* --- processes: incarnation -> slot; the slot's ledger, one copy per CPU --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, lm_process_key);
	__type(value, u32);
} process_index __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_process);
} processes __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_ledger);
} ledgers __weak SEC(".maps");

/* --- who is watched: tgid -> struct lm_target --- */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__type(value, struct lm_target);
} targets __weak SEC(".maps");

/* --- a call of an allocator that has not returned yet --- */
enum call_kind {
	CALL_NONE,
	CALL_ALLOCATE,	      /* the result is the return value */
	CALL_OUT,	      /* the result is at *pointer when the return value is 0 */
	CALL_RESIZE,	      /* `pointer` goes when the result is not NULL, or when size is 0 */
	CALL_RESIZE_OR_FREE,  /* `pointer` goes in any case */
	CALL_RESIZE_IN_PLACE, /* `pointer` stays; it grew when the result reaches `size` */
};

struct call {
	u64 sp; /* at entry: the address of the return address */
	u64 size;
	u64 pointer; /* CALL_OUT: where the result goes; CALL_RESIZE*: the old block, or NULL */
	struct lm_block old; /* CALL_RESIZE*: what was on the ledger for it */
	u32 kind;	     /* enum call_kind */
	u32 function;	     /* attach cookie; only with --trace */
	bool old_tracked;
};

/* --- the latest call whose return is not followed: what is called inside it is no other call ---
 */
struct unfollowed_call {
	u64 sp; /* as above; 0: none */
	u64 return_address;
	u32 function;
};

/* --- one that may throw, and so may never return: see throwing.bpf.h --- */
struct throwing_call {
	u64 sp; /* as above */
	u64 return_address;
	u64 fp; /* of the caller */
	u64 size;
	u32 function;
	bool pending;
};

/* Code without rows that one thread reports in one generation: new libraries come in groups. */
#define UNWIND_MISSING_PAGES 4

/* A stack walk in progress: the registers of the frame it has come to. */
struct unwind_state {
	u64 ip, sp, fp;
	struct lm_range range; /* the mapping that the latest ip was in */
	u32 tgid;
	u32 generation; /* `range` is from this unwind_generation */
	u32 missing;	/* the generation of what follows */
	u32 missing_count;
	u64 missing_pages[UNWIND_MISSING_PAGES]; /* user space was told that rows are missing */
	u32 end;				 /* enum lm_walk_end, once the walk has ended */
	u32 depth;				 /* frames so far, and their hash */
	u64 hash;
	u64 cfa;	 /* of the frame that the latest step left */
	u64 fp_at;	 /* where that step read the frame pointer; 0: it did not */
	bool replayable; /* every step so far read nothing but return addresses and it */
	bool exact_ip;	 /* ip is where the frame stands (a signal interrupted it), not a return
			    address */
};

/* What one step of a walk read from the stack. */
struct unwind_step {
	u64 cfa;   /* the return address lies below: it is frames[i] */
	u64 fp_at; /* 0: it was not read */
	u64 fp;
};

/* The latest walk of a thread, kept to be replayed. */
struct unwind_trail {
	u64 ip, sp, fp, hash;
	u32 depth;	/* 0: nothing to replay */
	u32 generation; /* of the rows */
	struct unwind_step steps[LM_MAX_FRAMES + 1];
};

/*
 * What a thread carries between events. In task storage and not per CPU: uprobe programs can be
 * preempted by another thread's on the same CPU.
 */
struct thread {
	lm_process_key process;
	u64 exec_id;
	u32 slot;
	u32 slot_cause;	      /* enum lm_drop: why there is none */
	u32 recycled;	      /* `slot` and `last_site` are from this recycle_generation */
	bool known;	      /* the four fields above are filled */
	struct call calls[2]; /* on the thread's stack; on its alternate signal stack */
	struct call inner[2]; /* the same, inside those: resizes of blocks on the ledger */
	struct unfollowed_call unfollowed[2];
	struct throwing_call throwing[2]; /* the same */
	u64 returned;	     /* what the latest call gave, until it is freed; for throwing.bpf.h */
	u64 freed, freed_sp; /* the latest free: an interposer's goes on to the one below */
	u64 last_hash;	     /* of the latest stack, and its site */
	u32 last_site;
	u64 brk; /* --mappings: where the break stood when a brk call began */
	struct unwind_state walk;
	struct unwind_trail trail;
	u64 frames[LM_MAX_FRAMES + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads __weak SEC(".maps");

/* --- to user space: process events, and --trace --- */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024); /* --trace: set at load */
} events __weak SEC(".maps");

#endif
