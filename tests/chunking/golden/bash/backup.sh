#!/usr/bin/env bash
# Copies a directory and keeps the last copies.
set -euo pipefail

KEEP=7
target="${1:?a target is needed}"

# Say something on stderr.
say() {
  printf '%s\n' "$*" >&2
}

function newest {
  ls -1t "$target" | head -n 1
}

prune() {
  local count=0
  for copy in $(ls -1t "$target"); do
    count=$((count + 1))
    if [ "$count" -gt "$KEEP" ]; then
      say "removing $copy"
      rm -r -- "${target:?}/$copy"
    fi
  done
}

case "${2:-}" in
  prune) prune ;;
  newest) newest ;;
  *) cp -r . "$target/$(date +%s)" ;;
esac

# Compares two copies and says what differs: files that are only in one of them, files whose size
# differs, and files whose checksum differs although the size is the same.
compare() {
  local one="$1" other="$2" path checksum_one checksum_other
  while IFS= read -r -d '' path; do
    path="${path#"$one"/}"
    if [ ! -e "$other/$path" ]; then
      say "only in $one: $path"
      continue
    fi
    if [ "$(stat -c %s "$one/$path")" != "$(stat -c %s "$other/$path")" ]; then
      say "another size: $path"
      continue
    fi
    checksum_one="$(sha256sum < "$one/$path")"
    checksum_other="$(sha256sum < "$other/$path")"
    if [ "$checksum_one" != "$checksum_other" ]; then
      say "another content: $path"
    fi
  done < <(find "$one" -type f -print0)

  while IFS= read -r -d '' path; do
    path="${path#"$other"/}"
    if [ ! -e "$one/$path" ]; then
      say "only in $other: $path"
    fi
  done < <(find "$other" -type f -print0)
}
