/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of the processor and its ABI, under portable names. The processor's folder, which the
 * Makefile chooses (ARCH), defines them in facts.h and frame.h:
 *
 *   MACHINE_RED_ZONE        bytes below the stack pointer that a leaf function may use
 *   MACHINE_USER_BITS       addresses of programs are below 1 << this
 *   MACHINE_ALLOCATOR_BITS  the same limit as allocators assume it, which index trees by addresses
 *   MACHINE_PE, MACHINE_PE_FUNCTION_BYTES
 *                           its number in PE files; bytes of a RUNTIME_FUNCTION there: with the
 *                           function's end if 12, else without
 *   machine_untagged()      the address in a pointer, without bits that the processor ignores
 *   MACHINE_SIGNAL_STACK_MIN, MACHINE_SIGNAL_STACK
 *                           bytes of a signal stack: the minimum; the customary size while it
 *                           was a constant
 *   MACHINE_THREAD_SELF_AT, _TID_AT
 *                           offsets in glibc's thread descriptor: its own address (0: absent), and
 *                           its TID
 *   MACHINE_BREAKPOINT_BYTES, MACHINE_INSTRUCTION_MAX
 *                           bytes of the kernel's breakpoint; of the longest instruction
 *   machine_frame           the layout of frames (leakmon_abi.h)
 *   MACHINE_URETPROBE_CALL, MACHINE_UPROBE_CALL
 *                           system calls of the kernel's own probes; 0: none
 *   machine_enable_shadow_stack()
 *   machine_system_call()   returns its result or -errno, without errno, which belongs to a thread
 *
 * struct machine_registers is a stopped thread's registers, plain data without pointers:
 *   vectors[MACHINE_VECTOR_WORDS]                  words of the vector registers
 *   machine_ip(), _sp(), _fp(), _thread_pointer()
 *   machine_link()          the link register, where a call leaves the return address; 0: none
 *   MACHINE_REGISTERS       the number of other registers that may hold a pointer
 */
#ifndef LEAKMON_ARCH_MACHINE_H
#define LEAKMON_ARCH_MACHINE_H

#include <stddef.h>
#include <sys/procfs.h>

#include "facts.h" /* IWYU pragma: export */
#include "frame.h" /* IWYU pragma: export */

/* The constants of this machine in ELF files. */
extern const struct elf_abi machine_abi;

/*
 * Reads the registers of a stopped thread (ptrace(2)). Returns 0 or -errno; unreadable vector
 * registers are 0.
 */
int machine_registers_read(pid_t tid, struct machine_registers *registers);

/*
 * Take registers from a core file: NT_PRSTATUS, and the whole of NT_FPREGSET. The latter returns
 * false if too short.
 */
void machine_registers_take(struct machine_registers *registers, const elf_gregset_t given);
bool machine_vectors_take(struct machine_registers *registers, const void *note, size_t size);

/*
 * Takes any other note of a thread in a core file, by its type (NT_...); ignores irrelevant ones.
 */
void machine_note_take(struct machine_registers *registers, uint32_t type, const void *note,
		       size_t size);

/* Returns the contents of register `number`, below MACHINE_REGISTERS. */
uint64_t machine_register(const struct machine_registers *registers, unsigned number);

/*
 * Return the name of a register, "rax", or of a vector register, by word: "xmm0". "register": out
 * of range.
 */
const char *machine_register_name(unsigned number);
const char *machine_vector_name(unsigned word);

/* Returns whether calls preserve a register; false for a number from MACHINE_REGISTERS on. */
bool machine_is_preserved(unsigned number);

/* Stores the arguments of the system call in which a thread waits. */
void machine_set_arguments(struct machine_registers *registers, const unsigned long long given[6]);

/* Returns whether processor and kernel offer shadow stacks to programs. */
bool machine_has_shadow_stacks(void);

/* Returns whether this line of /proc/PID/status shows that the process uses a shadow stack. */
bool machine_status_has_shadow_stack(const char *line);

#endif
