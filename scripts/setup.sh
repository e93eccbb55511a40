#!/usr/bin/env bash
# Makes this checkout ready to build and test: system packages, cargo-nextest, .venv.
#
# In: a Debian 12 machine with Rust and Python 3.11 or later. Out: everything that the Makefile's targets
# need. It may run any number of times; if nothing is missing, it takes much less than a second.
#
#   PYTHON                 the interpreter for .venv (default: the first of python3, python3.11, ... that is new enough)
#   LLVM_SYS_191_PREFIX    an LLVM 19 of your own; its apt packages are then left alone
#   NUMELT_SKIP_APT=1      install no system packages, only say which are missing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VENV=.venv
NEXTEST=0.9.151
say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# --- system packages -------------------------------------------------------------------------

# Prints the Debian packages that the build and the tests need. A static LLVM is linked with libzstd and zlib,
# although llvm-19-dev does not depend on them; gmp, mpfr and m4 are for the multi-precision reference of the
# vector-math tests; PoCL makes any processor an OpenCL device, for which CLBlast multiplies matrices
# and clFFT computes Fourier transforms.
wanted_packages() {
  printf '%s\n' gcc g++ libc6-dev make pkg-config ca-certificates libgmp-dev libmpfr-dev m4
  printf '%s\n' ocl-icd-libopencl1 pocl-opencl-icd libclblast1 libclfft2
  [ -n "${LLVM_SYS_191_PREFIX:-}" ] || printf '%s\n' llvm-19-dev libzstd-dev zlib1g-dev
  if ! find_python >/dev/null; then
    printf '%s\n' python3 python3-venv
  elif ! "$(find_python)" -c 'import ensurepip, venv' 2>/dev/null; then
    printf '%s\n' python3-venv
  fi
}

installed() { [ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" = "install ok installed" ]; }

install_packages() {
  local missing=() package
  while read -r package; do
    installed "$package" || missing+=("$package")
  done < <(wanted_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "${NUMELT_SKIP_APT:-}" != 1 ] || die "missing packages (NUMELT_SKIP_APT=1): ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "not root and no sudo; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "apt-get install ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

check_llvm() {
  local prefix=${LLVM_SYS_191_PREFIX:-/usr/lib/llvm-19} version
  version=$("$prefix/bin/llvm-config" --version 2>/dev/null) || die "no llvm-config under $prefix"
  case $version in
    19.*) ;;
    *) die "LLVM $version under $prefix; 19 is needed" ;;
  esac
}

# --- Rust ------------------------------------------------------------------------------------

setup_rust() {
  command -v cargo >/dev/null || die "cargo not found: install Rust 1.89 or later (https://rustup.rs)"
  local part
  for part in fmt clippy; do
    cargo "$part" --version >/dev/null 2>&1 && continue
    command -v rustup >/dev/null || die "cargo $part not found and no rustup to add it"
    say "rustup component add $part"
    rustup component add "${part/fmt/rustfmt}"
  done
  cargo nextest --version >/dev/null 2>&1 && return 0
  say "cargo install cargo-nextest (some minutes, once)"
  # The runner's own speed does not matter, and a build without optimization takes a third of the time.
  CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0 \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256 cargo install --quiet --locked "cargo-nextest@$NEXTEST"
}

# --- Python ----------------------------------------------------------------------------------

# Prints the interpreter to make .venv with, or fails.
find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.11 python3.12 python3.13 python3.14; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

setup_venv() {
  local python stamp=$VENV/.requirements.sha256
  if ! "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$(find_python) || die "no Python 3.11 or later found; set PYTHON"
    say "making $VENV with $python"
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
  fi
  sha256sum --check --status "$stamp" 2>/dev/null && return 0
  say "pip install -r requirements-dev.txt"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
  sha256sum requirements-dev.txt >"$stamp"
}

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
  install_packages
else
  say "no apt here: LLVM 19 (static), zstd, zlib, gmp, mpfr, m4 and a C++ compiler are taken as given"
fi
check_llvm
setup_rust
setup_venv
