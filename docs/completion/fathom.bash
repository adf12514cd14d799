# SPDX-License-Identifier: Apache-2.0
# bash completion: commands and options as 'fathom help' shows them.
_fathom()
{
	local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words
	COMPREPLY=()
	if [[ $COMP_CWORD -eq 1 ]]; then
		words=$(fathom help 2>/dev/null | sed -n 's/^  \([a-z-]*\)  *.*/\1/p')
	elif [[ $command == help ]]; then
		words=$(fathom help 2>/dev/null | sed -n 's/^  \([a-z-]*\)  *.*/\1/p')
	elif [[ $word == -* ]]; then
		words=$(fathom "$command" --help 2>/dev/null |
			sed -n 's/^  .\{0,4\}\(--[a-z-]*\).*/\1/p')
	fi
	if [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}
complete -o filenames -F _fathom fathom
