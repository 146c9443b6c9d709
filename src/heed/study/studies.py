"""The studies in workflow/studies: list them, and make one of them active."""

from pathlib import Path

from heed.files import HeedError, write_text
from heed.paths import PARAMS
from heed.study.cost import format_cost
from heed.study.reader import load

STUDIES = Path("workflow/studies")
# for completion in editors; the path is relative to params.yaml
SCHEMA = "# yaml-language-server: $schema=docs/params.schema.json\n"


def list_studies() -> list[tuple[str, str, bool]]:
    """Return (name, title, whether it is active) of each study in workflow/studies.

    Raises HeedError when there is none.
    """
    active = _read_params(PARAMS)
    return [
        (path.stem, load(path).study.title, _read_params(path) == active) for path in _study_files()
    ]


def _study_files() -> list[Path]:
    """Return the files of workflow/studies. Raises HeedError when there is none."""
    if not (studies := sorted(STUDIES.glob("*.yaml"))):
        raise HeedError(f"{STUDIES}: no study here. Run heed in the top folder of a clone")
    return studies


def activate_study(name: str, force: bool) -> str:
    """Copy workflow/studies/NAME.yaml to params.yaml, and return an estimate of its cost.

    No other file is changed.

    Raises:
        HeedError: no such study; a mistake in it; params.yaml was edited by hand and `force` is not
            set.

    """
    path = STUDIES / f"{name}.yaml"
    studies = _study_files()
    if path not in studies:
        raise HeedError(
            f"{path}: no such study. Known: {', '.join(study.stem for study in studies)}"
        )
    params, text, active = load(path), _read_params(path), _read_params(PARAMS)
    if active == text:
        return f"{name} is active already.\n{format_cost(params)}"
    if active and not force and all(active != _read_params(study) for study in studies):
        raise HeedError(
            f"{PARAMS}: edited by hand: it is none of {STUDIES}/*.yaml. Keep it as "
            f"{STUDIES}/NAME.yaml, "
            f"or run: heed study {name} --force"
        )
    write_text(PARAMS, SCHEMA + text)
    return f"{name} is active now.\n{format_cost(params)}"


def _read_params(path: Path) -> str:
    """Return the text of a params file without its first line, the path of the schema.

    That path differs between folders; without the file the text is empty.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    return text.split("\n", 1)[1] if text.startswith("# yaml-language-server") else text
