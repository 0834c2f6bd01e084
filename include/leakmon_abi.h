/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The only types that the kernel side (bpf/) and the user side (user/) share.
 *
 * Rules: fixed-width fields, explicit padding, no pointers, a size assert per struct. Times are
 * nanoseconds of CLOCK_MONOTONIC (bpf_ktime_get_ns); sizes are bytes as the program requested them,
 * not as the allocator rounded them.
 */
#ifndef LEAKMON_ABI_H
#define LEAKMON_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* The kernel's own limit on a user callchain, sysctl kernel.perf_event_max_stack. */
#define LM_MAX_FRAMES 127 /* also a mask: all ones in binary */
/*
 * Set in a frame's address (no user address has this bit) when a signal interrupted the function at
 * that very address. All other addresses are return addresses; the call lies before them.
 */
#define LM_FRAME_EXACT (1ull << 63)
/* The address without the flag; kernel addresses, whose upper bits are all ones, are unchanged. */
#define LM_FRAME_ADDRESS(frame) ((frame) >> 62 == 2 ? (frame) & ~LM_FRAME_EXACT : (frame))

/*
 * A frame of interpreted code (LM_UNWIND_INTERPRETED) begins with these four bits, which no kernel
 * address has. In place of an address it holds the interpreter's description of the frame, in words
 * from the frame pointer on.
 */
#define LM_FRAME_INTERPRETED (0xcull << 60)
#define LM_FRAME_IS_INTERPRETED(frame) (((frame) >> 60) - 0xc < 3)
/*
 * For V8, the function's SharedFunctionInfo serves as the method. One of these bits is set if V8
 * has compiled it, from its bytecode alone (baseline) or optimized: then the lowest bits of the
 * return address replace those of the bytecode.
 */
#define LM_FRAME_COMPILED (1ull << 60)
#define LM_FRAME_OPTIMIZED (2ull << 60)
#define LM_INTERPRETED_METHOD_BITS 45 /* an object, in units of 8 bytes */
#define LM_INTERPRETED_METHOD(frame) (((frame) & ((1ull << LM_INTERPRETED_METHOD_BITS) - 1)) << 3)
#define LM_INTERPRETED_AT_MASK 0x7fffu /* the lowest bits of its bytecode's address */
#define LM_INTERPRETED_AT(frame)                                                                   \
	((__u32)((frame) >> LM_INTERPRETED_METHOD_BITS) & LM_INTERPRETED_AT_MASK)
enum lm_interpreted_word {
	LM_INTERPRETED_WORD_AT = -8,
	LM_INTERPRETED_WORD_METHOD = -3,
	LM_INTERPRETED_WORD_SP = -1, /* the caller's stack pointer; its frame pointer follows */
	LM_INTERPRETED_WORD_RETURN = 1,
};
#define LM_INTERPRETED_WORDS (LM_INTERPRETED_WORD_RETURN - LM_INTERPRETED_WORD_AT + 1)

/*
 * A frame of Python code has this bit but not the one above. These frames follow a stack's native
 * ones, innermost first; LM_PYTHON_FROM_C marks those called from C, where the native stack has
 * another call of the interpreter. The lowest bits hold `code >> 4` of its code object; the bits
 * above hold the distance of the latest instruction from the first, in instructions of two bytes.
 */
#define LM_FRAME_PYTHON (1ull << 62)
#define LM_FRAME_IS_PYTHON(frame) ((frame) >> 62 == 1)
#define LM_PYTHON_FROM_C (1ull << 61)
#define LM_PYTHON_CODE_SHIFT 4
#define LM_PYTHON_CODE_MASK ((1ull << 44) - 1)
#define LM_PYTHON_OFFSET_SHIFT 44
#define LM_PYTHON_NO_OFFSET 0xffffull
#define LM_PYTHON_FRAMES 64 /* per stack; a power of two */

/*
 * The layout of a Python frame. All offsets are multiples of 4, those of pointers multiples of 8.
 */
