#!/usr/bin/env bash
# A Ray cluster over plain hosts that share this clone's folder under the same path (docs/cluster.md).
#
#   eval "$(workflow/clusters/hosts.sh up 10.0.0.1 10.0.0.2 10.0.0.3)"    the first is this host, where the search will run
#   workflow/clusters/hosts.sh add 10.0.0.1 10.0.0.4                      add a host, at any time
#   workflow/clusters/hosts.sh down 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4
#
# `up` prints the variables by which a search finds the cluster. Only users who can read the token file may use it: it lies in
# .heed/, which git ignores. Each host offers all its cores and GPUs, or HEED_RAY_CPUS cores. HEED_ON is the command that runs
# another command on a host, such as `ssh -F FILE`; the default is ssh.
set -euo pipefail

on=${HEED_ON:-ssh} port=${HEED_RAY_PORT:-6379}
root=$(cd "$(dirname "$0")/../.." && pwd)
token=$root/.heed/ray-token
ray=$(command -v ray || echo "$root/.venv/bin/ray")

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }

start() { # HOST ARGUMENT...: start a node of Ray on a host
    local host=$1 cpus=${HEED_RAY_CPUS:-}
    shift
    # shellcheck disable=SC2086 # HEED_ON may be several words
    $on "$host" env -u RAY_AUTH_TOKEN RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$token" RAY_ENABLE_UV_RUN_RUNTIME_ENV=0 HEED_NODE="$host" \
        "$ray" start --node-ip-address="$host" ${cpus:+--num-cpus="$cpus"} --disable-usage-stats "$@" >&2 </dev/null ||
        { echo "hosts.sh: no Ray on $host; see the lines above${started:+. It runs on$started: \`hosts.sh down$started\` ends it}" >&2; exit 1; }
}

[ $# -ge 2 ] || usage
started='' failed=0
command=$1 head=$2
shift 2
case $command in
up)
    mkdir -p "$root/.heed"
    [ -s "$token" ] || (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$token")
    start "$head" --head --port="$port" --include-dashboard=false
    started=" $head"
    for host in "$@"; do
        start "$host" --address="$head:$port"
        started+=" $host"
    done
    echo "unset RAY_AUTH_TOKEN; export HEED_RAY_ADDRESS=$head:$port RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$(printf %q "$token")"
    ;;
add)
    for host in "$@"; do start "$host" --address="$head:$port"; done
    ;;
down)
    # shellcheck disable=SC2086
    for host in "$head" "$@"; do
        $on "$host" env RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$token" "$ray" stop --grace-period 10 >&2 </dev/null ||
            { echo "hosts.sh: Ray may still run on $host; see the lines above" >&2; failed=1; }
    done
    exit "$failed"
    ;;
*) usage ;;
esac
