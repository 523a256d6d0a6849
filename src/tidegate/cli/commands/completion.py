"""`completion`: what makes the Tab key work."""

from __future__ import annotations

import click

from tidegate.cli.completion.shells import SCRIPTS
from tidegate.cli.context import Invocation, common_options, pass_invocation

__all__ = ["completion"]


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