#define LM_PYTHON_FRAME_BYTES 128
#define LM_PYTHON_NEAR_BYTES 80 /* from 3.11 on, all fields of interest lie within these */
enum lm_python_kind {
	LM_PYTHON_OBJECTS, /* up to 3.10: each is called from C; the instruction is an index */
	LM_PYTHON_ENTERED, /* 3.11: the byte `owner` says whether C called it */
	LM_PYTHON_OWNED,   /* 3.12 on: a frame with C's mark in `owner` follows */
};
#define LM_PYTHON_OWNED_BY_C 3
#define LM_MAX_PYTHONS 4096 /* processes */
struct lm_python {
	__s32 state; /* offset of its PyThreadState from the thread pointer */
	/*
	 * In the PyThreadState: the thread's pthread_t, which lies `descriptor` bytes below the
	 * thread pointer; the innermost frame or, if `indirect`, a pointer to a struct that has the
	 * frame at `current`.
	 */
	__u16 handle, frame, current, indirect;
	__u16 kind; /* enum lm_python_kind */
	/* In a frame. */
	__u16 code, previous, instruction, owner;
	__u16 bytecode; /* in a code object */
	__u16 shift;	/* of an instruction's index in LM_PYTHON_OBJECTS */
	__u16 descriptor;
};

/*
 * Code that a process generates while it runs, in heaps of blocks. A heap has one byte per segment
 * of 1 << shift bytes: the distance, in segments, back to the first segment of the block or to a
 * segment nearer to it; 255: no block. A block records the number of words in its code's frame;
 * less than 2 means that it keeps a frame pointer instead. The return address is the highest word,
 * the frame pointer the next.
 */
#define LM_CODE_HEAPS 4
#define LM_MAX_MADE_CODES 4096 /* processes */
struct lm_code_heap {
	__u64 low, high; /* high 0: no such heap */
	__u64 segments;	 /* address of the segment bytes */
};
struct lm_made_code {
	struct lm_code_heap heaps[LM_CODE_HEAPS];
	__u32 shift;  /* segments have 1 << shift bytes */
	__u32 frame;  /* from a block's start: s32 */
	__u32 shared; /* V8: from a JSFunction's start to its SharedFunctionInfo; 0: not V8 */
	__u32 padding_;
	__u64 bytecode; /* V8: the first word of a BytecodeArray */
};

/* Words of a JavaScript frame below its frame pointer. Tagged pointers end in binary 01. */
enum lm_js_word {
	LM_JS_WORD_OFFSET = -5,	  /* of the bytecode, in the upper half, if it is interpreted */
	LM_JS_WORD_BYTECODE = -4, /* then: its BytecodeArray */
	LM_JS_WORD_FUNCTION = -2,
	LM_JS_WORD_CONTEXT = -1, /* frames of other kinds have a number here */
};
#define LM_JS_WORDS (-LM_JS_WORD_OFFSET)
#define LM_JS_IS_POINTER(word) (((word)&3) == 1)

/*
 * A process incarnation: the thread group that owns an address space, since its last exec.
 *
 *   high 32 bits  tgid in the initial PID namespace
 *   low 32 bits   epoch = start time in 10 ms ticks + exec count * LM_EPOCH_EXEC
 *
 * The start time is task_struct.start_boottime (field 22 of /proc/PID/stat); the exec count is
 * task_struct.self_exec_id, which every execve increments. A PID alone is never an identity: PIDs
 * are reused, and an exec gives the same PID an empty heap.
 */
typedef __u64 lm_process_key;
#define LM_EPOCH_EXEC 0x9E3779B1u /* odd, so that successive execs never share an epoch */
#define LM_TICK_NS 10000000ull

/* Why an allocation is missing from the ledger. Each one breaks exactness. */
enum lm_drop {
	LM_DROP_BLOCKS_FULL,	/* --max-blocks reached */
	LM_DROP_PROCESSES_FULL, /* no slot left for another process */
	LM_DROP_SHARE, /* the process used up its share of --max-blocks, which is running short */
	LM_DROP_THREAD_STATE, /* no memory for the per-thread state */
	/* posix_memalign's result, or a probe's argument, could not be read */
	LM_DROP_OUT_POINTER,
	LM_DROP_RESTORE, /* a failed realloc's block could not be put back */
	/* the address was reused while still on the ledger: its free was missed */
	LM_DROP_MISSED_FREE,
	LM_DROP_HANDLER,  /* made by a signal handler that interrupted an allocation */
	LM_DROP_DISPATCH, /* made under Syscall User Dispatch, where a return probe would kill */
	LM_DROP_DEPTH,	  /* the kernel's limit of pending return probes was reached */
	/*
	 * the kernel refused access to a map, for an allocation or for a free; a free then also
	 * counts as an allocation, because its block stays on the ledger
	 */
	LM_DROP_BUSY,
	LM_DROP_UNTRACED_FREE, /* --kernel: as BUSY; some ways to free memory have no tracepoint */
	LM_DROP_MAX_,
};

