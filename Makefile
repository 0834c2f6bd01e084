# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make            build/leakmon; lists missing packages   make demo     install them, build, show a leak
#   make STATIC=1   the same as one static-pie file         make test     install them, run every test
#   make deps       install packages for build and tests    make install  DESTDIR= PREFIX=/usr/local
#   make check      formatting, linting, warnings, layers   make bench    the cost of leakmon here
#   make fuzz       TIME=S  every reader of hostile input   make test-vm  other kernels, under qemu
#   make demo-threads demo-retain demo-report               make dist   sources, static program
#   make image      a container image, from scratch         make deb    a Debian package
#   make images     one archive of those for several machines               make debian13  build and unit tests there
#   make clean                                              make rpm    an RPM package
#
# Only `deps`, `demo` and `test` install packages, and list them first. V=1 shows the commands.
# -s shows none. `demo`, `test`, `fuzz` and `check` build on all CPUs unless -j says otherwise.
# Rules for tests: tests/tests.mk, tests/bench/bench.mk, tests/fuzz/fuzz.mk.

VERSION := 0.2.0
PREFIX  ?= /usr/local
CLANG   ?= clang
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
ifeq ($(origin CC),default)
CC      := gcc
endif

ifneq ($(V),1)
Q := @
say = @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,printf '  %-6s %s\n' $(1) $@)
endif
# Another make of ours, as wide as this machine unless -j says otherwise; "+" hands it the job server,
# which make itself does only where a recipe has $(MAKE) in its own text.
PARALLEL = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# The folder in user/binary/arch/ and in bpf/arch/; and libbpf's name for it. For another machine:
#   make ARCH=arm64 CC=aarch64-linux-gnu-gcc     in build/arm64/ (deps group arm64)
HOST     := $(patsubst aarch64,arm64,$(shell uname -m))
ARCH     := $(HOST)
ARCH_BPF := $(patsubst x86_64,x86,$(ARCH))
FOREIGN  := $(filter-out $(HOST),$(ARCH))
B        := build$(FOREIGN:%=/%)
ifeq ($(wildcard user/binary/arch/$(ARCH)/facts.h),)
$(error leakmon has no user/binary/arch/$(ARCH): it runs on 64-bit x86 and on 64-bit little-endian Arm)
endif
# Runs programs of the other machine here: they find their libraries in Debian's folders.
EMULATOR := $(if $(FOREIGN),qemu-$(patsubst arm64,aarch64,$(ARCH))-static)

# Values from the command line or the environment are extended, never replaced.
WARNINGS := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wformat=2
CFLAGS   ?= -O2 -g
override CPPFLAGS += -D_GNU_SOURCE -DLEAKMON_VERSION='"$(VERSION)"' -Iuser -Iuser/binary/arch/$(ARCH) -Iinclude -I$(B)/gen
override CFLAGS += -std=gnu11 $(WARNINGS) -MMD -MP
LIBS     := -lbpf -ldw -lelf -liberty -lcapstone -lseccomp -lcap-ng -llzma -lzstd -llz4 -ljansson -lsqlite3 -lncursesw -ltinfo -lz -lm -lpthread
STATIC_LIBS := $(LIBS) -lz -llzma -lbz2

