# What grows? Reads lines "SECONDS NAME VALUE", in the order of their times; prints a row for each name, and exits 1
# when one has grown beyond its bound, 2 when there is too little to say anything.
#
# A leak raises what is left when the load is low, while queues, retries and faults make peaks that go away again. So
# the first third, in which pools and caches fill, is left out, and the rest is cut into five equal times, of each of
# which the lowest value counts: each has to be long enough to meet a pause of the load. Through these five goes a
# straight line (least squares): how much it rises from the first to the last is the growth. The bound is a part of the level and something absolute, by what NAME ends with.
BEGIN {
  slices = 5
  absolute["kib"] = 4096; share["kib"] = 0.05
  absolute["descriptors"] = 6; share["descriptors"] = 0
  absolute["sessions"] = 6; share["sessions"] = 0
  absolute["clients"] = 6; share["clients"] = 0
}

# What could not be read: the server was away. Redis counts among its clients the one that asks.
NF != 3 || $3 !~ /^[0-9]+$/ || ($2 ~ /clients$/ && $3 == 0) { next }

{
  if (!($2 in count)) names[++names_count] = $2
  at[$2, ++count[$2]] = $1
  value[$2, count[$2]] = $3
  if (first == "" || $1 < first) first = $1
  if ($1 > last) last = $1
}

function kind_of(name) {
  sub(/^.*[._]/, "", name)
  return name
}

function judge(name,    from, length_s, i, slice, least, x, y, xx, xy, growth, bound, kind) {
  from = first + (last - first) / 3
  length_s = (last - from) / slices
  split("", least)
  for (i = 1; i <= count[name]; i++) {
    if (at[name, i] < from || length_s <= 0) continue
    slice = int((at[name, i] - from) / length_s)
    if (slice >= slices) slice = slices - 1
    if (!(slice in least) || value[name, i] < least[slice]) least[slice] = value[name, i]
  }
  for (slice = 0; slice < slices; slice++) {
    if (!(slice in least)) {
      printf "%-26s %10s %10s %10s %10s  too few samples\n", name, "-", "-", "-", "-"
      return 2
    }
    x += slice; y += least[slice]; xx += slice * slice; xy += slice * least[slice]
  }
  growth = (slices * xy - x * y) / (slices * xx - x * x) * (slices - 1)
  kind = kind_of(name)
  if (!(kind in absolute)) {
    printf "%-26s %10s %10s %10s %10s  no bound for this name\n", name, "-", "-", "-", "-"
    return 2
  }
  bound = absolute[kind] + share[kind] * y / slices
  printf "%-26s %10d %10d %+10.1f %10.1f  %s\n", name, least[0], least[slices - 1], growth, bound,
    (growth > bound ? "GROWS" : "flat")
  return (growth > bound) ? 1 : 0
}

END {
  printf "%-26s %10s %10s %10s %10s\n", "", "lowest at", "lowest at", "growth", "bound"
  printf "%-26s %10s %10s\n", "", "a third", "the end"
  grown = few = 0
  for (i = 1; i <= names_count; i++) {
    status = judge(names[i])
    if (status == 1) grown = 1
    if (status == 2) few = 1
  }
  exit grown ? 1 : few || names_count == 0 ? 2 : 0
}
