# shellcheck shell=bash
# Processes that have a part of the machine by cgroups' quotas, for scripts that measure shapes. As root.
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
