"""The Ray cluster on Kubernetes: workflow/clusters/kuberay.yaml has only fields that the operator
knows, and agrees with the lock and the image.

Kubernetes drops a field that it does not know without an error. So a misspelt `authOptions` would
start a cluster without a token.
"""

import re

import pytest
import yaml

from tests.conftest import ROOT

LOCK = (ROOT / "uv.lock").read_text()


# The fields that the file may have, which are those of the operator's resource definition.
FIELDS = """
apiVersion kind metadata name spec rayVersion authOptions mode headGroupSpec workerGroupSpecs
groupName replicas minReplicas maxReplicas rayStartParams template automountServiceAccountToken
securityContext runAsNonRoot runAsUser runAsGroup fsGroup fsGroupChangePolicy seccompProfile type
containers image workingDir envFrom secretRef optional allowPrivilegeEscalation capabilities drop
resources limits requests startupProbe readinessProbe livenessProbe grpc port periodSeconds
timeoutSeconds failureThreshold volumeMounts mountPath volumes persistentVolumeClaim claimName
emptyDir
"""
FREE = ("rayStartParams", "limits", "requests")  # their fields are Ray's options, and resources


@pytest.fixture
def cluster() -> dict:
    return yaml.safe_load((ROOT / "workflow/clusters/kuberay.yaml").read_text())


def groups(cluster: dict) -> list[dict]:
    """Return the head's group and those of the workers."""
    return [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]


def fields(node: object) -> set[str]:
    """Return the names of all fields of an object and of those in it."""
    if isinstance(node, list):
        return set().union(*map(fields, node))
    if not isinstance(node, dict):
        return set()
    return {*node}.union(*(fields(value) for name, value in node.items() if name not in FREE))


def test_every_field_of_the_cluster_is_one_of_kuberay(cluster: dict) -> None:
    assert fields(cluster) - {*FIELDS.split()} == set()
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    assert cluster["spec"]["authOptions"] == {"mode": "token"}
    for group in groups(cluster):
        (container,) = group["template"]["spec"]["containers"]
        assert container["resources"].keys() == {"limits", "requests"}


def test_the_version_of_ray_is_that_of_the_lock(cluster: dict) -> None:
    assert cluster["spec"]["rayVersion"] == re.search(r'name = "ray"\nversion = "(.+)"', LOCK)[1]
