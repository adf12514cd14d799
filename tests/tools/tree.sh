#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of the tree itself: sizes stay small, and no half of a merge is left in a file.
cd "$1" || exit 1
if ! git rev-parse --git-dir >/dev/null 2>&1; then
	echo "no git checkout"
	exit 77
fi
git grep -nE '^(<{7}|>{7}|[|]{7}) ' && exit 1
exec tools/check-sizes