/* Why a block is charged to a `[lost: CAUSE]` site instead of its call stack. */
enum lm_lost {
	LM_LOST_NONE,
	LM_LOST_SITES_FULL, /* --max-sites reached */
	/* the process used up its share of --max-sites, which is running short */
	LM_LOST_SITE_SHARE,
	LM_LOST_BUSY, /* the kernel refused access to a map */
	/* Causes of descriptors only; no loss. */
	LM_LOST_BEFORE, /* open before the attach, or before the process's latest exec */
	LM_LOST_WORKER, /* opened by an io_uring worker thread */
	LM_LOST_MAX_,
};

/*
 * Unwind rows: .eh_frame, reduced to the rules that a stack walk in the kernel needs. One row holds
 * from its `pc` up to the next row's. If the kind names no enum lm_return_place, the return address
 * is where a call puts it. leakmon_unwind.h applies the rows.
 */
enum lm_unwind_kind {
	LM_UNWIND_NONE,	    /* no FDE covers this code: try the frame pointer */
	LM_UNWIND_END,	    /* the return address is undefined: the root of the stack */
	LM_UNWIND_SP,	    /* CFA = sp + offset */
	LM_UNWIND_FP,	    /* CFA = fp + offset */
	LM_UNWIND_FP_DEREF, /* CFA = *(fp + offset): a function that realigned its stack */
	LM_UNWIND_SP_DEREF, /* CFA = *(sp + offset) */
	LM_UNWIND_PLT,	    /* CFA = sp + 8 + ((ip & 15) >= cfa_words ? 8 : 0) */
	/* a signal frame: the registers are saved above sp */
	LM_UNWIND_SIGNAL,
	LM_UNWIND_UNSUPPORTED, /* a rule that rows cannot express: the walk ends, and reports it */
	LM_UNWIND_INTERPRETED, /* an interpreter with its own frames: see lm_interpreted_word */
	LM_UNWIND_MADE,	       /* generated at run time: see struct lm_made_code */
	LM_UNWIND_MAX_,
};

/*
 * In the high bits of a row's kind, and only on processors whose calls put the return address in a
 * register: where a function that makes calls has saved it.
 */
enum lm_return_place {
	LM_RETURN_IN_REGISTER = 0,
	/* the word above fp; `fp_words` counts from the CFA less its offset */
	LM_RETURN_IN_RECORD = 1 << 4,
	/* at CFA + 8 * fp_words, without fp, which still has the caller's value */
	LM_RETURN_ALONE = 2 << 4,
	/*
	 * the word above fp, too; `fp_words` counts from the CFA, because the record lies above
	 * large variables
	 */
	LM_RETURN_BY_CFA = 3 << 4,
};
#define LM_UNWIND_KIND_MASK 0x0fu

struct lm_unwind_row {
	__u32 pc;	 /* relative to the module's lowest PT_LOAD address */
	__s16 cfa_words; /* offset of the CFA in units of 8 bytes */
	/* fp was saved at CFA + 8 * fp_words; 0: fp still has the caller's value */
	__s8 fp_words;
	__u8 kind; /* enum lm_unwind_kind, enum lm_return_place */
};

/*
 * What a processor's calls and signals leave in memory. Each processor's row: user/binary/arch
 * (frame.h).
 */
struct lm_frame_abi {
	/* mask of the address within a return address; the other bits may be a signature */
	__u64 code_mask;
	/* from the CFA to the return address, in words; 0: a call leaves it in the link register */
	__s8 return_words;
	__u8 padding_;
	/*
	 * Offsets in the kernel's signal frame, from the stack pointer at the handler's return, of
	 * the interrupted registers. The instruction pointer follows the stack pointer.
	 */
	__u16 signal_fp, signal_sp;
	__u16 signal_link; /* 0: no link register */
};

