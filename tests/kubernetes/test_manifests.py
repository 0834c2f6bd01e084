#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_manifests.py RENDER: the overlays and the Helm chart hold what the Kubernetes API takes, and one
says what the other does. RENDER is the program built from render.go.
"""
import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import jsonschema
import yaml

import manifest

RENDER = None
CHART = pathlib.Path("scripts/deploy/helm/leakmon")
HERE = pathlib.Path(__file__).parent
OVERLAYS = ["triage", "profile", "profile-old-kernel", "triage-http", "profile-http"]


OPERATOR = "monitoring.coreos.com/v1"


def chart(*apis, **values):
    text = subprocess.run([RENDER, CHART, json.dumps(values), *apis], capture_output=True, text=True,
                          check=True).stdout
    return [part for part in yaml.safe_load_all(text) if part]


def by_kind(objects):
    return {item["kind"]: item for item in objects}


class Manifests(unittest.TestCase):
    def setUp(self):
        self.schema = json.loads((HERE / "objects.schema.json").read_text())

    def expect_valid(self, objects):
        self.assertTrue(objects)
        for item in objects:
            jsonschema.validate(item, self.schema)
            if item["kind"] != "DaemonSet":
                continue
            spec = item["spec"]
            labels = spec["template"]["metadata"]["labels"]
            self.assertEqual(labels, {**labels, **spec["selector"]["matchLabels"]})
            pod = spec["template"]["spec"]
            volumes = {volume["name"] for volume in pod["volumes"]}
            for container in pod["containers"]:
                self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)

    def test_overlays_and_chart_are_objects_of_the_api(self):
        for overlay in OVERLAYS:
            self.expect_valid(manifest.overlay(overlay))
        for mode in "triage", "profile":
            self.expect_valid(chart(mode=mode))
            self.expect_valid(chart(mode=mode, http={"enabled": True}))
            self.expect_valid(chart(mode=mode, http={"enabled": True}, textfileDirectory=""))
        self.expect_valid(chart(podLabels={"team": "a"}, podAnnotations={"x/y": "z"},
                                nodeSelector={"disk": "ssd"}, imagePullSecrets=[{"name": "key"}],
                                affinity={"nodeAffinity": {}}, tolerations=[]))

    def test_the_schema_finds_slips_of_the_pen(self):
        daemon = by_kind(manifest.overlay("triage"))["DaemonSet"]
        for change in (
                lambda pod: pod.update(hostPid=True),
                lambda pod: pod["containers"][0].update(arguments=[]),
                lambda pod: pod["containers"][0]["args"].append(30),
                lambda pod: pod["containers"][0]["securityContext"]["capabilities"]["add"].append(
                    "CAP_BPF"),
                lambda pod: pod["containers"][0]["resources"]["limits"].update(memory="128MB"),
                lambda pod: pod["volumes"][0]["hostPath"].update(path="relative")):
            wrong = copy.deepcopy(daemon)
            change(wrong["spec"]["template"]["spec"])
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(wrong, self.schema)

    def test_the_overlays_are_what_kubectl_makes_of_them(self):
        if not shutil.which("kubectl"):
            self.skipTest("kubectl is not here")
        for overlay in OVERLAYS:
            made = subprocess.run(["kubectl", "kustomize", manifest.OVERLAYS / overlay],
                                  capture_output=True, text=True)
            if made.returncode:
                self.skipTest("this kubectl does not work: " + made.stderr)
            self.assertEqual(by_kind(yaml.safe_load_all(made.stdout)),
                             by_kind(manifest.overlay(overlay)))

    def test_the_chart_has_the_same_pods(self):
        for overlay, values in (("triage", {"mode": "triage"}), ("profile", {"mode": "profile"}),
                                ("profile-old-kernel", {"mode": "profile", "oldKernel": True}),
                                ("triage-http", {"mode": "triage", "http": {"enabled": True}}),
                                ("profile-http", {"mode": "profile", "http": {"enabled": True}}),
                                ("triage", {"mode": "triage", "oldKernel": True})):
            mine, theirs = manifest.pod_of(manifest.overlay(overlay)), manifest.pod_of(
                chart(**values))
            for pod in mine, theirs:
                self.assertEqual(pod["containers"][0].pop("image").split(":")[0], "leakmon")
            self.assertEqual(mine, theirs)

    def test_values_go_where_they_say(self):
        pod = manifest.pod_of(chart(
            mode="profile", interval=300, extraArgs=["--top", "5"], textfileDirectory="/srv/metrics",
            podLogs="/data/logs", image={"repository": "registry.example.com/leakmon", "tag": "x"},
            modes={"profile": {"args": ["profile", "--overhead", "0.2%"],
                               "resources": {"limits": {"memory": "1Gi"}}}}))
        container = pod["containers"][0]
        self.assertEqual(container["args"], [
            "profile", "--overhead", "0.2%", "--format", "prom", "--textfile-dir", "/textfiles",
            "--top", "5", "300"])
        self.assertEqual(container["image"], "registry.example.com/leakmon:x")
        self.assertEqual(container["resources"], {"limits": {"memory": "1Gi"},
                                                  "requests": {"cpu": "20m", "memory": "64Mi"}})
        self.assertEqual([volume["hostPath"]["path"] for volume in pod["volumes"]],
                         ["/srv/metrics", "/sys/fs/cgroup", "/data/logs"])

    def test_prometheus_finds_the_pods(self):
        for objects in (manifest.overlay("triage-http"), chart(http={"enabled": True})):
            found = by_kind(objects)
            monitor, daemon = found["PodMonitor"], found["DaemonSet"]["spec"]["template"]
            wanted = monitor["spec"]["selector"]["matchLabels"]
            self.assertEqual(daemon["metadata"]["labels"],
                             {**daemon["metadata"]["labels"], **wanted})
            [endpoint] = monitor["spec"]["podMetricsEndpoints"]
            [port] = daemon["spec"]["containers"][0]["ports"]
            self.assertEqual(endpoint["port"], port["name"])
            self.assertIn(f"0.0.0.0:{port['containerPort']}",
                          daemon["spec"]["containers"][0]["args"])
            self.assertTrue(endpoint["honorLabels"])
        self.assertNotIn("PodMonitor", by_kind(chart()))
        self.assertNotIn("PodMonitor", by_kind(chart(
            http={"enabled": True, "podMonitor": {"enabled": False}})))

    def test_with_the_operator_metrics_are_scraped_and_rules_made(self):
        found = by_kind(chart(OPERATOR))
        self.expect_valid(list(found.values()))
        self.assertIn("PodMonitor", found)
        [container] = manifest.pod_of(found.values())["containers"]
        self.assertEqual(container["livenessProbe"]["httpGet"], {"path": "/healthz", "port": "metrics"})
        rules = yaml.safe_load(pathlib.Path("scripts/deploy/alerts.yml").read_text())
        self.assertEqual(found["PrometheusRule"]["spec"], rules)
        self.assertNotIn("PrometheusRule", by_kind(chart()))
        self.assertNotIn("livenessProbe", manifest.pod_of(chart())["containers"][0])
        off = by_kind(chart(OPERATOR, http={"enabled": False}, alerts={"enabled": False}))
        self.assertNotIn("PodMonitor", off)
        self.assertNotIn("PrometheusRule", off)

    def test_the_dashboard_is_whole(self):
        found = by_kind(chart(dashboard={"enabled": True}))
        self.expect_valid(list(found.values()))
        self.assertEqual(json.loads(found["ConfigMap"]["data"]["leakmon.json"]),
                         json.loads(pathlib.Path("scripts/deploy/grafana.json").read_text()))
        self.assertEqual(found["ConfigMap"]["metadata"]["labels"]["grafana_dashboard"], "1")

    def test_a_webhook_comes_from_a_secret(self):
        objects = chart(webhook={"secret": "chat", "headers": True}, env=[{"name": "NO_PROXY", "value": ".svc"}])
        self.expect_valid(objects)
        pod = manifest.pod_of(objects)
        [container] = pod["containers"]
        self.assertEqual(container["args"][-4:], ["--webhook", "@/secrets/webhook/url",
                                                  "--webhook-headers", "/secrets/webhook/headers"])
        self.assertEqual(container["env"], [{"name": "NO_PROXY", "value": ".svc"}])
        self.assertIn({"name": "webhook", "secret": {"secretName": "chat", "defaultMode": 0o400}},
                      pod["volumes"])
        self.assertIn("SETUID", container["securityContext"]["capabilities"]["add"])

    def test_a_policy_lets_nobody_in_but_those_named(self):
        closed = by_kind(chart(networkPolicy={"enabled": True}))
        self.expect_valid(list(closed.values()))
        self.assertEqual(closed["NetworkPolicy"]["spec"]["ingress"], [])
        self.assertEqual(closed["NetworkPolicy"]["spec"]["egress"], [])
        peer = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
        opened = by_kind(chart(http={"enabled": True}, networkPolicy={"enabled": True, "from": [peer]}))
        self.expect_valid(list(opened.values()))
        self.assertEqual(opened["NetworkPolicy"]["spec"]["ingress"],
                         [{"from": [peer], "ports": [{"port": 9464, "protocol": "TCP"}]}])
        self.assertNotIn("NetworkPolicy", by_kind(chart()))

    def test_the_account_and_the_quota_are_its_own(self):
        found = by_kind(chart())
        self.assertEqual(manifest.pod_of(found.values())["serviceAccountName"],
                         found["ServiceAccount"]["metadata"]["name"])
        self.assertIs(found["ServiceAccount"]["automountServiceAccountToken"], False)
        self.assertEqual(found["ResourceQuota"]["spec"]["scopeSelector"]["matchExpressions"][0]["values"],
                         ["system-node-critical"])
        self.assertNotIn("ResourceQuota", by_kind(chart(priorityClassName="")))
        self.assertEqual(manifest.pod_of(chart(serviceAccount={"create": False}))["serviceAccountName"],
                         "default")
        self.assertEqual(found["DaemonSet"]["spec"]["updateStrategy"],
                         {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}})

    def test_notes_say_where_metrics_are(self):
        def notes(*apis, **values):
            return subprocess.run([RENDER, CHART, json.dumps(values), *apis], capture_output=True, text=True,
                                  check=True).stderr
        self.assertIn("/var/lib/prometheus/node-exporter/leakmon.prom", notes())
        self.assertIn("alerts.enabled=true", notes())
        self.assertIn("port 9464, /metrics", notes(OPERATOR))
        self.assertIn("has no PodMonitor", notes(http={"enabled": True}))

    def test_metrics_go_somewhere(self):
        container = manifest.pod_of(chart(http={"enabled": True, "port": 1234},
                                          textfileDirectory=""))["containers"][0]
        self.assertEqual(container["args"][-5:], ["--output", "/dev/null", "30", "--listen",
                                                  "0.0.0.0:1234"])
        with self.assertRaises(subprocess.CalledProcessError):
            chart(textfileDirectory="")

    def test_every_value_is_described_and_wrong_ones_are_refused(self):
        text = (CHART / "values.yaml").read_text()
        values = yaml.safe_load(text)
        schema = json.loads((CHART / "values.schema.json").read_text())
        jsonschema.validate(values, schema)
        self.assertEqual(set(values), set(schema["properties"]) - {"global"})
        for wrong in {"mode": "top"}, {"intervall": 5}, {"textfileDirectory": "here"}, \
                {"modes": {**values["modes"], "heap": {}}}:
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({**values, **wrong}, schema)

    def test_there_is_one_version(self):
        version = re.search(r"^VERSION := (.*)$", pathlib.Path("Makefile").read_text(), re.M)[1]
        about = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((about["version"], about["appVersion"]), (version, version))

    def test_every_capability_has_its_reason(self):
        page = pathlib.Path("user/doc/deployment.md").read_text()
        table = "".join(line for line in page.splitlines() if line.startswith("|"))
        for overlay in OVERLAYS:
            security = manifest.pod_of(manifest.overlay(overlay))["containers"][0]["securityContext"]
            for name in security["capabilities"]["add"]:
                self.assertRegex(table, rf"\b{name}\b")


if __name__ == "__main__":
    RENDER = sys.argv.pop(1)
    unittest.main()
