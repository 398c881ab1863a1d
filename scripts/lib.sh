# Shared by the scripts of this folder; sourced, not run. Every script works from any folder and without a terminal.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=$(nproc)
logs=$root/build/logs

# Objects of one clone serve the next one, in whatever folder it lies.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

die() {
  printf '%s: error: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Runs a command as a process group of its own, so that a Ctrl-C (or a TERM to this script alone) stops all of it.
# A function that is run this way does not stop at its first failing command (bash ignores -e there): chain with &&.
child=
run_group() {
  local status=0
  set -m
  "$@" </dev/null &
  child=$!
  set +m
  wait "$child" || status=$?
  child=
  return "$status"
}
stop_child() {
  trap - INT TERM
  [ -z "$child" ] || kill -TERM -- "-$child" 2>/dev/null || true
  printf '\n%s: stopped\n' "$(basename "$0")" >&2
  exit "$1"
}
trap 'stop_child 130' INT
trap 'stop_child 143' TERM

# report_step NAME STATUS SECONDS: the one line that every step ends with.
report_step() {
  printf '%-44s %-7s %4d s\n' "$1" "$2" "$3"
}

# step NAME COMMAND...: runs the command and prints one line. On a terminal its output is shown as it comes, otherwise it
# goes to build/logs and is printed only where the command fails. A failed step ends the script.
step() {
  local name=$1 begin=$SECONDS status=0 log
  shift
  log=$logs/${name//[^A-Za-z0-9]/_}.log
  mkdir -p "$logs"
  if [ -t 1 ]; then
    run_group "$@" || status=$?
  else
    run_group "$@" >"$log" 2>&1 || status=$?
    [ "$status" = 0 ] || tail -n 200 "$log"
  fi
  if [ "$status" != 0 ]; then
    report_step "$name" "FAILED" $((SECONDS - begin))
    exit 1
  fi
  report_step "$name" "ok" $((SECONDS - begin))
}

# configure PRESET: once per build folder; afterwards ninja itself sees when it has to be done again.
configure() {
  [ -f "build/$1/build.ninja" ] && return 0
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  cmake --preset "$1" "${launcher[@]}"
}

# build PRESET [TARGET...]: configures where needed, then builds the targets (everything without one).
build() {
  local preset=$1
  shift
  configure "$preset" && ninja -C "build/$preset" -j "$jobs" "$@"
}
