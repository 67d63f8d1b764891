# SPDX-License-Identifier: MIT OR Apache-2.0
"""What measures on every architecture shares: compilers, emulators, root folders (toolchains/sysroot all)."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# name: (compiler, emulator, library root, options for programs that libunwind walks, folder with libunwind's packages or none)
TARGETS = {
    "amd64": ("gcc", "qemu-x86_64", "/", [], "/"),
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64", "build/sysroots/arm64", [], "build/sysroots/arm64"),
    "armhf": ("arm-linux-gnueabihf-gcc", "qemu-arm", "build/sysroots/armhf", ["-funwind-tables"], "build/sysroots/armhf"),
    "armel": ("arm-linux-gnueabi-gcc", "qemu-arm", "build/sysroots/armel", ["-funwind-tables"], "build/sysroots/armel"),
    "mips64el": ("mips64el-linux-gnuabi64-gcc", "qemu-mips64el", "build/sysroots/mips64el",
                 ["-fasynchronous-unwind-tables"], "build/sysroots/mips64el"),
    "mips64": ("mips64-linux-gnuabi64-gcc", "qemu-mips64", "build/sysroots/mips64", ["-fasynchronous-unwind-tables"], None),
}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\nended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def names(given):
    for name in given:
        if name not in TARGETS:
            raise SystemExit(f"there is no target '{name}'; there are {', '.join(TARGETS)}")
    return given or list(TARGETS)


def make_library(name, library, folder):
    """Of the shim as it is shipped: its path in the folder, where one may still be from before."""
    os.makedirs(folder, exist_ok=True)
    run("make", "-s", "-j2", "-f", "Makefile.shim", f"CC={TARGETS[name][0]}", f"OUTPUT={folder}", f"{folder}/{library}", cwd=ROOT)
    return os.path.join(folder, library)
