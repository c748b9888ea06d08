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
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs check) $(SONDE_LIBS)

$(DSM_FAULTS_BIN): $(O)/faulty/tests/dsm/faults.o $(DSM_FAULTY_LIB)
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^

# Programs that run under mpiexec, once for each MPI that is there.
DSM_MPI_TESTS := ends port watch
define dsm-mpi-tests
DSM_MPI_BIN += $(DSM_MPI_TESTS:%=$(O)/$(1)/tests/dsm/mpi/%)
$(DSM_MPI_TESTS:%=$(O)/$(1)/tests/dsm/mpi/%): %: %.o $(O)/$(dsm-$(1)-lib).so
	$$(say) LD $$@
	$$(Q)$$(call dsm-link,$(1))
endef
DSM_MPI_BIN :=
$(foreach mpi,$(COLL_MPIS),$(eval $(call dsm-mpi-tests,$(mpi))))
TEST_PROGRAMS += $(DSM_MPI_BIN)
TESTS += $(sort $(wildcard tests/dsm/*.t))

.PHONY: dsm-programs check-dsm check-dsm-long
dsm-programs: $(DSM_TEST_BIN) $(DSM_FAULTS_BIN)

check-dsm: all dsm-programs $(DSM_MPI_BIN) ## the tests of dsm/ alone
	$(Q)O='$(O)' SONDE='$(O)/sonde' prove --timer --failures --comments $(PROVE_FLAGS) \
		$(DSM_TEST_BIN) $(DSM_FAULTS_BIN) $(sort $(wildcard tests/dsm/*.t))

check-dsm-long: all dsm-programs guest-programs $(DSM_MPI_BIN) ## dsm: 300,000 random programs, 1 to 8 processes
	$(Q)O='$(O)' SONDE='$(O)/sonde' SONDE_LONG=1 prove --timer $(PROVE_FLAGS) tests/dsm/jobs.t \
		tests/guest/dsm-jobs.t
	$(Q)$(O)/tests/dsm/fuzz 1 300000
	$(Q)$(O)/tests/dsm/races 1 100000
	$(Q)$(O)/tests/dsm/search long
	$(Q)$(O)/tests/dsm/kernels full
	$(Q)O='$(O)' SONDE_DSM_PAGES=1000000 tests/guest/run --name dsm-pages --mem 12000 \
		--timeout 3600 -- $(O)/tests/guest/dsm :: $(O)/tests/dsm/fault_system
