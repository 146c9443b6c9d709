"""The Ray cluster on Kubernetes: workflow/clusters/kuberay.yaml has only fields that the operator
knows, and agrees with the lock and the image.

Kubernetes drops a field that it does not know without an error. So a misspelt `authOptions` would
start a cluster without a token.
"""

import copy
import os
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.conftest import ROOT

CONTAINERFILE = (ROOT / "envs/Containerfile").read_text()
LOCK = (ROOT / "envs/requirements.lock").read_text()
CRD = os.environ.get("HEED_KUBERAY_CRD", "")


def only(required: str = "", **properties: dict) -> dict:
    """Return the schema of an object with these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def items(schema: dict) -> dict:
    return {"type": "array", "items": schema, "minItems": 1}


TEXT, NUMBER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
NUMBERS = dict.fromkeys(("periodSeconds", "timeoutSeconds", "failureThreshold"), NUMBER)
PROBE = only("grpc", grpc=only("port", port=NUMBER), **NUMBERS)
SECRET = only("name", name=TEXT, optional=BOOLEAN)
CONTAINER = only(
    "name image resources readinessProbe livenessProbe volumeMounts",
    **dict.fromkeys(("name", "image", "workingDir"), TEXT),
    **dict.fromkeys(("startupProbe", "readinessProbe", "livenessProbe"), PROBE),
    envFrom=items(only("secretRef", secretRef=SECRET)),
    securityContext=only(
        allowPrivilegeEscalation=BOOLEAN, capabilities=only("drop", drop=items(TEXT))
    ),
    resources=only("limits requests", limits=TEXTS, requests=TEXTS),
    volumeMounts=items(only("name mountPath", name=TEXT, mountPath=TEXT)),
)
CLAIM = only("claimName", claimName=TEXT)
POD = only(
    "containers volumes",
    automountServiceAccountToken=BOOLEAN,
    securityContext=only(
        runAsNonRoot=BOOLEAN,
        **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), NUMBER),
        fsGroupChangePolicy={"enum": ["OnRootMismatch", "Always"]},
        seccompProfile=only("type", type=TEXT),
    ),
    containers=items(CONTAINER),
    volumes=items(only("name", name=TEXT, persistentVolumeClaim=CLAIM, emptyDir=only())),
)
GROUP = {"rayStartParams": TEXTS, "template": only("spec", spec=POD)}
WORKERS = dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), NUMBER)
# The fields of KubeRay's RayCluster that the file may have. Another one is added here, and to the
# file once the resource definition of the operator has it (the last test).
CLUSTER = only(
    "apiVersion kind metadata spec",
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayCluster"},
    metadata=only("name", name=TEXT),
    spec=only(
        "rayVersion authOptions headGroupSpec workerGroupSpecs",
        rayVersion=TEXT,
        authOptions=only("mode", mode={"enum": ["token"]}),
        headGroupSpec=only("rayStartParams template", **GROUP),
        workerGroupSpecs=items(
            only("groupName replicas rayStartParams template", groupName=TEXT, **WORKERS, **GROUP)
        ),
    ),
)


@pytest.fixture
def cluster() -> dict:
    return yaml.safe_load((ROOT / "workflow/clusters/kuberay.yaml").read_text())


def groups(cluster: dict) -> list[dict]:
    """Return the head's group and those of the workers."""
    return [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]


def errors(cluster: dict, schema: dict) -> list[str]:
    found = jsonschema.Draft202012Validator(schema).iter_errors(cluster)
    return [f"{error.json_path}: {error.message}" for error in found]


def test_every_field_of_the_cluster_is_one_of_kuberay(cluster: dict) -> None:
    assert errors(cluster, CLUSTER) == []


