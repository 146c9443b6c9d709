"""The studies in workflow/studies: list them, and make one of them active."""

from pathlib import Path

from heed.files import HeedError, write_text
from heed.paths import PARAMS
from heed.study.cost import format_cost
from heed.study.reader import load
from heed.study.schema import Params

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


def activate_study(study: str, force: bool) -> str:
    """Check a study, copy it to params.yaml, and return an estimate of its cost.

    No other file is changed, and none before the check: dvc reads the names in params.yaml before
    any code of heed runs.

    Args:
        study: a name in workflow/studies, or the path of a file from elsewhere.
        force: whether a params.yaml that was edited by hand is overwritten.

    Raises:
        HeedError: no such study; a mistake in it; params.yaml was edited by hand and `force` is not
            set.

    """
    path, studies = _find_study(study), _study_files()
    params = load(path)
    name, text, active = params.study.name, _read_params(path), _read_params(PARAMS)
    if active == text:
        return f"{name} is active already.\n{format_cost(params)}"
    if active and not force and all(active != _read_params(known) for known in studies):
        raise HeedError(
            f"{PARAMS}: edited by hand, or from elsewhere: it is none of {STUDIES}/*.yaml. Keep it "
            f"as {STUDIES}/NAME.yaml, or run: heed study {study} --force"
        )
    write_text(PARAMS, SCHEMA + text)
    return f"{name} is active now.\n{format_cost(params)}"


def read_study(study: str) -> Params:
    """Return a study by its name or path, or the active one for "". Raises HeedError."""
    return load(_find_study(study) if study else PARAMS)


def _find_study(study: str) -> Path:
    """Return the file of a study by its name or path. Raises HeedError when there is none."""
    if study.endswith((".yaml", ".yml")):
        if not Path(study).is_file():
            raise HeedError(f"{study}: there is no such file")
        return Path(study)
    path, studies = STUDIES / f"{study}.yaml", _study_files()
    if path not in studies:
        raise HeedError(
            f"{path}: no such study. Known: {', '.join(known.stem for known in studies)}. The name "
            "of a file from elsewhere ends with .yaml"
        )
    return path


def _read_params(path: Path) -> str:
    """Return the text of a params file without its first line, the path of the schema.

    That path differs between folders; without the file the text is empty.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    return text.split("\n", 1)[1] if text.startswith("# yaml-language-server") else text