# A root tool that reads hostile files. Sanitised objects go without: ASan checks more, and the
# fortified functions would pass it by. _FORTIFY_SOURCE means nothing at -O0, where glibc warns.
HARDENING := -fPIE -fstack-protector-strong -fstack-clash-protection \
	$(if $(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
LINK      := $(if $(filter 1,$(STATIC)),-static-pie,-pie) -Wl,-z,relro,-z,now $(LDFLAGS)
LINK_LIBS := $(if $(filter 1,$(STATIC)),$(STATIC_LIBS),$(LIBS))

# No path of the machine that it was built on: line information goes into the program.
# clang 14 cannot put the result of an atomic addition to use without the v3 instruction set.
BPF_CFLAGS := -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_$(ARCH_BPF) -D__bpf__ -Iinclude -Ibpf \
	-Ibpf/arch/$(ARCH) -Iuser/binary/arch/$(ARCH) \
	-ffile-prefix-map=$(CURDIR)=. \
	-I/usr/include/$(shell $(CC) -print-multiarch 2>/dev/null) -Wall -Wno-unused-function -MMD -MP

# A wing has rooms, and heap/runtime/ a folder for each runtime.
SOURCES  := $(sort $(wildcard user/*.c user/*/*.c user/*/*/*.c user/heap/runtime/*/*.c user/binary/arch/$(ARCH)/*.c))
OBJECTS  := $(SOURCES:%.c=$(B)/%.o)
HEAP_BPF := $(patsubst bpf/%.c,$(B)/bpf/%.o,$(filter-out \
	bpf/feature_probe.bpf.c bpf/held.bpf.c bpf/kernel.bpf.c bpf/suspect.bpf.c bpf/victim.bpf.c,$(wildcard bpf/*.bpf.c)))
SKELETONS := $(patsubst %,$(B)/gen/%.skel.h,leakmon feature_probe held kernel suspect victim)
BUILD_TOOLS := $(B)/has-build $(if $(filter 1,$(STATIC)),$(B)/has-static)
DEPS     := CC='$(CC)' CLANG='$(CLANG)' BPFTOOL='$(BPFTOOL)' scripts/deps.sh

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: FORCE all deps demo demo-retain demo-threads demo-report html-bundle check install dist deb rpm release \
	image image-root images clean

COMPLETIONS := $(patsubst %,$(B)/gen/leakmon.%,bash fish zsh)
all: $(B)/leakmon $(COMPLETIONS)

# Once for a build directory, before compilers report missing files in their own words.
$(B)/has-%: scripts/deps.sh
	@$(DEPS) --check $* $(FOREIGN)
	@mkdir -p $(@D) && touch $@

# Contains the link mode, and changes only with it: then the binary is relinked.
$(B)/link-mode: FORCE
	@mkdir -p $(@D)
	@echo '$(LINK)' | cmp -s - $@ || echo '$(LINK)' > $@

$(B)/leakmon: $(OBJECTS) $(B)/link-mode
	$(call say,LD)
	$(Q)$(CC) $(CFLAGS) $(HARDENING) $(LINK) -o $@ $(OBJECTS) $(LINK_LIBS)

# From the option table.
$(COMPLETIONS): $(B)/gen/leakmon.%: $(B)/leakmon
	$(call say,GEN)
	$(Q)$(EMULATOR) $(B)/leakmon --completion $* > $@

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h bpf/arch/*/*.h include/*.h) | $(BUILD_TOOLS)
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(B)/gen/leakmon.bpf.o: $(HEAP_BPF)
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/gen/feature_probe.bpf.o $(B)/gen/held.bpf.o $(B)/gen/kernel.bpf.o $(B)/gen/suspect.bpf.o \
$(B)/gen/victim.bpf.o: $(B)/gen/%.bpf.o: $(B)/bpf/%.bpf.o
	@mkdir -p $(@D)
	$(call say,BPF)
	$(Q)$(BPFTOOL) gen object $@ $^

$(B)/gen/%.skel.h: $(B)/gen/%.bpf.o
	$(call say,BPF)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# Warnings stay beside the object: `make check` reads them, and needs no build of its own.
$(B)/user/%.o: user/%.c | $(SKELETONS)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(HARDENING) -c $< -o $@ 2>$(@:.o=.warnings); \
		status=$$?; cat $(@:.o=.warnings) >&2; exit $$status

# The page is embedded as committed; `make html-bundle` builds it from its sources, with npm.
$(B)/user/output/html/html.o $(B)/asan/user/output/html/html.o: user/html/report.html

# make deps FOR='build vm': scripts/deps.sh has the groups.
deps:
	@$(DEPS) $(FOR)

demo:
	@$(DEPS) build
	+@$(PARALLEL) all $(B)/workloads/demo_server
	@scripts/demo.sh

demo-threads: all $(B)/workloads/thread_server
	@scripts/demo_threads.sh

demo-retain: all $(B)/workloads/holder $(B)/workloads/holder_lsan
	@scripts/demo_retain.sh

demo-report: all $(B)/workloads/shop $(B)/workloads/fixed/shop
	@scripts/demo_report.sh

# The page, anew from its sources in user/html/src. Needs npm; a C build does not.
html-bundle:
	cd user/html && npm ci --no-audit --no-fund && npm run build

C_FILES := $(wildcard user/*.[ch] user/*/*.[ch] user/*/*/*.[ch] user/*/*/*/*.[ch] include/*.h bpf/*.[ch] bpf/arch/*/*.h tests/*/*.[ch] \
	tests/*/*/*.[ch] tests/*/*.cc tests/*/*/*.cc)
# A file is linted again when its object is newer, which follows its headers.
TIDY := $(SOURCES:%.c=$(B)/tidy/%.ok)
$(B)/tidy/%.ok: $(B)/%.o .clang-tidy
	@mkdir -p $(@D)
	$(call say,TIDY)
	$(Q)clang-tidy --quiet $*.c -- -std=gnu11 $(CPPFLAGS) 2>$(@:.ok=.log) || \
		{ cat $(@:.ok=.log) >&2; exit 1; }
	@touch $@

check:
	@$(DEPS) --check build check
	@scripts/check_rooms.sh
	@scripts/check_arch.sh
	@scripts/check_links.sh
	@scripts/check_words.sh
	@$(MAKE) --no-print-directory check-arch
	@clang-format --dry-run --Werror $(C_FILES)
	+@$(PARALLEL) -k all $(TIDY)
	+@scripts/check_runtimes.sh $(B)
	@! grep . $(OBJECTS:.o=.warnings)
	@echo 'check: formatted, linted, layered, without warnings or dead links'

install: all
	install -D -m 0755 $(B)/leakmon $(DESTDIR)$(PREFIX)/sbin/leakmon
	install -D -m 0644 user/man/leakmon.8 $(DESTDIR)$(PREFIX)/share/man/man8/leakmon.8
	install -D -m 0644 $(B)/gen/leakmon.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/leakmon
	install -D -m 0644 $(B)/gen/leakmon.fish \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/leakmon.fish
	install -D -m 0644 $(B)/gen/leakmon.zsh \
		$(DESTDIR)$(PREFIX)/share/zsh/vendor-completions/_leakmon
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/leakmon/schema user/schema/*.json
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/leakmon scripts/deploy/alerts.yml scripts/deploy/grafana.json \
		scripts/deploy/leakmon.apparmor
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/leakmon/systemd scripts/deploy/systemd/*.conf
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's,/usr/local/,$(PREFIX)/,' scripts/deploy/systemd/leakmon.service \
		> $(DESTDIR)$(PREFIX)/lib/systemd/system/leakmon.service
	chmod 0644 $(DESTDIR)$(PREFIX)/lib/systemd/system/leakmon.service

PACKAGE := ARCH=$(ARCH) CC='$(CC)' scripts/package/package.sh

# In build/dist/: sources and the static program; a Debian and an RPM package; a container image.
dist:
	@$(DEPS) --check build static $(FOREIGN)
	@$(PACKAGE) dist $(VERSION)

deb:
	@$(DEPS) --check build deb $(FOREIGN)
	@$(PACKAGE) deb $(VERSION)

rpm:
	@$(DEPS) --check build static rpm
	@scripts/package/package.sh rpm $(VERSION)

image: BUILDERS := image
image image-root:
	@$(DEPS) --check build static $(BUILDERS) $(FOREIGN)
	@$(PACKAGE) $(@:image-root=root) $(VERSION)

# In build/dist/: all of these, the list of components, and SHA256SUMS, which SIGN=KEY (gpg) signs.
release:
	@$(PACKAGE) versions $(VERSION)
	@for package in dist deb rpm image; do \
		$(MAKE) --no-print-directory $$package || exit; done
	@$(PACKAGE) release $(VERSION)

# Of the images that `make image` has made: this machine's, and those of others (ARCH, CC).
images:
	@$(PACKAGE) images $(VERSION)

clean:
	rm -rf $(B)

include tests/tests.mk

# Not in unpacked virtual machines, nor in builds for other machines.
-include $(shell find $(B) \( -path '$(B)/vm' -o -path '$(B)/arm64' \) -prune -o -name '*.d' -type f -print 2>/dev/null)
