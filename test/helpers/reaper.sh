#!/bin/sh
# Cleans up after a test run, however it ends: waits until its standard input closes, which the kernel sees to even
# after kill -9, then ends what the run left behind and removes its folder.
run=$1
cat >/dev/null
for file in "$run"/children/*; do
  [ -e "$file" ] && kill -9 "${file##*/}" 2>/dev/null
done
find "$run" -name postmaster.pid 2>/dev/null | while read -r file; do
  kill -QUIT "$(head -n 1 "$file")" 2>/dev/null
done
# The trial's emulators outlive the process that started them. A number may be another process' by now.
find "$run" -path '*/emulator/pid' 2>/dev/null | while read -r file; do
  pid=$(cat "$file")
  tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "${file%pid}emulator.sqlite" && kill -9 "$pid" 2>/dev/null
done
for _ in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$run" 2>/dev/null && exit 0
  sleep 0.2
done
