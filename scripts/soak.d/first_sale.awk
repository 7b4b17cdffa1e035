# How long after each event did each product sell again? Reads a file of events, "MICROSECONDS NAME BOUND_MS" of the
# monotonic clock, and then a ledger (docs/JUDGING.md). Prints "EVENT MICROSECONDS BOUND_MS" for each event, of the product
# that waited longest; -1: one was not sold again. An event that was followed by less load than its bound, and not by a
# sale, says nothing and has no line. With -v pauses=1 the longest that a product waited between two sales, from the event
# to the ledger's end.
#
# Of cells an event has a fourth word: K/N, it is one of the products whose number leaves K - 1 when divided by N; !K/N, of
# the others it is the longest that an order took which was answered after it; -1: one was not decided.
function number(name,    at) {
  at = index($0, "\"" name "\":")
  return at ? substr($0, at + length(name) + 3) + 0 : -1
}

FILENAME == ARGV[1] {
  when[++events] = $1; event[events] = $2; bound[events] = $3
  if (other[events] = sub(/^!/, "", $4)) longest_order[events] = 0
  split($4, part, "/")
  cell[events] = part[1]; cells[events] = part[2]
  next
}

/^\{"product":/ { products[number("product")] = 1; next }
/"do":"buy"/ { asked_us = number("at_us"); op = number("op"); asked[op] = asked_us; bought[op] = number("product"); next }
/"end_us":/ {
  op = number("op")
  if (!(op in bought)) next
  status = number("status")
  answered(number("end_us"), asked[op], bought[op])
  if (status == 201 || status == 202) sold(number("end_us"), bought[op])
  delete bought[op]
}

function concerns(i, product) { return !cells[i] || (product % cells[i] + 1 == cell[i]) != other[i] }

function answered(at_us, since_us, product,    i) {
  for (i = 1; i <= events; i++)
    if (other[i] && at_us >= when[i] && concerns(i, product)) {
      if (status < 200 || status >= 500) refused[i] = 1
      if (at_us - since_us > longest_order[i]) longest_order[i] = at_us - since_us
    }
}

function sold(at_us, product,    i) {
  for (i = 1; i <= events; i++)
    if (at_us >= when[i] && concerns(i, product)) {
      if (!((i, product) in first)) first[i, product] = at_us - when[i]
      else if (pauses) paused(i, product, at_us)
    }
  last[product] = at_us
}

function paused(i, product, until_us) {
  if (until_us - last[product] > first[i, product]) first[i, product] = until_us - last[product]
}

END {
  for (i = 1; i <= events; i++) {
    if (other[i]) { printf "%s %d %d\n", event[i], refused[i] ? -1 : longest_order[i], bound[i]; continue }
    longest = 0
    left_us = asked_us - when[i]
    for (product in products) {
      if (!concerns(i, product)) continue
      if (!((i, product) in first)) { longest = -1; break }
      if (pauses) paused(i, product, asked_us)
      if (first[i, product] > longest) longest = first[i, product]
    }
    if (longest >= 0 || left_us > bound[i] * 1000) printf "%s %d %d\n", event[i], longest, bound[i]
  }
}
