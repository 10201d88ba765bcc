"""Nodes over ssh: nothing is installed there; one fixed, read-only command prints samples."""

from gpuboard.sources.ssh.command import forced_command
from gpuboard.sources.ssh.once import read_once
from gpuboard.sources.ssh.options import SshOptions, Timing
from gpuboard.sources.ssh.source import SshSource

__all__ = ["SshOptions", "SshSource", "Timing", "forced_command", "read_once"]
