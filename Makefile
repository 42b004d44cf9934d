# libsched: build, test, measure, install. Needs cargo, Rust 1.85, a C compiler and make: make help.
CARGO      ?= cargo
CFLAGS     ?= -O2 -g
CXXFLAGS   ?= -O2 -g
PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
BINDIR     ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/libsched
DESTDIR    ?=
# Empty: the debug library is neither built nor installed.
WITH_DEBUG ?= yes
# make takes a blank for the end of a name.
$(foreach dir,CURDIR CARGO_TARGET_DIR PREFIX DESTDIR,\
  $(if $(filter-out 0 1,$(words $($(dir)))),$(error $(dir)="$($(dir))": a path with blanks is not supported)))

# The version of Rust is checked first: what an older cargo says of this tree is hard to understand.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
HOW  := see https://rustup.rs, or where rustup is here: rustup update stable (Debian 13: apt install cargo)
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
CROSS  := $(filter-out $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p'),$(CARGO_BUILD_TARGET))
CROSS_COMPILE ?= $(if $(CROSS),$(subst -unknown,,$(CROSS))-)
LINKER := CARGO_TARGET_$(shell echo '$(CROSS)' | tr a-z- A-Z_)_LINKER
chosen  = $(if $(filter default undefined,$(origin $(1))),$(2),$($(1)))
CC     := $(call chosen,CC,$(or $($(LINKER)),$(if $(CROSS_COMPILE),$(CROSS_COMPILE)gcc,cc)))
CXX    := $(call chosen,CXX,$(if $(CROSS_COMPILE),$(CROSS_COMPILE)g++,c++))
AR     := $(call chosen,AR,$(CROSS_COMPILE)ar)
OBJCOPY ?= $(CROSS_COMPILE)objcopy
# Empty without a C++ compiler: what needs one is then named and left out. (The redirection makes an old make call the shell.)
HAVE_CXX := $(shell command -v $(firstword $(CXX)) 2>/dev/null)

# Cargo's profile for the library. make try sets it; the library and its stage are then below a folder of that name.
PROFILE ?= release
TARGET  := $(abspath $(or $(CARGO_TARGET_DIR),target))
BUILT   := $(TARGET)$(CARGO_BUILD_TARGET:%=/%)
LEAN    := $(BUILT)/$(PROFILE)/lean
DEBUG_LIB := $(TARGET)/debug/lean/libsched.so.1
STAGE   := $(TARGET)$(patsubst %,/%,$(filter-out release,$(PROFILE)))/stage
BENCH   := $(TARGET)/bench
PROGRAMS := $(TARGET)/programs
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SYMBOLS := $(shell sed -n 's/^ *\(sched_[a-z_0-9]*\);/\1/p' src/sched.map)
# What tools/libsched-gdb.py reads.
PRIVATE := $(shell sed -n 's/^ *\(libsched_[a-z_]*\);/\1/p' src/sched.map)
HEADERS := $(wildcard include/*.h include/*.hpp)
SOURCES := $(shell find src -name '*.rs') build.rs Cargo.toml src/sched.map
# Without make test, which has a rule below.
GATES   := $(filter-out test,$(shell sed -n 's/^name = "\(.*\)"$$/\1/p' docs/trust/gates.toml))

# Commands with the names of all symbols are shown by make V=1 only. make -s shows nothing at all.
briefly = $(if $(V),,@$(if $(findstring s,$(firstword -$(MAKEFLAGS))),,echo '$(1) $@';))
# What runs here, whatever the library is built for: $(call tool,PACKAGE,NAME) builds a tool of this tree, and is its name.
TOOL    = env -u CARGO_BUILD_TARGET $(CARGO)
tool    = $(if $(TOOLS_BUILT),,$(TOOL) build --quiet --package $(1) --bin $(2) && )$(TARGET)/debug/$(2)
XTASK   = $(call tool,xtask,xtask)
# A script that skips its checks says why, and ends with status 77.
SKIPS   = || { [ $$? = 77 ] && echo '$@: skipped'; }

all: lib $(if $(WITH_DEBUG),debug) ## build the library, and the debug library
# Every target is a name, and no file. A rule with a comment is a line of make help.
.PHONY: $(GATES) $(shell sed -n 's/^\([a-z][a-z -]*\):.*/\1/p' Makefile bench_c/bench.mk)
help:
	+@sed -n 's/^\([a-z][a-z-]*\):.*## /make \1\t/p' Makefile bench_c/bench.mk | expand -t 27
	+@echo 'Gates: $(GATES)' | fold -s -w 120
	+@echo 'Variables: PREFIX LIBDIR BINDIR INCLUDEDIR MANDIR DOCDIR DESTDIR WITH_DEBUG; CC CFLAGS CXX CXXFLAGS LDFLAGS AR OBJCOPY'
	+@echo 'CARGO CARGO_TARGET_DIR; V=1 shows all commands. CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu is another processor, and'
	+@echo 'CROSS_COMPILE the beginning of the names of its tools, if they are not those of Debian.'

# --- the library ------------------------------------------------------------
lib: $(LEAN)/libsched.so.1 $(LEAN)/libsched.a ## libsched.so.1 and libsched.a
# Cargo makes only the static library here. Callers of the Rust library might call anything; without it the optimiser
# may take all but the symbols of the interface as internal. Functions begin at multiples of 64 bytes: otherwise the
# time of the short functions of the hot path would depend by some per cent on where they lie in the processor's cache
# lines, and so on unrelated changes. The archive is copied, because cargo build would leave a less optimised one in its
# place. DEBUG_INFO=yes: the library keeps its debug information, for packages that split it off. The frontier against
# exceptions is a part of the unwind tables, which Rust before 1.92 leaves out of a library that aborts at a panic.
TABLES = -C force-unwind-tables=yes
STATIC = $(CARGO) rustc --package libsched --lib --crate-type staticlib
$(LEAN)/rust.a: $(SOURCES)
	@mkdir -p $(@D)
	$(if $(DEBUG_INFO),CARGO_PROFILE_RELEASE_DEBUG=2 CARGO_PROFILE_RELEASE_STRIP=none) $(STATIC) --profile $(PROFILE) \
	        -- $(TABLES) -C llvm-args=-align-all-functions=6
	@cp $(BUILT)/$(PROFILE)/libsched.a $@
# Of such an archive the shared library is made here, since rustc has a version script of its own, without a version,
# and linkers take one only. A task may still be running when a program closes the library: it stays mapped.
LINK = $(CC) -shared $(LDFLAGS) -Wl,-soname,libsched.so.1 -Wl,--version-script=src/sched.map -Wl,-z,nodelete -Wl,-z,relro \
       -Wl,-z,now -Wl,-z,noexecstack -Wl,-O1 -Wl,--gc-sections -Wl,--as-needed $(SYMBOLS:%=-Wl,-u,%)
link_library = $(call briefly,link)$(LINK) $(PRIVATE:%=-Wl,-u,%) -o $@ $(1) -lpthread -ldl && ln -sf libsched.so.1 $(@D)/libsched.so
$(LEAN)/libsched.so.1: $(LEAN)/rust.a src/sched.map
	$(call link_library,$(if $(DEBUG_INFO),,-Wl,--strip-debug) $<)
# The archive as rustc makes it shows the whole Rust runtime to the linker. Here it is linked into one object that keeps
# what the library uses, and shows its symbols only; and the hidden one that all probes of a program share
# (src/sys/probe.rs).
$(LEAN)/libsched.a: $(LEAN)/rust.a src/sched.map
	$(call briefly,link)$(CC) -nostdlib -r -Wl,--gc-sections $(SYMBOLS:%=-Wl,-u,%) $(PRIVATE:%=-Wl,-u,%) -o $(@D)/libsched.o $<
	$(call briefly,hide the symbols of)$(OBJCOPY) $(patsubst %,--keep-global-symbol=%,$(SYMBOLS) $(PRIVATE) _.stapsdt.base) \
	        --remove-section=.llvmbc --remove-section=.llvmcmd --remove-section=.group --strip-unneeded $(@D)/libsched.o
	rm -f $@ && $(AR) rcs $@ $(@D)/libsched.o

debug: $(DEBUG_LIB) ## the library with its checks of what a program does: target/debug/lean
$(DEBUG_LIB): $(SOURCES)
	$(STATIC) --quiet --profile checked -- $(TABLES)
	@mkdir -p $(@D)
	$(call link_library,$(BUILT)/checked/libsched.a)
# The library that delays its threads between the steps of its protocols (src/sys/fuzz.rs).
fuzz-library: $(TARGET)/fuzz/release/lean/libsched.so.1
$(TARGET)/fuzz/release/libsched.a: $(SOURCES)
	RUSTFLAGS='--cfg sched_fuzz' $(STATIC) --release --target-dir $(TARGET)/fuzz -- $(TABLES)
$(TARGET)/fuzz/%/lean/libsched.so.1: $(TARGET)/fuzz/%/libsched.a src/sched.map
	@mkdir -p $(@D)
	$(call link_library,$<)
headers: ; LIBSCHED_WRITE_HEADERS=1 $(CARGO) test --quiet --package libsched --test headers ## write include/sched_tasks.h from src/ffi
# --- installing and packages: docs/INSTALL.md -------------------------------
INSTALL = @env DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' INCLUDEDIR='$(INCLUDEDIR)' MANDIR='$(MANDIR)' \
          DOCDIR='$(DOCDIR)' VERSION=$(VERSION) LIBRARY=$(LEAN) DEBUG_LIBRARY=$(if $(WITH_DEBUG),$(DEBUG_LIB)) CROSS=$(CROSS) \
          CC='$(CC)' CFLAGS='$(CFLAGS)' CXX='$(if $(HAVE_CXX),$(CXX))' CXXFLAGS='$(CXXFLAGS)' CHECKED=$(TARGET)/installcheck
STAGED  = DESTDIR= PREFIX=$(STAGE) LIBDIR=$(STAGE)/lib INCLUDEDIR=$(STAGE)/include MANDIR=$(STAGE)/share/man \
          DOCDIR=$(STAGE)/share/doc/libsched DEBUG_LIBRARY=
install: all ## ... and install it: PREFIX=/usr/local, DESTDIR
	$(INSTALL) packaging/install.sh install
installcheck: ## build and run the examples with what is installed
	$(INSTALL) packaging/install.sh check
uninstall: ## remove what install put there
	$(INSTALL) packaging/install.sh uninstall
# What the tests and the benchmarks link against: an installed tree of its own. A file in it says that it is up to date,
# and for which processor.
UP_TO_DATE := $(STAGE)/.made$(CARGO_BUILD_TARGET:%=-%)
stage: $(UP_TO_DATE) ## install into target/stage, for this tree: PKG_CONFIG_PATH=target/stage/lib/pkgconfig
$(UP_TO_DATE): $(LEAN)/libsched.so.1 $(LEAN)/libsched.a $(HEADERS) packaging/install.sh packaging/libsched.pc.in \
               tools/libsched-gdb.py $(wildcard *.md man/*.[37] docs/*.* docs/data/* examples/* packaging/cmake/* LICENSE-*)
	@rm -f $(STAGE)/.made*
	$(INSTALL) $(STAGED) packaging/install.sh install
	@touch $@
# A tool whose own libraries are not here is named and left out.
IN_PROGRAMS = @$(MAKE) --no-print-directory -s -C programs CC='$(CC)' CFLAGS='$(CFLAGS)' LIBSCHED=$(STAGE) OUT=$(PROGRAMS)
programs: $(UP_TO_DATE) ## build the tools of programs/ into target/programs
	$(IN_PROGRAMS)
install-programs: programs ## ... and install them: BINDIR=PREFIX/bin
	$(IN_PROGRAMS) install DESTDIR=$(DESTDIR) BINDIR=$(BINDIR) MANDIR=$(MANDIR)
uninstall-programs: ## remove them
	$(IN_PROGRAMS) uninstall DESTDIR=$(DESTDIR) BINDIR=$(BINDIR) MANDIR=$(MANDIR)

TARBALL := $(TARGET)/dist/libsched-$(VERSION).tar.xz
tarball: ## target/dist/libsched-VERSION.tar.xz: the source of git's HEAD or of a tarball, with all crates
	@CARGO=$(CARGO) packaging/dist.sh $(TARGET)/dist
dist: tarball ## ... and target/dist/libsched-VERSION-x86_64-linux.tar.gz: the library, for systems without Rust
	@CARGO=$(CARGO) packaging/binary.sh $(TARBALL) $(TARGET)/dist $(SKIPS)
deb: tarball ## Debian packages of the tarball
	@packaging/deb.sh $(TARBALL) $(TARGET)/deb
rpm: tarball ## rpm packages of the tarball
	@packaging/rpm.sh $(TARBALL) $(TARGET)/rpm

# --- programs that use the library ------------------------------------------
# They find it when they start, and so are not built anew with it.
COMPILE      = mkdir -p $(@D) && $(CC) -std=c11 $(CFLAGS) -Wall -Wextra -Wpedantic -Werror -I$(STAGE)/include/libsched
COMPILE_CXX  = mkdir -p $(@D) && $(CXX) -std=c++17 $(CXXFLAGS) -Wall -Wextra -Wpedantic -Werror -I$(STAGE)/include/libsched
WITH_LIBRARY = -L$(STAGE)/lib -lsched -lm -pthread -Wl,-rpath,$(STAGE)/lib

SHOWN    := $(wildcard examples/*.c) $(if $(HAVE_CXX),$(wildcard examples/*.cpp))
EXAMPLES := $(patsubst examples/%,$(TARGET)/examples-c/%,$(basename $(SHOWN)))
examples: $(EXAMPLES) $(UP_TO_DATE) ## build and run examples/*.c and *.cpp
	@$(if $(HAVE_CXX),,echo 'examples: no C++ compiler here, $(wildcard examples/*.cpp) skipped')
	@for example in $(EXAMPLES); do echo "$${example##*/}:"; $$example || exit 1; done
$(TARGET)/examples-c/%: examples/%.c $(HEADERS) | $(UP_TO_DATE)
	$(COMPILE) -o $@ $< $(WITH_LIBRARY)
$(TARGET)/examples-c/%: examples/%.cpp $(HEADERS) | $(UP_TO_DATE)
	$(COMPILE_CXX) -o $@ $< $(WITH_LIBRARY)
include bench_c/bench.mk
# --- testing: CONTRIBUTING.md -----------------------------------------------
# make test first says how long it will take: as long as the last time, or an estimate for a tree where nothing is built:
# 540 s of processor time, and 10 s in which one processor has nothing to do.
NPROC := $(shell nproc)
PARTS  = @$(MAKE) -s --no-print-directory TOOLS_BUILT=$(if $(CARGO_BUILD_TARGET),,yes) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(NPROC))
test: ## all tests: 4 minutes on 2 processors. TEST_ARGS="--filter NAME" narrows the C tests
	@mkdir -p $(TARGET); date +%s > $(TARGET)/test-began
	@if [ -s $(TARGET)/test-seconds ]; then echo "make test: $$(cat $(TARGET)/test-seconds) seconds the last time"; \
	 else echo "make test: about $$((540 / $(NPROC) + 10)) seconds, with $(NPROC) processors to itself"; fi
	@echo "1 of 2: lints, libraries, programs"
	$(PARTS) test-lints test-programs check-models debug
	@echo "2 of 2: unit tests, C programs"
	$(PARTS) test-units test-c
	@seconds=$$(($$(date +%s) - $$(cat $(TARGET)/test-began))); echo "make test: $$seconds seconds"; \
	 $(if $(TEST_ARGS),,echo $$seconds > $(TARGET)/test-seconds)
# make test compiles the tests and the runner by clippy's compiler, where there is one, so that the lints come with the
# compilation: cargo clippy compiles everything a second time. (What is installed is always compiled by rustc.) It builds
# its tools with all other crates: a single package would need its crates with other features, compiled a second time.
LINTER = $(if $(shell clippy-driver --version 2>/dev/null),clippy-driver)
LINTED = $(if $(LINTER),--config 'build.rustc-workspace-wrapper="$(LINTER)"')
test-lints check-models: export RUSTC_WORKSPACE_WRAPPER = $(LINTER)
test-units test-lints check-models: export CLIPPY_ARGS = -D__CLIPPY_HACKERY__warnings
# The models have no tests but with --cfg loom, which make loom sets.
TESTED := --workspace --exclude sched-model
test-lints:
	@$(if $(LINTER),,echo "check: no clippy-driver here, skipped")
	@$(CARGO) build --quiet $(TESTED) --tests --bin sched-ctest --bin xtask
	@$(MAKE) --no-print-directory check-texts
# Some unit tests leave a processor idle, and the C programs are compiled meanwhile. What the tests print stays together.
test-units:
	@log=$(TARGET)/test-units.log; status=0; \
	 MAKEFLAGS= $(CARGO) test $(LINTED) --quiet --no-fail-fast $(TESTED) > $$log 2>&1 || status=$$?; cat $$log; exit $$status
test-programs: bench-programs programs
	$(if $(shell command -v pkg-config 2>/dev/null),$(INSTALL) $(STAGED) packaging/install.sh check,\
	  @echo "test: no pkg-config here, installcheck skipped"; $(MAKE) --no-print-directory -s examples)
# The programs that scale are a quarter of the size that make knobs gives them, and run with half of the settings. They
# sleep for more of their time, too.
CTEST  = @$(call tool,sched-ctest,sched-ctest) --prefix $(STAGE) --smaller 4 --fewer --optimize 1 --jobs $(shell expr 2 '*' $(NPROC))
test-c: $(UP_TO_DATE) $(DEBUG_LIB) bench-programs programs
	$(CTEST) --bench $(BENCH) $(TEST_ARGS)
try: ## build and stage the library quickly, and run the C tests whose name contains NAME
	@$(if $(NAME),,echo 'make try NAME=tree: which C tests?'; exit 1)
	@$(MAKE) -s --no-print-directory PROFILE=fast try-c
try-c: $(UP_TO_DATE)
	$(CTEST) --filter '$(NAME)' $(TEST_ARGS)
check: check-texts check-models ## format, lints, manual pages; imports, mutants, packages and records fit the code
	@if $(CARGO) clippy --version >/dev/null 2>&1; then $(CARGO) clippy --quiet $(TESTED) --all-targets -- -D warnings; \
	 else echo "check: no cargo clippy here, skipped"; fi
check-models: ; @RUSTFLAGS="--cfg loom" $(CARGO) check --quiet --package sched-model --all-targets --target-dir $(TARGET)/loom
check-texts:
	@$(XTASK) mutants --check && man/check.sh && packaging/check.sh
	@$(if $(TOOLS_BUILT),,$(TOOL) test --quiet --no-fail-fast --package sched-tools --test floors --test lengths --test statics)
	@$(XTASK) check
	@if $(CARGO) fmt --version >/dev/null 2>&1; then $(CARGO) fmt --all -- --check; \
	 else echo "check: no cargo fmt here, skipped"; fi

# --- the long checks: docs/trust/gates.toml ---------------------------------
$(GATES): ; @$(XTASK) gate $@
loom-%:   ; @$(XTASK) gate loom $*
record-%: ; @$(XTASK) record $* $(MAKEOVERRIDES) $(if $(FULL),FULL=1)
# FULL=1: each gate does all of its work, in hours. GATES='loom fuzz': these gates.
check-deep: ; @$(XTASK) deep $(MAKEOVERRIDES) $(if $(FULL),FULL=1) ## run and record the gates: an hour, FULL=1 hours; each is a target, too
gates: ; @$(XTASK) gates ## what each gate shows, and its part in check-deep
trust: ; @$(XTASK) trust ## docs/TRUST.md: what was checked, when and where; record-NAME runs and records one gate
loom-results: ## model/RESULTS.md, from make loom, shuttle and litmus
	@$(XTASK) mutants --commit > $(TARGET)/loom.log
	@$(MAKE) --no-print-directory loom shuttle litmus >> $(TARGET)/loom.log 2>&1
	@$(XTASK) mutants --models $(TARGET)/loom.log
clean: ; $(CARGO) clean && rm -rf bench_c/results ## remove what was built
