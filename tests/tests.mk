# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every rule for tests; included by the Makefile.
#
#   make unit       cmocka tests, without root     make e2e   real programs on the real kernel, as root
#   make truth      stacks and counts against libgcc's unwinder and a preloaded counter
#   make fleet      SEEDS=N  the rules over a fleet: 200 simulated hosts, the real Prometheus
#   make test-vm    Debian's 6.1 and 6.12 kernels under qemu; VM_KERNELS='newest 5.15', VM_TESTS: scripts/vm.sh
#   make unit-arm64, make test-vm ARCH=arm64 CC=aarch64-linux-gnu-gcc    for that machine, on another
#   make test-packages  every package: built twice, installed, tried, removed
#   make test-image test-cri    the container image, with the capabilities of the Kubernetes overlays;
#                               as a pod among pods, in containerd
#
# tests/bench/bench.mk and tests/fuzz/fuzz.mk have the rules for benchmarks and fuzzing.

# The sanitised twin of every object, for the unit tests, in one library that each of them loads:
# linked into each, it takes longer than their compilation. Calls between files go by name, so a test
# may define a function in place of the library's.
# Without the sanitizers for another machine: under an emulator they cost 5 to 20 s per program, and find
# nothing that they do not find here.
SAN         := -Og -g1 -Wno-maybe-uninitialized -Wno-format-truncation -fno-omit-frame-pointer -fPIC \
	-fno-semantic-interposition $(if $(FOREIGN),,-fsanitize=address,undefined)
# The C++ compiler of the same machine.
ifeq ($(origin CXX),default)
CXX         := $(patsubst %gcc,%g++,$(CC))
endif
SAN_OBJECTS := $(patsubst %.c,$(B)/asan/%.o,$(filter-out user/main.c,$(SOURCES)))
# Those in a folder are about the code and the files of one processor.
UNIT_TESTS  := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c tests/unit/$(ARCH)/test_*.c))
E2E_TESTS   := $(patsubst tests/e2e/%.c,$(B)/e2e/%,$(wildcard tests/e2e/test_*.c))
# End-to-end tests wait most of the time, unit tests never: two for each CPU run side by side, long ones
# first. Alone: those that fill the memory or the process table, measure what their targets lose, must
# be the only monitor of a file, choose programs by name, count to the last thread, or keep probes out.
AT_ONCE     := $(shell echo $$((2 * $$(nproc))))
UNIT_LONG   := $(addprefix $(B)/unit/test_,profile_sites unwind_hostile verdict)
E2E_LONG    := $(addprefix $(B)/e2e/test_e2e_,profile diagnose runtime_hotspot top profile_adversary ledger)
E2E_ALONE   := $(addprefix $(B)/e2e/test_e2e_,hosts html locked_memory many no_harm no_harm_runs \
	profile_targets profile_truth threads_before)
