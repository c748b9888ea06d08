# SPDX-License-Identifier: GPL-2.0-or-later
# The cluster of namespaces itself is scripts; this is what its tests run on it.
CLUSTER_BIN := $(O)/tests/cluster/places

TEST_PROGRAMS += $(CLUSTER_BIN)
TESTS += $(sort $(wildcard tests/cluster/*.bats))

$(CLUSTER_BIN): $(O)/tests/cluster/%: tests/cluster/%.c $(O)/.flags
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)mpicc.mpich -std=gnu11 -D_GNU_SOURCE $(WARNINGS) $(CFLAGS) -o $@ $<

.PHONY: cluster-programs
cluster-programs: $(CLUSTER_BIN) $(O)/tests/run/alltoall.mpich

.PHONY: check-cluster-long
check-cluster-long: deps-check ## what tests/cluster says of layers and of an exchange, ten times
	$(Q)$(MAKE) --no-print-directory all cluster-programs
	$(Q)O='$(O)' SONDE='$(O)/sonde' SONDE_LONG=1 prove --timer $(PROVE_FLAGS) tests/cluster/comm.bats \
		tests/cluster/netns.bats
