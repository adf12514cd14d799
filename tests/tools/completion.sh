#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What bash offers after 'fathom ...'. Usage: completion.sh FATHOM COMPLETION
PATH=$(dirname "$1"):$PATH
# shellcheck source=/dev/null
. "$2"

number=0 failed=0
echo 1..3
check() { # name, expected, words...
	local name=$1 expected=$2
	shift 2
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	_fathom
	number=$((number + 1))
	if [[ "${COMPREPLY[*]}" == "$expected" ]]; then
		echo "ok $number - $name"
	else
		echo "# '${COMPREPLY[*]}', should be '$expected'"
		echo "not ok $number - $name"
		failed=1
	fi
}
check commands version fathom ver
check options --help fathom version --h
check 'commands of help' version fathom help vers
exit $failed
