"""The causes that make stages stale, and how each reaches a stage through the stages before it.

A cause is a phrase that follows `because`, such as `src/heed/models/attention.py changed`, and the
same phrase wherever it is found.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from records import MISSING, Records, changed_content, changed_modules, changed_values
from stages import Change, Stage, all_outs, find_stale, orphans_read_by

from heed.code.digests import CODE
from heed.paths import PARAMS
from heed.study.syntax import read_yaml

NEVER_RUN = "it has never run"
NOT_CACHED = "DVC's cache lacks outputs of it, which dvc pull fetches where a remote has them"
NOT_KEPT = "its code changed, and DVC's cache no longer has the list of its modules of before"
OF_SEVERAL = {  # what is said of a stage, as it is said of those after it too
    NEVER_RUN: "it, or a stage before it, has never run",
    NOT_CACHED: "DVC's cache lacks outputs of it, or of a stage before it: dvc pull fetches them "
    "where a remote has them",
    NOT_KEPT: "its code, or that of a stage before it, changed, and DVC's cache no longer has the "
    "list of its modules of before",
}
SOURCE = "src/heed"
UNUSED_EDITS = {  # by the input of the stage `code`
    SOURCE: "was edited, but only in comments, layout or modules of no stage",
    str(PARAMS): "was edited, but in no value that a stage reads",
}
Chains = dict[str, list[str]]  # {cause: the stages from one to that which the cause makes stale}


class Causes:
    """The causes of all stale stages of a study."""

    def __init__(
        self,
        stages: list[Stage],
        orphans: list[str],
        new_code: dict[str, str] | None,
        records: Records,
    ) -> None:
        """Find them.

        Args:
            stages: each after those it reads from.
            orphans: what `stages.find_orphans` returns.
            new_code: what `stages.predict_code_changes` returns.
            records: of the last runs.

        """
        self._stages, self._orphans, self._new_code = stages, orphans, new_code
        self._records = records
        self.reasons = find_stale(stages, orphans, new_code)
        self._own: dict[str, list[str]] = {}
        # of other stages, by the input of the stage `code` in which they are
        self._edits: dict[str, dict[str, None]] = {SOURCE: {}, str(PARAMS): {}}
        for stage in sorted(stages, key=lambda stage: stage.name == "code"):
            if stage.name in self.reasons:
                self._own[stage.name] = [*dict.fromkeys(self._own_causes(stage))]
        self.chains = self._trace()

    def _own_causes(self, stage: Stage) -> Iterator[str]:
        """Yield what makes a stage stale, without what makes the stages before it stale."""
        for path in stage.deps:
            if path in (self._new_code or {}):
                yield from self._changed_code(stage, path)
        for change in stage.changes:
            match change.kind:
                case "never run":
                    yield NEVER_RUN
                case "always":
                    yield "it always runs"
                case "command":
                    before = self._records.command(stage.name)
                    kind = stage.name.partition("@")[0]
                    yield f"the command of {kind} in dvc.yaml is `{change.how}` and was `{before}`"
                case "parameters":
                    yield from self._changed_parameters(stage, change)
                case "input":
                    yield from self._changed_input(stage, change)
                case "output":
                    yield from self._changed_output(stage, change)
        if orphans_read_by(stage, self._orphans):
            number, first = len(self._orphans), self._orphans[0]
            yield (
                f"{number} result{'s' * (number > 1)} of what the study no longer has will be "
                f"deleted, such as {first}"
            )

    def _changed_parameters(self, stage: Stage, change: Change) -> Iterator[str]:
        """Yield the values of params.yaml that differ."""
        path = Path(change.path)
        values = read_yaml(path.read_text(encoding="utf-8"), path)[1]
        for key in change.keys:
            now = values
            for part in key.split("."):
                now = now.get(part, MISSING) if isinstance(now, dict) else MISSING
            before = self._records.parameter(stage.name, change.path, key)
            for value in changed_values(before, now, change.path, key):
                self._edits[change.path][value] = None
                yield value

    def _changed_input(self, stage: Stage, change: Change) -> Iterator[str]:
        """Yield how a file or folder differs, unless the stage that made it is to blame."""
        path = change.path
        if stage.name == "code":
            yield from self._changed_source(path)
            return
        if path.startswith(f"{CODE}/"):
            if path not in (self._new_code or {}):
                yield from self._changed_code(stage, path)
            return
        makers = [each for each in self._stages if any(overlap(out, path) for out in each.outs)]
        if any(_is_edited(maker, path) for maker in makers):
            return
        if change.how == "new":
            yield f"dvc.yaml names {path} as its input now"
            return
        whole = [each for each in makers if any(_contains(out, path) for out in each.outs)]
        made = f", which {whole[0].name} has made anew" if whole else ""
        details = self._details(stage.name, path, made)
        if made:
            yield from details or [f"{path}{made}, changed"]
        elif makers:
            strays = [f"{file}, which no stage has made, is there" for file in self._strays(path)]
            yield from strays or [f"{path} changed, of which stages have made parts anew"]
        else:
            yield from details or [f"{path} {_how(change)}{_uncommitted(path)}"]

    def _details(self, stage: str, path: str, made: str) -> list[str]:
        """Return which files of a folder, or values of a file, differ from a stage's last run."""
        if files := self._records.changed_files(stage, path):
            return [f"{files} in {path}{made}"]
        file = Path(path)
        if not file.is_file() or file.suffix not in (".yaml", ".json"):
            return []
        before = self._records.text(stage, path)
        return (
            []
            if before is None
            else changed_content(
                before, file.read_text(encoding="utf-8"), f"{path}{made}{',' * bool(made)}"
            )
        )

    def _strays(self, path: str) -> list[str]:
        """Return the files in a folder that are of no stage."""
        outs = all_outs(self._stages)
        files = (each.as_posix() for each in sorted(Path(path).rglob("*")) if each.is_file())
        return [file for file in files if not any(overlap(out, file) for out in outs)]

    def _changed_output(self, stage: Stage, change: Change) -> Iterator[str]:
        """Yield which file that a stage wrote was edited or deleted since."""
        files = self._records.changed_files(stage.name, change.path)
        if change.how == "modified" and files:
            yield f"{files} in {change.path}, an output of {stage.name}"
        elif change.how == "not in cache":
            yield NOT_CACHED
        else:
            yield f"{change.path}, an output of {stage.name}, {_how(change)}"

    def _changed_code(self, stage: Stage, path: str) -> Iterator[str]:
        """Yield the modules and packages that differ in a file of results/code."""
        if stage.changes and stage.changes[0].kind == "never run":
            return
        before, file = self._records.text(stage.name, path), Path(path)
        now = (self._new_code or {}).get(path)
        if now is None and file.exists():
            now = file.read_text(encoding="utf-8")
        if now is None or self._records.is_recorded(stage.name, path, now):
            return
        if before is None:
            yield NOT_KEPT
        else:
            modules = changed_modules(before, now)
            self._edits[SOURCE].update(dict.fromkeys(modules))
            yield from modules

    def _changed_source(self, path: str) -> Iterator[str]:
        """Yield what changed in an input of the stage `code`."""
        if self._new_code is None:
            yield f"{path} was edited, and the stage code would stop with the message above"
        elif path in self._edits:
            yield from self._edits[path] or [f"{path} {UNUSED_EDITS[path]}{_uncommitted(path)}"]
        else:
            yield f"{path} changed"

    def _trace(self) -> dict[str, Chains]:
        """Return, for each stale stage, the shortest chain to each of its causes."""
        chains: dict[str, Chains] = {}
        for stage in self._stages:
            if stage.name not in self._own:
                continue
            found = {cause: [stage.name] for cause in self._own[stage.name]}
            for upstream in self._carriers(stage):
                for cause, chain in chains[upstream].items():
                    if cause not in found or len(found[cause]) > len(chain) + 1:
                        found[cause] = [stage.name, *chain]
            chains[stage.name] = found
        return chains

    def _carriers(self, stage: Stage) -> list[str]:
        """Return the stale stages before a stage that make it stale too."""
        own = self._own[stage.name]
        if own == [NEVER_RUN]:
            return []
        code = self._new_code is None or (not own and bool({*stage.deps} & {*self._new_code}))
        edited = any(
            change.kind == "input" and change.path.startswith(f"{CODE}/")
            for change in stage.changes
        )
        return [
            name
            for name in stage.upstream
            if name in self._own and (name != "code" or code or (edited and not own))
        ]


def _is_edited(maker: Stage, path: str) -> bool:
    """Whether an output of a stage was edited or deleted since, at a path."""
    return any(
        change.kind == "output"
        and overlap(change.path, path)
        and not (change.how == "not in cache" and Path(change.path).exists())
        for change in maker.changes
    )


def overlap(first: str, second: str) -> bool:
    """Whether one of two paths is the other, or lies in it."""
    return _contains(first, second) or _contains(second, first)


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _how(change: Change) -> str:
    return {"deleted": "is missing", "modified": "changed"}.get(change.how, f"is {change.how}")


def _uncommitted(path: str) -> str:
    """Return which files git calls changed in a folder, as an addition to a message."""
    command = ["git", "--no-optional-locks", "status", "--porcelain", "--", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    files = [line[3:] for line in done.stdout.splitlines()]
    return f" (not committed: {', '.join(files[:5])}{', …' * (len(files) > 5)})" if files else ""
