# SPDX-License-Identifier: GPL-2.0-or-later
"""A container runtime as the kubelet has it: containerd of Debian with runc, of one's own (directories,
sockets, cgroups below one parent), driven through its CRI socket.

Messages of the CRI (k8s.io/cri-api, runtime/v1) are dicts; of each, the fields that are used here, by
number and type as api.proto has them.
"""
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import time

import grpc

FIELDS = {
    "PodSandboxMetadata": {"name": (1, str), "uid": (2, str), "namespace": (3, str),
                           "attempt": (4, int)},
    "NamespaceOption": {"network": (1, int), "pid": (2, int), "ipc": (3, int)},
    "SecurityProfile": {"profile_type": (1, int)},
    "LinuxSandboxSecurityContext": {"namespace_options": (1, "NamespaceOption"),
                                    "seccomp": (9, "SecurityProfile")},
    "LinuxPodSandboxConfig": {"cgroup_parent": (1, str),
                              "security_context": (2, "LinuxSandboxSecurityContext")},
    "PodSandboxConfig": {"metadata": (1, "PodSandboxMetadata"), "hostname": (2, str),
                         "log_directory": (3, str), "labels": (6, dict), "annotations": (7, dict),
                         "linux": (8, "LinuxPodSandboxConfig")},
    "RunPodSandboxRequest": {"config": (1, "PodSandboxConfig")},
    "PodSandboxRequest": {"pod_sandbox_id": (1, str)},
    "ContainerMetadata": {"name": (1, str), "attempt": (2, int)},
    "ImageSpec": {"image": (1, str)},
    "Mount": {"container_path": (1, str), "host_path": (2, str), "readonly": (3, bool)},
    "Capability": {"add_capabilities": (1, str), "drop_capabilities": (2, str)},
    "Int64Value": {"value": (1, int)},
    "LinuxContainerSecurityContext": {
        "capabilities": (1, "Capability"), "namespace_options": (3, "NamespaceOption"),
        "run_as_user": (5, "Int64Value"), "readonly_rootfs": (7, bool), "no_new_privs": (11, bool),
        "masked_paths": (13, str), "readonly_paths": (14, str), "seccomp": (15, "SecurityProfile")},
    "LinuxContainerResources": {"cpu_shares": (3, int), "memory_limit_in_bytes": (4, int)},
    "LinuxContainerConfig": {"resources": (1, "LinuxContainerResources"),
                             "security_context": (2, "LinuxContainerSecurityContext")},
    "ContainerConfig": {"metadata": (1, "ContainerMetadata"), "image": (2, "ImageSpec"),
                        "command": (3, str), "args": (4, str), "mounts": (7, "Mount"),
                        "labels": (9, dict), "annotations": (10, dict), "log_path": (11, str),
                        "linux": (15, "LinuxContainerConfig")},
    "CreateContainerRequest": {"pod_sandbox_id": (1, str), "config": (2, "ContainerConfig"),
                               "sandbox_config": (3, "PodSandboxConfig")},
    "ContainerRequest": {"container_id": (1, str), "timeout": (2, int)},
    "ContainerStatusRequest": {"container_id": (1, str), "verbose": (2, bool)},
    "ExecSyncRequest": {"container_id": (1, str), "cmd": (2, str), "timeout": (3, int)},
    "VersionRequest": {"version": (1, str)},
}


def varint(number):
    data = bytearray()
    while True:
        data.append(number & 0x7F | (0x80 if number > 0x7F else 0))
        number >>= 7
        if not number:
            return bytes(data)


def with_length(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def encode_field(number, kind, value):
    if kind in (int, bool):
        return varint(number << 3) + varint(int(value))
    if kind is str:
        return with_length(number, value.encode())
    if kind is dict:
        return b"".join(with_length(number, with_length(1, key.encode()) +
                                    with_length(2, item.encode())) for key, item in value.items())
    return with_length(number, encode(kind, value))


def encode(message, values):
    data = b""
    for name, value in values.items():
        number, kind = FIELDS[message][name]
        for item in value if isinstance(value, list) else [value]:
            data += encode_field(number, kind, item)
    return data


def decode(data):
    """{field number: [value]}; what has a length stays bytes."""
    fields, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        elif key & 7 != 0:
            raise ValueError(f"wire type {key & 7}")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def text_at(fields, number):
    return fields.get(number, [b""])[0].decode(errors="replace")


POD, CONTAINER, NODE = 0, 1, 2
RUNTIME_DEFAULT, UNCONFINED = 0, 1
# What the kubelet hides of /proc and makes read-only, by default (procMount: Default).
MASKED = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
          "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
          "/sys/firmware"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]

# Where shims listen, whatever a configuration says; the names of the sockets are hashes.
SHIM_SOCKETS = [pathlib.Path("/run/containerd/s"), pathlib.Path("/run/containerd")]

CONFIG = """version = 2
root = "{work}/root"
state = "{work}/state"
[grpc]
  address = "{work}/containerd.sock"
[ttrpc]
  address = "{work}/ttrpc.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{work}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{runc}"
        Root = "{work}/runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{work}/cni"
    conf_dir = "{work}/cni"
"""

