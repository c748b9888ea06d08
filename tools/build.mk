# SPDX-License-Identifier: GPL-2.0-or-later
TOOL_SRC := $(sort $(wildcard tools/*.c))
TOOL_OBJ := $(TOOL_SRC:%.c=$(O)/%.o)

# Where what it preloads is installed.
$(O)/.libdir: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(libdir)' | cmp -s - $@ || echo '$(libdir)' >$@

$(O)/tools/run-preload.o $(O)/tools/launcher.o: $(O)/.libdir
$(O)/tools/run-preload.o $(O)/tools/launcher.o: SONDE_CPPFLAGS += -DSONDE_LIBDIR=\"$(libdir)\"

# Scotch is optional, and has no pkg-config: `sonde map` also finds placements without.
ifndef SONDE_DEFERRED
ifeq ($(shell printf '\043include <stdio.h>\n\043include <scotch/scotch.h>\n' | \
	$(CC) -E -xc - >/dev/null 2>&1 && echo 1),1)
SCOTCH_LIBS := -lscotch
$(O)/tools/map-scotch.o: SONDE_CPPFLAGS += -DHAVE_SCOTCH
else
$(info tools: no Scotch (libscotch-dev): sonde map goes without it)
endif
endif

PROGRAMS += $(O)/sonde
INSTALL_TARGETS += install-tools

# In the output folder the library is found beside the program; what is
# installed is linked anew, so that no path of the build tree goes with it.
link-tool = $(CC) $(SONDE_LDFLAGS) $(LDFLAGS) $(1) -o $@ $(TOOL_OBJ) $(O)/lib/replace.o $(A2A_LIB) -L$(O) -lsonde $(SCOTCH_LIBS) $(SONDE_LIBS)

$(O)/sonde: $(TOOL_OBJ) $(O)/lib/replace.o $(A2A_LIB) $(O)/libsonde.so
	$(say) LD $@
	$(Q)$(call link-tool,-Wl$(comma)-rpath$(comma)'$$ORIGIN')

$(O)/installed/sonde: $(TOOL_OBJ) $(O)/lib/replace.o $(A2A_LIB) $(O)/libsonde.so
	$(say) LD $@
	$(Q)mkdir -p $(@D)
	$(Q)$(call link-tool)

.PHONY: install-tools
install-tools: $(O)/installed/sonde
	$(Q)$(INSTALL) -d $(DESTDIR)$(bindir) $(DESTDIR)$(mandir)/man1
	$(Q)$(INSTALL) -m 755 $< $(DESTDIR)$(bindir)/sonde
	$(Q)$(INSTALL) -m 644 $(wildcard man/*.1) $(DESTDIR)$(mandir)/man1/
