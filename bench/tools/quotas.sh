# shellcheck shell=bash
# Processes that have a part of the machine by cgroups' quotas, for scripts that measure shapes, and what these make of
# their figures. As root.
groups=()

make_group() { # NAME MICROSECONDS [OF_MICROSECONDS]: to group
  if [ -d /sys/fs/cgroup/cpu ]; then
    group=/sys/fs/cgroup/cpu/seckill-$$-$1
    mkdir "$group"
    echo "${3:-100000}" >"$group/cpu.cfs_period_us"
    echo "$2" >"$group/cpu.cfs_quota_us"
  else
    group=/sys/fs/cgroup/seckill-$$-$1
    mkdir "$group"
    echo "$2 ${3:-100000}" >"$group/cpu.max"
  fi
  groups+=("$group")
}

remove_groups() { [ ${#groups[@]} = 0 ] || rmdir "${groups[@]}" || true; }

# shellcheck disable=SC2034  # the scripts'
add_up() { # COLUMN CSV...: to sum, what `run` measured together
  sum=$(awk -F, -v column="$1" 'FNR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i; next }
    at && $5 == "speed" { sum += $at } END { printf "%.0f", sum }' "${@:2}")
}

sort_rates() { # LINES: to median and range
  local sorted
  mapfile -t sorted < <(printf '%s' "$1" | sort -n)
  median=${sorted[${#sorted[@]} / 2]} range=${sorted[0]}-${sorted[-1]}
}
