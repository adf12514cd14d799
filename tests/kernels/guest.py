# SPDX-License-Identifier: Apache-2.0
"""The root file system of the guest: what the tests need of this host, under the same paths."""
import glob
import lzma
import os
import re
import shlex
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
# Beside busybox, which has the rest: programs that tests name, or whose every option they use.
PROGRAMS = ["python3.11", "dash", "bash", "coreutils", "unshare", "mount", "umount", "setpriv",
            "strace", "bpftool", "ip", "prlimit", "nsenter", "taskset", "babeltrace2", "zstd",
            "sqlite3", "ps", "fio", "redis-server", "redis-benchmark", "redis-cli", "nginx", "wrk"]
COREUTILS = ["cat", "chmod", "cp", "cut", "date", "dd", "echo", "env", "false", "head", "id", "ln",
             "ls", "mkdir", "mknod", "mktemp", "mv", "nice", "nproc", "od", "printf", "rm", "rmdir",
             "seq", "sha256sum", "sleep", "sort", "stat", "stty", "sync", "tail", "tee", "test",
             "timeout", "touch", "tr", "true", "truncate", "uname", "wc", "yes"]
PLUGINS = "/usr/lib/x86_64-linux-gnu/babeltrace2"
LEFT_OUT = ("dist-packages", "test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter",
            "turtledemo", "config-3.11-x86_64-linux-gnu", "pydoc_data", "unittest")
MODULES = ["fs/fuse/fuse"]  # of the kernel's package; it may have them built in
PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"


def on_path(name):
    return shutil.which(name, path="/usr/bin:/usr/sbin:/bin:/sbin")


class Root:
    """A directory that becomes the guest's file system."""

    def __init__(self, path):
        self.path = path
        self.done = set()
        shutil.rmtree(path, ignore_errors=True)
        for folder in ("dev", "proc", "sys", "run", "root", "etc", "tmp", "var/tmp", "usr/bin",
                       "usr/sbin", "usr/lib/x86_64-linux-gnu", "usr/lib64"):
            os.makedirs(self.at(folder))
        for folder in ("bin", "sbin", "lib", "lib64"):
            os.symlink(f"usr/{folder}", self.at(folder))
        for folder in ("tmp", "var/tmp"):
            os.chmod(self.at(folder), 0o1777)

    def at(self, path):
        return os.path.join(self.path, path.lstrip("/"))

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        with open(self.at(path), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.at(path), mode)

    def add(self, path):
        """A file of the host, and the libraries that it is linked with."""
        path = os.path.normpath(path)
        if path in self.done:
            return
        self.done.add(path)
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        shutil.copy2(path, self.at(path))
        with open(path, "rb") as file:
            if file.read(4) != b"\x7fELF":
                return
        libraries = subprocess.run(["ldd", path], text=True, capture_output=True, check=False)
        for library in re.findall(r"(/\S+) \(0x", libraries.stdout):
            self.add(library)

    def add_tree(self, path, left_out=()):
        for folder, folders, files in os.walk(path):
            folders[:] = [name for name in folders if name not in left_out]
            for name in files:
                source = os.path.join(folder, name)
                if os.path.islink(source):
                    self.link(source, os.readlink(source))
                elif os.path.isfile(source):
                    self.add(source)

    def link(self, path, target):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        if not os.path.lexists(self.at(path)):
            os.symlink(target, self.at(path))

    def add_programs(self):
        for name in PROGRAMS + COREUTILS:
            path = on_path(name)
            if path:  # what is not installed, the test that wants it says
                self.add(os.path.realpath(path))
                self.link(path, os.path.realpath(path))
        self.link("/usr/bin/sh", "dash")
        self.link("/usr/bin/python3", "python3.11")
        self.add(on_path("busybox"))
        for applet in subprocess.run([on_path("busybox"), "--list"], text=True, check=True,
                                     stdout=subprocess.PIPE).stdout.split():
            self.link(f"/usr/bin/{applet}", "busybox")
        self.add_tree("/usr/lib/python3.11", LEFT_OUT)
        if os.path.isdir(PLUGINS):
            self.add_tree(PLUGINS)

    def add_base(self):
        self.write("/etc/passwd", PASSWD)
        self.write("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
        self.write("/etc/hostname", "guest\n")
        self.write("/etc/hosts", "127.0.0.1 localhost\n")
        for loader in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"):
            if os.path.exists(loader):
                self.add(loader)
        self.add_programs()
        shutil.copy2(os.path.join(HERE, "init"), self.at("/init"))

    def add_modules(self, tree):
        """Of the kernel whose package was unpacked to `tree`."""
        for folder in glob.glob(os.path.join(tree, "lib/modules/*")):
            place = self.at(f"/usr/lib/modules/{os.path.basename(folder)}")
            os.makedirs(place)
            for name in MODULES:
                for path in glob.glob(os.path.join(folder, "kernel", name + ".ko*")):
                    with open(path, "rb") as file:
                        module = file.read()
                    if path.endswith(".xz"):
                        module = lzma.decompress(module)
                    with open(os.path.join(place, os.path.basename(name) + ".ko"), "wb") as file:
                        file.write(module)

    def add_tests(self, tests, build, slower):
        """Of each test its command as Meson gives it, and its programs; more time by `slower`."""
        lines = []
        for test in tests:
            words = ["/usr/bin/python3"] + [os.path.normpath(os.path.join(build, word))
                                            if os.path.exists(os.path.join(build, word)) else word
                                            for word in test["cmd"][1:]]
            for word in words[1:]:
                if os.path.isdir(word):
                    self.add_tree(word)
                elif os.path.exists(word):
                    self.add(word)
            exports = "".join(f"export {name}={shlex.quote(value)}\n"
                              for name, value in test["env"].items())
            exports += f"export SLOWER={slower} MACHINE_OF_ITS_OWN=1\n"
            exports += f"export ONLY={shlex.quote(test['only'])},$skip\n"
            script = f"/tests.d/{test['name']}"
            self.write(script, f"cd {shlex.quote(build)}\n{exports}exec {shlex.join(words)}\n")
            lines.append(f"{test['name']} {test['timeout'] * slower} {script}\n")
        self.write("/tests", "".join(lines))

    def pack(self, image, megabytes):
        """Makes it the file system in a file."""
        if os.path.exists(image):
            os.unlink(image)
        result = subprocess.run(["/usr/sbin/mkfs.ext4", "-q", "-F", "-E", "root_owner=0:0", "-d",
                                 self.path, image, f"{megabytes}M"], text=True,
                                capture_output=True, check=False)
        if result.returncode:
            raise RuntimeError(f"mkfs.ext4: {result.stderr}")
        shutil.rmtree(self.path)
