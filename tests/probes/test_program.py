import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.probes.program import program_of


@pytest.mark.parametrize(
    ("argv", "program"),
    [
        (["blender", "-b", "scene.blend"], "blender"),
        (["/opt/blender/blender", "--password", "x"], "blender"),
        (["python", "train.py", "--lr", "0.1"], "python train.py"),
        (["/usr/bin/python3.11", "/home/ana/work/train.py", "--token=x"], "python3.11 train.py"),
        (["python", "-m", "pkg.mod", "--key", "x"], "python -m pkg.mod"),
        (["python", "-mpkg.mod"], "python -m pkg.mod"),
        (["python", "-um", "pkg.mod", "serve"], "python -m pkg.mod"),
        (["python", "-m", "not a module"], "python -m"),
        (["python", "-c", "import secret; secret.run('x')"], "python -c"),
        (["python", "-Bc", "print('x')"], "python -c"),
        (["python", "-W", "ignore", "-u", "train.py"], "python train.py"),
        (["python", "-Xdev", "train.py"], "python train.py"),
        (["python", "-Wignore::m", "train.py"], "python train.py"),
        (["python", "--check-hash-based-pycs", "always", "train.py"], "python"),
        (["python", "train", "now"], "python train"),
        (["python", "-"], "python"),
        (["python"], "python"),
        (["-bash"], "bash"),
        (["bash", "-lc", "export API_KEY=x; ./run"], "bash -c"),
        (["sh", "-e", "job.sh", "secret"], "sh job.sh"),
        (["bash", "-o", "pipefail", "job.sh"], "bash job.sh"),
        (["perl", "-e", "print 1"], "perl -e"),
        (["ruby", "-I", "lib", "main.rb"], "ruby main.rb"),
        (["node", "--title", "secret", "app.js"], "node"),
        (["node", "--title=secret", "app.js"], "node app.js"),
        (["node", "--inspect", "app.js"], "node app.js"),
        (["Rscript", "fit.R", "secret"], "Rscript fit.R"),
        (["/usr/lib/R/bin/exec/R", "--no-echo", "--file=fit.R", "--args", "secret"], "R fit.R"),
        (["julia", "-t", "8", "run.jl"], "julia run.jl"),
        (["torchrun", "--nproc_per_node", "8", "work/train.py", "--lr", "1"], "torchrun train.py"),
        (["/usr/bin/python", "/usr/bin/torchrun", "--nnodes=2", "train.py", "x.py"], "torchrun train.py"),
        (["accelerate", "launch", "--config_file", "c.yaml", "train.py"], "accelerate launch train.py"),
        (["deepspeed", "--include", "localhost:0"], "deepspeed"),
        (["/usr/bin/python3", "/usr/bin/jupyter-lab", "--no-browser"], "python3 jupyter-lab"),
        (["python", "-m", "ipykernel_launcher", "-f", "/run/kernel-x.json"], "python -m ipykernel_launcher"),
        (["ray::train(secret) --password x"], "ray::train(secret)"),
        (["python train.py --password=a/hunter2"], "python"),
        (["postgres: writer process"], "postgres:"),
        (["python", "https://user:pass@host/x"], "python"),
        (["", "", ""], "kernel-name"),
        ([], "kernel-name"),
    ],
)
def test_a_process_is_named_after_its_program_and_script(argv: list[str], program: str) -> None:
    """People know `python train.py`; they need nothing else, and arguments hold secrets."""
    assert program_of(argv, name="kernel-name") == program


def test_a_process_without_any_name_has_none() -> None:
    """Nothing known stays None."""
    assert program_of([]) is None


words = st.text(max_size=12)


@given(st.lists(words, max_size=8), st.none() | words)
def test_no_command_line_can_break_the_naming(argv: list[str], name: str | None) -> None:
    """Whatever people start, a name or None comes back."""
    program_of(argv, name=name)


INTERPRETERS = st.sampled_from(["python", "python3.12", "bash", "node", "perl", "ruby", "julia", "Rscript"])
OPTIONS = st.sampled_from(["-u", "-x", "--verbose", "--title", "-c", "-e", "-W", "--", "-m", "--file=x"])


@given(
    INTERPRETERS, st.lists(OPTIONS, max_size=3), st.lists(st.just("hunter2 secret"), min_size=1, max_size=4)
)
def test_program_text_and_values_never_show(interpreter: str, options: list[str], secrets: list[str]) -> None:
    """What follows an option may be its value or a program text, and is never part of the name."""
    assert "hunter2" not in (program_of([interpreter, *options, *secrets]) or "")


@given(INTERPRETERS, st.lists(words, max_size=5))
def test_what_follows_the_script_never_shows(interpreter: str, arguments: list[str]) -> None:
    """Arguments after the script have no influence at all."""
    script = {
        "bash": "a.sh",
        "node": "a.js",
        "perl": "a.pl",
        "ruby": "a.rb",
        "julia": "a.jl",
        "Rscript": "a.R",
    }
    name = script.get(interpreter, "a.py")
    assert program_of([interpreter, name, *arguments]) == f"{interpreter} {name}"
