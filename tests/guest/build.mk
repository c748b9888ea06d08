# SPDX-License-Identifier: GPL-2.0-or-later
# Tests that need the module, in a guest: tests/guest/X.c is a program that
# prints TAP; all of them run in one guest per kernel. README.md says more.
GUEST_SRC := $(sort $(wildcard tests/guest/*.c))
GUEST_BIN := $(GUEST_SRC:%.c=$(O)/%)
GUEST_KERNELS := 5.10 6.1 6.12 7.2 7.3
GUEST_T := tests/guest/guest

TEST_PROGRAMS += $(GUEST_BIN)
TESTS += $(GUEST_T)-6.1.t tests/guest/prefetch.t tests/guest/prefetch-smt.t
TESTS += tests/guest/region-nodes.t tests/guest/budget.t tests/guest/bed.t tests/guest/exchange.t
TESTS += tests/guest/dsm-jobs.t

$(GUEST_BIN): $(O)/%: $(O)/%.o $(O)/libsonde.a
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(SONDE_LIBS)

# Where it is missing the test says so; nothing else wants it.
$(O)/tests/guest/dsm_verbs: SONDE_LIBS += $(shell $(PKG_CONFIG) --libs libibverbs 2>/dev/null)

.PHONY: check-kernels check-debug budget guest-shell guest-programs
guest-programs: $(GUEST_BIN) $(O)/tests/dsm/fault_system $(O)/sonde

check-kernels: deps-check ## the tests in guests with every kernel
	$(Q)$(MAKE) --no-print-directory guest-programs
	$(Q)O='$(O)' SONDE_LONG=1 prove --timer $(PROVE_FLAGS) $(GUEST_KERNELS:%=$(GUEST_T)-%.t) \
		tests/guest/bed-faults.t

check-debug: deps-check ## the same on a kernel with KASAN, lockdep, kmemleak
	$(Q)$(MAKE) --no-print-directory guest-programs
	$(Q)O='$(O)' SONDE_LONG=1 prove --timer $(PROVE_FLAGS) $(GUEST_T)-debug.t tests/guest/bed-debug.t

budget: deps-check ## instructions of the module's calls against their budget
	$(Q)$(MAKE) --no-print-directory all guest-programs mpi-programs
	$(Q)O='$(O)' tests/guest/check-budget

guest-shell: deps-check ## a shell in a guest with the module loaded
	$(Q)O='$(O)' tests/guest/run --shell
