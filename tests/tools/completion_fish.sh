#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What fish offers after 'fathom ...'. Usage: completion_fish.sh FATHOM COMPLETION FISH
PATH=$(dirname "$1"):$PATH
HOME=$(mktemp -d)
export PATH HOME
trap 'rm -rf "$HOME"' EXIT
number=0 failed=0
echo 1..8
check() { # name, expected, line
	number=$((number + 1))
	got=$("$fish" -c 'source $argv[1]; complete -C $argv[2]' "$completion" "$3" | cut -f 1 | tr '\n' ' ')
	if [ "$got" = "$2 " ]; then
		echo "ok $number - $1"
	else
		echo "# '$got', should be '$2 '"
		echo "not ok $number - $1"
		failed=1
	fi
}
completion=$2 fish=$3
check commands version 'fathom ver'
check options --sort 'fathom report --so'
check 'commands of help' version 'fathom help vers'
check 'the second of two keys' process,syscall 'fathom report --by process,sysc'
check orders 'p50 p95 p99' 'fathom report --sort p'
check levels 'waits waits,bytes' 'fathom record --detail w'
check 'classes of calls' %file,%desc 'fathom record --syscalls %file,%d'
check 'a process by its number' $$ "fathom record -p $$"
exit $failed
