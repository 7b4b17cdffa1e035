# Lines "STRATEGY FAULT MICROSECONDS BOUND_MS" as a table of the longest, in ms. Wants -v rows= and -v columns=, the
# names that are expected. Exits 1 when one is longer than its bound or never came (-1), 2 when a cell has no line.
{
  if ($3 < 0) never[$1, $2] = late = 1
  if ($3 > $4 * 1000) late = 1
  if ($3 > longest[$1, $2]) longest[$1, $2] = $3
  bound[$2] = $4
  times[$1, $2]++
}

END {
  rows_count = split(rows, row, " ")
  columns_count = split(columns, column, " ")
  printf "%-20s", ""
  for (i = 1; i <= columns_count; i++) printf " %9s", column[i]
  printf "\n"
  for (j = 1; j <= rows_count; j++) {
    printf "%-20s", row[j]
    for (i = 1; i <= columns_count; i++) {
      n = times[row[j], column[i]]
      if (!n) missing = 1
      if (!(column[i] in least) || n < least[column[i]]) least[column[i]] = n
      printf " %9s", !n ? "-" : ((row[j], column[i]) in never) ? "never" : int(longest[row[j], column[i]] / 1000) ""
    }
    printf "\n"
  }
  printf "%-20s", "bound"
  for (i = 1; i <= columns_count; i++) printf " %9s", bound[column[i]]
  printf "\n%-20s", "times at least"
  for (i = 1; i <= columns_count; i++) printf " %9d", least[column[i]]
  printf "\n"
  exit late ? 1 : missing ? 2 : 0
}
