# SPDX-License-Identifier: Apache-2.0
# fish completion: commands, options and words as 'fathom help' shows them; processes, cgroups and
# tracepoints of this host.

function __fathom_commands
    fathom help 2>/dev/null | sed -n 's/^  \([a-z-]*\)  *\(.*\)/\1\t\2/p'
end

function __fathom_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and echo $words[2]
end

# The begin of a list stands before each of its words.
function __fathom_before
    commandline -ct | string replace -rf '^(--[a-z-]*=)?(.*,)?[^,]*$' '$2'
end

# The options of a command: "--by KEYS", with what they do behind a tab.
function __fathom_options
    set -l command (__fathom_command)
    test -n "$command"; or return
    fathom $command --help 2>/dev/null |
        sed -n 's/^  .\{0,4\}\(--[a-z-]*\)[^ ]* \{0,1\}[^ ]* *\(.*\)/\1\t\2/p'
end

# The words that the help of a command lists for an option: --by name, service, ..., or overhead.
function __fathom_words
    set -l before (__fathom_before)
    fathom (__fathom_command) --help 2>/dev/null | awk -v option=$argv[1] -v before="$before" '
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
                    print before words[i]
        }'
end

function __fathom_pids
    set -l before (__fathom_before)
    for pid in (string match -r '^[0-9]+$' (path basename /proc/* 2>/dev/null; or ls /proc))
        set -l name (cat /proc/$pid/comm 2>/dev/null); and printf '%s%s\t%s\n' "$before" $pid "$name"
    end
end

function __fathom_events
    set -l before (__fathom_before)
    cat /sys/kernel/tracing/available_events /sys/kernel/debug/tracing/available_events 2>/dev/null |
        sed "s/^/$before/"
end

function __fathom_cgroups
    for mount in (awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/mounts)
        find $mount -mindepth 1 -type d -printf '%P\n' 2>/dev/null
    end | sort -u
end

function __fathom_classes
    set -l before (__fathom_before)
    for class in file network process memory ipc desc signal
        echo "$before%$class"
    end
end

function __fathom_has
    contains -- (__fathom_command) $argv
end

complete -c fathom -n 'test (count (commandline -opc)) -eq 1' -f -a '(__fathom_commands)'
complete -c fathom -n '__fathom_has help' -f -a '(__fathom_commands)'
complete -c fathom -n '__fathom_has detail' -a 'calls waits waits,bytes'
complete -c fathom -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__fathom_options)'
complete -c fathom -n '__fathom_has report top' -l by -x -a '(__fathom_words --by)'
complete -c fathom -n '__fathom_has report top' -l sort -x -a '(__fathom_words --sort)'
complete -c fathom -n '__fathom_has report' -l of -x -a '(__fathom_words --of)'
complete -c fathom -n '__fathom_has record top' -l detail -x -a '(__fathom_words --detail)'
complete -c fathom -n '__fathom_has record' -l event -x -a '(__fathom_events)'
complete -c fathom -n '__fathom_has record' -l syscalls -x -a '(__fathom_classes)'
complete -c fathom -n '__fathom_has report trace top' -l syscall -x -a '(__fathom_classes)'
complete -c fathom -n '__fathom_has record top' -s p -l pid -x -a '(__fathom_pids)'
complete -c fathom -n '__fathom_has report trace' -l pid -x -a '(__fathom_pids)'
complete -c fathom -n '__fathom_has record report trace top' -l cgroup -x -a '(__fathom_cgroups)'
