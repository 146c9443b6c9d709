"""The studies: heed's in workflow/studies, the user's own in studies; list them, activate one."""

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from heed.files import HeedError, locked, require_readable, write_texts
from heed.paths import LOCKS, PARAMS, is_name
from heed.study.experiments import task_of_labels
from heed.study.reader import check_as_dvc_reads, load, parse, read_text, read_yaml, without_schema

HEED_STUDIES, OWN_STUDIES = Path("workflow/studies"), Path("studies")
# for completion in editors; the path is relative to the file
SCHEMA = "# yaml-language-server: $schema={}docs/params.schema.json\n"
SEEDS = 10  # of a new study
EMPTY_STUDY = """\
# A study of your own (docs/start/own-corpus.md).
study:
  name: {name}
  title: {title}
  attention: [attention-pooling, self-attention]

seeds: {seeds}

sources: {{}}

corpora: {{}}

experiments: {{}}

searches: {{}}

defaults: {{{task}: {{}}}}

models: {{}}
"""


def format_studies() -> str:
    """Return the list of all studies, the active one marked by a star.

    Raises HeedError when there is none of heed's.
    """
    text, active = _read_params(PARAMS), find_active_own_study()
    heed, own = _heed_studies(), _own_studies()
    width = max(len(path.stem) for path in [*heed, *own])
    lines = [f"Studies of heed ({HEED_STUDIES}):"]
    for path in [*heed, *own]:
        if path in own[:1]:
            lines.append(f"Your own studies ({OWN_STUDIES}):")
        try:
            title = load(path).study.title
        except HeedError:
            title = f"(has a mistake: heed study {path.stem} says where)"
        is_active = path == active if path in own else _read_params(path) == text
        lines.append(f"{' *'[is_active]} {path.stem:{width}} {title}")
    return "\n".join(lines)


def _heed_studies() -> list[Path]:
    if not (studies := sorted(HEED_STUDIES.glob("*.yaml"))):
        raise HeedError(f"{HEED_STUDIES}: no study here. Run heed in the top folder of a clone")
    return studies


def _own_studies() -> list[Path]:
    return sorted(OWN_STUDIES.glob("*.yaml"))


def own_study_file(name: str) -> Path:
    """Return the path of a user's own study, whether it is there or not."""
    return OWN_STUDIES / f"{name}.yaml"


@contextlib.contextmanager
def changing_studies() -> Iterator[None]:
    """Hold the lock of params.yaml and the studies. Raises HeedError outside of a clone."""
    _heed_studies()
    with locked(LOCKS / PARAMS.name, f"{PARAMS}: another command edits it: waiting"):
        yield


def activate_study(study: str, force: bool, cores: int = 1) -> str:
    """Check a study (a name, or the path of a file), copy it to params.yaml; return its cost.

    Edits of an active study of the user's own are saved to its file first. Raises HeedError, and
    changes nothing: no such study; a mistake in it; params.yaml has a mistake, without `force`.
    """
    from heed.study.cost import format_cost  # here: scipy takes a second, and a list needs none

    with changing_studies():
        path = _find_study(study)
        own = path == find_active_own_study()
        edits = unsaved_edits(force, study) if own else {}
        source = PARAMS if edits else path  # the edits, which are saved to `path`, are its text
        text = read_text(source)
        params = parse(text, source)
        check_as_dvc_reads(text, source)
        is_active = own or _read_params(PARAMS) == _read_params(path)
        if not is_active:
            _check_name(path, params.study.name)
            edits = unsaved_edits(force, study)
        cost = format_cost(params, cores)
        is_written = _read_params(PARAMS) == without_schema(text)
        made = {} if is_written else {PARAMS: SCHEMA.format("") + without_schema(text)}
        lines = [*_describe(edits)]
        write_texts(edits | made)
    lines.append(f"{params.study.name} is active {'already' if is_active else 'now'}.")
    return "\n".join([*lines, cost])


def empty_study(name: str, title: str) -> str:
    """Return the text of a study without a corpus. Raises HeedError when the name is not free."""
    if not is_name(name):
        raise HeedError(
            f"{name!r} cannot name a study: lower-case letters, digits and single '-', as in "
            "--study my-texts"
        )
    if (path := HEED_STUDIES / f"{name}.yaml").exists():
        raise _taken(path)
    return EMPTY_STUDY.format(
        name=json.dumps(name),
        title=json.dumps(title or f"Does attention help on {name}?", ensure_ascii=False),
        task=task_of_labels(),
        seeds=[*range(1, SEEDS + 1)],
    )


