#!/bin/zsh -f
# SPDX-License-Identifier: Apache-2.0
# What zsh offers after 'fathom ...', without its completion system. Usage: as completion.sh
PATH=${1:h:a}:$PATH
offered=()
_describe() { offered+=(${(P)2}) }
_files() { offered+=(FILES) }
_path_files() { offered+=(DIRECTORIES) }
compadd() { if [[ $1 == -a ]]; then offered+=(${(P)2}); else offered+=($@); fi }
compset() { PREFIX=${PREFIX#${~2}} }
words=(fathom version) CURRENT=2
source $2

number=0 failed=0
echo 1..8
check() { # name, what is among what is offered, words...
	local name=$1 expected=$2
	shift 2
	offered=() words=("$@") CURRENT=$# PREFIX=${@[-1]}
	_fathom
	(( number++ ))
	if [[ " $offered " == *" $expected"* ]]; then
		echo "ok $number - $name"
	else
		echo "# '$offered', should have '$expected'"
		echo "not ok $number - $name"
		failed=1
	fi
}
check commands version:print fathom ver
check options --sort: fathom report --s
check 'commands of help' version:print fathom help vers
check keys 'syscall errno file' fathom report --by ''
check 'the second of two keys' 'lock device' fathom report --by process,lo
check levels 'waits waits,bytes' fathom record --detail w
check 'a process by its number' "$$:zsh" fathom record -p ''
check files FILES fathom report fathom.d
exit $failed
