#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: service.sh FATHOM UNIT
# systemd takes the unit as it is installed, but for the place of fathom.
set -eu

command -v systemd-analyze >/dev/null || { echo "1..0 # SKIP systemd-analyze is missing"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed "s,^ExecStart=[^ ]*,ExecStart=$(realpath "$1"),; /^Documentation=/d" "$2" >"$folder/fathom.service"
echo 1..2
if grep -q '^ExecStart=.* up$' "$folder/fathom.service"; then echo ok 1 - it starts fathom up; else
	echo not ok 1 - it starts fathom up
fi
# other units of the host are none of ours
said=$(systemd-analyze verify --man=no --recursive-errors=no "$folder/fathom.service" 2>&1) || :
if ! echo "$said" | grep fathom.service | sed 's/^/# /' | grep .; then echo ok 2 - systemd takes it; else
	echo not ok 2 - systemd takes it
fi
