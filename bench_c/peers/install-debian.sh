#!/bin/sh
# Installs what `make bench-peers` compares libsched with, and valgrind, which `make bench`
# counts instructions with. Debian 12 or later, Ubuntu 22.04 or later; as root. rayon,
# crossbeam, chili, forte, corosensei and tokio come by cargo when they are built.
set -eu

apt-get update
exec apt-get install --yes --no-install-recommends \
    gcc \
    g++ \
    make \
    pkg-config \
    clang libomp-dev \
    libtbb-dev \
    libglib2.0-dev \
    libboost-context-dev libboost-fiber-dev \
    golang-go \
    default-jdk-headless \
    valgrind libc6-dbg
