#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what is made from the commands and their options: the completion file of a shell, the
manual page's synopsis, README's list of commands.

usage: complete.py LIST-COMMANDS bash|zsh|fish|synopsis|readme
"""
import json
import re
import subprocess
import sys

# What is offered as an argument of that name: for bash, zsh and fish.
KINDS = {
    "FILE": ("compgen -f", "_files", "__fish_complete_path"),
    "DIR": ("compgen -d", "_files -/", "__fish_complete_directories"),
    "CGROUP": ("compgen -d", "_files -/", "__fish_complete_directories"),
    "USER": ("compgen -u", "_users", "__fish_complete_users"),
    "PID[,PID...]": ("_dwarfprof_pids", "_pids", "__fish_complete_pids"),
}
PATHS = ("FILE", "DIR", "CGROUP")
SPDX = "# SPDX-License-Identifier: Apache-2.0\n"


def words(option):
    """Those that an argument may be: "html (.html .htm), uprobe:PATH, rHEX" is html and uprobe:."""
    found = [re.match(r"[\w-]+:?", word)[0] for word in option["words"].split(", ")] if option["words"] else []
    return [word for word in found if word == word.lower()]


def spellings(option):
    """-o and --output."""
    return (["-" + option["letter"]] if "letter" in option else []) + (["--" + option["name"]] if option["name"] else [])


def takes_files(command):
    return "FILE" in command["arguments"]


def takes_program(command):
    return "-- CMD" in command["arguments"]


def bash_case(command):
    """How to complete a word after an option."""
    for option in command["options"]:
        if not option["argument"] or option["optional"]:
            continue
        known = f'compgen -W "{" ".join(words(option))}"' if words(option) else KINDS.get(option["argument"], (":",))[0]
        end = "; return 2" if option["argument"] in PATHS else ""
        yield f"\t{command['name']}:{f'|{command_name(command)}:'.join(spellings(option))}) {known} -- \"$word\"{end} ;;"


def command_name(command):
    return command["name"]


def bash(commands):
    names = " ".join(map(command_name, commands))
    by_name = "\n".join(f"\t{c['name']}) compgen -W \"{' '.join(s for o in c['options'] for s in spellings(o))}\" -- \"$2\" ;;"
                        for c in commands)
    values = "\n".join(line for c in commands for line in bash_case(c))
    files = "|".join(c["name"] for c in commands if takes_files(c))
    return SPDX + f"""
_dwarfprof_pids() {{
	compgen -W "$(cd /proc && printf '%s ' [0-9]*)" "$@"
}}

# COMMAND WORD: the command's options.
_dwarfprof_options() {{
	case $1 in
{by_name}
	esac
}}

# COMMAND OPTION WORD: the values of an option. 0; 1: it takes none; 2: they are paths.
_dwarfprof_values() {{
	local word=$3
	case $1:$2 in
{values}
	*) return 1 ;;
	esac
	return 0
}}

_dwarfprof() {{
	local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command=record i values kind
	# Bash has = as a word of its own.
	if [[ $word == = ]]; then
		word=
	elif [[ $before == = ]] && ((COMP_CWORD > 2)); then
		before=${{COMP_WORDS[COMP_CWORD - 2]}}
	fi
	[[ " {names} " == *" ${{COMP_WORDS[1]}} "* ]] && ((COMP_CWORD > 1)) && command=${{COMP_WORDS[1]}}
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${{COMP_WORDS[i]}} == -- ]] || continue
		compopt -o default 2>/dev/null
		((i + 1 == COMP_CWORD)) && mapfile -t COMPREPLY < <(compgen -c -- "$word")
		return
	done
	COMPREPLY=()
	values=$(_dwarfprof_values "$command" "$before" "$word")
	kind=$?
	if ((kind != 1)); then
		((kind == 2)) && compopt -o filenames 2>/dev/null
		[[ $values ]] && mapfile -t COMPREPLY <<<"$values"
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(_dwarfprof_options "$command" "$word")
	elif ((COMP_CWORD == 1)) || [[ $command == help ]]; then
		mapfile -t COMPREPLY < <(compgen -W "{names}" -- "$word")
	elif [[ $command == @({files}) ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}}

