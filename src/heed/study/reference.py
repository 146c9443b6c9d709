"""Generate docs/params.md and docs/params.schema.json from the sections (`heed schema`)."""

from io import StringIO
from typing import Any

from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue

from heed.study.corpora import CORPUS, SOURCE, SPLIT
from heed.study.experiments import (
    DATA,
    DIMENSION,
    EXPECTED_RESULT,
    EXPERIMENTS,
    PUBLISHED,
    SEARCH,
    STUDY,
)
from heed.study.schema import ADVERSARIAL_MODEL, EXPLAIN, EXPLAINED, MODEL, Params
from heed.study.section import FOLLOWS, NAMES, PRESETS, SECTIONS

WRITING_A_MODEL = """
## Writing a model

A model's line says its experiment and what is its own, as in `imdb-heads-8: {experiment: imdb,
heads: 8}`. Its variant follows from its name, and its corpus from its experiment. Two commands edit
params.yaml, only if all of it is valid, and keep its comments.

```
heed model add imdb attention-8 attention=multi-head heads=8 preset=long patience=0
heed model add imdb attention-2 heads=2 --like attention
heed model add suboptimal parameter-matched match_parameters_of=suboptimal-attention
heed model remove imdb-attention-2
```

- `heed model add EXPERIMENT VARIANT KEY=VALUE …` adds the line of a model, checked, after the
  models of its experiment. Values are YAML. `--like` takes the keys of another variant of the
  experiment, or of any model; those of the command replace them.
- `heed model remove MODEL` removes a model that nothing else names.

heed 0.2.0 wrote `corpus`, `variant`, `tuned_by: none`, `match` and `after: none` on every line.
They are still read, and must say what follows; `heed check` shows a line without them.
"""


def json_schema() -> JsonSchemaValue:
    """Return the JSON schema of params.yaml, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "heed params.yaml",
        **Params.model_json_schema(),
    }


def reference() -> str:
    """Return docs/params.md: every key with its type, default and meaning."""
    text = StringIO()
    text.write(
        "# params.yaml\n\nGenerated from `src/heed/study/` by `heed schema`; a test fails when "
        "they differ.\n"
    )
    text.write(
        "Add `# yaml-language-server: $schema=docs/params.schema.json` at the top for completion "
        "in editors.\n"
    )
    text.write(
        "\n`seeds`: a list of whole numbers from 1; every model is trained once with each.\n"
    )
    for section, title in _titles().items():
        text.write(
            f"\n## {title}\n\n{(section.__doc__ or '').strip()}\n\n| key | type | default | "
            "meaning |\n|---|---|---|---|\n"
        )
        for key, field in section.model_fields.items():
            if (section is MODEL and key in NAMES) or field.description == FOLLOWS:
                continue
            schema = section.model_json_schema()["properties"][key]
            cells = (
                f"`{key}`",
                _format_type(schema),
                _format_default(field),
                field.description or "",
            )
            text.write(f"| {' | '.join(cells)} |\n")
        if section is MODEL:
            text.write("\nand any key of `defaults` of its task, for this model alone.\n")
            text.write(f"{WRITING_A_MODEL}\n{_presets()}")
    return text.getvalue()


def _presets() -> str:
    """Return the part on presets: how they are written, and those of heed's own."""
    lines = [
        "\n## Presets\n",
        "Hyperparameters under a name. A model with `preset: NAME` has the values of `defaults` of "
        "its task, replaced by those of the preset, and these by the keys of its own line and by "
        "the winner of its search. The control `parameter-matched` has the preset of the model "
        "in `match_parameters_of`.\n",
        "`defaults.presets.NAME` is a preset of the study, with any keys of `defaults` of the task "
        "of its models. heed's own are:\n",
        "| task | preset | for | values |\n|---|---|---|---|",
    ]
    for task, presets in PRESETS.items():
        for name, preset in presets.items():
            values = ", ".join(f"{key}: {_format_value(v)}" for key, v in preset.values.items())
            lines.append(f"| {task} | `{name}` | {preset.description} | `{values}` |")
    return "\n".join(lines) + "\n"


def _titles() -> dict[Any, str]:
    """Return the sections in their order, with their keys in params.yaml."""
    titles: dict[Any, str] = {
        STUDY: "study", SOURCE: "sources.NAME", CORPUS: "corpora.NAME", SPLIT: "corpora.NAME.split",
    }  # fmt: skip
    for task, experiment in EXPERIMENTS.items():
        titles[experiment] = f"experiments.NAME (task {task})"
        titles[DATA[task]] = f"experiments.NAME.data (task {task})"
    titles |= {
        PUBLISHED: "experiments.NAME.published",
        EXPECTED_RESULT: "experiments.NAME.expected_results (a list)",
        SEARCH: "searches.NAME, later_searches.NAME",
        DIMENSION: "searches.NAME.space.HYPERPARAMETER",
    }
    titles |= {section: f"defaults.{task}" for task, section in SECTIONS.items()}
    titles[MODEL] = "models.NAME"
    titles |= {EXPLAIN: "explain", EXPLAINED: "explain.models.NAME"}
    titles[ADVERSARIAL_MODEL] = "adversarial_attention.NAME"
    return titles


def _format_default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None:
        return ""
    return f"`{_format_value(field.default)}`"


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _format_type(schema: JsonSchemaValue) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        return " or ".join(
            _format_type(part) for part in schema["anyOf"] if part.get("type") != "null"
        )
    if "$ref" in schema:
        return "section"
    bounds = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    limits = " ".join(f"{sign} {schema[key]}" for key, sign in bounds.items() if key in schema)
    return f"{schema.get('type', 'section')} {limits}".strip()
