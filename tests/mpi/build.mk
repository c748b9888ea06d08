# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that run under mpiexec, once for each MPI that is there.
MPI_TEST_SHARED := types
MPI_TESTS := $(filter-out $(MPI_TEST_SHARED),$(patsubst tests/mpi/%.c,%,$(sort $(wildcard tests/mpi/*.c))))

# name of the MPI
define mpi-tests
mpi-$(1)-bin := $$(MPI_TESTS:%=$$(O)/$(1)/tests/mpi/%)
TEST_PROGRAMS += $$(mpi-$(1)-bin)

$$(mpi-$(1)-bin): $$(O)/$(1)/%: $$(O)/$(1)/%.o $$(MPI_TEST_SHARED:%=$$(O)/$(1)/tests/mpi/%.o) $$(O)/$$(coll-$(1)-lib).so
	$$(say) LD $$@
	$$(Q)$$(call coll-link,$(1))
endef
$(foreach mpi,$(COLL_MPIS),$(eval $(call mpi-tests,$(mpi))))

.PHONY: mpi-programs
mpi-programs: $(foreach mpi,$(COLL_MPIS),$(mpi-$(mpi)-bin))

TESTS += $(sort $(wildcard tests/mpi/*.t))

.PHONY: check-mpi-long
check-mpi-long: deps-check ## tests/mpi with more sizes, mappings and half an hour at random
	$(Q)$(MAKE) --no-print-directory all mpi-programs
	$(Q)! $(PKG_CONFIG) --exists mpich || \
		$(MAKE) --no-print-directory O='$(O)/tsan' SAN=thread '$(O)/tsan/mpich/tests/mpi/comms'
	$(Q)O='$(O)' SONDE_TSAN_COMMS='$(abspath $(O))/tsan/mpich/tests/mpi/comms' SONDE_LONG=1 \
		prove --timer $(PROVE_FLAGS) $(sort $(wildcard tests/mpi/*.t))
