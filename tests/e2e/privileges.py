# SPDX-License-Identifier: Apache-2.0
"""Running fathom with few privileges: as nobody, with the capabilities that recording needs."""
import os
import shutil

NOBODY = 65534
CAPABILITIES = ["bpf", "perfmon", "sys_ptrace", "dac_read_search"]
BITS = {"dac_read_search": 2, "sys_ptrace": 19, "perfmon": 38, "bpf": 39}
AS_NOBODY = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]


def mask(names):
    return sum(1 << BITS[name] for name in names)


def with_capabilities(names):
    text = ",".join("+" + name for name in names)
    return AS_NOBODY + ["--inh-caps", text, "--ambient-caps", text]


def binary_for_all(fathom):
    """A copy of the program that everybody may run, wherever the tree lies."""
    path = fathom.path("fathom")
    if not os.path.exists(path):
        os.chmod(fathom.dir, 0o711)
        shutil.copy(fathom.binary, path)
        os.chmod(path, 0o755)
    return path


def directory_of(fathom, user, name):
    path = fathom.path(name)
    os.mkdir(path)
    os.chown(path, user, user)
    return path
