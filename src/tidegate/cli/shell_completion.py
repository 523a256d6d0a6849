"""`completion`: how bash, zsh and fish ask for completions, and the scripts that make them ask."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import click

from tidegate.cli.completion_candidates import Completion, complete, read_words
from tidegate.cli.invocation import Invocation, common_options, pass_invocation
from tidegate.operations.project_names import NamesOnDisk

__all__ = ["SCRIPTS", "SHELL_VARIABLE", "answer_shell", "completion"]

SHELL_VARIABLE = "_TIDEGATE_COMPLETE"
"""The environment variable that holds the shell's name where completions are requested."""

_WORD = "_TIDEGATE_WORD"
"""That which holds the number of the word that is completed; the program is word 0."""

_BASH = """\
_tidegate_completion() {
    local kind="" line
    COMPREPLY=()
    {
        IFS= read -r kind
        while IFS= read -r line; do COMPREPLY+=("$line"); done
    } < <(_TIDEGATE_COMPLETE=bash _TIDEGATE_WORD=$COMP_CWORD "$1" "${COMP_WORDS[@]:1}" 2>/dev/null)
    case $kind in
        files | folders)
            local what=-f
            [ "$kind" = folders ] && what=-d
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$what" -- "${COMP_WORDS[COMP_CWORD]}")
            compopt -o filenames 2>/dev/null
            ;;
        open) compopt -o nospace 2>/dev/null ;;
    esac
    return 0
}
complete -o nosort -F _tidegate_completion tidegate 2>/dev/null || complete -F _tidegate_completion tidegate
"""

_ZSH = """\
#compdef tidegate
_tidegate() {
    local -a lines
    local answer
    answer=$(_TIDEGATE_COMPLETE=zsh _TIDEGATE_WORD=$((CURRENT - 1)) ${words[1]} "${(@)words[2,-1]}" 2>/dev/null)
    lines=("${(@f)answer}")
    local kind=${lines[1]}
    lines=("${(@)lines[2,-1]}")
    case $kind in
        files) _files ;;
        folders) _files -/ ;;
        open) (( $#lines )) && _describe -V tidegate lines -S '' ;;
        *) (( $#lines )) && _describe -V tidegate lines ;;
    esac
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _tidegate "$@"
else
    compdef _tidegate tidegate
fi
"""

_FISH = """\
function __tidegate_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -l number (count $words)
    set -e words[1]
    set -l lines (env _TIDEGATE_COMPLETE=fish _TIDEGATE_WORD=$number $program $words "$current" 2>/dev/null)
    set -l kind $lines[1]
    set -e lines[1]
    switch "$kind"
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current"
        case '*'
            printf '%s\\n' $lines
    end
end
complete -c tidegate -f -a '(__tidegate_complete)'
"""

SCRIPTS: Mapping[str, str] = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def answer_shell(args: Sequence[str], environment: Mapping[str, str] = os.environ) -> list[str]:
    """The lines to print: the kind of answer, then the candidates. `args`: the words of the line but the program's."""
    shell, words = environment.get(SHELL_VARIABLE, ""), list(args)
    number = environment.get(_WORD, "")
    at = min(int(number) - 1 if number.isdigit() else len(words), len(words))
    before, current = words[: max(at, 0)], words[at] if 0 <= at < len(words) else ""
    if shell == "bash":
        before, current = _joined(before, current)
    current = current.lstrip("'\"")
    answer = complete(read_words(), before, current, NamesOnDisk)
    return [answer.kind, *_FORMS.get(shell, _values)(answer, current)]


def _joined(before: Sequence[str], current: str) -> tuple[list[str], str]:
    """Join what bash splits at these signs: `tag:daily`, `--config=x` and `@orders`."""
    joined: list[str] = []
    glued = False
    for word in [*before, current]:
        is_sign = word in (":", "=", "@")
        if joined and (glued or (is_sign and word != "@")):
            joined[-1] += word
        else:
            joined.append(word)
        glued = is_sign
    return joined[:-1], joined[-1]


def _values(answer: Completion, current: str) -> list[str]:
    return [candidate.value for candidate in answer.candidates]


def _for_bash(answer: Completion, current: str) -> list[str]:
    """Only what bash replaces: the part behind the last sign at which it takes words apart, with an @ before it."""
    cut = max(current.rfind(":") + 1, current.rfind("=") + 1, current.rfind("@"))
    return [candidate.value[cut:] for candidate in answer.candidates]


def _for_zsh(answer: Completion, current: str) -> list[str]:
    """`value:help`, so a colon of the value itself is escaped."""
    escaped = ((value.replace(":", "\\:"), help) for value, help in answer.candidates)
    return [f"{value}:{help}" if help else value for value, help in escaped]


def _for_fish(answer: Completion, current: str) -> list[str]:
    return [
        f"{candidate.value}\t{candidate.help}" if candidate.help else candidate.value for candidate in answer.candidates
    ]


_FORMS: Mapping[str, Callable[[Completion, str], list[str]]] = {"bash": _for_bash, "zsh": _for_zsh, "fish": _for_fish}


@click.command()
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
@common_options
@pass_invocation
def completion(invocation: Invocation, shell: str) -> None:
    """Print the script that completes commands, options, models and runs in your shell.

    \b
    bash: add to ~/.bashrc                     eval "$(tidegate completion bash)"
    zsh:  add to ~/.zshrc, after compinit      eval "$(tidegate completion zsh)"
    fish: run once    tidegate completion fish > ~/.config/fish/completions/tidegate.fish

    \b
    Example:
      tidegate completion bash
    """
    invocation.output().show({"shell": shell, "script": SCRIPTS[shell]}, SCRIPTS[shell].splitlines)
