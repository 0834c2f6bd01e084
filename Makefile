# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make            build/leakmon            make demo     install what is missing, build, show a leak
#   make STATIC=1   without shared libraries make test     the same set-up, then every test
#   make install    DESTDIR= PREFIX=         make check    formatting, linting, warnings as errors
#   make fuzz       TIME=S  libFuzzer on every reader of hostile input (5 s each)
#   make bench      ratios on this machine   make test-vm  Debian's 6.1 and 6.12 kernels under qemu

VERSION := 0.1.0
PREFIX  ?= /usr/local
CC      ?= gcc
CLANG   ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
B       := build

# make V=1 shows the commands.
ifneq ($(V),1)
Q := @
say = @printf '  %-6s %s\n' $(1) $@
endif

WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wformat=2
CPPFLAGS += -D_GNU_SOURCE -DLEAKMON_VERSION='"$(VERSION)"' -Iuser -Iinclude -I$(B)/gen
CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu11 $(WARNINGS) -MMD -MP
LIBS     := -lbpf -ldw -lelf -liberty -lcapstone -lseccomp -lcap-ng -llzma -ljansson -lsqlite3 -lncursesw -ltinfo -lz -lm -lpthread
STATIC_LIBS := $(LIBS) -lz -llzma -lbz2
ARCH     := $(shell $(CC) -print-multiarch)

# clang 14 cannot put the result of an atomic addition to use without the v3 instruction set.
BPF_CFLAGS := -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_x86 -D__bpf__ -Iinclude -Ibpf \
	-I/usr/include/$(ARCH) -Wall -Wno-unused-function -MMD -MP

