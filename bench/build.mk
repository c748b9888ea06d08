# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that scripts of this folder run; each sees behind the public headers.
# Those that need an MPI are built by coll/build.mk.
BENCH_MPI := bench/alltoall.c
BENCH_BIN := $(patsubst %.c,$(O)/%,$(filter-out $(BENCH_MPI),$(sort $(wildcard bench/*.c))))

$(BENCH_BIN): $(O)/%: $(O)/%.o $(O)/libsonde.a
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(SONDE_LIBS)
