"""What a process is called, from its command line: the program and its script, never its arguments."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple


class _Interpreter(NamedTuple):
    """How one interpreter's command line is read, as far as its script."""

    # What a file of its language ends with.
    endings: tuple[str, ...]
    # Options whose value is the next word.
    with_value: frozenset[str] = frozenset()
    # Options whose value is program text, which never leaves the node.
    inline: str = "c"
    # An option whose value names a module.
    module: str = ""


_SHELL: Final = _Interpreter((".sh", ".bash", ".zsh"), frozenset({"-o", "-O", "--rcfile", "--init-file"}))
_INTERPRETERS: Final = {
    "python": _Interpreter((".py", ".pyc", ".pyz"), frozenset({"-W", "-X"}), module="m"),
    "pypy": _Interpreter((".py", ".pyc", ".pyz"), frozenset({"-W", "-X"}), module="m"),
    "bash": _SHELL,
    "dash": _SHELL,
    "ksh": _SHELL,
    "sh": _SHELL,
    "zsh": _SHELL,
    "perl": _Interpreter((".pl",), frozenset({"-I"}), inline="eE"),
    "ruby": _Interpreter((".rb",), frozenset({"-I", "-r"}), inline="e"),
    "node": _Interpreter((".js", ".mjs", ".cjs", ".ts"), frozenset({"-r", "--require"}), inline="ep"),
    "lua": _Interpreter((".lua",), frozenset({"-l"}), inline="e"),
    "julia": _Interpreter((".jl",), frozenset({"-J", "-t", "-p", "-L"}), inline="eE"),
    "Rscript": _Interpreter((".R", ".r"), inline="e"),
    "R": _Interpreter((".R", ".r"), frozenset({"-f"}), inline="e"),
}
# Programs that start a script given somewhere among their own arguments; with the words to keep.
_LAUNCHERS: Final = {
    "torchrun": frozenset[str](),
    "deepspeed": frozenset[str](),
    "accelerate": frozenset({"launch"}),
    "horovodrun": frozenset[str](),
    "composer": frozenset[str](),
}
_VERSION: Final = re.compile(r"[\d.]+(?:-?(?:dbg|debug|config|intel64|t))?$")
_MODULE: Final = re.compile(r"[A-Za-z_][\w.]*\Z")


def program_of(argv: Sequence[str], *, name: str | None = None) -> str | None:
    """Name a process after its program and script: `python train.py`, `python -m pkg.mod`, `blender`.

    `name` is what the kernel calls it, for a process whose command line is empty or unreadable.
    """
    words = [word for word in argv if word]
    if not words:
        return name or None
    first = _first_word(words[0])
    return _with_script(first, words[1:]) or name or None


def _first_word(text: str) -> str:
    # Programs may write a whole sentence into their title: what follows the first word may be anything.
    return _base(text.split(maxsplit=1)[0] if text.split() else "").lstrip("-")


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _with_script(first: str, rest: list[str]) -> str:
    if first in _LAUNCHERS:
        return " ".join([first, *_launched(first, rest)])
    interpreter = _INTERPRETERS.get(_VERSION.sub("", first))
    return first if interpreter is None else _interpreted(first, interpreter, rest)


def _launched(launcher: str, rest: list[str]) -> list[str]:
    kept = rest[:1] if rest and rest[0] in _LAUNCHERS[launcher] else []
    script = next((word for word in rest if word.endswith(".py") and not word.startswith("-")), None)
    return [*kept, _base(script)] if script else kept


def _interpreted(first: str, interpreter: _Interpreter, rest: list[str]) -> str:
    sure = True
    position = 0
    while position < len(rest):
        word = rest[position]
        position += 1
        if not word.startswith("-") or word == "-":
            return _script(first, interpreter, word, rest[position:], sure=sure)
        if word.startswith("--file="):
            return _script(first, interpreter, word.partition("=")[2], [], sure=False)
        if word in interpreter.with_value:
            position += 1
        elif word.startswith("--"):
            # It may take the next word as its value; then only a script's ending tells the two apart.
            sure = sure and ("=" in word or word == "--")
        else:
            found = _short_options(word, interpreter)
            if found == "m":
                return _module(first, word, rest[position:])
            if found is not None:
                return f"{first} -{found}"
    return first


def _short_options(word: str, interpreter: _Interpreter) -> str | None:
    """Find the letter in a word like `-uBc` that ends the options; None when there is none."""
    for letter in word[1:]:
        if f"-{letter}" in interpreter.with_value:
            return None
        if letter in interpreter.inline or letter == interpreter.module:
            return letter
    return None


def _module(first: str, word: str, rest: list[str]) -> str:
    # Both `-m module` and `-mmodule` are allowed.
    module = word.partition("m")[2] or (rest[0] if rest else "")
    return f"{first} -m {module}" if _MODULE.match(module) else f"{first} -m"


def _script(first: str, interpreter: _Interpreter, word: str, rest: list[str], *, sure: bool) -> str:
    script = _base(word)
    if script in _LAUNCHERS:
        return _with_script(script, rest)
    # A script's name has no blanks worth showing; a word with blanks is more likely program text.
    if script.endswith(interpreter.endings) or (sure and script and not re.search(r"[\s=@?]", word)):
        return f"{first} {script}" if script != "-" else first
    return first
