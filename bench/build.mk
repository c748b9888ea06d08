# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that scripts of this folder run; each sees behind the public headers.
# Those that need an MPI are built by coll/build.mk.
BENCH_MPI := bench/alltoall.c bench/messages.c bench/stencil.c
BENCH_FFT := bench/fft.c
BENCH_BIN := $(patsubst %.c,$(O)/%,$(filter-out $(BENCH_MPI) $(BENCH_FFT),$(sort $(wildcard bench/*.c))))

# A loop that says that it may be vectors, to either compiler.
$(O)/bench/tile.o: SONDE_CFLAGS += -fopenmp-simd

$(BENCH_BIN): $(O)/%: $(O)/%.o $(O)/libsonde.a
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(SONDE_LIBS)

# What knows nothing of libsonde-coll, which is preloaded; needs FFTW and MPICH.
ifndef SONDE_DEFERRED
ifeq ($(shell $(PKG_CONFIG) --exists fftw3 mpich 2>/dev/null && echo 1),1)
$(O)/mpich/bench/fft: $(O)/mpich/bench/fft.o
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(call pkg-libs,fftw3 mpich) -lm
PROGRAMS += $(O)/mpich/bench/fft
endif
endif
