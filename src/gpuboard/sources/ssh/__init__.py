"""Nodes over ssh: nothing is installed there; one fixed, read-only command prints samples."""

from gpuboard.sources.ssh.command import forced_command
from gpuboard.sources.ssh.once import read_once
from gpuboard.sources.ssh.options import Pace, SshOptions
from gpuboard.sources.ssh.source import SshSource

__all__ = ["Pace", "SshOptions", "SshSource", "forced_command", "read_once"]