/*
 * A module's rows as one array of 8-byte cells, so that one kind of map holds them all:
 *
 *   cell 0               the number of pages
 *   cells 1 .. pages + 1 for each page of LM_UNWIND_PAGE bytes, the cell of the row that covers its
 *                        first byte (or of the module's first row); one more than pages, so that a
 *                        page's rows end where the next page's begin
 *   the rest             struct lm_unwind_row, ascending
 */
#define LM_UNWIND_PAGE_SHIFT 12

/*
 * One executable mapping of a process. `start` of cell 0 of its array is the index of the first of
 * the others (LM_RANGES_AT), which ascend. The array has room for two sets: a new set is written
 * beside the one that walks may be searching, then published by one store.
 */
#define LM_RANGES_AT(first, count) ((__u64)(first) << 32 | (count))
struct lm_range {
	__u64 start, end;
	__u64 bias;   /* row pc = address - bias */
	__u32 module; /* index into `unwind_modules`, or LM_MODULE_NONE */
	__u32 padding_;
};

#define LM_MAX_MODULES 4096
/* Code without unwind rows: generated at run time, or in no ELF file. */
#define LM_MODULE_NONE 0xffffffffu
#define LM_MAX_RANGES 4096 /* per process */

/* How a walk ended. */
enum lm_walk_end {
	LM_WALK_ROOT,	    /* at the outermost frame */
	LM_WALK_NO_ROWS,    /* in code without loaded unwind rows */
	LM_WALK_NO_FDE,	    /* in code without unwind information whose frame pointer led nowhere */
	LM_WALK_UNREADABLE, /* the stack was unreadable there */
	LM_WALK_UNSUPPORTED, /* at a rule that rows cannot express */
	LM_WALK_TOO_DEEP,    /* more than LM_MAX_FRAMES frames */
	LM_WALK_MAX_,
};

enum lm_stack_walk {
	LM_STACK_WALK_AUTO, /* unwind rows, or the frame pointer where no row exists */
	LM_STACK_WALK_CFI,  /* unwind rows only */
	LM_STACK_WALK_FP,   /* frame pointers only */
};

/*
 * A watched process, by tgid. User space enters it before attaching; the BPF side adds its forked
 * children if they are followed. It counts the events that make the process's figures inexact.
 */
struct lm_target {
	__u64 start_ticks;  /* task_struct.start_boottime in LM_TICK_NS: the tgid may be reused */
	__u32 thread_execs; /* execs by a thread other than the main one: the probes are lost */
	__u32 late_execs;   /* 1 if it ran on, unprobed, after the latest of these; else 0 */
	__u32 hidden_tasks; /* tasks of vfork or CLONE_VM that hit a probe which did not see them */
	__u32 hidden_tgid;  /* of the latest of these */
	__u32 followed;	    /* it shares another process's memory, and has its own probes */
	__u32 padding_;
};

/* Identity of one outstanding allocation. */
struct lm_block_key {
	__u64 address;
	lm_process_key process;
};

/* One outstanding allocation; the value of the live set. */
struct lm_block {
	__u64 size;
	__u64 born_ns;
	__u32 site; /* index into `sites` */
	__u32 tid;  /* allocating thread, initial PID namespace */
};

/* A live thread. Its identity is (tid, start), because tids are reused. */
struct lm_live_thread {
	lm_process_key process; /* owner of the heap it allocates on */
	__u64 start_ns;
	__u32 tid; /* initial PID namespace */
	__u32 padding_;
};

/*
 * Unused indices go to a queue for reuse. If the kernel refuses to queue one for a moment, it is
 * marked, and user space queues it with its next report: no index is lost.
 */
enum lm_index_state {
	LM_INDEX_USUAL, /* in use, queued, or never used */
	LM_INDEX_STRAY, /* neither in use nor queued */
};

/*
 * One (process, user stack) that allocates. Counters only grow; outstanding = allocated - freed. In
 * sampling mode they are estimates, scaled by 2^LM_WEIGHT_SHIFT (see sample.bpf.h); otherwise they
 * are exact counts.
 */
