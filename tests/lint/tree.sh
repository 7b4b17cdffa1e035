# shellcheck shell=bash
# A small tree for a check to be tried on, and what came of it. Sourced by the check_*_catches.sh, which set
# `check`, the check's path, before; it is called with the tree's path.

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
missed=0
cases=0

put() { # file, text
  mkdir -p "$tree/$(dirname "$1")"
  printf '%s\n' "$2" >"$tree/$1"
}

miss() { # what went wrong
  echo "$1" >&2
  missed=$((missed + 1))
}

passes() { # what the tree is
  output=$("${check:?}" "$tree" 2>&1) || miss "refused, and should not be: $1: $output"
  cases=$((cases + 1))
}

refuses() { # what the tree is
  ! "${check:?}" "$tree" >/dev/null 2>&1 || miss "not caught: $1"
  cases=$((cases + 1))
}

# Puts one more file into the tree, expects a refusal that names it, and takes it out again.
catches() { # file, text
  put "$1" "$2"
  if output=$("${check:?}" "$tree" 2>&1); then
    miss "not caught: $1: ${2:0:80}"
  elif [[ $output != *"$1"* ]]; then
    miss "caught without saying where: $1: ${2:0:80}: $output"
  fi
  cases=$((cases + 1))
  rm "$tree/$1"
}

judge() { # the last thing that a script does
  echo "$cases trees, $missed judged wrongly"
  [ "$missed" -eq 0 ]
}
