"""`heed publish --crate`: a published report as a Workflow Run RO-Crate, a zip for an archive.

Its profile is Provenance Run Crate 0.5 (https://w3id.org/ro/wfrun/provenance): the workflow is
dvc.yaml, a step is a kind of stage in it, and each stage of dvc.lock is an action. What an action
read or wrote is named with DVC's hash; only what the published report has is in the zip.
"""

import datetime
import mimetypes
import shutil
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from heed.evaluation.comparison import RESULTS_TABLE
from heed.files import HeedError, reading, sha256, write_text, writing
from heed.paths import METRICS, PARAMS, REPORTS
from heed.pipeline import LOCK, PIPELINE, File, md5
from heed.report.provenance_page import Facts, read_facts
from heed.report.publish import README, path_remover, read_published_report
from heed.report.render import ANSWER

if TYPE_CHECKING:
    from heed.study import Params

INSTALL = "make crate, or pip install -e '.[crate]'"
CITATION, OTHERS = Path("CITATION.cff"), ("codemeta.json", "LICENSE", PIPELINE)
TERMS, OWN_TERMS = "https://w3id.org/ro/terms/workflow-run#", ("md5", "sha256")
WORKFLOW = "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
ENGINE, LICENSES = "https://dvc.org", "https://spdx.org/licenses"
WORKFLOW_TYPES = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    WORKFLOW: "Workflow RO-Crate",
}
mimetypes.add_type("text/yaml", ".yaml")
Citation = Mapping[str, Any]
Entity = Any  # of rocrate, which has no types


def check_crate(root: Path) -> None:
    """Raise HeedError unless rocrate is installed, and the clone has the files of an archive."""
    if find_spec("rocrate") is None:
        raise HeedError(f"--crate: rocrate is not installed. Install it: {INSTALL}")
    read_citation(root / CITATION)
    for name in OTHERS:
        if not (root / name).is_file():
            raise HeedError(f"{name}: missing, and an archive has it. Run: git checkout {name}")


def read_citation(path: Path) -> Citation:
    """Return the content of CITATION.cff. Raises HeedError."""
    with reading(path, f"git checkout {CITATION}"):
        citation: Citation = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
        if not isinstance(citation, dict) or not {"title", "license", "authors"} <= citation.keys():
            raise ValueError("needs title, license and authors")
        return citation


def authors(citation: Citation) -> list[dict[str, object]]:
    """Return the authors in CITATION.cff, persons or organizations, as schema.org has them."""
    found: list[dict[str, object]] = []
    for number, each in enumerate(citation["authors"], 1):
        parts = [each[key] for key in ("given-names", "family-names", "name") if key in each]
        address = each.get("orcid") or each.get("website") or f"#author-{number}"
        kind = "Organization" if "name" in each else "Person"
        found.append({"@id": address, "@type": kind, "name": " ".join(parts)})
    return found


def licenses(citation: Citation) -> list[dict[str, object]]:
    """Return the license in CITATION.cff, or the several there, as schema.org has them."""
    names = citation["license"]
    return [
        {"@id": f"{LICENSES}/{name}", "@type": "CreativeWork", "name": name}
        for name in ([names] if isinstance(names, str) else names)
    ]


def write_crate(root: Path, edition: Path, params: "Params") -> Path:
    """Write reports/STUDY.crate.zip of the clone `root`, from the published report in a folder.

    Return its path. Raises HeedError.
    """
    from rocrate.rocrate import ROCrate

    facts, citation = read_facts(root, params, with_hosts=False), read_citation(root / CITATION)
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms.update({name: TERMS + name for name in OWN_TERMS})
    crate.metadata["conformsTo"] = [{"@id": each} for each in (crate.metadata.profile, WORKFLOW)]
    _add_files(crate, [*edition.iterdir(), *(root / name for name in (CITATION, *OTHERS))])
    agents = [crate.add_jsonld(each) for each in authors(citation)]
    workflow = _add_workflow(crate, facts)
    made_by = read_published_report(edition)
    code = _add(
        crate, "#heed", "SoftwareSourceCode", name=citation["title"], version=made_by.version,
        identifier=made_by.commit, dateModified=facts.git.date, description=made_by.sentence(),
        softwareRequirements=[f"{name} {each}" for name, each in facts.versions.items()],
    )  # fmt: skip
    answer = (edition / "tables" / ANSWER).read_text(encoding="utf-8")
    _add(
        crate, "./", name=params.study.title, description=f"{params.study.note} {answer}".strip(),
        datePublished=facts.git.date or datetime.date.today().isoformat(), author=agents,
        license=[crate.add_jsonld(each) for each in licenses(citation)],
        mainEntity=workflow, mentions=_add_actions(crate, workflow, facts, agents),
        isBasedOn=code,
        conformsTo=[
            _add(crate, key, "CreativeWork", name=name, version=key.rpartition("/")[2])
            for key, name in PROFILES.items()
        ],
    )  # fmt: skip
    path = root / REPORTS / f"{params.study.name}.crate.zip"
    with tempfile.TemporaryDirectory() as folder, writing(path) as temporary:
        crate.write(folder)
        metadata = Path(folder, crate.metadata.id)
        remove_paths = path_remover(root, [root / PARAMS, root / LOCK])
        write_text(metadata, remove_paths(metadata.read_text(encoding="utf-8")))
        Path(shutil.make_archive(str(temporary), "zip", folder)).replace(temporary)
    return path