# In parallel with each other and the fuzzers: they wait minutes for growth and for kills.
E2E_WAITING := $(addprefix $(B)/e2e/test_e2e_,triage oom)
E2E_BESIDE  := $(filter-out $(E2E_LONG) $(E2E_ALONE) $(E2E_WAITING),$(E2E_TESTS))
# Public bug reports as programs, for tests of `diagnose`.
REPORTED    := $(addprefix $(B)/workloads/,equal_messages unwritten_buffers session_bursts order_book)
# One program, built in several ways.
PORTABLE    := $(addprefix $(B)/workloads/portable_,static static_pie stripped musl musl_static)
OLDER       := $(addprefix $(B)/workloads/older_,static musl)
DRIPPER     := $(B)/workloads/dripper_musl
WORKLOADS   := $(patsubst tests/workloads/%.c,$(B)/workloads/%,$(wildcard tests/workloads/*.c)) \
	$(patsubst tests/workloads/%.cc,$(B)/workloads/%,$(wildcard tests/workloads/*.cc)) \
	$(REPORTED) $(PORTABLE) $(OLDER) $(DRIPPER) $(addprefix $(B)/workloads/usdt_,without_free by_hits) $(addprefix $(B)/workloads/,operators_static alone_static mallinfo_static tcmalloc_stats_static numbers_fixed owners_fixed)

.PHONY: check-arch test unit own-unit unit-arm64 e2e e2e-waiting e2e-programs fleet truth test-vm test-packages test-image test-cri corpora clean-runs servers clean-servers diagnose-programs reports python-edges soak no-harm-runtimes versions debian13

# All is built before anything runs.
test: deps
	+@$(PARALLEL) $(UNIT_TESTS) e2e-programs fuzz-programs
	@scripts/run_tests.sh -j $(AT_ONCE) $(E2E_LONG) $(UNIT_LONG) $(E2E_BESIDE) \
		$(filter-out $(UNIT_LONG),$(UNIT_TESTS)) -j 1 $(E2E_ALONE)
	+@$(MAKE) --no-print-directory -j 2 --output-sync=target e2e-waiting fuzz
	@! $(DEPS) --check arm64 2>/dev/null || $(MAKE) --no-print-directory unit-arm64

# Features that qemu's user emulation (7.2) lacks. Tests that need them are built, too, and run on a
# kernel of their machine: make test-vm.
#   process_vm_readv(2), pagemap, userfaultfd(2): for all readers of a process's memory
UNIT_OF_KERNEL := code_watch cpython dotnet dso ended_stacks ghc glibc_arenas glibc_heap glibc_walk go \
	hotspot hotspot_code jemalloc_heap jemalloc_profile mimalloc_heap mimalloc3_heap musl_heap ocaml ocaml5 pages php process_memory profile_look ruby runtime sampler_profiles \
	stack_zones stuck_read target_memory tcmalloc_heap tracemalloc v8 v8_code
#   openat2(2), and files of /proc that show the emulator's: maps, smaps, stat, exe, children
UNIT_OF_KERNEL += core debuginfod jit_names maps perf_map process process_list root_only sysv_segments \
	target_file
#   ptrace(2), registers in signals, filters of system calls, inlined lines by the process's own mappings
UNIT_OF_KERNEL += fatal_signal lines module_lines pause seccomp_filter tracer urgency worker
#   RLIMIT_DATA: it can be set, without effect
UNIT_OF_KERNEL += memory_room
#   minutes under the emulator: hours of simulated windows
UNIT_OF_KERNEL += profile_sites window_scheduler
#   the memory and the names of processes that they start, as triage reads them; filters; objcopy of their
#   own machine
UNIT_OF_KERNEL += managed_look population sandbox symbolizer
UNIT_OF_KERNEL := $(UNIT_OF_KERNEL:%=$(B)/unit/test_%)

EMULATED    := $(if $(FOREIGN),EMULATOR=$(EMULATOR))
UNIT_HERE   := $(if $(FOREIGN),$(filter-out $(UNIT_OF_KERNEL),$(UNIT_TESTS)),$(UNIT_TESTS))
OWN_UNIT    := $(filter $(B)/unit/$(ARCH)/%,$(UNIT_TESTS))

unit: $(B)/has-unit
	+@$(PARALLEL) $(UNIT_TESTS)
	@$(EMULATED) scripts/run_tests.sh $(UNIT_HERE)

own-unit: $(B)/has-unit
	+@$(PARALLEL) $(OWN_UNIT)
	@$(EMULATED) scripts/run_tests.sh $(OWN_UNIT)

# All that an emulator can run, with that machine's compiler and libraries (deps group arm64).
CROSS_CC    := aarch64-linux-gnu-gcc
unit-arm64:
	@$(MAKE) --no-print-directory ARCH=arm64 CC='$(CROSS_CC)' CLANG='$(CLANG)' unit

# Readers of our formats: unpacked, because their packages would start daemons.
$(B)/consumers/packages: scripts/consumers.sh
	@scripts/consumers.sh $(B)/consumers
	@touch $@

e2e-programs: $(B)/has-test all $(B)/consumers/packages $(WORKLOADS) $(E2E_TESTS) \
	$(B)/truth/backtrace_preload.so $(B)/truth/counting_preload.so

e2e: $(B)/has-test
	+@$(PARALLEL) e2e-programs
	@scripts/run_tests.sh -j $(AT_ONCE) $(E2E_LONG) $(E2E_BESIDE) -j 1 $(E2E_ALONE) \
		-j 2 $(E2E_WAITING)

e2e-waiting:
	@scripts/run_tests.sh -j 2 $(E2E_WAITING)

# Other projects' suites, from their source trees:
#   make corpora LSAN_TESTS=…/compiler-rt/test/lsan/TestCases MEMCHECK_TESTS=…/valgrind/memcheck/tests
# and programs of this machine that lose nothing, run repeatedly: make clean-runs RUNS=1000
$(B)/corpora/stop_at_exit.so: tests/corpora/stop_at_exit.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -O1 -Wall -Wextra -shared -fPIC $< -o $@

corpora: all $(B)/corpora/stop_at_exit.so
	$(if $(LSAN_TESTS),@tests/corpora/corpora.py lsan $(LSAN_TESTS))
	$(if $(MEMCHECK_TESTS),@tests/corpora/corpora.py memcheck $(MEMCHECK_TESTS))

RUNS ?= 1000
clean-runs: all
	@tests/corpora/corpora.py clean $(RUNS)

# Debian's servers under a steady load, with their own clients; missing ones are skipped:
#   make servers         each leaks blocks: ranked first, called leaking, found by the census?
#   make clean-servers   all at once lose nothing: false leaks in SECONDS, and their further growth
$(B)/servers/forget.so: tests/servers/forget.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -O2 -Wall -Wextra -shared -fPIC $< -o $@ -ldl

SECONDS ?= 1800
servers: all $(B)/servers/forget.so
	@tests/servers/servers.py leak $(SERVERS)

clean-servers: all
	@tests/servers/servers.py clean $(SECONDS) $(SERVERS)

# `diagnose` against programs with one known cause of growth each, or none, RUNS times (1):
#   make diagnose-programs RUNS=5 JOBS=3 [BURN=1] [PROGRAMS='c redis']
diagnose-programs: all $(B)/workloads/grower $(B)/servers/forget.so
	@JOBS=$(or $(JOBS),2) BURN=$(BURN) tests/diagnose/sixteen.py \
		$(if $(filter command,$(firstword $(origin RUNS))),$(RUNS),1) $(PROGRAMS)

# `diagnose` against public bug reports as small programs, and their healthy variants, RUNS times (1); packages
# of theirs: make deps FOR=reports
#   make reports RUNS=3 JOBS=3 [BURN=1] [PROGRAMS='lru-method python/'] [KEEP=answers]
reports: all
	@tests/reports/test_truths.py -q
	@JOBS=$(or $(JOBS),2) BURN=$(BURN) KEEP=$(KEEP) tests/reports/reports.py \
		$(if $(filter command,$(firstword $(origin RUNS))),$(RUNS),1) $(PROGRAMS)

# Runs every monitor for HOURS (1) among short-lived processes, OOM kills, containers, full disks:
#   make soak HOURS=6 [LOAD=0.5] [SEED=7] [REPORT=soak.jsonl]
SOAK_WORKLOADS := $(addprefix $(B)/workloads/,grower steady leak quick thrower execer leader_exit sharer \
	brood victim busy crasher threads jumpy.so)
HOURS ?= 1
soak: all $(SOAK_WORKLOADS) $(B)/consumers/packages
	@tests/soak/soak.py $(B)/leakmon $(HOURS) $(if $(LOAD),--load $(LOAD)) $(if $(SEED),--seed $(SEED)) \
		$(if $(REPORT),--report $(REPORT))

# Each version of runtimes and allocators that Debian and npm have, against programs that know their own truth:
#   make versions [NAMES="'CPython 3.14' retain"] [JOBS=2] [KEEP=table.md]
versions: all
	@$(DEPS) versions
	@JOBS=$(or $(JOBS),2) KEEP=$(KEEP) tests/versions/versions.py $(NAMES)

# leakmon on Debian 13: its build, and the unit tests, in a tree of it. Objects stay there for the next time.
debian13:
	@$(DEPS) debian13
	@tests/versions/debian13.sh

# Prints the graph to compare with a runtime's own (tests/runtimes/cpython_edges.py).
$(B)/runtimes/graph: tests/runtimes/graph.c $(filter-out $(B)/user/main.o,$(OBJECTS))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(filter-out %.h,$^) -o $@ $(LIBS)

PYTHONS ?= /usr/bin/python3
python-edges: $(B)/runtimes/graph
	@tests/runtimes/cpython_edges.py $< $(PYTHONS)

# Managed programs under load, stopped STOPS times in all: effects on them, and on their beat (hours):
#   make no-harm-runtimes STOPS=500 RUNTIMES='cpython go'
STOPS ?= 10000
no-harm-runtimes: all
	@tests/runtimes/no_harm.py $(B)/leakmon $(STOPS) $(RUNTIMES)

# tests/vm/init runs these in the virtual machine.
VM_WORKLOADS := $(addprefix $(B)/workloads/,leak allocators mixed quick execer mapper \
	kernelmem threads older grower sharer victim dripper holder holder_lsan in_kernel tagged narrow deep \
	rewriter waiter usdt dispatcher \
	$(if $(filter arm64,$(ARCH)),$(addsuffix _pac,mixed allocators deep cancel thrower private_heap))) \
	$(B)/truth/backtrace_preload.so $(B)/truth/compare
VM_UNITS    := $(if $(FOREIGN),$(UNIT_OF_KERNEL))
# End-to-end tests, as they are, and the workloads of theirs.
VM_E2E      := $(if $(FOREIGN),$(addprefix $(B)/e2e/test_e2e_,no_harm retain_allocators \
	memory_allocators runtime_cpython runtime_go runtime_v8))
VM_E2E_WORKLOADS := $(if $(FOREIGN),$(addprefix $(B)/workloads/,crasher cancel thrower forker jumper \
	jemalloc_stats tcmalloc_stats tcmalloc_stats_static mimalloc_stats))
test-vm:
	@$(DEPS) --check $(if $(FOREIGN),$(FOREIGN)-vm,vm)
	@$(MAKE) --no-print-directory all $(VM_WORKLOADS) $(VM_UNITS) $(VM_E2E) $(VM_E2E_WORKLOADS)
	@ARCH=$(ARCH) CC='$(CC)' VM_UNITS='$(VM_UNITS)' VM_E2E='$(VM_E2E)' \
		VM_E2E_WORKLOADS='$(VM_E2E_WORKLOADS)' scripts/vm.sh $(VM_KERNELS)

# Renders a chart as helm does, from Debian's packages.
$(B)/kubernetes/render: tests/kubernetes/render.go
	@mkdir -p $(@D)
	$(call say,GO)
	$(Q)GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$(abspath $(B))/kubernetes/cache GOFLAGS= \
		/usr/lib/go-1.19/bin/go build -o $@ $<

# FORMATS='deb rpm': these alone
test-packages:
	@$(DEPS) --check build static $(if $(FORMATS),$(filter-out dist,$(FORMATS)),package)
	@tests/packages/test_release.py
	@tests/packages/test_packages.py $(VERSION) $(FORMATS)

test-image:
	@$(DEPS) --check kubernetes
	@$(MAKE) --no-print-directory image
	@tests/kubernetes/test_image.py $(B)/dist/leakmon-$(VERSION)-image.tar
	@tests/packages/test_images.py $(wildcard $(B)/dist/leakmon-$(VERSION)-images.tar)

test-cri: $(B)/consumers/packages $(B)/workloads/dripper
	@$(DEPS) --check kubernetes
	@scripts/consumers.sh $(B)/consumers containerd
	@$(MAKE) --no-print-directory image
	@tests/kubernetes/test_cri.py $(B)/consumers/usr/bin $(B)/dist/leakmon-$(VERSION)-image.tar

$(B)/asan/%.o: %.c | $(SKELETONS) $(B)/has-unit
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -c $< -o $@

$(B)/asan/libleakmon.so: $(SAN_OBJECTS)
	$(call say,LD)
	$(Q)$(CC) $(SAN) -shared -Wl,-z,defs -o $@ $(SAN_OBJECTS) $(LIBS)

# A change of the library alone leaves them as they are.
$(B)/unit/%: tests/unit/%.c | $(B)/asan/libleakmon.so
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -Werror=unused-function -Itests -Itests/unit -Itests/unit/$(ARCH) \
		-Ibpf/arch/$(ARCH) $< -o $@ \
		-L$(B)/asan -lleakmon -Wl,-rpath,$(abspath $(B)/asan) -Wl,-z,now -lcmocka -ljansson $(LIBS)

# Compiles everything outside user/binary/arch/ARCH and bpf/arch/ARCH against a made-up processor; files of
# tests/arch/planted/, with one fault each, must not compile. Headers of the stub replace those of the C
# library and the kernel that describe a processor.
STUB      := tests/arch/stub
STUB_USER := $(CLANG) -fsyntax-only -std=gnu11 $(filter-out -Iuser/binary/arch/%,$(CPPFLAGS)) \
	-I$(STUB)/user -isystem $(STUB)/include -funsigned-char -Wno-everything \
	-Werror=implicit-function-declaration
STUB_BPF  := $(CLANG) -fsyntax-only $(patsubst -D__TARGET_ARCH_%,-D__TARGET_ARCH_riscv,$(filter-out \
	-MMD -MP -Ibpf/arch/% -Iuser/binary/arch/%,-I$(STUB)/include $(BPF_CFLAGS))) \
	-I$(STUB)/bpf -I$(STUB)/user
PLANTED   := $(wildcard tests/arch/planted/*.c)
STUB_FILES := $(filter-out user/binary/arch/$(ARCH)/%,$(SOURCES)) $(wildcard bpf/*.bpf.c)

check-arch: $(STUB_FILES:%.c=$(B)/stub/%.checked) $(PLANTED:%.c=$(B)/stub/%.refused)

$(B)/stub/user/%.checked: user/%.c $(wildcard $(STUB)/*/*.h $(STUB)/*/*/*.h) | $(SKELETONS)
	@mkdir -p $(@D)
	$(Q)$(STUB_USER) -MMD -MP -MT $@ -MF $@.d $< && touch $@

$(B)/stub/bpf/%.checked: bpf/%.c $(wildcard $(STUB)/*/*.h $(STUB)/*/*/*.h)
	@mkdir -p $(@D)
	$(Q)$(STUB_BPF) -MMD -MP -MT $@ -MF $@.d $< && touch $@

# Each compiles for this machine, if that is the one that it names.
$(B)/stub/%.bpf.refused: %.bpf.c $(wildcard $(STUB)/*/*.h $(STUB)/*/*/*.h bpf/*.h bpf/arch/*/*.h)
	@mkdir -p $(@D)
	$(Q)$(if $(filter x86_64,$(ARCH)),$(CLANG) -fsyntax-only $(filter-out -MMD -MP,$(BPF_CFLAGS)) $<)
	$(Q)! $(STUB_BPF) $< 2>/dev/null || { echo '$<: compiles for every processor' >&2; exit 1; }
	$(Q)touch $@

$(B)/stub/%.refused: %.c $(wildcard $(STUB)/*/*.h $(STUB)/*/*/*.h user/binary/arch/*.h user/binary/arch/*/*.h)
	@mkdir -p $(@D)
	$(Q)$(if $(filter x86_64,$(ARCH)),$(CC) -fsyntax-only -std=gnu11 $(CPPFLAGS) $<)
	$(Q)! $(STUB_USER) $< 2>/dev/null || { echo '$<: compiles for every processor' >&2; exit 1; }
	$(Q)touch $@

E2E_SUPPORT := $(filter-out tests/e2e/test_%.c,$(wildcard tests/e2e/*.c)) tests/truth/compare.c \
	tests/truth/compare_print.c
E2E_OBJECTS := $(E2E_SUPPORT:%.c=$(B)/e2e/support/%.o)
$(B)/e2e/support/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -Werror=unused-function -Itests/e2e -c $< -o $@

$(B)/e2e/%: tests/e2e/%.c $(E2E_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -Werror=unused-function -Itests/e2e $< $(E2E_OBJECTS) -o $@ \
		-lcmocka -lbpf -ljansson -lpthread

# Targets keep their frame pointers: the walk follows them. Their truth must not be optimised away.
WORKLOAD_CFLAGS := -O2 -g -fno-omit-frame-pointer -fno-builtin -pthread -Wall -Wextra
$(B)/workloads/%: tests/reports/native/%.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -O1 -g -Wall -Wextra $< -o $@

$(B)/workloads/%: tests/reports/native/%.cc
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CXX) -O1 -g -Wall -Wextra $< -o $@

$(B)/workloads/%: tests/workloads/%.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@ $(WORKLOAD_LIBS)

$(B)/workloads/%: tests/workloads/%.cc $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) $(WORKLOAD_CFLAGS) $< -o $@ $(WORKLOAD_LIBS)

# As distributions build theirs: landing pads, signed return addresses.
$(B)/workloads/%_pac: tests/workloads/%.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fomit-frame-pointer -mbranch-protection=standard $< -o $@

$(B)/workloads/%_pac: tests/workloads/%.cc $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -O2 -g -fomit-frame-pointer -mbranch-protection=standard -pthread -Wall -Wextra $< -o $@ -ldl

# Each allocator, linked in the ways of real programs; jemalloc's development files cannot be there for
# two machines.
$(B)/workloads/jemalloc_api $(B)/workloads/jemalloc_stats: WORKLOAD_LIBS := -l$(if $(FOREIGN),:libjemalloc.so.2,jemalloc)
$(B)/workloads/tcmalloc_api $(B)/workloads/tcmalloc_stats: WORKLOAD_LIBS := -ltcmalloc_minimal
$(B)/workloads/mimalloc_api $(B)/workloads/mimalloc_stats: WORKLOAD_LIBS := -lmimalloc
$(B)/workloads/tcmalloc_stats_static: tests/workloads/tcmalloc_stats.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@ -Wl,--whole-archive -l:libtcmalloc_minimal.a \
		-Wl,--no-whole-archive -lstdc++ -lm
$(B)/workloads/late $(B)/workloads/cacher: WORKLOAD_LIBS := -ldl

$(B)/workloads/usdt: $(B)/workloads/usdt_part.so
$(B)/workloads/usdt_without_free: tests/workloads/usdt.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -DWITHOUT_FREE $< -o $@
$(B)/workloads/usdt_by_hits: tests/workloads/usdt.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -DBY_HITS $< -o $@

MUSL_CC ?= musl-gcc
BUILD_OF_static := $(CC) -static
BUILD_OF_static_pie := $(CC) -static-pie
BUILD_OF_stripped := $(CC) -static -s
BUILD_OF_musl := $(MUSL_CC)
BUILD_OF_musl_static := $(MUSL_CC) -static
$(PORTABLE): $(B)/workloads/portable_%: tests/workloads/portable.c tests/workloads/allocators.c \
		$(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(BUILD_OF_$*) $(WORKLOAD_CFLAGS) $< -o $@

$(B)/workloads/musl_stats: tests/workloads/musl_stats.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(BUILD_OF_musl) $(WORKLOAD_CFLAGS) $< -o $@

$(B)/workloads/mallinfo_static: tests/workloads/mallinfo.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -static $(WORKLOAD_CFLAGS) $< -o $@

# At fixed addresses, with malloc's heap below 4 GiB.
$(B)/workloads/numbers_fixed: tests/workloads/numbers.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -no-pie $(WORKLOAD_CFLAGS) $< -o $@

$(B)/workloads/owners_fixed: tests/workloads/owners.cc $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -no-pie $(WORKLOAD_CFLAGS) $< -o $@

$(B)/workloads/operators_static: tests/workloads/operators.cc $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -static $(WORKLOAD_CFLAGS) $< -o $@

# Threads found by a late attach, by C library.
$(OLDER): $(B)/workloads/older_%: tests/workloads/older.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(BUILD_OF_$*) $(WORKLOAD_CFLAGS) $< -o $@

$(DRIPPER): $(B)/workloads/dripper_%: tests/workloads/dripper.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(BUILD_OF_$*) $(WORKLOAD_CFLAGS) $< -o $@

# Thread-locals unknown to any C library.
$(B)/workloads/alone_static: $(B)/workloads/alone_%: tests/workloads/alone.c \
		$(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(BUILD_OF_$*) $(WORKLOAD_CFLAGS) $< -o $@

# Libraries loaded later by a program (shapes, late), and preloaded to it (loser, evictor) or to leakmon
# (killer, jumpy).
$(B)/workloads/%.so: tests/workloads/plugin/%.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -O2 -g -fPIC -shared -Wall -Wextra -o $@ $< -ldl

$(B)/workloads/nortti.so: tests/workloads/plugin/nortti.cc
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -O2 -g -fno-rtti -fPIC -shared -Wall -Wextra -o $@ $<

# One library with thread-locals, linked and loaded in every way (locals).
LOCALS := $(addprefix $(B)/workloads/locals_,start.so later.so later_static.so later_stripped.so)
FLAGS_OF_start := -DPADDING=64
FLAGS_OF_later := -DPADDING=4096
FLAGS_OF_later_static := -DPADDING=16 -ftls-model=initial-exec
FLAGS_OF_later_stripped := -DPADDING=4096 -s
$(LOCALS): $(B)/workloads/locals_%.so: tests/workloads/plugin/locals_part.cc
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -O2 -fPIC -shared -Wall -Wextra -DPART=$* $(FLAGS_OF_$*) -o $@ $<

$(B)/workloads/locals: WORKLOAD_LIBS := $(B)/workloads/locals_start.so -Wl,-rpath,'$$ORIGIN'
$(B)/workloads/locals: $(LOCALS)
$(B)/workloads/shapes: $(B)/workloads/plugin.so $(B)/workloads/nortti.so
$(B)/workloads/holder: $(B)/workloads/loser.so
$(B)/workloads/cacher: $(B)/workloads/evictor.so
$(B)/workloads/late: $(B)/workloads/maker.so
$(B)/e2e/test_e2e_hosts: $(B)/workloads/killer.so
$(B)/e2e/test_e2e_retain: $(B)/workloads/holder_lsan $(B)/workloads/holder_asan
$(B)/e2e/test_e2e_memory: $(B)/workloads/bump.so
$(B)/e2e/test_e2e_deploy: $(B)/kubernetes/render
$(B)/e2e/test_e2e_recording: $(B)/workloads/jumpy.so

$(B)/workloads/fixed/shop: tests/workloads/shop.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -DFIXED $< -o $@

# Programs of sanitizers; and the second opinion of `make demo-retain`, and in virtual machines.
$(B)/workloads/holder_lsan: SANITIZER := leak
$(B)/workloads/holder_asan: SANITIZER := address
$(B)/workloads/holder_lsan $(B)/workloads/holder_asan: tests/workloads/holder.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fsanitize=$(SANITIZER) $< -o $@

# Optimised C++ as in production: the walk has only .eh_frame.
$(B)/workloads/deep: tests/workloads/deep.cc $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -O2 -g -fomit-frame-pointer -pthread -Wall -Wextra $< -o $@ -ldl

# The stack of every allocation by libgcc's unwinder, for comparison with leakmon's.
TRUTH_COMPARE := tests/truth/compare.c tests/truth/compare_print.c
$(B)/truth/backtrace_preload.so: tests/truth/backtrace_preload.c tests/truth/recorder.c \
		$(wildcard tests/truth/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS) $(CFLAGS)) -fPIC -shared -fvisibility=hidden \
		-fno-builtin -o $@ $(filter %.c,$^) -ldl -lgcc_s

# Counts every allocation independently of leakmon, to compare the numbers.
$(B)/truth/counting_preload.so: tests/truth/counting_preload.c tests/truth/counts.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS) $(CFLAGS)) -fPIC -shared -fvisibility=hidden \
		-fno-builtin -o $@ $< -ldl

$(B)/truth/compare: tests/truth/compare_main.c $(TRUTH_COMPARE) $(wildcard tests/truth/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS) $(CFLAGS)) -o $@ $(filter %.c,$^) -ljansson

truth: all $(B)/truth/backtrace_preload.so $(B)/truth/compare $(B)/workloads/deep
	@tests/truth/figures.sh

include tests/bench/bench.mk
include tests/fuzz/fuzz.mk

# Rules over a fleet, against simulated hosts and the real Prometheus: SEEDS of 200 hosts each.
SEEDS ?= 50
$(B)/fleet/hosts: tests/fleet/hosts.c $(filter-out $(B)/user/main.o,$(OBJECTS))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -Itests $^ -o $@ $(LDFLAGS) $(LIBS)

fleet: $(B)/fleet/hosts $(B)/consumers/packages
	@tests/fleet/fleet.py $(B)/fleet/hosts $(B)/consumers/usr/bin $(SEEDS)
