#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sbom.py PROGRAM LINK_MAP VERSION DIRECTORY [PACKAGE…]: lists the components of a static
program, and packages with files beside it.

Writes DIRECTORY/leakmon.spdx.json (SPDX 2.3) and the licences below DIRECTORY/licenses/. The linker
lists the archives in the program (-Wl,-Map), and dpkg their packages. The time inside is
SOURCE_DATE_EPOCH's: the same program on the same packages gives the same bytes.
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

# The page of reports contains a library from npm.
PAGE_LOCK = "user/html/package-lock.json"
COPYRIGHT = "scripts/package/debian/copyright"
COMMON = pathlib.Path("/usr/share/common-licenses")


def linked_files(link_map):
    """Archives with a linked member, and separate objects."""
    text = pathlib.Path(link_map).read_text(errors="replace")
    taken = re.findall(r"^(/\S+\.a)\(\S+\)", text.split("Discarded input sections")[0], re.M)
    alone = re.findall(r"^LOAD (/\S+\.o)$", text, re.M)
    return sorted({os.path.realpath(path) for path in taken + alone})


def package_of(path):
    """Its name, or None if dpkg does not know the file."""
    asked = [path, "/usr" + path if path.startswith("/lib") else path.removeprefix("/usr")]
    for name in asked:
        answer = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True)
        if answer.returncode == 0:
            return answer.stdout.split(": ")[0].split(",")[0]
    return None


def describe(package):
    fields = "${binary:Package}\t${Version}\t${source:Package}\t${source:Version}\t${Architecture}"
    answer = subprocess.run(["dpkg-query", "-W", "-f", fields, package], capture_output=True,
                            text=True, check=True)
    return answer.stdout.split("\t")


def sha256(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def identifier(name):
    return re.sub(r"[^A-Za-z0-9.-]", "-", name)


class Document:
    def __init__(self, program, version, directory):
        self.licenses = pathlib.Path(directory, "licenses")
        self.licenses.mkdir(parents=True)
        self.path = pathlib.Path(directory, "leakmon.spdx.json")
        created = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
        digest = sha256(program)
        self.common = set()
        self.json = {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"leakmon-{version}",
            "documentNamespace": f"https://spdx.org/spdxdocs/leakmon-{version}-{digest}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", created),
                             "creators": ["Tool: leakmon-scripts/package/sbom.py"]},
            "packages": [{
                "SPDXID": "SPDXRef-leakmon", "name": "leakmon", "versionInfo": version,
                "packageFileName": "leakmon", "primaryPackagePurpose": "APPLICATION",
                "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
                "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                "licenseConcluded": "NOASSERTION", "licenseDeclared": "GPL-2.0-or-later",
                "copyrightText": "2026 the leakmon developers"}],
            "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                               "relatedSpdxElement": "SPDXRef-leakmon"}],
            "hasExtractedLicensingInfos": []}

    def add(self, name, version, relation, license_name, **more):
        spdx_id = "SPDXRef-" + identifier(name)
        self.json["packages"].append({
            "SPDXID": spdx_id, "name": name, "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": license_name,
            "copyrightText": "NOASSERTION", **more})
        self.json["relationships"].append({
            "spdxElementId": "SPDXRef-leakmon", "relationshipType": relation,
            "relatedSpdxElement": spdx_id})

    def keep_license(self, name, text):
        """The text of a package, with the common licences of Debian that it refers to."""
        (self.licenses / name).write_text(text)
        for common in re.findall(r"common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text):
            if (COMMON / common).exists():
                self.common.add(common)

    def add_package(self, package, files):
        name, version, source, source_version, architecture = describe(package)
        name = name.split(":")[0]
        text = pathlib.Path("/usr/share/doc", name, "copyright").read_text(errors="replace")
        reference = "LicenseRef-" + identifier(name)
        self.keep_license(name, text)
        self.json["hasExtractedLicensingInfos"].append(
            {"licenseId": reference, "name": f"copyright of Debian's {name}", "extractedText": text})
        self.add(name, version, "STATIC_LINK" if files else "CONTAINS", reference,
                 supplier="Organization: Debian",
                 sourceInfo=f"source package {source} {source_version}" + "".join(
                     f"; {os.path.basename(path)} sha256:{sha256(path)}" for path in files),
                 externalRefs=[{
                     "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                     "referenceLocator":
                         f"pkg:deb/debian/{name}@{version.replace(':', '%3A').replace('+', '%2B')}"
                         f"?arch={architecture}"}])

    def write(self):
        for name in sorted(self.common):
            shutil.copyfile(COMMON / name, self.licenses / f"common-{name}")
        self.path.write_text(json.dumps(self.json, indent=1, sort_keys=True) + "\n")


def main():
    program, link_map, version, directory, *beside = sys.argv[1:]
    document = Document(program, version, directory)
    document.keep_license("leakmon", pathlib.Path(COPYRIGHT).read_text())
    packages, strange = {}, []
    for path in linked_files(link_map):
        package = package_of(path)
        if package:
            packages.setdefault(package, []).append(path)
        elif not path.startswith(os.getcwd()):
            strange.append(path)
    if not packages:
        sys.exit(f"sbom.py: {link_map}: no archive of a Debian package")
    for package in sorted(packages):
        document.add_package(package, packages[package])
    for package in beside:
        document.add_package(package, [])
    for path in strange:
        document.add(os.path.basename(path), "NOASSERTION", "STATIC_LINK", "NOASSERTION",
                     checksums=[{"algorithm": "SHA256", "checksumValue": sha256(path)}])
    page = json.loads(pathlib.Path(PAGE_LOCK).read_text())["packages"]["node_modules/uplot"]
    document.add("uplot", page["version"], "CONTAINS", page.get("license", "NOASSERTION"),
                 externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                "referenceLocator": f"pkg:npm/uplot@{page['version']}"}])
    document.write()


main()
