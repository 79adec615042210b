"""Arrays over many hosts on disks: names that raise when they are used."""

from . import serialization as serialization

__all__: list[str] = []