# The names that runc's systemd driver gives cgroups, without a systemd: a parent that ends in .slice
# comes as parent:cri-containerd:ID, and a.slice of a-b.slice of a-b-c.slice is a path.
SYSTEMD_NAMES = """#!/usr/bin/python3
import json, os, sys
arguments = sys.argv[1:]
if "create" in arguments:
    path = arguments[arguments.index("--bundle") + 1] + "/config.json"
    spec = json.load(open(path))
    group = spec["linux"]["cgroupsPath"]
    if group.count(":") == 2:
        parent, prefix, name = group.split(":")
        words = parent.removesuffix(".slice").split("-")
        slices = ["-".join(words[:i + 1]) + ".slice" for i in range(len(words))]
        spec["linux"]["cgroupsPath"] = "/".join(["{parent}", *slices, f"{{prefix}}-{{name}}.scope"])
        json.dump(spec, open(path, "w"))
os.execvp("runc", ["runc", *arguments])
"""


def write_image(archive, name, root, entrypoint):
    """An OCI archive of a directory."""
    blobs = {}

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"digest": "sha256:" + digest, "size": len(data)}

    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as files:
        files.add(root, arcname="")
    kind = "application/vnd.oci.image."
    config = {"architecture": "amd64", "os": "linux", "config": {"Entrypoint": entrypoint},
              "rootfs": {"type": "layers",
                         "diff_ids": ["sha256:" + hashlib.sha256(layer.getvalue()).hexdigest()]}}
    manifest = {"schemaVersion": 2, "mediaType": kind + "manifest.v1+json",
                "config": {"mediaType": kind + "config.v1+json",
                           **blob(json.dumps(config).encode())},
                "layers": [{"mediaType": kind + "layer.v1.tar", **blob(layer.getvalue())}]}
    index = {"schemaVersion": 2, "manifests": [
        {"mediaType": kind + "manifest.v1+json", **blob(json.dumps(manifest).encode()),
         "annotations": {"io.containerd.image.name": name}}]}
    files = {f"blobs/sha256/{digest}": data for digest, data in blobs.items()}
    files["oci-layout"] = b'{"imageLayoutVersion":"1.0.0"}'
    files["index.json"] = json.dumps(index).encode()
    with tarfile.open(archive, "w") as output:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            output.addfile(entry, io.BytesIO(data))


