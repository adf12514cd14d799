#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: service.sh FATHOM UNIT SERVE_UNIT
# systemd takes the units as they are installed, but for the place of fathom. The unit that needs no
# privilege is exposed to less than 3.0 of systemd's 10.
set -eu

command -v systemd-analyze >/dev/null || { echo "1..0 # SKIP systemd-analyze is missing"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number=0

told() # STATUS WHAT
{
	number=$((number + 1))
	if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}

check() # UNIT FATHOM START
{
	name=$(basename "$1")
	sed "s,^ExecStart=[^ ]*,ExecStart=$(realpath "$2"),; /^Documentation=/d" "$1" >"$folder/$name"
	grep -q "^ExecStart=.* $3\$" "$folder/$name" && status=0 || status=1
	told $status "$name starts fathom $3"
	# other units of the host are none of ours
	said=$(systemd-analyze verify --man=no --recursive-errors=no "$folder/$name" 2>&1) || :
	! echo "$said" | grep "$name" | sed 's/^/# /' | grep . && status=0 || status=1
	told $status "systemd takes $name"
	# else no received span is known by its connection
	grep -q '^RestrictAddressFamilies=.*AF_NETLINK' "$folder/$name" && status=0 || status=1
	told $status "$name lets fathom ask the kernel who sends"
}

echo 1..7
check "$2" "$1" up
check "$3" "$1" 'serve -o /var/lib/fathom'
if ! systemd-analyze --help | grep -q -e --threshold; then
	echo "ok 7 # SKIP this systemd-analyze judges no files"
	exit 0
fi
# it says so with its status
said=$(systemd-analyze security --offline=true --threshold=29 --no-pager "$folder/$(basename "$3")" 2>&1) &&
	status=0 || status=1
echo "$said" | grep -i 'overall exposure' | sed 's/^/# /' || :
told $status "$(basename "$3") is exposed to less than 3.0"