def _add(crate: Any, key: str, kind: str | list[str] = "", **properties: object) -> Entity:
    """Add an entity, or properties to the one of this key, those that are not empty; return it."""
    entity = crate.get(key) or crate.add_jsonld({"@id": key, "@type": kind})
    for name, value in properties.items():
        if value:  # a list of one is that one, in RO-Crate
            entity[name] = value[0] if isinstance(value, list) and len(value) == 1 else value
    return entity


def _add_files(crate: Any, paths: list[Path]) -> None:
    for path in sorted(paths, key=attrgetter("name")):
        if path.is_dir():
            crate.add_dataset(path, path.name, properties={"name": path.name})
            continue
        properties = {
            "@type": WORKFLOW_TYPES if path.name == PIPELINE.name else "File", "name": path.name,
            "contentSize": str(path.stat().st_size), "sha256": sha256(path), "md5": md5(path),
            "encodingFormat": mimetypes.guess_type(path.name)[0] or "text/plain",
        }  # fmt: skip
        about = {"about": crate.root_dataset} if path.name == README else {}
        crate.add_file(path, path.name, properties=properties | about)


def _add_workflow(crate: Any, facts: Facts) -> Entity:
    """Add dvc.yaml as a workflow: a step and a tool for each kind of stage."""
    engine = {"name": "DVC", "url": ENGINE, "softwareVersion": facts.versions["dvc"]}
    language = _add(crate, ENGINE, ["ComputerLanguage", "SoftwareApplication"], **engine)
    commands = {name.partition("@")[0]: entry["cmd"] for name, entry in facts.stages.items()}
    steps, tools = [], []
    for kind, command in commands.items():
        about = {"name": " ".join(command.split()[:2]), "softwareVersion": facts.versions["heed"]}
        tools.append(_add(crate, f"#tool/{kind}", "SoftwareApplication", **about))
        steps.append(_add(crate, f"#step/{kind}", "HowToStep", name=kind, workExample=tools[-1]))
    return _add(
        crate, PIPELINE.name, version=facts.git.commit, hasPart=tools, step=steps,
        programmingLanguage=language, conformsTo={"@id": BIOSCHEMAS},
    )  # fmt: skip


def _add_actions(crate: Any, workflow: Entity, facts: Facts, agents: list[Entity]) -> list[Entity]:
    """Add an action for each stage, and one for the whole run; return them."""
    trainings = {f"train@{each.model}": each for each in facts.trainings}
    done = {"agent": agents, "actionStatus": "http://schema.org/CompletedActionStatus"}
    params, actions = crate.get(PARAMS.name), []
    for name, entry in facts.stages.items():
        read = [_recorded(crate, file) for file in entry.get("deps", [])]
        read += [params] if "params" in entry and params not in read else []
        about: dict[str, object] = {}
        if training := trainings.get(name):
            ended = datetime.datetime.fromisoformat(training.last).isoformat()
            about = {"location": "; ".join(training.machines), "endTime": ended}
        actions.append(_add(
            crate, f"#stage/{name}", "CreateAction", name=name, description=entry["cmd"],
            instrument=crate.get(f"#tool/{name.partition('@')[0]}"), object=read,
            result=[_recorded(crate, file) for file in entry.get("outs", [])],
            **done, **about,
        ))  # fmt: skip
    run = _add(
        crate, "#run", "CreateAction", name="The run of all stages", instrument=workflow,
        description="dvc repro, or snakemake", object=params, **done,
        result=[crate.get(name) for name in (RESULTS_TABLE, METRICS.name, "index.html")],
    )  # fmt: skip
    return [run, *actions]


def _recorded(crate: Any, file: File) -> Entity:
    """Return the file of the crate that dvc.lock records, or else add its name and hash."""
    shipped = crate.get(file["path"])
    if shipped and shipped.get("md5") == file.get("md5"):
        return shipped
    about = {"md5": file.get("md5"), "contentSize": str(file.get("size", ""))}
    return _add(crate, f"#file/{file['path']}", "CreativeWork", name=file["path"], **about)