WORKER = ("spec", "workerGroupSpecs", 0, "template", "spec")
HEAD = ("spec", "headGroupSpec", "template", "spec")
MISTAKES = {
    "the token's options misspelt": (("spec",), "authOptions", "authOption"),
    "a probe misspelt": ((*HEAD, "containers", 0), "livenessProbe", "livenessprobe"),
    "the user of a pod misspelt": (
        (*WORKER, "securityContext"), "runAsNonRoot", "runAsNonroot",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_field_that_kubernetes_would_drop_is_found(cluster: dict, mistake: str) -> None:
    path, field, misspelt = MISTAKES[mistake]
    node = cluster = copy.deepcopy(cluster)  # the two pods share objects by YAML's anchors
    for key in path:
        node = node[key]
    node[misspelt] = node.pop(field)
    schemas = [CLUSTER, *([strict(resource_definition())] if CRD else [])]
    assert all(any(misspelt in error for error in errors(cluster, schema)) for schema in schemas)


def test_the_version_of_ray_is_that_of_the_lock(cluster: dict) -> None:
    assert cluster["spec"]["rayVersion"] == re.search(r"^ray==(\S+)", LOCK, re.M)[1]


def test_pods_and_image_agree_on_the_user_and_their_folders(cluster: dict) -> None:
    user = int(re.search(r"useradd --uid (\d+)", CONTAINERFILE)[1])
    home = re.search(r"HOME=(\S+)", CONTAINERFILE)[1]
    pods = [group["template"]["spec"] for group in groups(cluster)]
    for pod in pods:
        rights = pod["securityContext"]
        assert (rights["runAsUser"], rights["fsGroup"]) == (user, user)
    (head,), (worker,) = (pod["containers"] for pod in pods)
    folder = re.search(r"^WORKDIR (\S+)", CONTAINERFILE, re.M)[1]
    assert head["workingDir"] == head["volumeMounts"][0]["mountPath"] == folder
    mounts = {mount["mountPath"] for mount in worker["volumeMounts"]}
    assert mounts == {"/tmp/ray", f"{home}/.cache"}


def test_only_the_head_has_the_volume_with_the_clone(cluster: dict) -> None:
    head, worker = (group["template"]["spec"]["volumes"] for group in groups(cluster))
    assert ["persistentVolumeClaim" in volume for volume in head] == [True]
    assert not any("persistentVolumeClaim" in volume for volume in worker), "no ReadWriteMany"


def test_probes_ask_the_ports_on_which_ray_listens(cluster: dict) -> None:
    head, workers = groups(cluster)
    ports = [6379, int(workers["rayStartParams"]["node-manager-port"])]  # 6379 is the head's own
    assert "port" not in head["rayStartParams"]
    for group, port in zip((head, workers), ports, strict=True):
        (container,) = group["template"]["spec"]["containers"]
        probes = [container[f"{name}Probe"] for name in ("startup", "readiness", "liveness")]
        assert [probe["grpc"]["port"] for probe in probes] == [port] * 3


# --- the operator's own definition, where there is one


def resource_definition() -> dict:
    """Return the schema of a RayCluster, as `kubectl get` or the file of a release has it."""
    definition = yaml.load(Path(CRD).read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    (version,) = [v for v in definition["spec"]["versions"] if v["name"] == "v1"]
    return version["schema"]["openAPIV3Schema"]


def strict(schema: dict) -> dict:
    """Return a schema that refuses the fields which Kubernetes would drop."""
    result = dict(schema)
    if "properties" in schema and schema.get("x-kubernetes-preserve-unknown-fields") is not True:
        result["properties"] = {name: strict(s) for name, s in schema["properties"].items()}
        result["additionalProperties"] = False
    if isinstance(schema.get("items"), dict):
        result["items"] = strict(schema["items"])
    return result


@pytest.mark.slow
@pytest.mark.skipif(
    not CRD,
    reason="HEED_KUBERAY_CRD names no file with KubeRay's definition of a RayCluster: `kubectl get "
    "crd rayclusters.ray.io --output yaml`, or crds/ray.io_rayclusters.yaml of a release's chart",
)
def test_the_operators_definition_has_every_field(cluster: dict) -> None:
    assert errors(cluster, strict(resource_definition())) == []
