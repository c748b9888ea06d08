# SPDX-License-Identifier: GPL-2.0-or-later
# Tests of libsonde-yield and `sonde run`. MPI programs are built once for MPICH
# and once for Open MPI, by the compiler wrappers' Debian names.
RUN_POLL := $(O)/tests/run/poll
RUN_MPI := $(O)/tests/run/alltoall.mpich $(O)/tests/run/alltoall.openmpi
RUN_MODULE := $(O)/tests/run/alltoall.so

TEST_PROGRAMS += $(RUN_POLL) $(O)/tests/run/load $(RUN_MPI) $(RUN_MODULE)
TESTS += $(sort $(wildcard tests/run/*.bats tests/run/*.t))

$(O)/tests/run/libpoll-ucx.so $(O)/tests/run/libpoll-mpi.so: $(O)/tests/run/lib%.so: $(O)/tests/run/%.o
	$(say) LD $@
	$(Q)$(CC) -shared $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^

$(RUN_POLL): $(O)/tests/run/poll.o $(O)/tests/run/libpoll-mpi.so $(O)/tests/run/libpoll-ucx.so
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN' -o $@ $^

$(O)/tests/run/load: $(O)/tests/run/load.o
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ -ldl

$(RUN_MPI): $(O)/tests/run/alltoall.%: tests/run/alltoall.c $(O)/.flags
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)mpicc.$* -std=gnu11 $(WARNINGS) $(CFLAGS) -o $@ $<

$(RUN_MODULE): tests/run/alltoall.c $(O)/.flags
	$(say) MPICC $@
	$(Q)mkdir -p $(@D)
	$(Q)mpicc.mpich -std=gnu11 $(WARNINGS) $(CFLAGS) -fPIC -shared -Dmain=run_alltoall \
		-Wno-missing-prototypes -o $@ $<

.PHONY: run-programs
run-programs: $(RUN_POLL) $(O)/tests/run/load $(RUN_MPI) $(RUN_MODULE)
