#!/bin/sh
# move_changed.sh FROM TO: moves the files of the folder FROM into TO, but for those that are there with the same
# text: they keep their time, so that nothing is compiled again for them.
set -eu
for file in "$1"/*; do
  cmp -s "$file" "$2/${file##*/}" || mv "$file" "$2"
done
rm -rf "$1"
