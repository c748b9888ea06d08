# SPDX-License-Identifier: GPL-2.0-or-later
LIB_SRC := $(sort $(wildcard lib/*.c lib/probe/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
LIB_SO := libsonde.so.$(SOVERSION)
LIB_MAP := lib/libsonde.map

PROGRAMS += $(O)/libsonde.a $(O)/libsonde.so
INSTALL_TARGETS += install-lib

$(O)/libsonde.a: $(LIB_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# No -z defs with a sanitizer: its run time is not linked into libraries.
$(O)/$(LIB_SO): $(LIB_OBJ) $(LIB_MAP)
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,$(LIB_SO) -Wl,--version-script=$(LIB_MAP) \
		$(if $(SAN),,-Wl,-z,defs) $(SONDE_LDFLAGS) $(LDFLAGS) -o $@ $(LIB_OBJ) $(SONDE_LIBS)

$(O)/libsonde.so: $(O)/$(LIB_SO)
	$(Q)ln -sf $(LIB_SO) $@

.PHONY: install-lib
install-lib: $(O)/libsonde.a $(O)/libsonde.so
	$(Q)$(INSTALL) -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir)/sonde \
		$(DESTDIR)$(includedir)/linux $(DESTDIR)$(mandir)/man3 $(DESTDIR)$(mandir)/man5 \
		$(DESTDIR)$(mandir)/man7 $(DESTDIR)$(prefix)/share/sonde
	$(Q)$(INSTALL) -m 644 lib/sonde-profile-1.schema.json $(DESTDIR)$(prefix)/share/sonde/
	$(Q)$(INSTALL) -m 644 $(O)/libsonde.a $(DESTDIR)$(libdir)/
	$(Q)$(INSTALL) -m 755 $(O)/$(LIB_SO) $(DESTDIR)$(libdir)/
	$(Q)ln -sf $(LIB_SO) $(DESTDIR)$(libdir)/libsonde.so
	$(Q)$(INSTALL) -m 644 include/sonde/*.h $(DESTDIR)$(includedir)/sonde/
	$(Q)$(INSTALL) -m 644 include/uapi/linux/sonde.h $(DESTDIR)$(includedir)/linux/
	$(Q)sed -e 's|@prefix@|$(prefix)|; s|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|' \
		-e 's|@version@|$(VERSION)|' lib/sonde.pc.in >$(DESTDIR)$(libdir)/pkgconfig/sonde.pc
	$(Q)for page in $(wildcard man/*.[357]); do \
		$(INSTALL) -m 644 $$page $(DESTDIR)$(mandir)/man$${page##*.}/ || exit; done
