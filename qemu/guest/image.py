# SPDX-License-Identifier: MIT OR Apache-2.0
"""The initramfs of a guest: busybox with its libraries, the kernel's modules in their order, and the scripts beside this
file. It is written as a cpio archive by hand, since nothing else here needs that program."""
import glob
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ("bin", "dev", "guest", "lib", "lib64", "modules", "proc")


def entry(name, mode, content=b"", number=0, device=(0, 0)):
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(name) + 1, 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0"
    return header + b"\0" * (-len(header) % 4) + content + b"\0" * (-len(content) % 4)


def archive(files):
    """`files`: name -> content; all of them can be executed."""
    parts = [entry(folder, 0o040755) for folder in FOLDERS]
    parts += [entry(folder, 0o040755) for folder in sorted({os.path.dirname(name) for name in files} - {"", *FOLDERS})]
    parts.append(entry("dev/console", 0o020600, device=(5, 1)))
    parts += [entry(name, 0o100755, content) for name, content in files.items()]
    return b"".join((*parts, entry("TRAILER!!!", 0)))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def libraries_of(root, program):
    """What the program is loaded with: name in the archive -> path in the root folder."""
    text = subprocess.run(["readelf", "-ld", program], capture_output=True, text=True, check=True).stdout
    found = {}
    interpreter = re.search(r"program interpreter: /(\S+)\]", text)
    if interpreter:
        found[interpreter.group(1)] = os.path.join(root, interpreter.group(1))
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
        places = [os.path.join(root, place) for place in (f"lib/*-linux-gnu*/{name}", f"lib/{name}", f"lib64/{name}")]
        path = next(iter(sum((glob.glob(place) for place in places), [])), None)
        if path is None:
            raise FileNotFoundError(f"{program} needs {name}, which is not in {root}")
        found[os.path.relpath(path, root)] = path
        found.update(libraries_of(root, path))
    return found


def modules_in_order(folder):
    """A module after those that it depends on, as its own section .modinfo says."""
    names = {os.path.basename(path)[:-3].replace("-", "_"): path for path in glob.glob(os.path.join(folder, "*.ko"))}
    order = []

    def add(name):
        path = names.get(name)
        if path is None or path in order:
            return
        depends = re.search(rb"\0depends=([^\0]*)\0", read(path))
        for needed in depends.group(1).decode().split(",") if depends else []:
            add(needed)
        order.append(path)

    for name in sorted(names):
        add(name)
    return order


def write(path, root, kernel, layout):
    """An initramfs for a target whose libraries and programs are in `root`."""
    busybox = os.path.join(root, "bin/busybox")
    files = {"init": read(os.path.join(HERE, "init")), "agent": read(os.path.join(HERE, "agent")), "bin/busybox": read(busybox)}
    for name, library in sorted(libraries_of(root, busybox).items()):
        files[name] = read(library)
    order = modules_in_order(os.path.join(kernel, "modules"))
    for module in order:
        files[f"modules/{os.path.basename(module)}"] = read(module)
    files["modules/order"] = "".join(f"{os.path.basename(module)}\n" for module in order).encode()
    files["layout"] = "".join(f"{name}='{value}'\n" for name, value in layout.items()).encode()
    with open(path, "wb") as file:
        file.write(archive(files))
