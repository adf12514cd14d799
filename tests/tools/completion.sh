#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What bash offers after 'fathom ...'. Usage: completion.sh FATHOM COMPLETION
PATH=$(dirname "$1"):$PATH
# shellcheck source=/dev/null
. "$2"

number=0 failed=0
echo 1..13
check() { # name, expected (a pattern), words...
	local name=$1 expected=$2
	shift 2
	COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	_fathom
	number=$((number + 1))
	# shellcheck disable=SC2053
	if [[ "${COMPREPLY[*]}" == $expected ]]; then
		echo "ok $number - $name"
	else
		echo "# '${COMPREPLY[*]}', should be '$expected'"
		echo "not ok $number - $name"
		failed=1
	fi
}
# shellcheck disable=SC2034
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
check commands version fathom ver
check options --help fathom version --h
check 'commands of help' version fathom help vers
check 'keys' 'name service process thread * cause waker * function overhead' fathom report --by ''
check 'the second of two keys' process,syscall fathom report --by process,sysc
check 'keys of top' 'command cgroup container cause' fathom top --by c
check 'orders' 'p50 p95 p99' fathom report --sort p
check 'levels' 'waits waits,bytes' fathom record --detail w
check 'classes of calls' '%file,%desc' fathom record --syscalls %file,%d
check 'a value behind =' errno fathom report --by=errn
check 'a level to change to' 'waits waits,bytes' fathom detail wait
check 'a process by its number' "$$*" fathom record -p $$ # others may begin with these digits
(exec -a completed sleep 60) &
child=$!
until [[ $(cat /proc/$child/comm) == sleep ]]; do :; done
check 'processes by their name' "*4711,$child*" fathom report --pid 4711,slee
kill $child
exit $failed
