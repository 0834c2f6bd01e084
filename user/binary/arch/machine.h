/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of the processor and its ABI, by the names of what they mean. The processor's folder, which
 * the Makefile chooses (ARCH), has them in facts.h and frame.h:
 *
 *   MACHINE_RED_ZONE        bytes below the stack pointer that a leaf function may use
 *   MACHINE_USER_BITS       addresses of programs are below 1 << this
 *   MACHINE_ALLOCATOR_BITS  the same as allocators have it, which index trees by addresses
 *   MACHINE_PE, MACHINE_PE_FUNCTION_BYTES    its number in PE files; bytes of a RUNTIME_FUNCTION
 * there: with where the function ends if they are 12, else without machine_untagged()      the
 * address in a pointer, without bits that the processor ignores MACHINE_SIGNAL_STACK_MIN,
 * MACHINE_SIGNAL_STACK    bytes of a stack for signals: the least one; one as programs had it while
 * it was a constant MACHINE_THREAD_SELF_AT, _TID_AT  in glibc's thread descriptor: its own address
 * (0: it is not there), and its number MACHINE_BREAKPOINT_BYTES, MACHINE_INSTRUCTION_MAX    of the
 * kernel's breakpoint; of any machine_frame           what frames look like (leakmon_abi.h)
 *   MACHINE_URETPROBE_CALL, MACHINE_UPROBE_CALL    system calls of the kernel's own probes; 0: none
 *   machine_enable_shadow_stack()
 *   machine_system_call()   its result or -errno, without errno, which belongs to a thread
 *
 * struct machine_registers is a stopped thread's registers, plain data without pointers:
 *   vectors[MACHINE_VECTOR_WORDS]                  words of the vector registers
 *   machine_ip(), _sp(), _fp(), _thread_pointer()
 *   machine_link()          where a call leaves the return address; 0: in no register
 *   MACHINE_REGISTERS       how many others may hold a pointer
 */
#ifndef LEAKMON_ARCH_MACHINE_H
#define LEAKMON_ARCH_MACHINE_H

#include <stddef.h>
#include <sys/procfs.h>

#include "facts.h" /* IWYU pragma: export */
#include "frame.h" /* IWYU pragma: export */

/* Numbers of this machine's own in ELF files. */
extern const struct elf_abi machine_abi;

/* The registers of a thread that stands (ptrace(2)). 0 or -errno; vector registers that cannot be
 * read are 0. */
int machine_registers_read(pid_t tid, struct machine_registers *registers);

/* The same of a core file: NT_PRSTATUS, and the whole of NT_FPREGSET. False: it is too short. */
void machine_registers_take(struct machine_registers *registers, const elf_gregset_t given);
bool machine_vectors_take(struct machine_registers *registers, const void *note, size_t size);

/* Any other note of a thread in a core file, by its type (NT_...): may be of use, or not. */
void machine_note_take(struct machine_registers *registers, uint32_t type, const void *note,
		       size_t size);

/* Contents of register `number`, below MACHINE_REGISTERS. */
uint64_t machine_register(const struct machine_registers *registers, unsigned number);

/* "rax"; of a word of the vector registers, by word: "xmm0". "register": there is no such one. */
const char *machine_register_name(unsigned number);
const char *machine_vector_name(unsigned word);

/* Whether calls preserve a register; false for a number from MACHINE_REGISTERS on. */
bool machine_is_preserved(unsigned number);

/* Puts in what a thread gave to the system call that it waits in. */
void machine_set_arguments(struct machine_registers *registers, const unsigned long long given[6]);

/* Whether processor and kernel offer shadow stacks to programs. */
bool machine_has_shadow_stacks(void);

/* Whether this line of /proc/PID/status says that the process uses one. */
bool machine_status_has_shadow_stack(const char *line);

#endif
