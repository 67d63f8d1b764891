# SPDX-License-Identifier: MIT OR Apache-2.0
"""A guest: Debian's kernel of one architecture under qemu-system, without KVM, network and disk."""
import os
import re
import shutil
import signal
import subprocess
import threading
import time

from guest import image

BOOT_SECONDS = 600  # for ten on an idle machine
CONSOLE_LINES = 25

# A guest's time is what it executes, two nanoseconds for an instruction, and real time while it idles: however long it has to wait
# for a processor of this machine, it loses neither a tick of its timer nor the share of time that a sample stands for. On
# MIPS QEMU loses ticks of the timer, with counted instructions still more.
COUNTED = " -icount shift=1,sleep=on"
# A day of a program that mostly sleeps then takes minutes. The time in which the guest waits for a file of this machine is skipped,
# too: how long something takes there says nothing.
SKIPPING = " -icount shift=1,sleep=off"

# Debian's name: what QEMU is started with, and the console that the kernel writes to.
MACHINES = {
    "amd64": ("qemu-system-x86_64 -M q35 -cpu qemu64 -display none" + COUNTED, "ttyS0"),
    "arm64": ("qemu-system-aarch64 -M virt -cpu cortex-a57 -display none" + COUNTED, "ttyAMA0"),
    "armhf": ("qemu-system-arm -M virt,highmem=off -cpu cortex-a15 -display none" + COUNTED, "ttyAMA0"),
    "mips64el": ("qemu-system-mips64el -M malta -cpu 5KEf -display none -vga none", "ttyS0"),
}


class Guest:
    """`memory`: MiB. `read_only`: folders of this machine that the guest sees, an outer one before an inner one.
    `skips_idle`: where the guest would sleep, its clock goes on to the next timer at once."""

    def __init__(self, architecture, kernel, root, read_only, box, console, memory=1024, skips_idle=False):
        self.architecture, self.kernel, self.root, self.box, self.console = architecture, kernel, root, box, console
        self.memory, self.skips_idle = memory, skips_idle
        self.read_only = read_only
        self.ended = threading.Event()
        self.ready = threading.Event()
        self.process = None
        self.processor_seconds = 0
        self.lines = []
        with open(os.path.join(kernel, "config"), encoding="utf-8") as config:
            self.release = re.search(r"(\d+\.\d+\.\d+) Kernel Configuration", config.read()).group(1)

    def command(self, initramfs):
        words, console = MACHINES[self.architecture]
        if self.skips_idle:
            words = words.replace(COUNTED, SKIPPING)
        command = [*words.split(), "-m", str(self.memory), "-nodefaults", "-nic", "none", "-no-reboot", "-smp", "1", "-accel", "tcg", "-serial", "stdio"]
        command += ["-kernel", os.path.join(self.kernel, "vmlinuz"), "-initrd", initramfs]
        command += ["-append", f"console={console} panic=-1 loglevel=4 rdinit=/init"]
        for number, folder in enumerate(self.read_only):
            command += ["-fsdev", f"local,id=fs{number},path={folder},security_model=none,readonly=on,multidevs=remap"]
            command += ["-device", f"virtio-9p-pci,fsdev=fs{number},mount_tag=fs{number}"]
        command += ["-fsdev", f"local,id=box,path={self.box},security_model=none", "-device", "virtio-9p-pci,fsdev=box,mount_tag=box"]
        command += ["-chardev", f"socket,id=jobs,path={self.box}/guest,server=on,wait=off"]
        command += ["-chardev", f"socket,id=ssh,path={self.box}/ssh,server=on,wait=off"]
        command += ["-device", "virtio-serial-pci", "-device", "virtconsole,chardev=jobs"]
        return [*command, "-device", "virtserialport,chardev=ssh,name=ssh"]

    def boot(self):
        """Whether the guest takes jobs in time."""
        for folder in ("jobs", "tmp"):
            os.makedirs(os.path.join(self.box, folder))
        initramfs = os.path.join(self.box, "initramfs")
        read_only = " ".join(f"fs{number}:{folder}" for number, folder in enumerate(self.read_only))
        image.write(initramfs, self.root, self.kernel, {"root": self.root, "read_only": read_only, "box": self.box})
        self.process = subprocess.Popen(self.command(initramfs), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        threading.Thread(target=self.read_console, daemon=True).start()
        until = time.monotonic() + BOOT_SECONDS
        while not self.ready.wait(0.2) and not self.ended.is_set() and time.monotonic() < until:
            pass
        return self.ready.is_set() and not self.ended.is_set()

    def read_console(self):
        with open(self.console, "wb") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                text = line.decode("utf-8", "replace").rstrip()
                self.lines.append(text)
                if text == "guest: ready":
                    self.ready.set()
        self.ended.set()

    def console_end(self):
        return "\n".join(self.lines[-CONSOLE_LINES:])

    def is_well(self):
        return not self.ended.is_set()

    def end(self):
        if self.process and self.process.returncode is None:
            os.kill(self.process.pid, signal.SIGKILL)  # Popen's own would take its usage away
            _, self.process.returncode, usage = os.wait4(self.process.pid, 0)
            self.processor_seconds = usage.ru_utime + usage.ru_stime
            self.ended.wait(5)
        shutil.rmtree(self.box, ignore_errors=True)