struct lm_site {
	lm_process_key process; /* 0: this index is not in use */
	__u64 allocated_bytes;
	__u64 allocated_count;
	__u64 freed_bytes;
	__u64 freed_count;
	__u64 hash;  /* its key in `site_index` */
	__u32 depth; /* frames in `stacks` at the same index */
	__u32 state; /* enum lm_index_state */
	__u32 end;   /* enum lm_walk_end */
	__u32 kind;  /* --kernel: enum lm_kernel_kind; else 0 */
};

/* From the caller of the allocator (first) to the root (last); see LM_FRAME_EXACT. */
struct lm_stack {
	__u64 frames[LM_MAX_FRAMES];
	__u64 padding_;
};

enum lm_process_state {
	LM_PROCESS_ALIVE = 1,
	LM_PROCESS_EXITED, /* its last thread is gone */
	LM_PROCESS_EXECED, /* replaced itself; a new incarnation follows */
	LM_PROCESS_STRAY,  /* unused slot that the queue refused: see below */
};

struct lm_process {
	lm_process_key key; /* 0: this slot is not in use */
	lm_process_key
		parent; /* the incarnation it was forked from, if that one is traced; else 0 */
	__u64 start_boottime_ns;
	__u64 ended_ns;
	__u32 tgid;
	__u32 state; /* enum lm_process_state */
	char comm[16];
	/* Its share of the room, counted only if several processes are watched (`fair_share`). */
	__s64 blocks;
	__s64 sites;
	/*
	 * The smallest sample weight, in bytes, of a process that samples itself; its figures are
	 * estimates, scaled by 2^LM_WEIGHT_SHIFT. 0: it has reported no sample.
	 */
	__u64 interval;
	__u32 without_free; /* it reports no frees: only total allocations are known */
	__u32 padding_;
};

/*
 * The ledger of one process. Summed over CPUs, and with no call in flight, the counts satisfy
 *
 *   allocations = frees + outstanding + purged + sum(dropped)
 *
 * Begin and end counts bound the number of changes in flight: each change counts in `allocations`
 * or `begun` before it touches anything else, and in `settled` or `frees` after all else is done,
 * on the same CPU. `allocations` and `begun` are the last fields, because the kernel copies in this
 * order: a reader that sees an effect also sees that the change began. A realloc takes its block at
 * entry and settles it at return; the return is a second change, which settles both.
 */
struct lm_ledger {
	__u64 settled;
	__u64 frees;  /* matched an outstanding block */
	__u64 purged; /* blocks given up in the kernel (thread killed inside realloc) */
	/*
	 * of a block that was not on the ledger: allocated before the attach, filtered or unsampled
	 */
	__u64 untracked_frees;
	__u64 inherited_frees; /* of a block that a forked child inherited from its traced parent */
	__u64 filtered;	       /* allocations outside --min-size..--max-size */
	__u64 unsampled;       /* allocations that the sampler skipped */
	__u64 failed;	       /* allocator returned NULL or an error */
	__u64 abandoned;       /* calls that never returned (longjmp, thread killed) */
	__u64 dropped[LM_DROP_MAX_];
	__u64 lost_stacks[LM_LOST_MAX_];
	__u64 walk_ends[LM_WALK_MAX_]; /* stacks that ended before the root; [ROOT] stays 0 */
	__u64 begun;
	__u64 allocations; /* successful calls that passed the size filter and the sampler */
};

/*
 * Runs of our programs at allocators' probes, and their time; see `counts_hits`. Processes whose
 * PIDs share a slot are each charged for both: a cost is never understated.
 */
#define LM_HIT_SLOTS 256
static inline __u32 lm_hit_slot(__u32 tgid)
{
	return tgid % LM_HIT_SLOTS;
}

struct lm_hits {
	__u64 count;
	__u64 ns; /* CLOCK_MONOTONIC; at most HIT_MAX_NS per run */
};

