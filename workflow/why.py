"""Says in words why a stage is stale: `python workflow/why.py [STAGE]`, which `heed why` starts.

It runs nothing and changes nothing, and takes no lock.
"""

import difflib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import stages
from causes import OF_SEVERAL, Causes, overlap
from records import Records

from heed.code.digests import CODE
from heed.files import HeedError, read_json
from heed.progress import INTERRUPTED
from heed.terminal import print_line, visible

MAX_CAUSES = 12  # that are listed


def explain(name: str = "") -> Iterator[str]:
    """Yield the lines on a stage, on the stages of a kind such as `train`, or on all.

    Raises:
        HeedError: there is no such stage; params.yaml or dvc.lock is wrong.

    """
    root = Path()
    planned = stages.read_stages(root)
    by_name = {stage.name: stage for stage in planned}
    kinds = [*dict.fromkeys(_kind(stage.name) for stage in planned)]
    if name and name not in by_name and name not in kinds:
        raise HeedError(_unknown_stage(name, [*by_name, *kinds], kinds))
    causes = find_causes(root, planned)
    if name not in by_name:
        chosen = [each for each in by_name if name in ("", _kind(each))]
        yield from _describe_several(chosen, f"{name} " if name else "", causes)
    elif name in causes.reasons:
        yield from _describe_stale(name, causes)
    else:
        yield from _describe_up_to_date(by_name[name], planned, Records(root))


def _unknown_stage(name: str, known: list[str], kinds: list[str]) -> str:
    """Return the message that there is no such stage, with similar names."""
    similar = difflib.get_close_matches(name, dict.fromkeys(known), cutoff=0.5)
    meant = f"; did you mean {' or '.join(similar)}?" if similar else "."
    return f"there is no stage {name}{meant} Stages are of the kinds {', '.join(kinds)}"


def find_causes(root: Path, planned: list[stages.Stage]) -> Causes:
    """Return the causes of the stale stages in a clone."""
    return Causes(
        planned,
        stages.find_orphans(root, stages.all_outs(planned)),
        stages.predict_code_changes(planned),
        Records(root),
    )


def _kind(name: str) -> str:
    return name.partition("@")[0]


def _describe_stale(name: str, causes: Causes) -> Iterator[str]:
    """Yield the causes of one stale stage, each with the chain of stages that leads to it."""
    yield f"{name} is stale:"
    chains = causes.chains[name]
    for cause, (_, *others) in [*chains.items()][:MAX_CAUSES]:
        yield "  " + ", ".join([*(f"because {stage} is" for stage in others), f"because {cause}"])
    if len(chains) > MAX_CAUSES:
        yield f"  and for {len(chains) - MAX_CAUSES} more causes"


def _describe_several(names: list[str], kind: str, causes: Causes) -> Iterator[str]:
    """Yield the causes of all stale stages among some, each with the stages that it makes stale."""
    stale = [name for name in names if name in causes.reasons]
    if not stale:
        yield f"all {len(names)} {kind}stages are up to date"
        return
    yield f"{len(stale)} of {len(names)} {kind}stages {'is' if len(stale) == 1 else 'are'} stale:"
    by_cause: dict[str, list[str]] = {}
    for name in stale:
        for cause in causes.chains[name]:
            by_cause.setdefault(cause, []).append(name)
    largest = sorted(by_cause.items(), key=lambda item: -len(item[1]))
    for cause, made_stale in largest[:MAX_CAUSES]:
        number = len(made_stale)
        listed = ", ".join(made_stale) if kind else _count_kinds(made_stale)
        said = OF_SEVERAL.get(cause, cause) if number > 1 else cause
        yield f"  because {said}: {number} stage{'s' * (number > 1)} ({listed})"
    if len(by_cause) > MAX_CAUSES:
        yield f"  and for {len(by_cause) - MAX_CAUSES} more causes, of which none makes more stale"
    yield f"how a stage depends on a cause: heed why STAGE, such as heed why {stale[-1]}"


def _count_kinds(names: Iterable[str]) -> str:
    """Return how many stages of each kind there are among some."""
    counts = Counter(map(_kind, names))
    return ", ".join(kind if number == 1 else f"{number} {kind}" for kind, number in counts.items())


def _describe_up_to_date(
    stage: stages.Stage, planned: list[stages.Stage], records: Records
) -> Iterator[str]:
    """Yield what a stage that is up to date depends on."""
    yield f"{stage.name} is up to date. It runs again when one of these changes:"
    for path in stage.deps:
        if path.startswith(f"{CODE}/"):
            if path.endswith(".json"):
                yield f"  {_describe_code(path)}"
            continue
        makers = [each.name for each in planned if any(overlap(out, path) for out in each.outs)]
        made = f", which {makers[0] if len(makers) == 1 else f'{len(makers)} stages'} made"
        yield f"  {path}{made * bool(makers)}{_list(records.parameters(stage.name).get(path))}"


def _describe_code(path: str) -> str:
    """Return what a file of results/code lists: modules and packages."""
    code = read_json(Path(path), "snakemake --cores 1 code")
    versions = [f"{name} {version}" for name, version in code["versions"].items()]
    return f"its code, {len(code['files'])} files{_list(versions)}: {path}"


def _list(names: list[str] | None) -> str:
    return f" ({', '.join(names)})" if names else ""


def main() -> None:
    """Print the lines on the stage in the argument of this process."""
    try:
        for line in explain(*sys.argv[1:2]):
            print_line(line)
    except HeedError as error:
        sys.exit(visible(f"heed: {error}"))
    except KeyboardInterrupt:
        sys.exit(f"heed: {INTERRUPTED}")


if __name__ == "__main__":
    main()
