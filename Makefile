# SPDX-License-Identifier: GPL-2.0-or-later
# sonde: `make help` says what there is. One make, no recursion: every folder
# adds its part in build.mk. Only kmod/ has rules of its own, for kbuild.

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
# A library's SONAME changes when an old program would break.
SOVERSION := 0

# Output folder; nothing is written outside it but by install.
O ?= build
# One name for each file, as dependencies have it: not build/x here and /path/build/x there.
override O := $(patsubst $(CURDIR)/%,%,$(abspath $(O)))
prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
mandir ?= $(prefix)/share/man
DESTDIR ?=
PKG_CONFIG ?= pkg-config
INSTALL ?= install
# make's own default for CC is `cc`; respect only what a person set.
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin AR),default)
AR := ar
endif

CFLAGS ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wundef -Wwrite-strings -Wformat=2 \
	-Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-align \
	-Wimplicit-fallthrough $(if $(CI),-Werror)
# SAN=address,undefined or SAN=thread
SAN ?=
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
SONDE_CPPFLAGS := -D_GNU_SOURCE -Iinclude -Iinclude/uapi -DSONDE_VERSION=\"$(VERSION)\"
SONDE_CFLAGS := -std=gnu11 -pthread -fPIC $(WARNINGS) $(SAN_FLAGS)
SONDE_LDFLAGS := -pthread $(SAN_FLAGS)

# V=1 shows the commands.
ifeq ($(V),1)
Q :=
say :=
else
Q := @
# make -s is silent.
say = @$(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,printf '  %-7s %s\n')
endif
export V

# Goals that install packages first run alone, then make anew: what pkg-config
# answers below must be asked after the packages are there.
ifneq ($(filter deps deps-check help clean run check check-long check-kernels check-debug check-units check-corpus check-mpi-long check-cluster-long check-debian check-page budget,$(MAKECMDGOALS)),)
SONDE_DEFERRED := 1
endif

# name -> flags; a missing package is a sentence, not a page of errors.
pkg-cflags = $(shell $(PKG_CONFIG) --cflags $(1))
pkg-libs = $(shell $(PKG_CONFIG) --libs $(1))
ifndef SONDE_DEFERRED
PKGS := hwloc jansson
MISSING := $(strip $(foreach p,$(PKGS),$(shell $(PKG_CONFIG) --exists $(p) 2>/dev/null || echo $(p))))
ifneq ($(MISSING),)
$(error pkg-config does not find: $(MISSING). Run `make deps`)
endif
SONDE_CPPFLAGS += $(call pkg-cflags,$(PKGS))
SONDE_LIBS := $(call pkg-libs,$(PKGS)) -lm
endif

comma := ,

# Filled by the fragments.
PROGRAMS :=		# what `all` builds beside the libraries
TESTS :=		# what prove runs in `make check`
TEST_PROGRAMS :=	# what must be built before
INSTALL_TARGETS :=

include $(sort $(wildcard */build.mk) $(wildcard coll/*/build.mk tests/*/build.mk))

.PHONY: all install clean help deps deps-check run check check-long
all: $(PROGRAMS) ## build/sonde and libsonde; they run in place

# ---- compiling -----------------------------------------------------------
# Flags in a file: a change of flags or compiler rebuilds what it must.
FLAGS := $(CC) $(CPPFLAGS) $(CFLAGS) $(SONDE_CPPFLAGS) $(SONDE_CFLAGS) $(LDFLAGS)
$(O)/.flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@
FORCE:
.PHONY: FORCE flags
flags:
	@echo '$(FLAGS)'

# $(call compile,FLAGS): what a compiler says stays beside the object, for tests/compilers.t.
compile = $(CC) $(SONDE_CPPFLAGS) $(1) $(CPPFLAGS) $(SONDE_CFLAGS) $(CFLAGS) \
	$(if $(MAKE_TERMERR),-fdiagnostics-color=always) -MMD -MP -c -o $@ $< 2>$@.said; \
	status=$$?; cat $@.said >&2; [ -s $@.said ] || rm -f $@.said; exit $$status

$(O)/%.o: %.c $(O)/.flags
	$(say) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(call compile)

-include $(shell find $(O) -name '*.d' 2>/dev/null)

install: $(INSTALL_TARGETS) ## programs, library, headers, man pages

clean: ## remove the output folder
	$(say) CLEAN $(O)
	$(Q)rm -rf $(O)

help: ## this list
	@echo 'sonde $(VERSION)'
	@sed -n 's/^\([a-z-]*\):[^#=]*## *\(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | \
		awk -F'|' '{ printf "%-22s%s\n", $$1, $$2 }'
	@echo 'Variables: O=$(O) prefix=$(prefix) DESTDIR= CC=$(CC) CFLAGS= V=1 SAN=address,undefined'

# ---- the two commands ----------------------------------------------------
deps: ## install the packages that `make run` needs
	$(Q)./deps run

deps-check: ## and those that `make check` needs
	$(Q)./deps run check

# A second make, since pkg-config can answer only when deps are there. It has a job a CPU, if
# nobody said how many; a third one has none, as tests start makes of their own.
jobs = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

run: deps ## install what is needed, build, measure this machine, show the report
	$(Q)$(MAKE) --no-print-directory $(jobs) all
	$(Q)$(O)/sonde report -o $(O)/report

check: deps-check ## install what is needed, build, run all tests
	$(Q)$(MAKE) --no-print-directory $(jobs) all test-programs
	$(Q)$(MAKE) --no-print-directory run-tests

check-long: ## make check and all that takes longer
	$(Q)for part in check check-units check-kernels check-debug check-corpus check-sim \
			check-dsm-long check-mpi-long check-cluster-long check-counts check-debian check-page; do \
		$(MAKE) --no-print-directory $$part || exit; done

# Unit tests that hang are found; those on a machine with much other work are not.
.PHONY: run-tests test-programs
test-programs: $(TEST_PROGRAMS)
run-tests: all test-programs
	$(Q)CK_TIMEOUT_MULTIPLIER=10 O='$(O)' SONDE='$(O)/sonde' \
		prove --jobs 2 --timer --failures --comments $(PROVE_FLAGS) $(TESTS)
