"""Files that nodes leave in one shared folder: our own drops, and what people's crontabs already write."""

from gpuboard.sources.folder.owners import Known, Owners
from gpuboard.sources.folder.pace import Marks
from gpuboard.sources.folder.signatures import NO_TOKENS_HERE, Keys, no_keys
from gpuboard.sources.folder.source import FolderOptions, FolderSource

__all__ = ["NO_TOKENS_HERE", "FolderOptions", "FolderSource", "Keys", "Known", "Marks", "Owners", "no_keys"]
