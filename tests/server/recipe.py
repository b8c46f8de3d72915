# SPDX-License-Identifier: MIT
"""What the test server is: its packages, the files put into it, and what its first boot does."""

SUITE = "bookworm"
IMAGE_MIB = 4096

PACKAGES = (
    "systemd-sysv", "udev", "dbus", "openssh-server", "sudo", "iproute2", "procps", "pciutils",
    "linux-image-amd64",  # not -cloud-: that one lacks the i6300esb watchdog
    "initramfs-tools", "lz4", "grub-pc", "kexec-tools",
    "e2fsprogs", "xfsprogs", "btrfs-progs", "lvm2", "mdadm", "cryptsetup-bin", "dmsetup", "rsync",
)  # fmt: skip

# The initrd is made before the first boot, where no running system says what it needs.
BEFORE_PACKAGES = {
    "/etc/initramfs-tools/conf.d/server": "MODULES=list\nCOMPRESS=lz4\nRESUME=none\n",
    "/usr/share/initramfs-tools/modules.d/server": "virtio_pci\nvirtio_blk\next4\n",
    "/etc/kernel-img.conf": "do_symlinks = no\n",
}

NETWORK = """\
[Match]
Type=ether
[Network]
Address=10.0.2.15/24
IPv6AcceptRA=no
LinkLocalAddressing=no
"""

# Emulated, each process would have its code translated anew where it lies at another address.
# A periodic tick: under emulation a one-shot timer can get lost, and its CPU then waits for ever (seen once).
ARGUMENTS = "console=ttyS0 norandmaps nohz=off highres=off"

GRUB_DEFAULTS = f"""\
GRUB_DEFAULT=saved
GRUB_TIMEOUT=0
GRUB_DISTRIBUTOR=Debian
GRUB_DISABLE_OS_PROBER=true
GRUB_CMDLINE_LINUX="{ARGUMENTS}"
GRUB_TERMINAL="serial"
"""

SETTLE_UNIT = """\
[Unit]
Description=Finish the image on its first boot
ConditionPathExists=!/var/lib/settled
After=local-fs.target
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/settle
StandardOutput=journal+console
StandardError=journal+console
[Install]
WantedBy=multi-user.target
"""

# GRUB was written to the disk by the builder; only the running server can say what its devices are.
SETTLE = """\
#!/bin/sh
set -eux
grub-install /dev/vda
grub-editenv /boot/grub/grubenv create
update-grub
touch /var/lib/settled
sync
systemctl --no-block poweroff
"""

FILES = {
    "/etc/hostname": "testserver\n",
    "/etc/hosts": "127.0.0.1 localhost testserver\n",
    "/etc/systemd/network/10-wired.network": NETWORK,
    "/etc/systemd/journald.conf.d/server.conf": "[Journal]\nStorage=volatile\nForwardToConsole=no\n",
    "/etc/systemd/system/settle.service": SETTLE_UNIT,
    "/etc/default/grub": GRUB_DEFAULTS,
    "/etc/default/kexec": "LOAD_KEXEC=false\n",  # else a reboot goes past GRUB
    "/etc/ssh/sshd_config.d/server.conf": "PasswordAuthentication no\nUseDNS no\n",
    "/etc/sudoers.d/bench": "bench ALL=(ALL) NOPASSWD: ALL\n",
    "/usr/local/sbin/settle": SETTLE,
}

# root, a user who may sudo without a password, and one who may not: all three by the same key
SET_UP = """\
set -eu
chmod 755 /usr/local/sbin/settle
chmod 440 /etc/sudoers.d/bench
useradd --create-home --shell /bin/bash bench
useradd --create-home --shell /bin/bash plain
for home in ~root ~bench ~plain; do
    mkdir -p "$home/.ssh"
    cp /authorized_key "$home/.ssh/authorized_keys"
    chmod 700 "$home/.ssh"
done
chown -R bench: ~bench
chown -R plain: ~plain
rm /authorized_key
systemctl enable systemd-networkd settle.service
systemctl disable systemd-networkd-wait-online.service
systemctl mask apt-daily.timer apt-daily-upgrade.timer
rm -rf /var/cache/apt/archives/*.deb /var/lib/apt/lists/*
update-initramfs -u -k all
"""


def first_grub_cfg(release: str, uuid: str) -> str:
    """The menu of the first boot, before the server has written its own."""
    return (
        "serial\nterminal_input serial\nterminal_output serial\n"
        f"linux /boot/vmlinuz-{release} root=UUID={uuid} ro {ARGUMENTS}\n"
        f"initrd /boot/initrd.img-{release}\nboot\n"
    )
