"""What has still to be done so that a node reaches the board with the commands that were printed."""

from urllib.parse import SplitResult, urlsplit

from gpuboard.model.address import is_loopback


def hint(given: str | None, own: str) -> str:
    """One sentence; `own` is where the board listens as it last started, `given` what the caller says."""
    board, there = _split(own), _split(given or own)
    if is_loopback(there.hostname):
        return _only_here(board, is_given=given is not None)
    if there.scheme == "https" and board.scheme != "https" and there.netloc == board.netloc:
        return f"the board itself does not speak TLS at {board.netloc}; start it with --tls-certificate"
    if there.scheme == "https":
        return "if the certificate there is of your own authority, add --ca-file FILE to both commands"
    if board.scheme == "https":
        return (
            f"the board speaks TLS, but tokens would travel in clear to {there.netloc}; "
            "write https:// in --url, or, if a proxy answers there on a network you trust, "
            "add --allow-plaintext to both commands"
        )
    who = "the board" if given is None else f"{there.scheme}://{there.netloc}"
    return (
        f"{who} does not speak TLS, so tokens would travel in clear; start the board with --tls-certificate, "
        "or add --allow-plaintext to both commands on a network you trust"
    )


def _only_here(board: SplitResult, *, is_given: bool) -> str:
    if is_given:
        return "the address in --url is that of this machine itself; other nodes need one that leads here"
    start = f"start it with --listen 0.0.0.0:{board.port or 8042}"
    if board.scheme != "https":
        start += " and --tls-certificate"
    return (
        f"the board listens on this machine only; for other nodes {start}, "
        "or give the address of its proxy with --url"
    )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        _ = parts.port
    except ValueError:
        return urlsplit("https://")
    return parts
