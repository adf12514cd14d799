#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All C sources are in the project's format. `make format` mends it, sometimes at a second run only.
cd "$1" || exit 1
if ! git rev-parse --git-dir >/dev/null 2>&1 || ! command -v clang-format >/dev/null; then
	echo "no git checkout, or no clang-format"
	exit 77
fi
git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format --dry-run --Werror
