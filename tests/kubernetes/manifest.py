#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""manifest.py OVERLAY: prints what `kubectl kustomize scripts/deploy/kubernetes/OVERLAY` would, as JSON.

Of kustomize it knows what our files use: resources, components, strategic-merge patches in files, and
JSON patches (RFC 6902) that add something.
"""
import json
import pathlib
import sys

import yaml

OVERLAYS = pathlib.Path("scripts/deploy/kubernetes")


def read(path):
    return [part for part in yaml.safe_load_all(path.read_text()) if part]


def merged_list(old, new):
    """Lists of things with names are merged by name; any other is replaced."""
    if not all(isinstance(item, dict) and "name" in item for item in old + new):
        return new
    named = {item["name"]: item for item in old}
    for item in new:
        named[item["name"]] = merged(named.get(item["name"], {}), item)
    return list(named.values())


def merged(old, new):
    if isinstance(old, dict) and isinstance(new, dict):
        return {**old, **{key: merged(old[key], value) if key in old else value
                          for key, value in new.items()}}
    if isinstance(old, list) and isinstance(new, list):
        return merged_list(old, new)
    return new


def apply_operation(document, operation):
    if operation["op"] != "add":
        raise ValueError(f"a JSON patch that this reader does not know: {operation}")
    *path, last = operation["path"].lstrip("/").split("/")
    for step in path:
        document = document[int(step) if isinstance(document, list) else step]
    if last == "-":
        document.append(operation["value"])
    else:
        document[last] = operation["value"]


def same_object(one, other):
    return all(one[key] == other[key] for key in ("kind",)) and \
        one["metadata"]["name"] == other["metadata"]["name"]


def build(directory, objects=()):
    """The objects of a kustomization, or those given and a component's, patched."""
    plan = read(directory / "kustomization.yaml")[0]
    unknown = set(plan) - {"apiVersion", "kind", "resources", "components", "patches"}
    if unknown:
        raise ValueError(f"{directory}: {unknown} are not known to this reader")
    objects = list(objects)
    for name in plan["resources"]:
        path = (directory / name).resolve()
        objects += build(path) if path.is_dir() else read(path)
    for name in plan.get("components", []):
        objects = build(directory / name, objects)
    for patch in plan.get("patches", []):
        if "path" in patch:
            for change in read(directory / patch["path"]):
                [at] = [i for i, item in enumerate(objects) if same_object(item, change)]
                objects[at] = merged(objects[at], change)
            continue
        target = patch["target"]
        [found] = [item for item in objects
                   if item["kind"] == target["kind"] and item["metadata"]["name"] == target["name"]]
        for operation in yaml.safe_load(patch["patch"]):
            apply_operation(found, operation)
    return objects


def overlay(name):
    return build(OVERLAYS / name)


def pod_of(objects):
    """The pod spec of its DaemonSet."""
    [found] = [item for item in objects if item["kind"] == "DaemonSet"]
    return found["spec"]["template"]["spec"]


if __name__ == "__main__":
    json.dump(overlay(sys.argv[1]), sys.stdout, indent=1)