def copy_program(root, program):
    """A program and the libraries that it wants, as they lie here."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    libraries = [word for word in listed.split() if word.startswith("/")]
    for path, to in [(program, "/bin/" + os.path.basename(program))] + \
            [(path, path) for path in libraries]:
        target = pathlib.Path(str(root) + to)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


class Runtime:
    def __init__(self, work, programs, cgroup_parent):
        self.work, self.parent = pathlib.Path(work), cgroup_parent
        self.programs = pathlib.Path(programs).resolve()
        (self.work / "cni").mkdir()
        self.made = [path for path in SHIM_SOCKETS if not path.exists()]
        runc = self.work / "runc-with-names-of-systemd"
        runc.write_text(SYSTEMD_NAMES.format(parent=cgroup_parent))
        runc.chmod(0o755)
        config = self.work / "config.toml"
        config.write_text(CONFIG.format(work=work, runc=runc))
        self.log = (self.work / "containerd.log").open("w")
        self.environment = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}"}
        self.daemon = subprocess.Popen([self.programs / "containerd", "-c", config],
                                       env=self.environment, stdout=self.log, stderr=self.log)
        self.socket = self.work / "containerd.sock"
        deadline = time.monotonic() + 60
        while not self.socket.exists():
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.work / "containerd.log").read_text()[-2000:])
            time.sleep(0.05)
        self.channel = grpc.insecure_channel(f"unix://{self.socket}")
        self.call("Version", "VersionRequest", {})
        self.pods = []

    def call(self, method, message, values, timeout=120):
        ask = self.channel.unary_unary("/runtime.v1.RuntimeService/" + method)
        return decode(ask(encode(message, values), timeout=timeout, wait_for_ready=True))

    def import_image(self, archive):
        subprocess.run([self.programs / "ctr", "-a", self.socket, "-n", "k8s.io", "images", "import",
                        archive], check=True, capture_output=True, env=self.environment)

    def close(self):
        """Everything that was started, and the cgroups. What it held in memory is left to it."""
        for pod in list(self.pods):
            pod.remove()
        self.channel.close()
        self.daemon.terminate()
        self.daemon.wait(60)
        self.log.close()
        groups = [path for hierarchy in [pathlib.Path("/sys/fs/cgroup"),
                                         *pathlib.Path("/sys/fs/cgroup").iterdir()]
                  if (path := hierarchy / self.parent.lstrip("/")).is_dir()]
        for group in groups:
            for directory, _, _ in os.walk(group, topdown=False):
                try:
                    os.rmdir(directory)
                except OSError:
                    pass
        for path in self.made:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        mounts = pathlib.Path("/proc/self/mounts").read_text()
        for line in reversed(mounts.splitlines()):
            if line.split()[1].startswith(str(self.work)):
                subprocess.run(["umount", line.split()[1]])


class Pod:
    """A sandbox, as the kubelet asks for one, with the host's network."""

    def __init__(self, runtime, namespace, name, uid, cgroup, logs, host_pid=False):
        self.runtime, self.namespace, self.name, self.uid = runtime, namespace, name, uid
        self.host_pid = host_pid
        self.labels = {"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": namespace,
                       "io.kubernetes.pod.uid": uid}
        self.log_directory = pathlib.Path(logs) / f"{namespace}_{name}_{uid}"
        self.log_directory.mkdir(parents=True, exist_ok=True)
        self.config = {
            "metadata": {"name": name, "uid": uid, "namespace": namespace, "attempt": 0},
            "log_directory": str(self.log_directory), "labels": self.labels,
            "linux": {"cgroup_parent": cgroup, "security_context": {
                "namespace_options": self.namespaces(), "seccomp": {"profile_type": RUNTIME_DEFAULT}}}}
        answer = runtime.call("RunPodSandbox", "RunPodSandboxRequest", {"config": self.config})
        self.id = text_at(answer, 1)
        runtime.pods.append(self)

    def namespaces(self):
        return {"network": NODE, "pid": NODE if self.host_pid else CONTAINER, "ipc": POD}

    def start(self, name, image, command=(), args=(), mounts=(), security=None, resources=None,
              attempt=0):
        """A container of it; returns its id."""
        (self.log_directory / name).mkdir(exist_ok=True)
        config = {
            "metadata": {"name": name, "attempt": attempt}, "image": {"image": image},
            "command": list(command), "args": list(args), "mounts": list(mounts),
            "labels": {**self.labels, "io.kubernetes.container.name": name},
            "annotations": {"io.kubernetes.container.restartCount": str(attempt)},
            "log_path": f"{name}/{attempt}.log",
            "linux": {"resources": resources or {}, "security_context": {
                "namespace_options": self.namespaces(), "masked_paths": MASKED,
                "readonly_paths": READ_ONLY, **(security or {})}}}
        answer = self.runtime.call("CreateContainer", "CreateContainerRequest", {
            "pod_sandbox_id": self.id, "config": config, "sandbox_config": self.config})
        container = text_at(answer, 1)
        self.runtime.call("StartContainer", "ContainerRequest", {"container_id": container})
        return container

    def stop(self, container, seconds=30):
        """SIGTERM, and SIGKILL that much later; the container is gone then."""
        self.runtime.call("StopContainer", "ContainerRequest",
                          {"container_id": container, "timeout": seconds})
        self.runtime.call("RemoveContainer", "ContainerRequest", {"container_id": container})

    def process(self, container):
        """Its first process."""
        answer = self.runtime.call("ContainerStatus", "ContainerStatusRequest",
                                   {"container_id": container, "verbose": True})
        for entry in answer[2]:
            pair = decode(entry)
            if text_at(pair, 1) == "info":
                return json.loads(text_at(pair, 2))["pid"]
        raise RuntimeError("no process")

    def run(self, container, command, seconds=120):
        """A command inside: exit code, standard output, standard error."""
        answer = self.runtime.call("ExecSync", "ExecSyncRequest", {
            "container_id": container, "cmd": list(command), "timeout": seconds}, seconds + 30)
        return answer.get(3, [0])[0], text_at(answer, 1), text_at(answer, 2)

    def remove(self):
        """As the kubelet ends a pod: its containers first."""
        self.runtime.pods.remove(self)
        self.runtime.call("StopPodSandbox", "PodSandboxRequest", {"pod_sandbox_id": self.id})
        self.runtime.call("RemovePodSandbox", "PodSandboxRequest", {"pod_sandbox_id": self.id})


def container_of_manifest(spec, image, volumes, args=None):
    """A container of a Kubernetes pod spec, in the words of the CRI, as the kubelet translates it.
    `volumes`: volume name to directory."""
    security = spec["securityContext"]
    units = {"Mi": 1 << 20, "Gi": 1 << 30}
    memory = spec["resources"]["limits"]["memory"]
    profile = security["seccompProfile"]["type"]
    return {
        "image": image, "args": args if args is not None else spec["args"],
        "mounts": [{"container_path": mount["mountPath"], "host_path": str(volumes[mount["name"]]),
                    "readonly": mount.get("readOnly", False)} for mount in spec["volumeMounts"]],
        "resources": {"memory_limit_in_bytes": int(memory[:-2]) * units[memory[-2:]],
                      "cpu_shares": max(2, int(spec["resources"]["requests"]["cpu"][:-1]) * 1024
                                        // 1000)},
        "security": {
            "capabilities": {"add_capabilities": security["capabilities"]["add"],
                             "drop_capabilities": security["capabilities"]["drop"]},
            "run_as_user": {"value": security["runAsUser"]},
            "readonly_rootfs": security["readOnlyRootFilesystem"],
            "no_new_privs": not security["allowPrivilegeEscalation"],
            "seccomp": {"profile_type": {"RuntimeDefault": RUNTIME_DEFAULT,
                                         "Unconfined": UNCONFINED}[profile]}}}