SOURCES  := $(sort $(wildcard user/*.c user/*/*.c user/arch/*/*.c))
OBJECTS  := $(SOURCES:%.c=$(B)/%.o)
HEAP_BPF := $(patsubst bpf/%.c,$(B)/bpf/%.o,$(filter-out \
	bpf/trial.bpf.c bpf/kernel.bpf.c bpf/suspect.bpf.c,$(wildcard bpf/*.bpf.c)))
SKELETONS := $(B)/gen/leakmon.skel.h $(B)/gen/trial.skel.h $(B)/gen/kernel.skel.h $(B)/gen/suspect.skel.h

# The sanitised twin of every object, for the unit tests.
SAN         := -fsanitize=address,undefined -fno-omit-frame-pointer
SAN_OBJECTS := $(patsubst %.c,$(B)/san/%.o,$(filter-out user/main.c,$(SOURCES)))
UNIT_TESTS  := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
E2E_TESTS   := $(patsubst tests/e2e/%.c,$(B)/e2e/%,$(wildcard tests/e2e/test_*.c))
WORKLOADS   := $(patsubst tests/workloads/%.c,$(B)/workloads/%,$(wildcard tests/workloads/*.c)) \
	$(patsubst tests/workloads/%.cc,$(B)/workloads/%,$(wildcard tests/workloads/*.cc))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: FORCE truth all deps demo demo-retain demo-threads demo-report html-bundle test unit e2e check bench test-vm install clean

all: $(B)/leakmon $(B)/gen/leakmon.bash

ifeq ($(STATIC),1)
LINK := -static $(LDFLAGS)
LINK_LIBS := $(STATIC_LIBS)
else
LINK := $(LDFLAGS)
LINK_LIBS := $(LIBS)
endif

# Holds the link mode, and changes only when the mode does: then the binary is linked anew.
$(B)/link-mode: FORCE
	@mkdir -p $(@D)
	@echo '$(LINK)' | cmp -s - $@ || echo '$(LINK)' > $@

$(B)/leakmon: $(OBJECTS) $(B)/link-mode
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(LINK) -o $@ $(OBJECTS) $(LINK_LIBS)

# From the option table.
$(B)/gen/leakmon.bash: $(B)/leakmon
	$(call say,GEN)
	$(Q)$(B)/leakmon --completion bash > $@

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h include/*.h)
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(B)/gen/leakmon.bpf.o: $(HEAP_BPF)
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/gen/trial.bpf.o $(B)/gen/kernel.bpf.o $(B)/gen/suspect.bpf.o: $(B)/gen/%.bpf.o: $(B)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/gen/%.skel.h: $(B)/gen/%.bpf.o
	$(call say,BPF)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

$(B)/user/%.o: user/%.c | $(SKELETONS)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

# The page is embedded as it is committed; `make html-bundle` makes it of its sources, with npm.
$(B)/user/output/html.o $(B)/san/user/output/html.o: user/html/report.html

$(B)/san/%.o: %.c | $(SKELETONS)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -c $< -o $@

# An archive: each test takes what it uses.
$(B)/san/leakmon.a: $(SAN_OBJECTS)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $(SAN_OBJECTS)

$(B)/unit/%: tests/unit/%.c $(B)/san/leakmon.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SAN) -Werror=unused-function -Itests $< $(B)/san/leakmon.a -o $@ \
		-lcmocka -ljansson $(LIBS)

E2E_SUPPORT := $(filter-out tests/e2e/test_%.c,$(wildcard tests/e2e/*.c)) tests/truth/compare.c \
	tests/truth/compare_print.c
$(B)/e2e/%: tests/e2e/%.c $(E2E_SUPPORT) $(wildcard tests/e2e/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -Werror=unused-function -Itests/e2e $< $(E2E_SUPPORT) -o $@ \
		-lcmocka -ljansson -lpthread

# Targets keep their frame pointers: the walk follows them. Their truth must not be optimised away.
WORKLOAD_CFLAGS := -O2 -g -fno-omit-frame-pointer -fno-builtin -pthread -Wall -Wextra
$(B)/workloads/%: tests/workloads/%.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@ $(WORKLOAD_LIBS)

$(B)/workloads/%: tests/workloads/%.cc $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) $(WORKLOAD_CFLAGS) $< -o $@ $(WORKLOAD_LIBS)

# Each allocator, as real programs come to have it.
$(B)/workloads/jemalloc_api: WORKLOAD_LIBS := -ljemalloc
$(B)/workloads/tcmalloc_api: WORKLOAD_LIBS := -ltcmalloc_minimal
$(B)/workloads/mimalloc_api: WORKLOAD_LIBS := -lmimalloc
$(B)/workloads/late $(B)/workloads/cacher: WORKLOAD_LIBS := -ldl

MUSL_CC ?= musl-gcc
BUILD_OF_static := $(CC) -static
BUILD_OF_static_pie := $(CC) -static-pie
BUILD_OF_stripped := $(CC) -static -s
BUILD_OF_musl := $(MUSL_CC)
BUILD_OF_musl_static := $(MUSL_CC) -static
PORTABLE := $(addprefix $(B)/workloads/portable_,static static_pie stripped musl musl_static)
WORKLOADS += $(PORTABLE) $(B)/workloads/operators_static
$(PORTABLE): $(B)/workloads/portable_%: tests/workloads/portable.c tests/workloads/allocators.c \
		$(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(BUILD_OF_$*) $(WORKLOAD_CFLAGS) $< -o $@

$(B)/workloads/operators_static: tests/workloads/operators.cc $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -static $(WORKLOAD_CFLAGS) $< -o $@

# Threads that a monitor finds when it comes late, by C library.
OLDER := $(addprefix $(B)/workloads/older_,static musl)
WORKLOADS += $(OLDER)
$(OLDER): $(B)/workloads/older_%: tests/workloads/older.c $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(BUILD_OF_$*) $(WORKLOAD_CFLAGS) $< -o $@

# Thread-locals of which no C library tells.
WORKLOADS += $(B)/workloads/alone_static
$(B)/workloads/alone_static: $(B)/workloads/alone_%: tests/workloads/alone.c \
		$(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(BUILD_OF_$*) $(WORKLOAD_CFLAGS) $< -o $@

# What a program loads later (shapes), and what is preloaded to it (loser, evictor) or to leakmon
# (killer).
$(B)/workloads/%.so: tests/workloads/plugin/%.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) -O2 -g -fPIC -shared -Wall -Wextra -o $@ $< -ldl

$(B)/workloads/nortti.so: tests/workloads/plugin/nortti.cc
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -O2 -g -fno-rtti -fPIC -shared -Wall -Wextra -o $@ $<

# One library with thread-locals, in every way that it can come to a program (locals).
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
$(B)/e2e/test_e2e_hosts: $(B)/workloads/killer.so

$(B)/workloads/fixed/shop: tests/workloads/shop.c
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -DFIXED $< -o $@

# The second opinion of `make demo-retain`.
$(B)/workloads/holder_lsan: tests/workloads/holder.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fsanitize=leak $< -o $@

# What optimised C++ is in production: the walk has nothing but .eh_frame.
$(B)/workloads/deep: tests/workloads/deep.cc $(wildcard tests/workloads/*.h)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -O2 -g -fomit-frame-pointer -pthread -Wall -Wextra $< -o $@ -ldl

# The driver is a program of ours; what it measures keeps its frame pointers, like every workload.
BENCH_PROGRAMS := pair depth maps_many store graph_many
BENCH_SOURCES := $(filter-out $(BENCH_PROGRAMS:%=tests/bench/%.c),$(wildcard tests/bench/*.c))
$(B)/bench/bench: $(BENCH_SOURCES) $(wildcard tests/bench/*.h user/base/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(BENCH_SOURCES) -o $@ -ljansson -lm

$(B)/bench/pair: tests/bench/pair.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@

# Without frame pointers: the walk has nothing but .eh_frame, as in production.
$(B)/bench/depth: tests/bench/depth.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fomit-frame-pointer $< -o $@

$(B)/bench/maps_many: tests/bench/maps_many.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@

$(B)/bench/graph_many: tests/bench/graph_many.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@

# A day's recording, by a simulated clock: build/bench/store [--all-change]
$(B)/bench/store: tests/bench/store.c tests/unit/site_kinds.h $(filter-out $(B)/user/main.o,$(OBJECTS))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) -Itests $(filter-out %.h,$^) -o $@ $(LIBS)

# make bench BENCH='--quick', BENCH='--only pairs'
bench: deps
	@$(MAKE) --no-print-directory all $(B)/bench/bench $(BENCH_PROGRAMS:%=$(B)/bench/%) \
		$(addprefix $(B)/workloads/,blocks sites leak grower brood)
	@$(B)/bench/bench --json $(B)/bench/bench.json $(BENCH)

# What libgcc's unwinder says of every allocation, for comparison with leakmon's stacks.
TRUTH_COMPARE := tests/truth/compare.c tests/truth/compare_print.c
$(B)/truth/backtrace_preload.so: tests/truth/backtrace_preload.c tests/truth/recorder.c \
		$(wildcard tests/truth/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(filter-out -MMD -MP,$(CPPFLAGS) $(CFLAGS)) -fPIC -shared -fvisibility=hidden \
		-fno-builtin -o $@ $(filter %.c,$^) -ldl -lgcc_s

# Counts every allocation beside leakmon, for comparison of the numbers.
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

deps:
	@scripts/deps.sh

demo:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory all $(B)/workloads/demo_server
	@scripts/demo.sh

demo-threads:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory all $(B)/workloads/thread_server
	@scripts/demo_threads.sh

demo-retain:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory all $(B)/workloads/holder $(B)/workloads/holder_lsan
	@scripts/demo_retain.sh

demo-report:
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory all $(B)/workloads/shop $(B)/workloads/fixed/shop
	@scripts/demo_report.sh

# The page, anew from its sources in user/html/src. Needs npm; a C build does not.
html-bundle:
	cd user/html && npm ci --no-audit --no-fund && npm run build

test: deps
	@$(MAKE) --no-print-directory unit e2e fuzz

unit: $(UNIT_TESTS)
	@scripts/run_tests.sh $(UNIT_TESTS)

# Readers of our formats whose packages would start daemons: unpacked, not installed.
$(B)/consumers/packages: scripts/consumers.sh
	@scripts/consumers.sh $(B)/consumers
	@touch $@

e2e: all $(B)/consumers/packages $(WORKLOADS) $(E2E_TESTS) $(B)/truth/backtrace_preload.so $(B)/truth/counting_preload.so
	@scripts/run_tests.sh $(E2E_TESTS)

# tests/vm/init runs these in the virtual machine.
VM_WORKLOADS := $(addprefix $(B)/workloads/,leak allocators mixed quick execer mapper \
	kernelmem threads older grower sharer)
test-vm:
	@scripts/deps.sh build vm
	@$(MAKE) --no-print-directory all $(VM_WORKLOADS)
	@scripts/vm.sh

include tests/fuzz/fuzz.mk

C_FILES := $(wildcard user/*.[ch] user/*/*.[ch] user/arch/*/*.[ch] include/*.h bpf/*.[ch] tests/*/*.[ch] \
	tests/*/*/*.[ch] tests/*/*.cc tests/*/*/*.cc)
check: deps
	@scripts/check_rooms.sh
	@clang-format --dry-run --Werror $(C_FILES)
	@$(MAKE) --no-print-directory B=$(B)/check CFLAGS='-O2 -g -Werror' all
	@printf '%s\n' $(SOURCES) | xargs -P 2 -n 4 sh -c 'clang-tidy --quiet "$$@" -- \
		-std=gnu11 $(subst ",\",$(subst ',,$(CPPFLAGS))) 2>/dev/null' tidy
	@echo 'check: formatted, linted, without warnings'

install: all
	install -D -m 0755 $(B)/leakmon $(DESTDIR)$(PREFIX)/sbin/leakmon
	install -D -m 0644 user/man/leakmon.8 $(DESTDIR)$(PREFIX)/share/man/man8/leakmon.8
	install -D -m 0644 $(B)/gen/leakmon.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/leakmon
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/leakmon/schema user/schema/*.json

clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
