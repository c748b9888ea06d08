# SPDX-License-Identifier: GPL-2.0-or-later
# What libsonde-coll sends against what `sonde sim alltoall --counts` says: under
# SMPI, for which the library is compiled anew, and under MPICH as it is.
ifndef SONDE_DEFERRED
COUNTS_BIN :=

ifneq ($(filter mpich,$(COLL_MPIS)),)
COUNTS_BIN += $(O)/mpich/tests/counts/isends

# Its PMPI_Isend() must be seen by the library.
$(O)/mpich/tests/counts/isends: LDFLAGS += -rdynamic
$(O)/mpich/tests/counts/isends: $(O)/mpich/tests/counts/isends.o $(O)/libsonde-coll.so
	$(say) LD $@
	$(Q)$(call coll-link,mpich)
endif

# SMPI gives each rank a copy of the program, so the library's sources are in it.
ifneq ($(shell command -v smpicc),)
SMPI_SRC := tests/counts/isends.c tests/counts/awake.c $(COLL_SRC)
COUNTS_BIN += $(O)/smpi/tests/counts/isends

$(O)/smpi/%.o: %.c $(O)/.flags
	$(say) SMPICC $<
	$(Q)mkdir -p $(@D)
	$(Q)smpicc $(SONDE_CPPFLAGS) -std=gnu11 -fPIC -w -O2 -MMD -MP -c -o $@ $<

$(O)/smpi/tests/counts/isends: $(SMPI_SRC:%.c=$(O)/smpi/%.o) $(O)/libsonde.so
	$(say) LD $@
	$(Q)smpicc -o $@ $(filter %.o,$^) -L$(O) -lsonde -Wl,-rpath,$(abspath $(O)) $(SONDE_LIBS) -ldl
endif

TEST_PROGRAMS += $(COUNTS_BIN)
TESTS += tests/counts/counts.bats

.PHONY: check-counts
check-counts: $(O)/sonde $(O)/libsonde-yield.so $(COUNTS_BIN) ## the messages of 16x8 ranks
	$(Q)O='$(O)' SONDE='$(O)/sonde' COUNTS_NODES=16 COUNTS_PPN=8 \
		prove --timer $(PROVE_FLAGS) tests/counts/counts.bats
endif