enum lm_event_type {
	LM_EVENT_NONE,
	LM_EVENT_ALLOCATE = 1, /* --trace */
	LM_EVENT_FREE,	       /* --trace */
	/*
	 * a target execed; with `announce`, any process did. Its new name is in `address` and
	 * `size`
	 */
	LM_EVENT_EXEC,
	LM_EVENT_FORK,	  /* a target forked: `process` is the child's key */
	LM_EVENT_NO_ROWS, /* a walk reached `address`, for which no unwind rows are loaded */
	/* as FORK, of a child that shares the memory; `address`: the target's PID */
	LM_EVENT_SHARE,
	/* the target with the PID in `process` is OOM-killed */
	LM_EVENT_VICTIM,
};

struct lm_event {
	__u32 type; /* enum lm_event_type */
	__u32 tid;
	lm_process_key process;
	__u64 address;
	__u64 size;
	__u64 time_ns;
	__u32 site;
	__u32 function; /* index into the allocator table (attach cookie) */
};

/*
 * The meaning of a call's arguments while they are still in the ABI's registers: the common shapes
 * need no operands.
 */
enum lm_arguments {
	LM_ARGUMENTS_NAMED, /* by the cookie, register by register */
	LM_ARGUMENTS_SIZE,
	LM_ARGUMENTS_COUNT_SIZE,
	LM_ARGUMENTS_ANY_SIZE, /* the first argument is an alignment, or a heap */
	LM_ARGUMENTS_OUT_ANY_SIZE,
	LM_ARGUMENTS_POINTER_SIZE,
	LM_ARGUMENTS_POINTER_COUNT_SIZE,
};

/*
 * Attach cookies. All of them hold the row of the allocator table. At entries: enum lm_arguments,
 * and for each argument its register as 1 + its number in instructions (0: no such argument). At
 * places where a result is known: its register, the number of words by which the stack pointer is
 * lower than at the entry, and the condition of the branch at that place (0: always; else 1 + its
 * number in instructions).
 */
#define LM_COOKIE_FUNCTION_MASK 0xffffu
#define LM_COOKIE_OPERAND_MASK 0x1fu
#define LM_COOKIE_SIZE_SHIFT 16
#define LM_COOKIE_COUNT_SHIFT 21
#define LM_COOKIE_POINTER_SHIFT 26
#define LM_COOKIE_OR_FREE (1ull << 31)	/* a failed resize frees the old block */
#define LM_COOKIE_IN_PLACE (1ull << 32) /* the result is the block's size now */
#define LM_COOKIE_ARGUMENTS_SHIFT 33
#define LM_COOKIE_ARGUMENTS_MASK 7u
#define LM_COOKIE_REGISTER_SHIFT 36 /* its number in instructions, not plus 1 */
#define LM_COOKIE_CONDITION_SHIFT 40
#define LM_COOKIE_CONDITION_MASK 0x1fu
#define LM_COOKIE_WORDS_SHIFT 48

/* Fixed point of sampling weights: site counters count 1/2^16 blocks and bytes in sampling mode. */
#define LM_WEIGHT_SHIFT 16

/* Site 0 collects the blocks without a site. */
#define LM_SITE_LOST 0u
/* Ledger slot 0 collects the events of processes without a slot. */
#define LM_SLOT_LOST 0u

_Static_assert(sizeof(struct lm_python) == 28, "ABI");
_Static_assert(sizeof(struct lm_made_code) == 120, "ABI");
_Static_assert(sizeof(struct lm_unwind_row) == 8, "ABI");
_Static_assert(sizeof(struct lm_frame_abi) == 16, "ABI");
_Static_assert(sizeof(struct lm_range) == 32, "ABI");
_Static_assert(sizeof(struct lm_target) == 32, "ABI");
_Static_assert(sizeof(struct lm_block_key) == 16, "ABI");
_Static_assert(sizeof(struct lm_block) == 24, "ABI");
_Static_assert(sizeof(struct lm_live_thread) == 24, "ABI");
_Static_assert(sizeof(struct lm_site) == 64, "ABI: one cache line");
_Static_assert(sizeof(struct lm_stack) == 1024, "ABI");
_Static_assert(sizeof(struct lm_process) == 88, "ABI");
_Static_assert(sizeof(struct lm_hits) == 16, "ABI");
_Static_assert(sizeof(struct lm_event) == 48, "ABI");

#endif
