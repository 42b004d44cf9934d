# Measuring, CONTRIBUTING.md: the part of the Makefile for the programs of bench_c and lab.

BENCHES := $(patsubst bench_c/%.c,$(BENCH)/%,$(wildcard bench_c/*.c)) \
           $(if $(HAVE_CXX),$(patsubst bench_c/cpp/%.cpp,$(BENCH)/%_cpp,$(wildcard bench_c/cpp/*.cpp)))
LAB     := $(TARGET)/lab
RUNNER   = $(TOOL) run --profile tools --quiet --package

$(BENCH)/%: bench_c/%.c $(wildcard bench_c/*.h) $(HEADERS) | $(UP_TO_DATE)
	$(COMPILE) -o $@ $< $(WITH_LIBRARY)
$(BENCH)/%_cpp: bench_c/cpp/%.cpp $(wildcard bench_c/*.h) $(HEADERS) | $(UP_TO_DATE)
	$(COMPILE_CXX) -o $@ $< $(WITH_LIBRARY)
$(LAB)/costs: $(wildcard lab/costs/*) bench_c/measure.h $(HEADERS) | $(UP_TO_DATE)
	$(COMPILE) -o $@ $(filter %.c,$^) $(WITH_LIBRARY)
$(LAB)/libsched.so.1: $(shell find lab/recorder lab/dag lab/estimate -name '*.rs' -o -name Cargo.toml) Cargo.toml
	@mkdir -p $(@D)
	RUSTFLAGS="$$RUSTFLAGS $(TABLES)" $(CARGO) rustc --release --package sched-recorder --lib --crate-type staticlib
	$(call briefly,link)$(LINK) -o $@ $(BUILT)/release/libsched_recorder.a -lpthread -ldl

bench-programs: $(BENCHES) $(UP_TO_DATE) ## build the programs of bench_c
	@$(if $(HAVE_CXX),,echo 'bench-programs: no C++ compiler here, bench_c/cpp skipped')

# FIGURE=speedup.svg: the figure of speed-ups goes there, too. PROGRAM=./mine ARGS='-n 100': measures that
# program instead, on this library, if it was linked with the shared one.
bench: $(if $(PROGRAM),stage,bench-programs) ## compare the schedulers: BENCH_ARGS="--quick --only NAME", FIGURE=FILE, PROGRAM=FILE ARGS=...
	@test -x $(BUILT)/tools/sched-bench || echo 'bench: the runner is built first, which takes some minutes'
	$(RUNNER) sched-bench $(if $(PROGRAM),$(if $(FIGURE),--features pictures),--features pictures) -- \
	        $(if $(PROGRAM),--program $(PROGRAM) --library $(STAGE)/lib,--programs $(BENCH)) \
	        $(if $(FIGURE),--figure $(FIGURE)) $(BENCH_ARGS) $(if $(PROGRAM),-- $(ARGS))

PEERS = @$(MAKE) --no-print-directory -C bench_c/peers OUT=$(BENCH)/peers CARGO=$(CARGO) LACE='$(abspath $(LACE))'
bench-peers: bench-programs ## ... and other systems, as far as they are here: LACE=FOLDER, a checkout of Lace
	$(PEERS)
	$(RUNNER) sched-bench --features pictures -- peers --programs $(BENCH) $(BENCH_ARGS)

# The library's echo server, beside those that the peers' Makefile builds.
$(BENCH)/peers/echo/libsched: bench_c/peers/echo/libsched.c bench_c/peers/echo/echo.h bench_c/measure.h $(HEADERS) | $(UP_TO_DATE)
	$(COMPILE) -o $@ $< $(WITH_LIBRARY)
bench-io: $(BENCH)/peers/echo/libsched programs ## echo servers on this library, Go, Tokio; NECO=FOLDER, LIBUV=FOLDER: on checkouts of these
	$(PEERS) NECO='$(abspath $(NECO))' LIBUV='$(abspath $(LIBUV))' echo
	@bench_c/peers/echo/compare.sh $(BENCH)/peers/echo $(PROGRAMS)/sload $(IO_ARGS)

bench-programs-peers: programs ## the programs of programs/ beside gzip, pigz, grep, ripgrep, sort, sha256sum
	$(RUNNER) sched-bench --features pictures -- tools --programs $(PROGRAMS) $(BENCH_ARGS)

bench-floor: $(BENCH)/tree $(BENCH)/flood $(UP_TO_DATE) ## tree and flood beside the least that the interface can cost
	@CC='$(CC)' CFLAGS='$(CFLAGS)' bench_c/floor/compare.sh $(BENCH)

bench-cpp: bench-programs ## what sched.hpp and sched_typed.hpp cost, beside C
	@$(if $(HAVE_CXX),bench_c/cpp/compare.sh $(BENCH),echo 'bench-cpp: no C++ compiler here, skipped')

# bench_c/runner/src/run/plan.toml has the names of the questions.
lab: lab-programs ## the questions of docs/LAB.md: twenty minutes, QUICK=1 three; QUESTION=locks: one of them
	$(RUNNER) sched-bench --features pictures -- lab --programs $(BENCH) --recorder $(LAB) \
	        $(if $(QUICK),--quick) $(if $(QUESTION),--question $(QUESTION)) $(BENCH_ARGS)

# How far predictions and measurements agree here, too.
scaling: lab-programs ## predicted speed-up for 1 to 1024 workers; QUICK=1
	$(RUNNER) sched-simulator -- lab --lab $(LAB) --programs $(BENCH) $(if $(QUICK),--quick) $(SCALING_ARGS)

# What predicts how programs scale.
lab-programs: bench-programs $(LAB)/libsched.so.1 $(LAB)/costs ## the recorder, a stand-in for the library, and the costs of its calls

# The tables of docs/data, and from them docs/RESULTS.md, REPORT.md, LAB.md and two blocks of README.md. Sessions that do
# not belong together are refused; MIXED=1, for work on the pages, fills them all the same.
results: lab-programs ## measure all figures of the pages in one session, and fill the pages: half an hour; LACE=FOLDER
	$(PEERS)
	$(RUNNER) sched-bench -- results --programs $(BENCH) --recorder $(LAB) $(if $(MIXED),--mixed)
	@docs/report/pdf.sh $(SKIPS)
pages: ## fill the pages again
	$(RUNNER) sched-bench -- pages $(if $(MIXED),--mixed)
	@docs/report/pdf.sh $(SKIPS)
