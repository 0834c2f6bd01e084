# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make bench [BENCH='--quick' | BENCH='--only pairs,walk']   the cost of leakmon on this machine
#   make bench-speed [MEMLEAK_SOURCE=DIR]                 its speed, compared with its peers
#   make bench-profile-first [FIRST='--runs 20']          time until a profile ranks a leak first: an hour
#   make bench-profile-steady [STEADY='--seconds 1800']   its false leaks: half an hour
#   make bench-profile-crowd [CROWD='--seconds 3600']     its own cost with 50 processes: an hour
#   make bench-python [OBJECTS='1000000 10000000']        census of Python's objects: two minutes
#   make bench-java, -node, -dotnet, -ocaml, -ghc [OBJECTS=1000000]    pause, memory and time, compared with the
#                         runtimes' own tools
#
# Included by tests/tests.mk. Installs nothing, but lists missing programs. MEMLEAK_SOURCE is a source
# tree of bcc: its memleak is built there and measured, too; default: an installed one.

# Against memleak, heaptrack and empty programs: some ten minutes.
BENCH_SPEED := pairs,bystander,walk,lifecycle,sqlite,threads,crowd

# The driver is a program of ours; its subjects keep their frame pointers, like every workload.
BENCH_PROGRAMS := pair depth maps_many store graph_many graph_linked sampled pulse
BENCH_SOURCES := $(filter-out $(BENCH_PROGRAMS:%=tests/bench/%.c),$(wildcard tests/bench/*.c))
$(B)/bench/bench: $(BENCH_SOURCES) $(wildcard tests/bench/*.h user/base/*.h)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(BENCH_SOURCES) -o $@ -ljansson -lm

$(B)/bench/pair: tests/bench/pair.c tests/bench/probed.h tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@

$(B)/bench/sampled: tests/bench/sampled.c tests/workloads/sampler.h tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -Itests $< -o $@ -lm

# Without frame pointers: the walk has only .eh_frame, as in production.
$(B)/bench/depth: tests/bench/depth.c tests/bench/probed.h tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -fomit-frame-pointer $< -o $@

$(B)/bench/pulse: tests/bench/pulse.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) -Itests $< -o $@

$(B)/bench/maps_many: tests/bench/maps_many.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@

$(B)/bench/graph_many: tests/bench/graph_many.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@

$(B)/bench/graph_linked: tests/bench/graph_linked.c tests/workloads/workload.h
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(WORKLOAD_CFLAGS) $< -o $@

# A day's recording, by a simulated clock: build/bench/store [--all-change]
$(B)/bench/store: tests/bench/store.c tests/unit/site_kinds.h $(filter-out $(B)/user/main.o,$(OBJECTS))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) -Itests $(filter-out %.h,$^) -o $@ $(LIBS)

# Third-party sources: if the build fails, the benchmark omits it.
.PHONY: bench-memleak
bench-memleak:
ifdef MEMLEAK_SOURCE
	@$(MAKE) --no-print-directory -C $(MEMLEAK_SOURCE)/libbpf-tools memleak BPFTOOL=$(BPFTOOL) \
		USE_BLAZESYM=0 >$(B)/bench/memleak.log 2>&1 || \
		echo "bench: memleak cannot be built; $(B)/bench/memleak.log says why"
else
	@echo 'bench: memleak is not built; MEMLEAK_SOURCE=DIR names a source tree of bcc'
endif

.PHONY: bench bench-speed
bench:
	@$(DEPS) --check bench
	@$(MAKE) --no-print-directory all $(B)/bench/bench $(BENCH_PROGRAMS:%=$(B)/bench/%) \
		$(addprefix $(B)/workloads/,blocks sites leak grower brood)
	@$(MAKE) --no-print-directory bench-memleak
	@$(if $(MEMLEAK_SOURCE),LEAKMON_BENCH_MEMLEAK=$(MEMLEAK_SOURCE)/libbpf-tools/memleak) \
		$(B)/bench/bench --json $(B)/bench/bench.json $(BENCH)

bench-speed:
	@$(MAKE) --no-print-directory bench BENCH='--only $(BENCH_SPEED) $(BENCH)'

.PHONY: bench-profile-first
bench-profile-first:
	@$(MAKE) --no-print-directory all $(B)/workloads/dripper $(B)/workloads/dripper_musl
	@tests/bench/profile_first.py --results $(B)/bench-profile-first.jsonl $(FIRST)

.PHONY: bench-python
bench-python: all
	@tests/bench/python_census.py $(B)/leakmon 3 $(or $(OBJECTS),1000000 10000000)

.PHONY: bench-java bench-node bench-dotnet bench-ocaml bench-ghc
bench-java bench-node bench-dotnet bench-ocaml bench-ghc: all
	@tests/bench/managed_census.py $(@:bench-%=%) $(B)/leakmon $(or $(RUNS),7) $(or $(OBJECTS),1000000)

.PHONY: bench-profile-steady bench-profile-crowd
bench-profile-steady bench-profile-crowd:
	@$(DEPS) --check bench
	@$(MAKE) --no-print-directory all $(B)/workloads/steady
	@tests/bench/profile_steady.py $(if $(@:%crowd=),programs $(STEADY),crowd $(CROWD))
