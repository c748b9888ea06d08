# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that scripts of this folder run; each sees behind the public headers.
BENCH_BIN := $(patsubst %.c,$(O)/%,$(sort $(wildcard bench/*.c)))

$(BENCH_BIN): $(O)/%: $(O)/%.o $(O)/libsonde.a
	$(say) LD $@
	$(Q)$(CC) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(SONDE_LIBS)
