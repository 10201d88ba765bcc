import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuboard.probes.scrub import HIDDEN, is_secret_name, scrub

SECRET = "hunter2CANARY"


@pytest.mark.parametrize(
    "argv",
    [
        ["x", "--password", SECRET],
        ["x", f"--password={SECRET}"],
        ["x", f"--password={SECRET},with;all&sorts}}of'marks"],
        ["x", "--db-password", f"-{SECRET}"],
        ["x", "--apiKey", SECRET],
        ["x", "--hf_token", SECRET],
        ["x", f"API_KEY={SECRET}"],
        ["env", f"WANDB_API_KEY={SECRET}", "python"],
        ["x", f"--env=API_KEY={SECRET}"],
        ["x", "--env", f"SECRET={SECRET}"],
        ["x", f"https://ana:{SECRET}@host/repo.git"],
        ["x", f"https://{SECRET}@host/repo.git"],
        ["x", f"postgresql+psycopg://ana:p/{SECRET}@db/x"],
        ["x", f"https://host/?a=1&token={SECRET}&b=2"],
        ["x", f"https://host/#access_token={SECRET}"],
        ["x", f"https://host/blob?sv=1&sig={SECRET}"],
        ["curl", "-H", f"Authorization: Bearer {SECRET}"],
        ["curl", "-H", "Authorization:", "Bearer", SECRET],
        ["x", "Bearer", SECRET],
        ["x", f"bearer  {SECRET}"],
        ["curl", f"-HX-Api-Key: {SECRET}"],
        ["curl", "-H", f"Cookie: a=1; session={SECRET}"],
        ["curl", "-u", f"ana:{SECRET}"],
        ["curl", f"-uana:{SECRET}"],
        ["curl", f"--user=ana:{SECRET}"],
        ["/usr/bin/mysql", "-p", SECRET],
        ["mysql", f"-p{SECRET}"],
        ["sshpass", "-p", SECRET, "ssh", "host"],
        ["redis-cli", "-a", SECRET],
        ["x", f'{{"user": "ana", "password": "{SECRET}"}}'],
        ["x", f"{{'password': '{SECRET}, more'}}"],
        ["bash", "-c", f"export TOKEN={SECRET}; run --lr 1"],
        ["bash", "-c", f"run --password {SECRET}"],
        ["x", f"sk-proj-{SECRET}"],
        ["x", f"--key=sk-{SECRET}"],
        ["x", f"ghp_{SECRET}"],
        ["x", f"hf_{SECRET}"],
        ["x", f"AKIA{SECRET.upper()}"],
        ["x", f"eyJ{SECRET}.eyJ{SECRET}.{SECRET}"],
        ["x", f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n"],
    ],
)
def test_the_usual_forms_of_secrets_are_hidden(argv: list[str]) -> None:
    """Who opts in to arguments does not opt in to passwords."""
    assert SECRET.lower() not in " ".join(scrub(argv)).lower()


@pytest.mark.parametrize(
    "argv",
    [
        ["python", "train.py", "--lr", "0.1", "--epochs=20"],
        ["python", "train.py", "--tokenizer", "gpt2", "--max-tokens", "512"],
        ["python", "train.py", "--sort-key", "name", "--monkey", "1"],
        ["python", "-m", "http.server", "8080"],
        ["server", "-p", "8080", "--address=0.0.0.0:80"],
        ["python", "https://host/data.tar?part=3"],
        ["python", "--compass", "north", "--author", "ana"],
    ],
)
def test_what_is_no_secret_stays(argv: list[str]) -> None:
    """Hiding everything would be safe and useless."""
    assert scrub(argv) == argv


def test_an_option_without_a_value_does_not_hide_the_next_option() -> None:
    """`--use-auth-token --lr 1` is common."""
    assert scrub(["x", "--use-auth-token", "--lr", "1"]) == ["x", "--use-auth-token", "--lr", "1"]


def test_the_name_of_the_secret_stays() -> None:
    """One may see that there is a password, not which."""
    assert scrub(["x", "--password", "a", "TOKEN=b"]) == ["x", "--password", HIDDEN, f"TOKEN={HIDDEN}"]


@pytest.mark.parametrize(
    "name", ["password", "--db-passwd", "HF_TOKEN", "apiKey", "accessToken", "key", "ssh_key"]
)
def test_names_of_secrets_are_known(name: str) -> None:
    """In all the ways that people write them."""
    assert is_secret_name(name)


@given(st.lists(st.text(max_size=30), max_size=8))
def test_no_command_line_can_break_the_scrubbing(argv: list[str]) -> None:
    """Words go in, as many words come out."""
    assert len(scrub(argv)) == len(argv)


@given(
    st.lists(
        st.sampled_from(["--password", "--lr", "x", "K=v", "TOKEN=", "Bearer", "a: b", "--"]), max_size=8
    )
)
def test_scrubbing_twice_changes_nothing_more(argv: list[str]) -> None:
    """What was hidden stays hidden in the same form."""
    once = scrub(argv)
    assert scrub(once) == once


@given(
    st.sampled_from(
        ["--password={}", "API_KEY={}", "?token={}", "https://u:{}@h/", "Bearer {}", "secret: {}"]
    ),
    st.text(
        st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="\"'#&"),
        min_size=8,
        max_size=30,
    ),
)
def test_any_secret_in_a_usual_form_is_hidden(form: str, secret: str) -> None:
    """Whatever marks it holds."""
    scrubbed = scrub(["x", form.format(secret)])[1]
    assert secret not in scrubbed