complete -F _dwarfprof dwarfprof
"""


def zsh_spec(option):
    """A specification of _arguments."""
    doc = re.sub(r"([\[\]:\\])", r"\\\1", option["doc"]).replace("'", "'\\''")
    names = spellings(option)
    value = ""
    if option["argument"]:
        action = f"({' '.join(words(option))})" if words(option) else KINDS.get(option["argument"], ("", " "))[1]
        about = re.sub(r"([:\\])", r"\\\1", option["argument"])
        value = f"{':' if option['optional'] else ''}:{about}:{action}"
    for name in names:
        mark = "" if not option["argument"] else ("+" if len(name) == 2 else "=-" if option["optional"] else "=")
        yield f"\t\t'*{name}{mark}[{doc}]{value}'"


def zsh(commands):
    names = "\n".join(f"\t'{c['name']}:{c['summary']}'" for c in commands)
    cases = []
    for command in commands:
        specs = [spec for option in command["options"] for spec in zsh_spec(option)]
        if takes_program(command):
            specs.append("\t\t'(-)*:: :_normal'")
        elif takes_files(command):
            specs.append("\t\t'*:file:_files'")
        elif command["name"] == "help":
            specs.append("\t\t'1:command:(" + " ".join(map(command_name, commands)) + ")'")
        cases.append(f"{command['name']})\n\t_arguments -s -S \\\n" + " \\\n".join(specs) + "\n\t;;")
    return "#compdef dwarfprof\n" + SPDX + f"""
local -a commands
commands=(
{names}
)
local command=record
if ((CURRENT > 2)) && ((${{commands[(I)$words[2]:*]}})); then
	command=$words[2]
	shift words
	((CURRENT--))
elif ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
	_describe command commands
	return
fi
case $command in
""" + "\n".join(cases) + "\nesac\n"


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(commands):
    others = " ".join(c["name"] for c in commands if c["name"] != "record")
    lines = [SPDX, "complete -c dwarfprof -f"]
    for command in commands:
        name = command["name"]
        lines.append(f"complete -c dwarfprof -n __fish_use_subcommand -a {name} -d {fish_quote(command['summary'])}")
        when = f"not __fish_seen_subcommand_from {others}" if name == "record" else f"__fish_seen_subcommand_from {name}"
        for option in command["options"]:
            line = f"complete -c dwarfprof -n {fish_quote(when)}"
            line += "".join(f" -{'s' if len(name) == 2 else 'l'} {name.lstrip('-')}" for name in spellings(option))
            if option["argument"] and not option["optional"]:
                values = " ".join(words(option)) or f"({KINDS.get(option['argument'], ('', '', ''))[2]})".replace("()", "")
                line += f" -x -a {fish_quote(values)}" if values else " -x"
            lines.append(line + f" -d {fish_quote(option['doc'])}")
        if takes_files(command):
            lines.append(f"complete -c dwarfprof -n {fish_quote(when)} -F")
        if takes_program(command):
            lines.append(f"complete -c dwarfprof -n {fish_quote(when + '; and contains -- -- (commandline -opc)')} -F")
    lines.append("complete -c dwarfprof -n '__fish_seen_subcommand_from help' -a "
                 + fish_quote(" ".join(map(command_name, commands))))
    return "\n".join(lines) + "\n"


def uses(command):
    name = "[record]" if command["name"] == "record" else command["name"]
    for line in command["arguments"].split("\n"):
        yield " ".join(filter(None, ["dwarfprof", name, "[OPTION...]", line]))


def roff(word):
    """Variables are in capitals."""
    word = word.replace("-", "\\-")
    return re.sub(r"[A-Z]+(?:\\-[A-Z])?|[a-z\\-]+", lambda w: f"\\f{'I' if w[0][0].isupper() else 'B'}{w[0]}\\fR", word)


def synopsis(commands):
    return "\n.br\n".join(" ".join(map(roff, use.split(" "))) for c in commands for use in uses(c)) + "\n"


def readme(commands):
    rows = (f"| `dwarfprof {'[record]' if c['name'] == 'record' else c['name']}` | {c['summary']} |\n" for c in commands)
    return "| command | what it does |\n|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    listed = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    sys.stdout.write(globals()[sys.argv[2]](json.loads(listed)))
