# shellcheck shell=bash
# Sets the environment of the recipe. Source it, from anywhere and as often as you like:  . ./path.sh
#
# It exports PYMAVG_ROOT, puts .venv/bin, utils/ and sctk's programs on PATH, and names places where compiled kernels
# may be kept. It never ends the shell that sources it: on a mistake it returns 1 with a message.

if [ -n "${ZSH_VERSION:-}" ]; then
  eval '_pymavg_self=${(%):-%x}'
elif [ -n "${BASH_VERSION:-}" ]; then
  _pymavg_self=${BASH_SOURCE[0]}
else # sh does not tell which file it reads: the one in the current directory, or PYMAVG_ROOT's
  _pymavg_self=path.sh
fi
_pymavg_self=$(readlink -f -- "$_pymavg_self" 2>/dev/null || true)
if [ -f "${_pymavg_self%/*}/pymavg/cli.py" ]; then
  PYMAVG_ROOT=${_pymavg_self%/*}
elif [ ! -f "${PYMAVG_ROOT:-}/pymavg/cli.py" ]; then # a copy of path.sh outside of the tree relies on PYMAVG_ROOT
  echo "path.sh: pymavg/cli.py is not in '${_pymavg_self%/*}'; set PYMAVG_ROOT to pymavg's directory" >&2
  unset _pymavg_self
  return 1
fi
unset _pymavg_self
export PYMAVG_ROOT

_pymavg_add() { # directory: goes to the front of PATH, once, if it exists
  case ":$PATH:" in
    *":$1:"*) ;;
    *) [ ! -d "$1" ] || PATH=$1:$PATH ;;
  esac
}
_pymavg_add /usr/lib/sctk/bin # Debian keeps sclite and hubscr.pl off the PATH
_pymavg_add "$PYMAVG_ROOT/utils"
_pymavg_add "$PYMAVG_ROOT/.venv/bin"
export PATH
unset -f _pymavg_add

for _pymavg_link in "$PYMAVG_ROOT"/.venv/lib/libmpi.so.12 "$PYMAVG_ROOT"/.venv/lib/libmpi.so.40; do
  if [ -L "$_pymavg_link" ]; then # utils/setup.sh linked the system's MPI library there
    case ":${LD_LIBRARY_PATH:-}:" in
      *":$PYMAVG_ROOT/.venv/lib:"*) ;;
      *) export LD_LIBRARY_PATH=$PYMAVG_ROOT/.venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ;;
    esac
  fi
done
unset _pymavg_link

export LC_ALL=C # all tables are sorted in C order
export PYTHONUNBUFFERED=1

if [ -z "${NUMBA_CACHE_DIR:-}" ]; then
  for _pymavg_cache in "$PYMAVG_ROOT/.cache" "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/pymavg" \
    "${TMPDIR:-/tmp}/pymavg-$(id -u)"; do
    if mkdir -p "$_pymavg_cache/numba" 2>/dev/null && [ -w "$_pymavg_cache/numba" ]; then
      export NUMBA_CACHE_DIR=$_pymavg_cache/numba
      export CUPY_CACHE_DIR=${CUPY_CACHE_DIR:-$_pymavg_cache/cupy}
      break
    fi
  done
  unset _pymavg_cache
fi

if [ "$(id -u)" = 0 ]; then # in a container one often is; Open MPI refuses root unless told twice
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
