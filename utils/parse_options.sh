# shellcheck shell=bash
# Parses the options of the script that sources it, in Kaldi's manner:
#
#   stage=0            # each option is a variable with its default: --stage 3 or --stage=3
#   help_message="usage: $0 [--stage N] <data> <exp>"
#   . utils/parse_options.sh
#
# --some-name sets $some_name. A whole number as default asks for a whole number, 1.0 for a number, true or false for
# one of these, --nj and --num-workers for 1 or more; anything else takes any text. Values are taken as text: nothing in them is ever run.
# --config FILE reads lines `name=value`. Options stand before the arguments, which are left in "$@"; `--` ends them.

__po_fail() {
  printf '%s: %s (see %s --help)\n' "$0" "$1" "$0" >&2
  exit 1
}

__po_suggest() { # "; did you mean --x?" for the settable variable nearest to the name $1, or nothing
  compgen -v | grep '^[a-z]' | tr _ - | python3 -c 'import difflib, sys
near = difflib.get_close_matches(sys.argv[1], sys.stdin.read().split(), n=1)
print(f"; did you mean --{near[0]}?" if near else "")' "$1" 2>/dev/null || true
}

__po_check_name() { # option name without its dashes in front: is there a variable of that name?
  local __po_variable=${1//-/_}
  if [[ ! $__po_variable =~ ^[a-z][a-z0-9_]*$ || -z ${!__po_variable+set} ]]; then
    __po_fail "no option --$1$(__po_suggest "$1")"
  fi
}

__po_set() { # option name, value
  __po_check_name "$1"
  local -n __po_variable=${1//-/_}
  local __po_kind="" __po_pattern="" __po_number='^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$'
  if [[ $1 =~ ^(nj|num-workers|num_workers)$ ]]; then
    __po_kind="a whole number of at least 1" __po_pattern='^[1-9][0-9]*$'
  elif [[ $__po_variable =~ ^(true|false)$ ]]; then
    __po_kind="true or false" __po_pattern='^(true|false)$'
  elif [[ $__po_variable =~ ^[+-]?[0-9]+$ ]]; then
    __po_kind="a whole number" __po_pattern='^[+-]?[0-9]+$'
  elif [[ $__po_variable =~ $__po_number ]]; then
    __po_kind="a number" __po_pattern=$__po_number
  fi
  [[ -z $__po_kind || $2 =~ $__po_pattern ]] || __po_fail "--$1 needs $__po_kind, got '$2'"
  __po_variable=$2
}

__po_config() { # file of lines `name=value`, where # begins a comment
  local __po_line __po_name __po_value __po_count=0 __po_pattern='^(--)?([a-zA-Z][a-zA-Z0-9_-]*)=(.*)$'
  [ -f "$1" ] || __po_fail "--config $1: no such file"
  while IFS= read -r __po_line || [ -n "$__po_line" ]; do
    __po_count=$((__po_count + 1))
    __po_line=${__po_line%%#*}
    __po_line=${__po_line%"${__po_line##*[![:space:]]}"}
    [ -n "$__po_line" ] || continue
    [[ $__po_line =~ $__po_pattern ]] || __po_fail "$1:$__po_count: '$__po_line' is not name=value"
    __po_name=${BASH_REMATCH[2]} __po_value=${BASH_REMATCH[3]}
    [[ $__po_value =~ ^\"(.*)\"$ || $__po_value =~ ^\'(.*)\'$ ]] && __po_value=${BASH_REMATCH[1]}
    __po_set "$__po_name" "$__po_value"
  done <"$1"
}

__po_check_arguments() { # all that stands behind the options
  local __po_word
  for __po_word in "$@"; do
    [ -n "$__po_word" ] || __po_fail "an argument is an empty string; is a variable not set?"
    [[ $__po_word != --* ]] || __po_fail "option $__po_word must stand before the arguments"
  done
}

while [ $# -gt 0 ]; do
  case "$1" in
    --help | -h)
      printf '%s\n' "${help_message:-usage: $0 (its options and arguments are told at the top of the script)}"
      exit 0
      ;;
    --)
      shift
      break
      ;;
    --config=*) __po_config "${1#*=}" ;;
    --*=*)
      __po_word=${1#--}
      __po_set "${__po_word%%=*}" "${1#*=}"
      ;;
    --*)
      [ "$1" = --config ] || __po_check_name "${1#--}"
      [ $# -ge 2 ] || __po_fail "$1 needs a value"
      if [ "$1" = --config ]; then __po_config "$2"; else __po_set "${1#--}" "$2"; fi
      shift
      ;;
    -?*) __po_fail "no option $1$(__po_suggest "${1#-}")" ;;
    *)
      __po_check_arguments "$@"
      break
      ;;
  esac
  shift
done
unset -f __po_fail __po_suggest __po_check_name __po_set __po_config __po_check_arguments
unset __po_word
