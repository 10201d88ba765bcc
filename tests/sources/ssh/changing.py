"""Changes as a node sends them: the lines that are not as in the sample before, by their numbers."""

from gpuboard.sources.ssh.frames import Frame


def next_frame(before: bytes, now: bytes, sequence: int) -> Frame:
    """What a node sends after one sample when the next would be another; both end with a line's end."""
    old, new = before.split(b"\n")[:-1], now.split(b"\n")[:-1]
    if len(old) != len(new):
        return Frame(kind="sample", sequence=sequence, body=now)
    lines = [
        b"%d %b\n" % (number, line)
        for number, (line, was) in enumerate(zip(new, old, strict=True), 1)
        if line != was
    ]
    return Frame(kind="change", sequence=sequence, body=b"".join(lines))
