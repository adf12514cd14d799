# SPDX-License-Identifier: Apache-2.0
# bash completion: commands, options and words as 'fathom help' shows them; processes, cgroups and
# tracepoints of this host.

_fathom_commands()
{
	fathom help 2>/dev/null | sed -n 's/^  \([a-z-]*\)  *.*/\1/p'
}

_fathom_options() # COMMAND
{
	fathom "$1" --help 2>/dev/null | sed -n 's/^  .\{0,4\}\(--[a-z-]*\).*/\1/p'
}

# The words that the help of a command lists for an option: --by name, service, ..., or overhead.
_fathom_words() # COMMAND OPTION
{
	fathom "$1" --help 2>/dev/null | awk -v option="$2" '
		substr($0, 7, length(option) + 1) == option " " { on = 1; text = substr($0, 27); next }
		on && substr($0, 1, 26) ~ /^ *$/ && NF { text = text " " substr($0, 27); next }
		on { exit }
		END {
			gsub(/ *\([^)]*\)/, "", text)
			sub(/;.*/, "", text)
			sub(/^a row per /, "", text)
			sub(/^[a-z ]*: /, "", text)
			gsub(/,? +or +/, ", ", text)
			n = split(text, words, /, +| *$/)
			for (i = 1; i <= n; i++)
				if (words[i] ~ /^[a-z0-9,-]+$/)
					print words[i]
		}'
}

# Processes by number or by the begin of their name, as "4711 (nginx)".
_fathom_pids() # WORD
{
	local pid name
	for pid in /proc/[0-9]*; do
		{ read -r name <"$pid/comm"; } 2>/dev/null || continue
		pid=${pid#/proc/}
		[[ $pid == "$1"* || $name == "$1"* ]] && echo "$pid ($name)"
	done
}

_fathom_events()
{
	cat /sys/kernel/tracing/available_events 2>/dev/null ||
		cat /sys/kernel/debug/tracing/available_events 2>/dev/null
}

_fathom_cgroups() # WORD
{
	local mount
	if [[ $1 == /* ]]; then
		compgen -d -- "$1"
		return
	fi
	while read -r mount; do
		(cd "$mount" 2>/dev/null && compgen -d -- "$1")
	done < <(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts 2>/dev/null) | sort -u
}

# The last part of a list gets completed: what stands before it is put in front of each word.
_fathom_values() # COMMAND OPTION WORD
{
	local last=${3##*,} before=
	[[ $3 == *,* ]] && before=${3%,*},
	case $2 in
	-p | --pid) _fathom_pids "$last" | sed "s/^/$before/" ;;
	--cgroup) _fathom_cgroups "$3" ;;
	--event) compgen -P "$before" -W "$(_fathom_events)" -- "$last" ;;
	--syscalls | --syscall)
		compgen -P "$before" -W '%file %network %process %memory %ipc %desc %signal' -- "$last" ;;
	--by) compgen -P "$before" -W "$(_fathom_words "$1" "$2")" -- "$last" ;;
	--sort | --detail | --of) compgen -W "$(_fathom_words "$1" "$2")" -- "$3" ;;
	*) return 1 ;;
	esac
}

_fathom()
{
	local line=${COMP_LINE:0:COMP_POINT} command=${COMP_WORDS[1]} word option replies
	word=${line##*[[:space:]]}
	option=${line%"$word"}
	option=${option%"${option##*[![:space:]]}"}
	option=${option##*[[:space:]]}
	if [[ $word == --*=* ]]; then
		option=${word%%=*} word=${word#*=}
	fi
	COMPREPLY=()
	if [[ $COMP_CWORD -eq 1 || ($command == help && $COMP_CWORD -eq 2) ]]; then
		replies=$(compgen -W "$(_fathom_commands)" -- "$word")
	elif [[ $command == detail && $option != --* && $word != [-/.]* ]]; then
		replies=$(compgen -W 'calls waits waits,bytes' -- "$word"; compgen -d -- "$word")
	elif ! replies=$(_fathom_values "$command" "$option" "$word") && [[ $word == -* ]]; then
		replies=$(compgen -W "$(_fathom_options "$command")" -- "$word")
	elif [[ -z $replies ]]; then
		compopt -o filenames 2>/dev/null
		replies=$(compgen -f -- "$word")
	fi
	[[ -n $replies ]] && mapfile -t COMPREPLY <<<"$replies"
	# a process is shown with its name, but only its number is inserted
	[[ ${#COMPREPLY[@]} -eq 1 ]] && COMPREPLY=("${COMPREPLY[0]% (*)}")
	# readline replaces what stands behind the last : or = only
	[[ $word == *:* && $COMP_WORDBREAKS == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
	return 0
}
complete -F _fathom fathom
