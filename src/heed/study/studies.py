"""The studies in workflow/studies: which there are, and making one active."""

from pathlib import Path

from heed.files import HeedError, write_text
from heed.paths import PARAMS
from heed.study.cost import plan
from heed.study.reader import load

STUDIES = Path("workflow/studies")
# completion in editors, seen from params.yaml
SCHEMA = "# yaml-language-server: $schema=docs/params.schema.json\n"


def available() -> list[tuple[str, str, bool]]:
    """Return (name, title, whether params.yaml is it) of each study in workflow/studies.

    Raises HeedError: there is none.
    """
    now = _text(PARAMS)
    return [(path.stem, load(path).study.title, _text(path) == now) for path in _studies()]


def _studies() -> list[Path]:
    """Return the files of workflow/studies. Raises HeedError where there is none."""
    if not (studies := sorted(STUDIES.glob("*.yaml"))):
        raise HeedError(f"{STUDIES}: no study here. Run heed in the top folder of a clone")
    return studies


def activate(name: str, force: bool) -> str:
    """Copy workflow/studies/NAME.yaml onto params.yaml, and return what it will cost.

    Nothing else is changed.

    Raises:
        HeedError: no such study; a mistake in it; params.yaml was edited by hand and `force` is not
            set.

    """
    path = STUDIES / f"{name}.yaml"
    studies = _studies()
    if path not in studies:
        raise HeedError(
            f"{path}: no such study. Known: {', '.join(study.stem for study in studies)}"
        )
    params, text, now = load(path), _text(path), _text(PARAMS)
    if now == text:
        return f"{name} is active already.\n{plan(params)}"
    if now and not force and all(now != _text(study) for study in studies):
        raise HeedError(
            f"{PARAMS}: edited by hand: it is none of {STUDIES}/*.yaml. Keep it as "
            f"{STUDIES}/NAME.yaml, "
            f"or say: heed study {name} --force"
        )
    write_text(PARAMS, SCHEMA + text)
    return f"{name} is active now.\n{plan(params)}"


def _text(path: Path) -> str:
    """Return a params file's text without the line that tells editors its schema: the path goes by
    the folder.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    return text.split("\n", 1)[1] if text.startswith("# yaml-language-server") else text
