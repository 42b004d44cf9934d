# libsched: build, test, measure, install. Needs cargo, Rust 1.88, a C compiler and make: make help.

CARGO   ?= cargo
CFLAGS  ?= -O2 -g
CXXFLAGS ?= -O2 -g
PREFIX  ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
BINDIR     ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/libsched
DESTDIR ?=

# make takes a blank for the end of a name.
$(foreach dir,CURDIR CARGO_TARGET_DIR PREFIX DESTDIR,\
  $(if $(filter-out 0 1,$(words $($(dir)))),$(error $(dir)="$($(dir))": a path with blanks is not supported)))

# The version of Rust is checked first: what an older cargo says of this tree is hard to understand.
RUST    := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
HOW     := see https://rustup.rs, or where rustup is here: rustup update stable
ifneq ($(filter-out help clean uninstall installcheck,$(or $(MAKECMDGOALS),all)),)
  $(foreach tool,$(CARGO) $(or $(RUSTC),rustc),\
    $(eval FOUND := $(word 2,$(shell $(tool) --version 2>/dev/null)))\
    $(if $(FOUND),,$(error libsched is built by cargo and Rust $(RUST) or newer, and there is no $(tool) here: $(HOW). \
      (Under sudo, where cargo is a user's own: sudo env "PATH=$$PATH" make $(MAKECMDGOALS))))\
    $(if $(filter $(RUST),$(shell printf '%s\n' $(RUST) $(FOUND) | sort -V | head -n 1)),,\
      $(error this $(tool) is $(FOUND), and libsched needs Rust $(RUST) or newer: $(HOW))))
endif

# The library for another processor: CARGO_BUILD_TARGET names it, as for cargo. The compiler and its tools are those
# of Debian's names, or what CC, AR and OBJCOPY say, or CROSS_COMPILE, the beginning of their names, or cargo's
# variable of the linker.
HOST    := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
CROSS   := $(filter-out $(HOST),$(CARGO_BUILD_TARGET))
CROSS_COMPILE ?= $(if $(CROSS),$(subst -unknown,,$(CROSS))-)
LINKER  := CARGO_TARGET_$(shell echo '$(CROSS)' | tr a-z- A-Z_)_LINKER
ifneq ($(filter default undefined,$(origin CC)),)
CC      := $(or $($(LINKER)),$(if $(CROSS_COMPILE),$(CROSS_COMPILE)gcc,cc))
endif
ifneq ($(filter default undefined,$(origin CXX)),)
CXX     := $(if $(CROSS_COMPILE),$(CROSS_COMPILE)g++,c++)
endif
# Empty if there is no C++ compiler: what needs one is then named and left out. (The redirection makes an old make call
# the shell, which has command.)
HAVE_CXX := $(shell command -v $(firstword $(CXX)) 2>/dev/null)
ifneq ($(filter default undefined,$(origin AR)),)
AR      := $(CROSS_COMPILE)ar
endif
OBJCOPY ?= $(CROSS_COMPILE)objcopy
# What runs here: the runners of tests and benchmarks.
TOOL     = env -u CARGO_BUILD_TARGET $(CARGO)

TARGET  := $(abspath $(or $(CARGO_TARGET_DIR),target))
BUILT   := $(TARGET)$(CARGO_BUILD_TARGET:%=/%)
OUT     := $(BUILT)/release
# The library with its checks of what a program does. It is built and installed with the other, unless WITH_DEBUG is empty.
DEBUG_LIB  := $(TARGET)/debug/lean/libsched.so.1
WITH_DEBUG ?= yes
STAGE   := $(TARGET)/stage
BENCH   := $(TARGET)/bench
LAB     := $(TARGET)/lab
PROGRAMS := $(TARGET)/programs

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SYMBOLS := $(shell sed -n 's/^ *\(sched_[a-z_0-9]*\);/\1/p' sched.map)
# What tools/libsched-gdb.py reads.
PRIVATE := $(shell sed -n 's/^ *\(libsched_[a-z_]*\);/\1/p' sched.map)
HEADERS := $(wildcard include/*.h include/*.hpp)
MAN3    := $(wildcard man/*.3)
MAN7    := $(wildcard man/*.7)
SOURCES := $(shell find src -name '*.rs') build.rs Cargo.toml sched.map

CWARN   := -Wall -Wextra -Wpedantic -Werror
SHOWN    := $(wildcard examples/*.c examples/*.cpp)
EXAMPLES := $(patsubst examples/%.c,$(TARGET)/examples-c/%,$(filter %.c,$(SHOWN))) \
            $(if $(HAVE_CXX),$(patsubst examples/%.cpp,$(TARGET)/examples-c/%,$(filter %.cpp,$(SHOWN))))
BENCHES := $(patsubst bench_c/%.c,$(BENCH)/%,$(wildcard bench_c/*.c)) \
           $(if $(HAVE_CXX),$(patsubst bench_c/cpp/%.cpp,$(BENCH)/%_cpp,$(wildcard bench_c/cpp/*.cpp)))

.PHONY: all help lib headers bench bench-peers peers-page bench-programs bench-programs-peers bench-floor lab lab-programs scaling test \
        examples debug \
        check check-texts check-models check-deep knobs scripts loom mutants faults limits fuzz fuzz-mutants asan tsan tsan-users helgrind drd valgrind aarch64 stress soak figures deny install uninstall installcheck \
        programs install-programs uninstall-programs stage dist deb rpm abi packages report clean

all: lib $(if $(WITH_DEBUG),$(DEBUG_LIB))

help:
	@echo 'make               build the library: libsched.so.1 and libsched.a'
	@echo 'make install       ... and install it: PREFIX=$(PREFIX), DESTDIR, LIBDIR, INCLUDEDIR, MANDIR, DOCDIR'
	@echo 'make installcheck  build and run the examples with what is installed'
	@echo 'make uninstall     remove what install put there'
	@echo 'make stage         install into target/stage, for use in this tree: PKG_CONFIG_PATH=target/stage/lib/pkgconfig'
	@echo 'make debug         the library with its checks of what a program does: target/debug/lean'
	@echo 'make examples      build and run examples/*.c and *.cpp'
	@echo 'make programs      build the tools of programs/ into target/programs'
	@echo 'make install-programs  ... and install them: BINDIR=PREFIX/bin. uninstall-programs removes them'
	@echo 'make test          all tests: 4 minutes on 2 processors. TEST_ARGS="--filter NAME" runs some'
	@echo 'make check         format, lints, manual pages'
	@echo 'make fuzz          random programs for MINUTES=10. SEED=N: the first one; REPLAY=FILE: those of a file'
	@echo 'make check-deep    $(GATES): an hour, FULL=1 hours; each is a target, too'
	@echo 'make trust         docs/TRUST.md: what check-deep has checked, when and where; record-NAME records one gate'
	@echo 'make dist          target/dist/libsched-VERSION.tar.xz: the source, with all crates. deb, rpm: packages of it'
	@echo 'make bench         compare the schedulers: tables and figures. bench-peers: and other systems'
	@echo 'make bench-programs-peers  the programs of programs/ beside gzip, pigz, grep, ripgrep, sort, sha256sum'
	@echo 'make lab           the questions of docs/LAB.md. scaling: up to 1024 simulated workers'
	@echo 'make bench-programs  build what these run, of bench_c'
	@echo 'Their variables: BENCH_ARGS="--quick --threads 1,4", and QUICK=1 of lab and scaling; LACE=FOLDER, a checkout of Lace'
	@echo 'for bench-peers; FIGURE=FILE, where bench writes the figure of speed-ups, too; PROGRAM=FILE ARGS=..., what bench runs instead'
	@echo 'make report        docs/REPORT.md and docs/report.pdf, from the last bench, lab and bench-peers'
	@echo 'make peers-page    the figures of bench-peers in docs/BENCHMARKS.md and README.md, from the last bench-peers'
	@echo 'make bench-cpp     what sched.hpp and sched_typed.hpp cost, beside C'
	@echo 'make headers       write include/sched_tasks.h anew from src/ffi'
	@echo 'make clean         remove what was built'
	@echo 'Variables: CC CFLAGS CXX CXXFLAGS LDFLAGS AR OBJCOPY CARGO CARGO_TARGET_DIR; V=1 to see all commands; for another'
	@echo 'processor CARGO_BUILD_TARGET, as aarch64-unknown-linux-gnu, and CROSS_COMPILE if its tools are not named as Debian'"'"'s.'

# --- the library ------------------------------------------------------------

LIB := $(OUT)/lean/libsched.so.1

lib: $(LIB) $(OUT)/lean/libsched.a

# Cargo makes only the static library here. Callers of the Rust library might call anything; without it the optimiser
# may take all but the symbols of the interface as internal. Functions begin at multiples of 64 bytes: otherwise the
# time of the short functions of the hot path would depend by some per cent on where they lie in the processor's cache
# lines, and so on unrelated changes. The archive is copied, because cargo build would leave a less optimised one in its
# place.
$(OUT)/lean/rust.a: $(SOURCES)
	@mkdir -p $(@D)
	$(if $(DEBUG_INFO),CARGO_PROFILE_RELEASE_DEBUG=2 CARGO_PROFILE_RELEASE_STRIP=none) $(CARGO) rustc --release --package libsched --lib --crate-type staticlib \
	        -- -C llvm-args=-align-all-functions=6
	@cp $(OUT)/libsched.a $@

# Of such an archive the shared library is made here, since rustc has a version script of its own, without a version,
# and linkers take one only. A task may still be running when a program closes the library: it stays mapped.
VERSIONED := -Wl,-soname,libsched.so.1 -Wl,--version-script=sched.map -Wl,-z,nodelete
LINK = $(CC) -shared $(LDFLAGS) $(VERSIONED) -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,-O1 -Wl,--gc-sections \
       -Wl,--as-needed $(SYMBOLS:%=-Wl,-u,%)

# Commands with the names of all symbols are shown by make V=1 only. make -s shows nothing at all.
briefly = $(if $(V),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,echo '$(1) $@';))

# DEBUG_INFO=yes: the library keeps its debug information, for packages that split it off.
$(LIB): $(OUT)/lean/rust.a sched.map
	@mkdir -p $(@D)
	$(call briefly,link)$(LINK) $(PRIVATE:%=-Wl,-u,%) $(if $(DEBUG_INFO),,-Wl,--strip-debug) -o $@ $< -lpthread -ldl
	ln -sf libsched.so.1 $(@D)/libsched.so

# The archive as rustc makes it shows the whole Rust runtime to the linker. Here it is
# linked into one object that keeps what the library uses, and shows its symbols only; and the hidden one that all
# probes of a program share (src/sys/probe.rs).
$(OUT)/lean/libsched.a: $(OUT)/lean/rust.a sched.map
	@mkdir -p $(@D)
	$(call briefly,link)$(CC) -nostdlib -r -Wl,--gc-sections $(SYMBOLS:%=-Wl,-u,%) $(PRIVATE:%=-Wl,-u,%) -o $(@D)/libsched.o $<
	$(call briefly,hide the symbols of)$(OBJCOPY) $(SYMBOLS:%=--keep-global-symbol=%) $(PRIVATE:%=--keep-global-symbol=%) --keep-global-symbol=_.stapsdt.base \
	        --remove-section=.llvmbc --remove-section=.llvmcmd --remove-section=.group --strip-unneeded $(@D)/libsched.o
	rm -f $@
	$(AR) rcs $@ $(@D)/libsched.o

# Writes include/sched_tasks.h anew from src/ffi; make test fails while they differ.
headers:
	LIBSCHED_WRITE_HEADERS=1 $(CARGO) test --quiet --package libsched --test headers

# --- installing -------------------------------------------------------------

install: lib $(if $(WITH_DEBUG),$(DEBUG_LIB))
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/libsched
	install -m 755 $(LIB) $(DESTDIR)$(LIBDIR)/libsched.so.1
	ln -sf libsched.so.1 $(DESTDIR)$(LIBDIR)/libsched.so
	install -m 644 $(OUT)/lean/libsched.a $(DESTDIR)$(LIBDIR)/libsched.a
	install -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/libsched/
	install -d $(DESTDIR)$(MANDIR)/man3 $(DESTDIR)$(MANDIR)/man7
	install -m 644 $(MAN3) $(DESTDIR)$(MANDIR)/man3/
	install -m 644 $(MAN7) $(DESTDIR)$(MANDIR)/man7/
	sed -e 's|@PREFIX@|$(PC_PREFIX)|' -e 's|@LIBDIR@|$(call under_prefix,$(LIBDIR))|' \
	    -e 's|@INCLUDEDIR@|$(call under_prefix,$(INCLUDEDIR))|' -e 's|@VERSION@|$(VERSION)|' \
	    sched.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/libsched.pc
	install -d $(DESTDIR)$(CMAKEDIR)
	sed -e 's|@INCLUDE@|$(CMAKE_INCLUDE)|' cmake/libsched-config.cmake.in > $(DESTDIR)$(CMAKEDIR)/libsched-config.cmake
	pointer=$$((4 * $$(od -An -tu1 -j4 -N1 $(LIB)))) && \
	sed -e 's|@VERSION@|$(VERSION)|' -e "s|@POINTER@|$$pointer|" cmake/libsched-config-version.cmake.in \
	    > $(DESTDIR)$(CMAKEDIR)/libsched-config-version.cmake
	install -d $(DESTDIR)$(GDBDIR)
	install -m 644 tools/libsched-gdb.py $(DESTDIR)$(GDBDIR)/libsched.so.1-gdb.py
	install -d $(DESTDIR)$(DOCDIR)/examples
	install -d $(DESTDIR)$(DOCDIR)/docs
	install -m 644 $(DOCS) $(DESTDIR)$(DOCDIR)/
	install -m 644 $(PAGES) $(DESTDIR)$(DOCDIR)/docs/
	install -m 644 $(SHOWN) $(DESTDIR)$(DOCDIR)/examples/
ifneq ($(WITH_DEBUG),)
	install -d $(DESTDIR)$(LIBDIR)/libsched-debug
	install -m 755 $(DEBUG_LIB) $(DESTDIR)$(LIBDIR)/libsched-debug/libsched.so.1
	ln -sf libsched.so.1 $(DESTDIR)$(LIBDIR)/libsched-debug/libsched.so
	install -d $(DESTDIR)$(GDBDIR)/libsched-debug
	ln -sf ../libsched.so.1-gdb.py $(DESTDIR)$(GDBDIR)/libsched-debug/libsched.so.1-gdb.py
endif

# The README, and what it and its pages refer to.
DOCS  := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE-MIT LICENSE-APACHE
PAGES := $(wildcard docs/*.md docs/*.svg docs/*.png docs/*.pdf)

# Where the library lies below the prefix, the tree may be moved: libsched.pc finds it from its own place.
PC_PREFIX = $(if $(filter $(PREFIX)/%,$(LIBDIR)),$${pcfiledir}/$(shell realpath -m -s \
            --relative-to=$(LIBDIR)/pkgconfig $(PREFIX)),$(PREFIX))
under_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))

# CMake's package finds the library from its own place, too, and the headers if they lie below the same prefix. The
# class of the ELF file, 1 or 2, says whether pointers have 4 or 8 bytes.
CMAKEDIR = $(LIBDIR)/cmake/libsched
CMAKE_PACKAGE := libsched-config.cmake libsched-config-version.cmake
CMAKE_INCLUDE = $(if $(and $(filter $(PREFIX)/%,$(LIBDIR)),$(filter $(PREFIX)/%,$(INCLUDEDIR))),$(shell realpath -m -s \
                --relative-to=$(CMAKEDIR) $(INCLUDEDIR)),$(INCLUDEDIR))

# gdb looks for a library's script below its own folder of such scripts, in a folder named like that of the library.
GDBDIR = $(PREFIX)/share/gdb/auto-load$(LIBDIR)

# What install has put there, as a user would use it: the examples, with either library, by the flags that pkg-config
# gives. What another processor runs is not run here.
installcheck: CHECKED := $(TARGET)/installcheck
installcheck:
	@for file in $(addprefix $(DESTDIR)$(INCLUDEDIR)/libsched/,$(notdir $(HEADERS))) \
	     $(addprefix $(DESTDIR)$(MANDIR)/man3/,$(notdir $(MAN3))) $(addprefix $(DESTDIR)$(MANDIR)/man7/,$(notdir $(MAN7))) \
	     $(addprefix $(DESTDIR)$(DOCDIR)/,$(DOCS) $(PAGES)) $(addprefix $(DESTDIR)$(LIBDIR)/,libsched.so libsched.so.1 libsched.a) \
	     $(addprefix $(DESTDIR)$(CMAKEDIR)/,$(CMAKE_PACKAGE)) $(DESTDIR)$(GDBDIR)/libsched.so.1-gdb.py; \
	 do [ -s $$file ] || { echo "installcheck: there is no $$file"; exit 1; }; done
	@cd $(DESTDIR)$(DOCDIR) && grep -o '](\([^):# ]*\))' $(filter %.md,$(DOCS) $(PAGES)) /dev/null | \
	 sed 's/^\([^:]*\):](\(.*\))$$/\1 \2/' | while read -r page link; do \
	     [ -e "$$(dirname $$page)/$$link" ] || { echo "installcheck: $$page links to $$link, which is not there"; exit 1; }; done
	@command -v pkg-config >/dev/null || { echo "installcheck: no pkg-config here"; exit 1; }
	@mkdir -p $(CHECKED)
	@export PKG_CONFIG_PATH=$(DESTDIR)$(LIBDIR)/pkgconfig LD_LIBRARY_PATH=$(DESTDIR)$(LIBDIR) && set -e && \
	 for source in $(SHOWN); do name=$$(basename $$source); name=$${name%.*}; \
	     case $$source in \
	     *.c) compile='$(CC) $(CFLAGS)';; \
	     *) [ -n '$(HAVE_CXX)' ] || { echo "installcheck: no C++ compiler here, $$source skipped"; continue; }; \
	        compile='$(CXX) -std=c++17 $(CXXFLAGS)';; esac; \
	     source=$(DESTDIR)$(DOCDIR)/$$source; \
	     $$compile -o $(CHECKED)/$$name $$source $$(pkg-config --cflags --libs libsched); \
	     $$compile -o $(CHECKED)/$$name-static $$source $$(pkg-config --cflags libsched) \
	         $$(pkg-config --variable=libdir libsched)/libsched.a -lpthread -ldl; \
	     $(if $(CROSS),continue;) $(CHECKED)/$$name >/dev/null; $(CHECKED)/$$name-static >/dev/null; done
	@echo "installcheck: $(DESTDIR)$(LIBDIR)/libsched.so.1 and libsched.a work"

uninstall:
	rm -f $(DESTDIR)$(LIBDIR)/libsched.so $(DESTDIR)$(LIBDIR)/libsched.so.1 \
	      $(DESTDIR)$(LIBDIR)/libsched.a $(DESTDIR)$(LIBDIR)/pkgconfig/libsched.pc \
	      $(DESTDIR)$(LIBDIR)/libsched-debug/libsched.so $(DESTDIR)$(LIBDIR)/libsched-debug/libsched.so.1
	rm -f $(DESTDIR)$(GDBDIR)/libsched.so.1-gdb.py $(DESTDIR)$(GDBDIR)/libsched-debug/libsched.so.1-gdb.py
	rm -f $(HEADERS:include/%=$(DESTDIR)$(INCLUDEDIR)/libsched/%) $(addprefix $(DESTDIR)$(CMAKEDIR)/,$(CMAKE_PACKAGE))
	rm -f $(MAN3:man/%=$(DESTDIR)$(MANDIR)/man3/%) $(MAN7:man/%=$(DESTDIR)$(MANDIR)/man7/%)
	rm -f $(DOCS:%=$(DESTDIR)$(DOCDIR)/%) $(PAGES:%=$(DESTDIR)$(DOCDIR)/%) $(SHOWN:%=$(DESTDIR)$(DOCDIR)/%)
	rmdir $(DESTDIR)$(INCLUDEDIR)/libsched $(DESTDIR)$(LIBDIR)/libsched-debug $(DESTDIR)$(CMAKEDIR) $(DESTDIR)$(DOCDIR)/examples \
	      $(DESTDIR)$(DOCDIR)/docs $(DESTDIR)$(DOCDIR) $(DESTDIR)$(GDBDIR)/libsched-debug $(DESTDIR)$(GDBDIR) 2>/dev/null || true

# What the tests and the benchmarks link against: an installed tree of its own.
STAGED := PREFIX=$(STAGE) LIBDIR=$(STAGE)/lib INCLUDEDIR=$(STAGE)/include MANDIR=$(STAGE)/share/man \
          DOCDIR=$(STAGE)/share/doc/libsched DESTDIR=

stage: lib
	@$(MAKE) --no-print-directory -s install $(STAGED) WITH_DEBUG=

# Tools that use the library. A tool whose own libraries are not here is named and left out.
PROGRAMS_MAKE = $(MAKE) --no-print-directory -s -C programs CC='$(CC)' CFLAGS='$(CFLAGS)' LIBSCHED=$(STAGE) OUT=$(PROGRAMS)

programs: stage
	@+$(PROGRAMS_MAKE)

install-programs: programs
	@$(PROGRAMS_MAKE) install DESTDIR=$(DESTDIR) BINDIR=$(BINDIR) MANDIR=$(MANDIR)

uninstall-programs:
	rm -f $(patsubst programs/%.c,$(DESTDIR)$(BINDIR)/%,$(wildcard programs/*.c)) \
	      $(patsubst programs/%,$(DESTDIR)$(MANDIR)/man1/%,$(wildcard programs/*.1))

# --- packages ---------------------------------------------------------------

# The source of git's HEAD, or of an unpacked tarball, with the crates that it is built of.
DIST := $(TARGET)/dist

dist:
	@CARGO=$(CARGO) packaging/dist.sh $(DIST)

deb: dist
	@packaging/deb.sh $(DIST)/libsched-$(VERSION).tar.xz $(TARGET)/deb

rpm: dist
	@packaging/rpm.sh $(DIST)/libsched-$(VERSION).tar.xz $(TARGET)/rpm

# --- measuring --------------------------------------------------------------

$(BENCH)/%: bench_c/%.c $(wildcard bench_c/*.h) $(LIB) $(HEADERS) | stage
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) $(CWARN) -I$(STAGE)/include/libsched -o $@ $< \
	      -L$(STAGE)/lib -lsched -lm -Wl,-rpath,$(STAGE)/lib

$(BENCH)/%_cpp: bench_c/cpp/%.cpp $(wildcard bench_c/*.h) $(LIB) $(HEADERS) | stage
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(CXXFLAGS) $(CWARN) -I$(STAGE)/include/libsched -o $@ $< \
	      -L$(STAGE)/lib -lsched -Wl,-rpath,$(STAGE)/lib

bench-programs: $(BENCHES)
	@$(if $(HAVE_CXX),,echo 'bench-programs: no C++ compiler here, bench_c/cpp skipped')

# FIGURE=docs/speedup.svg: the figure of speed-ups goes there, too. PROGRAM=./mine ARGS='-n 100': measures that
# program instead, on this library, if it was linked with the shared one.
bench: $(if $(PROGRAM),stage,bench-programs)
	$(TOOL) run --profile tools --quiet --package sched-bench --features pictures -- \
	        $(if $(PROGRAM),--program $(PROGRAM) --library $(STAGE)/lib,--programs $(BENCH)) \
	        $(if $(FIGURE),--figure $(FIGURE)) $(BENCH_ARGS) $(if $(PROGRAM),-- $(ARGS))

# The same workloads on other systems, as far as they are there: bench_c/peers.
bench-peers: bench-programs
	@$(MAKE) --no-print-directory -C bench_c/peers OUT=$(BENCH)/peers CARGO=$(CARGO) LACE='$(abspath $(LACE))'
	$(TOOL) run --profile tools --quiet --package sched-bench --features pictures -- peers --programs $(BENCH) $(BENCH_ARGS)

# Compares the programs of programs/ with the usual tools that are here.
bench-programs-peers: programs
	$(TOOL) run --profile tools --quiet --package sched-bench --features pictures -- tools --programs $(PROGRAMS) $(BENCH_ARGS)

# The questions of docs/LAB.md, and their answers: twenty minutes, or with QUICK=1 three. QUESTION=locks measures one
# section alone and replaces it: bench_c/runner/src/pages/lab/question.rs has the names.
lab: lab-programs
	$(TOOL) run --profile tools --quiet --package sched-bench --features pictures -- lab --programs $(BENCH) \
	        --recorder $(LAB) $(if $(QUICK),--quick) $(if $(QUESTION),--question $(QUESTION)) $(BENCH_ARGS)

# What docs/BENCHMARKS.md and README.md have of the last make bench-peers, between comments: docs/report/peers.md.
peers-page:
	$(TOOL) run --profile tools --quiet --package sched-bench -- peers-page

# The same, and docs/REPORT.md and its figures from the results of the last make bench, make lab and make bench-peers, and
# the PDF file of it. What was not measured anew is as in the last report.
report:
	$(TOOL) run --profile tools --quiet --package sched-bench -- report
	@docs/report/pdf.sh $(SKIPS)

# The least that the interface can cost, beside what the library costs: tree, 1 thread, in turn. And the least that
# continuation stealing can, on x86-64: flood. And what the memory of ten million queued tasks costs.
FLOORS := floor $(if $(filter x86_64,$(shell uname -m)),cont)

bench-floor: $(BENCH)/tree $(BENCH)/flood $(BENCH)/floor/touch $(FLOORS:%=$(BENCH)/floor/%/libsched.so.1)
	@for i in 1 2 3 4 5 6 7; do \
	     $(BENCH)/tree -t 1; \
	     SCHED_KIND=floor LD_LIBRARY_PATH=$(BENCH)/floor/floor $(BENCH)/tree -t 1; \
	     $(if $(filter cont,$(FLOORS)), \
	     SCHED_KIND=cont $(BENCH)/flood -t 1; \
	     SCHED_KIND=floor LD_LIBRARY_PATH=$(BENCH)/floor/cont $(BENCH)/flood -t 1;) \
	     $(BENCH)/flood -t 1 -n 10000000; \
	     $(BENCH)/floor/touch -n 10000000; done

$(BENCH)/floor/touch: bench_c/floor/touch.c bench_c/measure.h
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) $(CWARN) -o $@ $<

$(BENCH)/floor/%/libsched.so.1: bench_c/floor/%.c sched.map
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) $(CWARN) -shared -fPIC $(VERSIONED) -o $@ $<

# What sched.hpp and sched_typed.hpp cost: the same programs in C and in C++, in turn, and their instructions, if valgrind is here.
.PHONY: bench-cpp
bench-cpp: bench-programs
	@$(if $(HAVE_CXX),bench_c/cpp/compare.sh $(BENCH),echo 'bench-cpp: no C++ compiler here, skipped')

# What predicts how programs scale: the recorder, a stand-in for the library; the costs of its calls.
lab-programs: bench-programs $(LAB)/libsched.so.1 $(LAB)/costs

$(LAB)/libsched.so.1: $(shell find lab/recorder lab/dag lab/estimate -name '*.rs' -o -name Cargo.toml) Cargo.toml
	@mkdir -p $(@D)
	$(CARGO) rustc --release --package sched-recorder --lib --crate-type staticlib
	$(call briefly,link)$(LINK) -o $@ $(OUT)/libsched_recorder.a -lpthread -ldl

$(LAB)/costs: $(wildcard lab/costs/*) bench_c/measure.h $(LIB) $(HEADERS) | stage
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) $(CWARN) -I$(STAGE)/include/libsched -o $@ $(filter %.c,$^) \
	      -L$(STAGE)/lib -lsched -pthread -Wl,-rpath,$(STAGE)/lib

# Predicted speed-up for 1 to 1024 workers, and how far predictions and measurements agree here.
scaling: lab-programs
	$(TOOL) run --profile tools --quiet --package sched-simulator -- lab --lab $(LAB) --programs $(BENCH) \
	        $(if $(QUICK),--quick) $(SCALING_ARGS)

# --- testing ----------------------------------------------------------------

# $(call tool,PACKAGE,NAME): runs a tool of this tree.
tool  = $(if $(TOOLS_BUILT),$(TOOLS_BUILT)/$(2),$(TOOL) run --quiet --package $(1) --bin $(2) --)
CTEST = $(call tool,sched-ctest,sched-ctest) --prefix $(STAGE) --bench $(BENCH)

# make test first says how long it will take: as long as the last time, or an estimate for a tree where nothing is built:
# 540 s of processor time, and 10 s in which one processor has nothing to do.
NPROC := $(shell nproc)
TEST_JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(NPROC))

# The programs that scale are a quarter of the size that make knobs gives them, and run with half of the settings. They
# sleep for more of their time, too.
test-c: CTEST += --smaller 4 --fewer --optimize 1 --jobs $(shell expr 2 '*' $(NPROC))

# make test compiles the tests and the runner by clippy's compiler, where there is one, so that the lints come with the
# compilation: cargo clippy compiles everything a second time. (What is installed is always compiled by rustc.)
LINTER = $(if $(shell clippy-driver --version 2>/dev/null),clippy-driver)
LINTED = $(if $(LINTER),--config 'build.rustc-workspace-wrapper="$(LINTER)"')
test-lints check-models: export RUSTC_WORKSPACE_WRAPPER = $(LINTER)
test-units test-lints check-models: export CLIPPY_ARGS = -D__CLIPPY_HACKERY__warnings

# make test builds its tools with all other crates. If cargo builds a single package, the crates that the package needs have
# other features, and cargo compiles them a second time.
test-c test-lints: TOOLS_BUILT = $(if $(CARGO_BUILD_TARGET),,$(TARGET)/debug)

test:
	@mkdir -p $(TARGET); date +%s > $(TARGET)/test-began
	@if [ -s $(TARGET)/test-seconds ]; then \
	     echo "make test: $$(cat $(TARGET)/test-seconds) seconds the last time"; \
	 else echo "make test: about $$((540 / $(NPROC) + 10)) seconds, with $(NPROC) processors to itself"; fi
	@echo "1 of 2: lints, libraries, programs"
	@$(MAKE) -s --no-print-directory $(TEST_JOBS) test-lints test-programs check-models debug
	@echo "2 of 2: unit tests, C programs"
	@$(MAKE) -s --no-print-directory $(TEST_JOBS) test-units test-c
	@seconds=$$(($$(date +%s) - $$(cat $(TARGET)/test-began))); echo "make test: $$seconds seconds"; \
	 $(if $(TEST_ARGS),,echo $$seconds > $(TARGET)/test-seconds)

# Parts that make can do at the same time: those that call cargo have a folder each in target.
.PHONY: test-lints test-programs test-units test-c

# The models have no tests but with --cfg loom, which make loom sets.
TESTED := --workspace --exclude sched-model

test-lints:
	@$(if $(LINTER),,echo "check: no clippy-driver here, skipped")
	@$(CARGO) build --quiet $(TESTED) --tests --bin sched-ctest --bin sched-trust --bin mutants
	@$(MAKE) --no-print-directory check-texts TOOLS_BUILT='$(TOOLS_BUILT)'

# Some unit tests leave a processor idle, and the C programs are compiled meanwhile. What the unit tests print stays
# together.
test-units:
	@log=$(TARGET)/test-units.log; status=0; \
	 MAKEFLAGS= $(CARGO) test $(LINTED) --quiet $(TESTED) > $$log 2>&1 || status=$$?; cat $$log; exit $$status

test-c:
	@$(CTEST) $(TEST_ARGS)

# installcheck builds and runs the examples, with both libraries, as make examples does with one.
test-programs: bench-programs programs
	@if command -v pkg-config >/dev/null; then $(MAKE) --no-print-directory -s installcheck $(STAGED); \
	 else echo "test: no pkg-config here, installcheck skipped"; $(MAKE) --no-print-directory -s examples; fi

# Built as a user would, and run.
examples: $(EXAMPLES)
	@$(if $(HAVE_CXX),,echo 'examples: no C++ compiler here, $(filter %.cpp,$(SHOWN)) skipped')
	@for example in $(EXAMPLES); do echo "$${example##*/}:"; $$example || exit 1; done

$(TARGET)/examples-c/%: examples/%.c $(LIB) $(HEADERS) | stage
	@mkdir -p $(@D)
	$(CC) -std=c11 $(CFLAGS) $(CWARN) -I$(STAGE)/include/libsched -o $@ $< \
	      -L$(STAGE)/lib -lsched -Wl,-rpath,$(STAGE)/lib

$(TARGET)/examples-c/%: examples/%.cpp $(LIB) $(HEADERS) | stage
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(CXXFLAGS) $(CWARN) -I$(STAGE)/include/libsched -o $@ $< \
	      -L$(STAGE)/lib -lsched -Wl,-rpath,$(STAGE)/lib

# The library with its checks of what a program does: for the tests, and to look for a mistake.
debug: $(DEBUG_LIB)

$(DEBUG_LIB): $(SOURCES)
	$(CARGO) rustc --quiet --profile checked --package libsched --lib --crate-type staticlib
	@mkdir -p $(@D)
	$(call briefly,link)$(LINK) $(PRIVATE:%=-Wl,-u,%) -o $@ $(BUILT)/checked/libsched.a -lpthread -ldl
	ln -sf libsched.so.1 $(@D)/libsched.so

# Format and lints, where cargo has them; whether the models compile; the manual pages; what packages and releases
# promise; whether the mutants of the models still fit the code; whether files import each other in a circle, or a floor of
# the library a higher one; and whether docs/TRUST.md is what the records say.
check: check-texts check-models
	@if $(CARGO) clippy --version >/dev/null 2>&1; then \
	     $(CARGO) clippy --quiet $(TESTED) --all-targets -- -D warnings; \
	 else echo "check: no cargo clippy here, skipped"; fi

check-models:
	@RUSTFLAGS="--cfg loom" $(CARGO) check --quiet --package sched-model --all-targets --target-dir $(TARGET)/loom

check-texts:
	@$(call tool,sched-tools,mutants) --check
	@man/check.sh
	@packaging/check.sh
	@$(if $(TOOLS_BUILT),,$(TOOL) test --quiet --package sched-tools --test floors --test statics)
	@$(call tool,sched-trust,sched-trust) check
	@if $(CARGO) fmt --version >/dev/null 2>&1; then $(CARGO) fmt --all -- --check; \
	 else echo "check: no cargo fmt here, skipped"; fi

# --- the long checks ----------------------------------------------------------

MINUTES ?= 10

GATES := knobs scripts loom shuttle litmus mutants faults limits fuzz asan tsan tsan-users helgrind drd valgrind aarch64 stress soak abi packages figures deny

# Each gate of check-deep is recorded in docs/trust when it ends, and docs/TRUST.md says what the last run of each did:
# tools/trust. record-NAME does that for one.
check-deep: $(GATES:%=record-%)

# The gates that take an hour or hours do a part of their work in check-deep, which so takes less than an hour on two
# processors; FULL=1 leaves nothing out. The part is the same each time. make NAME alone does everything, and so do the
# workflows.
IN_PART := knobs_KNOBS=1/100 mutants_MUTANTS=1/24 asan_SLICE=1/2 tsan_SLICE=1/2 tsan-users_SLICE=1/12 helgrind_SLICE=1/12 drd_SLICE=1/12 \
           valgrind_SLICE=1/4 faults_FAULTS=1 stress_MINUTES=2 fuzz_MINUTES=3

.PHONY: record-test $(GATES:%=record-%) trust
record-test $(GATES:%=record-%): record-%:
	@$(call tool,sched-trust,sched-trust) run $* $(if $(FULL),,$(patsubst $*_%,%,$(filter $*_%,$(IN_PART)))) $(MAKEOVERRIDES)

# docs/TRUST.md from the records.
trust:
	$(call tool,sched-trust,sched-trust) page

# Every C test and benchmark program that walks the matrix, with every combination that the library accepts:
# three hours on two processors. KNOBS=3/20: the third of twenty slices, each with some of everything.
KNOBS ?= 1/1

knobs: stage debug bench-programs
	$(CTEST) --knobs $(KNOBS) $(TEST_ARGS)

# The files of models, as many at a time as there are processors; first that which takes longest.
LOOM_FILES := sleep $(filter-out sleep,$(basename $(notdir $(wildcard model/tests/*))))
LOOM_TEST = RUSTFLAGS="--cfg loom" $(CARGO) test --profile tools --package sched-model --target-dir $(TARGET)/loom

.PHONY: $(LOOM_FILES:%=loom-%)
loom:
	RUSTFLAGS="--cfg loom" $(CARGO) clippy --quiet --package sched-model --all-targets \
	        --target-dir $(TARGET)/loom -- -D warnings
	$(LOOM_TEST) --no-run
	@$(MAKE) --no-print-directory -j$(NPROC) --output-sync=target $(LOOM_FILES:%=loom-%)

$(LOOM_FILES:%=loom-%): loom-%:
	@$(LOOM_TEST) --test $* -- --nocapture

# The figures as pictures, and whether the texts in them can be read. make test leaves this out: the crates take long to
# compile.
figures:
	$(CARGO) clippy --quiet --package sched-bench --all-targets --features pictures -- -D warnings
	$(CARGO) test --quiet --package sched-bench --features pictures

# MUTANTS='NAME ...' runs these mutants alone, MUTANTS=K/N the Kth and then each Nth of them. RECORD=1 writes
# what they show to model/RESULTS.md.
mutants:
	$(call tool,sched-tools,mutants) $(if $(RECORD),--record) $(MUTANTS)

# Whole runs, with more workers and tasks than loom can finish: random schedules. SCHEDULES is their number for each model.
SCHEDULES ?= 10000

.PHONY: shuttle litmus loom-results
shuttle:
	@if ! said=$$($(CARGO) fetch --quiet --locked --manifest-path model/shuttle/Cargo.toml 2>&1); then \
	     case $$said in *--locked*) echo "shuttle: $$said"; exit 1;; esac; \
	     echo "shuttle: the crates of model/shuttle/Cargo.lock cannot be had here, skipped"; \
	 else RUSTFLAGS="--cfg loom" SCHEDULES=$(SCHEDULES) MODEL_UNCOUNTED=1 $(CARGO) test --locked --profile tools \
	          --manifest-path model/shuttle/Cargo.toml --target-dir $(TARGET)/shuttle -- --nocapture \
	          --skip a_place_that_nobody_comes_to; fi

# The fences of the split deque, the event count and the end of a run, in the memory models of C11 and of aarch64: needs herd7.
litmus:
	@model/litmus/run.sh $(SKIPS)

# make loom, shuttle and litmus, and then model/RESULTS.md with the number of executions of each model.
loom-results:
	@mkdir -p $(TARGET)
	$(call tool,sched-tools,mutants) --commit > $(TARGET)/loom.log
	@$(MAKE) --no-print-directory loom shuttle litmus >> $(TARGET)/loom.log 2>&1
	$(call tool,sched-tools,mutants) --models $(TARGET)/loom.log

# Each call that the library makes of the C library and the system fails, under each kind: c_tests/faults. FAULTS is
# how many of the calls of a function fail in each scene, one in each process; FAULTS=0: every one of them, half an
# hour. (A waiting thread calls clock_gettime 10^5 times: of its calls after the 64th an ever smaller part fails.)
FAULTS ?= 2

faults: stage
	@mkdir -p $(TARGET)/faults && cd $(TARGET)/faults && \
	 ROOT='$(CURDIR)' PREFIX='$(STAGE)' TARGET='$(TARGET)' CC='$(CC)' FAULTS='$(FAULTS)' \
	 sh -eu '$(CURDIR)/c_tests/scripts/faults.sh' $(SKIPS)

# The system withholds memory, threads, files or a system call from a process: c_tests/limits. What cannot be withheld
# here, for want of root or a cgroup, is named.
limits: stage
	@mkdir -p $(TARGET)/limits && cd $(TARGET)/limits && \
	 ROOT='$(CURDIR)' PREFIX='$(STAGE)' TARGET='$(TARGET)' CC='$(CC)' LIMITS=all \
	 sh -eu '$(CURDIR)/c_tests/scripts/limits.sh' $(SKIPS)

# Random programs, with the library as it is installed for a quarter of the time, and otherwise with one that delays its
# threads between the steps of its protocols (src/sys/fuzz.rs). SEED=N: the seed of the first program. REPLAY=FILE: runs
# the programs of that file instead.
FUZZ_OUT := $(TARGET)/fuzz
FUZZ_LIB := $(FUZZ_OUT)/lean/libsched.so.1
FUZZ      = $(CTEST) --libdir $(FUZZ_OUT)/lean --delays $(if $(SEED),--seed $(SEED))

fuzz: stage $(FUZZ_LIB)
	$(if $(REPLAY),$(FUZZ) --replay $(REPLAY),$(FUZZ) --fuzz $$(awk 'BEGIN { print $(MINUTES) * 0.75 }') && \
	  $(CTEST) $(if $(SEED),--seed $(SEED)) --fuzz $$(awk 'BEGIN { print $(MINUTES) * 0.25 }'))

# How long it takes until random programs fail with some mutants of model/mutants, with delays and without. A worker
# that has nothing to do sleeps, as it does by default: then a lost wake-up is a standstill that is seen at once.
FUZZ_MUTANTS ?= searcher-silent park-unasked raid-undrawn take-back-unlocked handoff-unswapped members-dropped \
                close-over-a-task take-before-leaving mutex-link-to-free sync-name-stored restored-silent

fuzz-mutants: stage
	@for name in $(FUZZ_MUTANTS); do \
	  $(call tool,sched-tools,mutants) --copy $$name && \
	  RUSTFLAGS='--cfg sched_fuzz' CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
	  $(CARGO) rustc --quiet --manifest-path $(TARGET)/mutants/Cargo.toml --release --package libsched --lib \
	          --crate-type staticlib --target-dir $(FUZZ_OUT)/mutants && mkdir -p $(FUZZ_OUT)/mutants/lean && \
	  $(LINK) -o $(FUZZ_OUT)/mutants/lean/libsched.so.1 $(FUZZ_OUT)/mutants/release/libsched.a -lpthread -ldl && \
	  ln -sf libsched.so.1 $(FUZZ_OUT)/mutants/lean/libsched.so || exit 1; \
	  for delays in --delays ''; do \
	    found=$$($(CTEST) --libdir $(FUZZ_OUT)/mutants/lean $$delays --only IDLE=park --unshrunk --seed 1 --fuzz $(MINUTES) | \
	             sed -n 's/^fuzz: \(program .*\)/\1/p' | head -n 1); \
	    echo "$$name $${delays:-without delays}: $${found:-nothing found in $(MINUTES) minutes}"; \
	  done; done

$(FUZZ_LIB): $(SOURCES)
	RUSTFLAGS='--cfg sched_fuzz' $(CARGO) rustc --release --package libsched --lib --crate-type staticlib \
	        --target-dir $(FUZZ_OUT)
	@mkdir -p $(@D)
	$(LINK) $(PRIVATE:%=-Wl,-u,%) -o $@ $(FUZZ_OUT)/release/libsched.a -lpthread -ldl
	ln -sf libsched.so.1 $(@D)/libsched.so

# Programs whose tasks wait and go on elsewhere, and the rest of the interface, under the tools that watch
# memory and threads: none may have anything to say, and no suppression is used. (Not those that call fork
# beside threads, which the runtimes of these compilers do not stand.) SLICE=K/N runs a slice of them, as KNOBS does.
WATCHED := suspend_nested,yield_many,yield_starve,join_migrate,join_stats,sync_*,fork_fib,fork_order,\
           fork_full,fork_deep,fork_elsewhere,group_*,for,for_spread,reduce,reduce_relaxed,reduce_spread,reduce_waits,sort,sort_runs,sort_t*,sort_wild,inline,copy,copy_tree,\
           copy_anywhere,pool,pool_within,pool_rest,pool_crowd,pool_destroy,planted,block_nested,\
           block_within,cond,cond_turns,mutex,mutex_order,once,cont_fork,cont_late,cont_order,cont_round,\
           foreign,foreign_memory,foreign_turn,help,late,nested,closures,concurrent,longjmp,suspension_points,group_signal
WATCHED_PROGRAMS = --timeout 300 $(SLICE:%=--slice %) --programs '$(subst $(empty) ,,$(WATCHED))'

# Runs the command $(2) with gcc and with clang, as far as they have the runtime of -fsanitize=$(1).
each_sanitizing = for CC in gcc clang; do \
	    if echo 'int main(void) { return 0; }' | $$CC -fsanitize=$(1) -x c -o /dev/null - 2>/dev/null; then \
	        export CC CXX=$$(echo $$CC | sed 's/gcc/g++/; s/clang/clang++/'); $(2) || exit 1; \
	    else echo "$@: no $$CC with -fsanitize=$(1) here, skipped (Debian: gcc, clang and libclang-rt-dev)"; fi; done

asan: stage
	@$(call each_sanitizing,address,ASAN_OPTIONS=detect_stack_use_after_return=1 $(CTEST) --sanitize address $(WATCHED_PROGRAMS))

# The library is compiled for it as well, by a nightly rustc; its calls of memcpy and so on stay as they are:
# older runtimes do not know those of LLVM 15. Each stack is a thread to the tool, which it takes a millisecond
# to make: the programs are smaller. At the end it would wait a second for threads, and ours do nothing then.
tsan: stage
	@if ! $(CARGO) +nightly --version >/dev/null 2>&1; then echo "tsan: no nightly cargo here, skipped"; \
	 else RUSTFLAGS="-Zsanitizer=thread --cfg sched_instrumented -Cunsafe-allow-abi-mismatch=sanitizer \
	                 -Cllvm-args=-tsan-instrument-memintrinsics=0" \
	      $(CARGO) +nightly build --release --package libsched --target $(HOST) --target-dir $(TARGET)/tsan && \
	      ln -sf libsched.so $(TARGET)/tsan/$(HOST)/release/libsched.so.1 && \
	      $(call each_sanitizing,thread,TSAN_OPTIONS=atexit_sleep_ms=0 $(CTEST) --sanitize thread --smaller 10 \
	          --libdir $(TARGET)/tsan/$(HOST)/release $(WATCHED_PROGRAMS)); fi

# Users' programs: compiled for the tool, and linked with the library as it is. What is not fit is listed with the reason.
tsan-users: stage
	@$(ALL_SCRIPTS) --filter 'script races'
	@$(call each_sanitizing,thread,for link in '' --statically; do \
	    TSAN_OPTIONS=atexit_sleep_ms=0 $(CTEST) --sanitize thread --smaller 10 --timeout 300 $$link \
	        --except c_tests/unfit/tsan $(SLICE:%=--slice %) --programs '*' || exit 1; done)

# Each script of c_tests/scripts tries all that it can. (In make test, which has less time, it tries a part.)
ALL_SCRIPTS = SCRIPTS=all $(CTEST)

scripts: stage programs
	$(ALL_SCRIPTS) --filter 'script ' $(TEST_ARGS)

# The programs of WATCHED, linked with the library as it is, under valgrind's race detectors: the target is the tool.
under_race_tool = if ! command -v valgrind >/dev/null; then echo "$@: no valgrind here, skipped"; \
	 else for link in '' --statically; do \
	     $(CTEST) --under 'valgrind -q --tool=$@ --error-exitcode=9 --fair-sched=yes' --smaller 20 $$link \
	         --except c_tests/unfit/$@ $(subst 300,600,$(WATCHED_PROGRAMS)) || exit 1; done; fi

helgrind: stage
	@$(ALL_SCRIPTS) --filter 'script valgrind_races'
	@$(under_race_tool)

drd: stage
	@$(under_race_tool)

valgrind: stage
	@if ! command -v valgrind >/dev/null; then echo "valgrind: not here, skipped"; \
	 else $(CTEST) --under 'valgrind -q --error-exitcode=9 --fair-sched=yes' --smaller 10 --timeout 300 $(SLICE:%=--slice %) \
	          --programs 'suspend_nested,yield_many,yield_starve,join_migrate,sync_*,group_many,for,reduce,sort,valgrind'; fi

# The library for aarch64, and what its assembly is for, under qemu: Rust's target of that name, a cross compiler
# and qemu-user. This shows wrong code, and no wrong order of memory, where the processor below keeps more order.
# Left out is what sees the emulator itself (qemu 7.2.22): overflow its signals, stack_reuse its memory; and in throw,
# suspend_throw, suspend_leave and block_leave a child that was made by fork beside threads starts threads, on which an
# assertion of the emulator fails.
ARM  := aarch64-unknown-linux-gnu
QEMU := $(firstword $(shell command -v qemu-aarch64 || command -v qemu-aarch64-static))
ON_ARM := $(WATCHED),registers,cont_deep,cont_refuse*,cont_throw,refuse*,yield_far,inline_cpp,block_stress,\
          stress,order,hpp_stress,hpp_run_order

aarch64: stage
	@if [ -z "$(QEMU)" ] || ! command -v aarch64-linux-gnu-g++ >/dev/null || \
	    ! [ -d "$$(rustc --print target-libdir --target $(ARM))" ]; then \
	     echo "aarch64: no qemu-aarch64, aarch64-linux-gnu-g++ or $(ARM) here, skipped"; \
	 else $(MAKE) --no-print-directory lib CARGO_BUILD_TARGET=$(ARM) && \
	      CC=aarch64-linux-gnu-gcc CXX=aarch64-linux-gnu-g++ \
	      $(CTEST) --under '$(QEMU) -L /usr/aarch64-linux-gnu' --timeout 300 \
	          --libdir $(TARGET)/$(ARM)/release/lean --programs '$(subst $(empty) ,,$(ON_ARM))'; fi

stress: stage bench-programs
	$(CTEST) --stress $(MINUTES)

# Random programs for hours, in processes that live long. What was done is added to target/soak/state.json, and the
# totals are of all sessions.
HOURS ?= 0.05

soak: stage
	$(CTEST) --soak $(HOURS)

# A script that skips its checks says why, and ends with status 77.
SKIPS = || { [ $$? = 77 ] && echo '$@: skipped'; }

# Whether programs that were compiled with the last release run with this library.
abi:
	@packaging/abi.sh $(SKIPS)

# Licences and sources of all crates that Cargo.lock has: deny.toml. cargo fetches those that other systems need, if it has not.
deny:
	@if ! $(CARGO) deny --version >/dev/null 2>&1; then echo "deny: no cargo deny here, skipped (cargo install cargo-deny)"; \
	 else $(CARGO) deny --workspace check bans licenses sources; fi

# The tarball, what is built of it, and its packages in a Debian system that is made for this: ten minutes.
packages: lib
	@CARGO=$(CARGO) packaging/packages.sh $(LIB) $(TARGET)/packages $(SKIPS)

clean:
	$(CARGO) clean
	rm -rf bench_c/results
