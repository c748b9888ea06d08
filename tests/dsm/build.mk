# SPDX-License-Identifier: GPL-2.0-or-later
# tests/dsm/X.c is a program that prints TAP; faults.c is linked with the core that
# can be made wrong on purpose.
DSM_TEST_SRC := $(filter-out tests/dsm/faults.c,$(sort $(wildcard tests/dsm/*.c)))
DSM_TEST_BIN := $(DSM_TEST_SRC:%.c=$(O)/%)
DSM_FAULTS_BIN := $(O)/tests/dsm/faults

TEST_PROGRAMS += $(DSM_TEST_BIN) $(DSM_FAULTS_BIN)
TESTS += $(DSM_TEST_BIN) $(DSM_FAULTS_BIN)

$(DSM_TEST_BIN): $(O)/%: $(O)/%.o $(DSM_LIB)
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs check)

$(DSM_FAULTS_BIN): $(O)/faulty/tests/dsm/faults.o $(DSM_FAULTY_LIB)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^

.PHONY: dsm-programs check-dsm check-dsm-long
dsm-programs: $(DSM_TEST_BIN) $(DSM_FAULTS_BIN)

check-dsm: dsm-programs ## the tests of dsm/ alone
	$(Q)prove --timer --failures --comments $(PROVE_FLAGS) $(DSM_TEST_BIN) $(DSM_FAULTS_BIN)

check-dsm-long: dsm-programs ## dsm: 300,000 random programs, kernels of full size
	$(Q)$(O)/tests/dsm/fuzz 1 300000
	$(Q)$(O)/tests/dsm/search long
	$(Q)$(O)/tests/dsm/kernels full
