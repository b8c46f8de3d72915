# SPDX-License-Identifier: MIT
"""The test server as a target file names it."""

from pathlib import Path

import yaml

from lockscale import paths
from lockscale.study.target_file import SshTarget, TargetFile
from server.machine import Server

NAME = "example-server"
EXAMPLE = paths.TARGETS / f"{NAME}.yaml"
DISK = "LOCKSCALE1"


def target_text(server: Server, config: str, **boot: object) -> str:
    """The example that the project ships with this server's values, as README tells a person to do."""
    said = yaml.safe_load(EXAMPLE.read_text())
    said |= {"host": "127.0.0.1", "user": "root", "port": server.port, "virtual": True}
    said |= {"identity_file": str(server.image.identity_file), "known_hosts": str(server.known_hosts)}
    size = server.disks[DISK].image.stat().st_size
    said["disk"] = {"by_id": f"/dev/disk/by-id/virtio-{DISK}", "serial": DISK, "size_bytes": size}
    said["boot"] = {"guard": "i6300esb", "boot_timeout_s": 600, "config": config, **boot}
    return yaml.safe_dump(said)


def target_of(server: Server, config: Path, **boot: object) -> SshTarget:
    """The same as the library reads it."""
    found = TargetFile.model_validate(yaml.safe_load(target_text(server, str(config), **boot))).root
    assert isinstance(found, SshTarget)
    return found
