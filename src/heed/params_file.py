"""A section of params.yaml, as DVC and `heed check` read it, without the code that checks it.

What a stage depends on is all the code that it imports: a stage that read its few settings through
the schema would run again after every change of it.
"""

from typing import Any

from heed.files import HeedError
from heed.paths import PARAMS


def read_section(name: str) -> dict[str, Any]:
    """Return a section of params.yaml, empty where it is not there.

    Raises HeedError when the file cannot be read.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        text = PARAMS.read_text(encoding="utf-8") if PARAMS.exists() else ""
        return dict((YAML(typ="safe").load(text) or {}).get(name) or {})
    except (OSError, ValueError, TypeError, YAMLError, AttributeError, RecursionError):
        raise HeedError(f"{PARAMS}: cannot be read. `heed check` says where it is wrong") from None
