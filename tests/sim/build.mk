# SPDX-License-Identifier: GPL-2.0-or-later
# tests/sim/caches is a script that builds this program and runs it.
TEST_PROGRAMS += $(O)/tests/sim/caches

$(O)/tests/sim/caches: $(O)/tests/sim/caches.o $(O)/tests/libsim.a $(O)/libsonde.a
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(SONDE_LIBS)

.PHONY: sim-caches check-corpus
check-corpus: deps-check ## the cache probe against a table of machines, some 40 minutes
	$(Q)$(MAKE) --no-print-directory sim-caches
	$(Q)O='$(O)' prove --timer --comments $(PROVE_FLAGS) tests/sim/corpus.t

sim-caches: $(O)/tests/sim/caches