def new_study(name: str, text: str) -> tuple[dict[Path, str], list[str]]:
    """Return the files of a new study that becomes active, and lines; raises as `unsaved_edits`.

    The same command makes it again where it was killed before the study was active.
    """
    path = own_study_file(name)
    if path.exists() and (path == find_active_own_study() or _read_params(path) != text):
        raise _taken(path)
    edits = unsaved_edits(False, "NAME")
    lines = [*_describe(edits), f"{path}: a new study of your own, which is active now."]
    return edits | {path: own_study_text(text), PARAMS: SCHEMA.format("") + text}, lines


def _taken(path: Path) -> HeedError:
    if path.parent == HEED_STUDIES:
        return HeedError(f"{path}: a study of heed's. Name yours otherwise: --study NAME")
    return HeedError(
        f"{path}: is there already. Choose another name, or activate it: heed study {path.stem}. "
        "To make it anew, delete this file"
    )


def own_study_text(text: str) -> str:
    """Return the text of the file of a study of the user's own."""
    return SCHEMA.format("../") + without_schema(text)


def _check_name(path: Path, name: str) -> None:
    own = own_study_file(name)
    if path.parent == HEED_STUDIES or path == own:
        return
    if path.parent == OWN_STUDIES or own.exists():
        raise HeedError(
            f"{path}: study.name: {name} is the name of {own}: choose another, in {OWN_STUDIES} "
            "that of the file"
        )


def find_active_own_study() -> Path | None:
    """Return the file of the user's own study that params.yaml holds, edited or not, or None."""
    try:
        study = read_yaml(read_text(PARAMS), PARAMS)[1].get("study")
    except HeedError:
        return None
    name = study.get("name") if isinstance(study, dict) else ""
    return next((path for path in _own_studies() if path.stem == name), None)


def unsaved_edits(force: bool, study: str) -> dict[Path, str]:
    """Return the file that keeps the edits in params.yaml, if any, before `study` replaces it.

    An edited study of heed's, or one from elsewhere, becomes one of the user's own. Raises
    HeedError unless `force` gives the edits up: such a study has a mistake, or the file of the
    user's own was changed after params.yaml.
    """
    text, own = _read_params(PARAMS), find_active_own_study()
    if own is None:
        known = (_read_params(path) for path in (*_heed_studies(), *_own_studies()))
        return {} if not text or force or text in known else _edited_study(text, study)
    if _read_params(own) == text:
        return {}
    if own.stat().st_mtime_ns > PARAMS.stat().st_mtime_ns:
        if force:
            return {}
        raise HeedError(
            f"{own}: was changed after {PARAMS}, which differs from it. Keep the changes of the "
            f"file: heed study {study} --force. Or keep those of {PARAMS}: cp {PARAMS} {own}"
        )
    return {own: own_study_text(text)}


def _describe(edits: Mapping[Path, str]) -> Iterator[str]:
    for path in edits:
        if path.exists():
            yield f"{path}: the edits of {PARAMS} are saved here."
        else:
            yield f"{path}: {PARAMS} is kept here as it was edited. Again: heed study {path.stem}"


def _edited_study(text: str, study: str) -> dict[Path, str]:
    """Return the file in which params.yaml is kept as a study of the user's own."""
    try:
        parse(text, PARAMS)
    except HeedError as error:
        raise HeedError(f"{error}\nTo overwrite it: heed study {study} --force") from None
    tree, values = read_yaml(text, PARAMS)
    section = next(value for key, value in tree.value if key.value == "study")
    node = next(value for key, value in section.value if key.value == "name")
    start, end = node.start_mark.index, node.end_mark.index
    names = itertools.chain(["edited"], map("edited-{}".format, itertools.count(2)))
    for name in (f"{values['study']['name']}-{suffix}" for suffix in names):
        kept = text[:start] + name + text[end:]
        if not (path := own_study_file(name)).exists() or _read_params(path) == kept:
            return {path: own_study_text(kept)}
    raise AssertionError


def _find_study(study: str) -> Path:
    if study.endswith((".yaml", ".yml")):
        require_readable(Path(study))
        return Path(study)
    known = {path.stem: path for path in [*_own_studies(), *_heed_studies()]}
    if study not in known:
        raise HeedError(
            f"{study}: no such study. Known: {', '.join(known)}. The name of a file from elsewhere "
            "ends with .yaml"
        )
    return known[study]


def _read_params(path: Path) -> str:
    """Return the text of a params file without its first line, the path of the schema, or ""."""
    return without_schema(read_text(path)) if path.is_file() else ""
