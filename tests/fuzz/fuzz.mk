# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make fuzz TIME=SECONDS   libFuzzer under ASan and UBSan on every reader of hostile input
#   make fuzz-coverage       lines of these readers that the inputs found so far have reached
#   make fuzz-corpus         keeps the best of these inputs in tests/fuzz/corpus, for the repository
#
# Included by tests/tests.mk. A harness is one file tests/fuzz/fuzz_NAME.c; scripts/fuzz.sh has its
# seeds.
FUZZ_SAN     := -fsanitize=address,undefined -fno-sanitize-recover=undefined
# -w: gcc has warned of what matters.
FUZZ_CFLAGS  := -O1 -g -fno-omit-frame-pointer -std=gnu11 -w -MMD -MP $(FUZZ_SAN)
# The rooms with readers of hostile input, and what these readers need of others.
FUZZ_ROOMS   := base binary heap/allocators heap/runtime process/pause process/proc process/symbol process/target report
FUZZ_SOURCES := $(filter $(FUZZ_ROOMS:%=user/%/%),$(SOURCES)) user/app/triage/process_reading.c
FUZZ_OBJECTS := $(FUZZ_SOURCES:%.c=$(B)/fuzz/%.o)
FUZZERS      := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
TIME         ?= 5

$(B)/fuzz/user/%.o: user/%.c | $(SKELETONS)
	@mkdir -p $(@D)
	$(call say,CLANG)
	$(Q)$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(B)/fuzz/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_OBJECTS)
	$(call say,LD)
	$(Q)$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -fsanitize=fuzzer -Itests $< $(FUZZ_OBJECTS) -o $@ \
		$(LIBS) -lcmocka

$(B)/fuzz/seed_worker_answer: tests/fuzz/seed_worker_answer.c $(FUZZ_OBJECTS)
	$(call say,LD)
	$(Q)$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -Itests $< $(FUZZ_OBJECTS) -o $@ $(LIBS)

# Without sanitizers: only coverage counts.
COVERAGE_CFLAGS := -O1 -g -std=gnu11 -w -MMD -MP -fprofile-instr-generate -fcoverage-mapping
COVERED      := $(FUZZERS:$(B)/fuzz/%=$(B)/coverage/%)
COVERAGE_OBJECTS := $(FUZZ_SOURCES:%.c=$(B)/coverage/%.o)

$(B)/coverage/user/%.o: user/%.c | $(SKELETONS)
	@mkdir -p $(@D)
	$(call say,CLANG)
	$(Q)$(CLANG) $(CPPFLAGS) $(COVERAGE_CFLAGS) -fsanitize=fuzzer-no-link -c $< -o $@

$(B)/coverage/fuzz_%: tests/fuzz/fuzz_%.c $(COVERAGE_OBJECTS)
	$(call say,LD)
	$(Q)$(CLANG) $(CPPFLAGS) $(COVERAGE_CFLAGS) -fsanitize=fuzzer -Itests $< $(COVERAGE_OBJECTS) -o $@ \
		$(LIBS) -lcmocka

.PHONY: fuzz fuzz-corpus fuzz-coverage fuzz-programs
fuzz-programs: $(FUZZERS) $(B)/fuzz/seed_worker_answer

fuzz:
	@$(DEPS) --check build unit fuzz
	+@$(PARALLEL) fuzz-programs
	@scripts/fuzz.sh $(B)/fuzz $(TIME) $(FUZZERS)

fuzz-coverage: fuzz
	+@$(PARALLEL) $(COVERED)
	@scripts/fuzz_coverage.sh $(B) $(COVERED)

fuzz-corpus: fuzz-programs
	@scripts/fuzz_corpus.sh $(B)/fuzz tests/fuzz/corpus $(FUZZERS)
