#!/usr/bin/env bash
# Makes the Debian package of this checkout, build/package/seckill_VERSION_ARCH.deb, for the Debian that it runs on, and
# looks at it: lintian's errors and warnings, what is in it, and the version, which is one everywhere.
#
#   package.sh                  installs what is missing to build it (lib.sh)
#   package.sh --suite NAME     for another Debian (bookworm, trixie), in a fresh one made by debootstrap; then installs
#                               the package in a second one, runs it, removes and purges it. Needs root. The package
#                               stands in build/package-NAME. Five minutes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

suite=''
case ${1:-} in
  '') ;;
  --suite) suite=${2:?--suite takes a release of Debian} ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 2 ;;
esac

# --- on this Debian ---

# The remote of the checkout, without a password that it may have been cloned with. git@HOST:PATH is a place, too, and
# ssh://git@HOST:PORT/PATH.
homepage() {
  git -C "$root" config remote.origin.url 2>/dev/null |
    sed -nE 's,^git@([^:]+):,https://\1/,; s,^(ssh|git)://([^/@]*@)?([^/:]+)(:[0-9]+)?/,https://\3/,; s,//[^/]*@,//,; s,\.git$,,; /^https:/p' || true
}

make_package() {
  local tree=$root/build/package release
  release=1~deb$(. /etc/os-release && echo "${VERSION_ID:-0}")
  install_packages "${build_packages[@]}" librabbitmq-dev libmemcached-dev libzookeeper-mt-dev dpkg-dev:dpkg-buildflags \
    lintian:lintian
  SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")
  export SOURCE_DATE_EPOCH
  rm -rf "$tree"
  mkdir -p "$tree"
  # Debian's flags for a program that faces a network.
  eval "$(DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --export=sh)"
  CFLAGS+=" $CPPFLAGS"
  say "building $tree"
  { cmake -S "$root" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=/usr \
      -DSECKILL_TESTS=OFF -DSECKILL_DEB_RELEASE="$release" -DSECKILL_HOMEPAGE="${SECKILL_HOMEPAGE:-$(homepage)}" &&
    cmake --build "$tree" && (cd "$tree" && cpack -G DEB); } >"$tree/log" 2>&1 || die "the build failed: $(tail -n 20 "$tree/log")"
  package=$(echo "$tree"/seckill_*.deb)
}

check_package() {
  local version file
  dpkg-deb -c "$package" >"$root/build/package/content"
  for file in bin/seckill-server bin/seckill-loadtest lib/systemd/system/seckill-server.service \
      share/man/man8/seckill-server.8.gz share/bash-completion/completions/seckill-server share/doc/seckill/docs/OPERATIONS.md; do
    grep -q " \./usr/$file\$" "$root/build/package/content" || die "the package has no $file"
  done
  lintian --fail-on error,warning --tag-display-limit 0 --allow-root "$package" ||
    die "lintian refuses $package"
  version=$(sed -n 's/^project(seckill VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
  [[ $(dpkg-deb -f "$package" Version) == "$version-"* ]] || die "the package is not version $version"
  [ "$("$root/build/package/server/seckill-server" --version)" = "seckill-server $version" ] || die "the server is not version $version"
  say "$package: $(($(stat -c %s "$package") / 1000)) KB, needs $(dpkg-deb -f "$package" Depends)"
}

# --- on another ---

# shellcheck disable=SC2016  # the inner shell's
in_tree() { # COMMAND...: in $tree, in namespaces of its own
  unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount --make-rprivate /
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    exec chroot "$0" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$tree" "$@" </dev/null
}

fresh_tree() { # a new $tree
  tree=$work/$1
  mkdir "$tree"
  tar -C "$tree" -xf "$work/base.tar"
}

make_base() {
  local file
  say "making a fresh Debian $suite"
  debootstrap --variant=minbase "$suite" "$work/base" >"$work/log" 2>&1 || die "debootstrap: $(tail -n 3 "$work/log")"
  for file in /etc/apt/apt.conf.d/99*; do   # how this machine reaches Debian's packages
    [ ! -f "$file" ] || cp "$file" "$work/base/etc/apt/apt.conf.d/"
  done
  cp /etc/resolv.conf "$work/base/etc/" 2>/dev/null || true
  printf '#!/bin/sh\nexit 101\n' >"$work/base/usr/sbin/policy-rc.d"
  chmod 755 "$work/base/usr/sbin/policy-rc.d"
  tar -C "$work/base" -cf "$work/base.tar" .
  rm -rf "$work/base"
}

build_there() {
  fresh_tree builder
  mkdir "$tree/seckill"
  (cd "$root" && git ls-files -z | xargs -0 cp --parents -t "$tree/seckill")
  touch -d "@$(git -C "$root" log -1 --format=%ct)" "$tree/seckill/CHANGELOG.md"
  in_tree env SECKILL_HOMEPAGE="$(homepage)" /seckill/scripts/package.sh
  mkdir -p "$root/build/package-$suite"
  rm -f "$root/build/package-$suite"/*.deb
  cp "$tree"/seckill/build/package/*.deb "$root/build/package-$suite/"
}

install_there() {
  local deb=/seckill.deb
  fresh_tree user
  cp "$root/build/package-$suite"/*.deb "$tree$deb"
  in_tree sh -c "apt-get update && apt-get install -y --no-install-recommends $deb" >"$work/log" 2>&1 ||
    die "it cannot be installed: $(tail -n 20 "$work/log")"
  grep -q '^ *2. systemctl enable' "$work/log" || die "the installation does not say what comes next"
  in_tree seckill-server --version
  in_tree seckill-loadtest --version
  in_tree id seckill
  [ "$(in_tree stat -c '%U %a' /etc/seckill/admin_token /etc/seckill/seckill.env | tr '\n' ' ')" = 'root 600 root 640 ' ] ||
    die "the files in /etc/seckill can be read by others"
  [ "$(in_tree cat /etc/seckill/admin_token | wc -c)" = 33 ] || die "the token is not one line of 32 characters"
  in_tree cat /etc/seckill/admin_token >"$work/token"
  in_tree dpkg -i "$deb" >"$work/log" 2>&1 || die "it cannot be installed over itself: $(cat "$work/log")"
  in_tree cat /etc/seckill/admin_token | cmp - "$work/token" || die "an upgrade makes another token"
  in_tree dpkg --remove seckill >"$work/log" 2>&1 || die "it cannot be removed: $(cat "$work/log")"
  in_tree test -e /etc/seckill/seckill.env || die "a removal takes the settings with it"
  in_tree mkdir -p /etc/systemd/system/multi-user.target.wants
  in_tree ln -s /lib/systemd/system/seckill-server.service /etc/systemd/system/multi-user.target.wants/
  in_tree dpkg --purge seckill >"$work/log" 2>&1 || die "it cannot be purged: $(cat "$work/log")"
  ! in_tree sh -c 'ls -d /etc/seckill /usr/share/doc/seckill; find /etc/systemd -name seckill\* | grep .' 2>/dev/null || die "a purge leaves this"
  say "installed, upgraded, removed and purged on Debian $suite"
}

if [ -z "$suite" ]; then
  make_package
  check_package
else
  [ "$(id -u)" = 0 ] || die "--suite needs root"
  install_packages debootstrap:debootstrap git:git
  work=$(mktemp -d "${TMPDIR:-/tmp}/seckill-package.XXXXXX")
  trap 'rm -rf --one-file-system "$work"' EXIT
  make_base
  build_there
  install_there
fi
