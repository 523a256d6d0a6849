"""A folder → a `LoadedProject`: every file read, every setting understood, every problem noted."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.checks.check_parameters import ParameterKind
from tidegate.checks.check_registry import kind_of
from tidegate.checks.check_values import Check
from tidegate.config import Settings
from tidegate.contracts import ModelContract, read_contract
from tidegate.names import TableName, nearest
from tidegate.problems import Place, Problem, Severity, did_you_mean
from tidegate.project.bronze_tags import clear_in_bronze, tags_of_bronze
from tidegate.project.column_masks import MASKS_FOLDER, ColumnMask, mask_files, masks_of, read_masks, unknown_masks
from tidegate.project.declared_checks import (
    CHECK_KEYS,
    CHECKS_FOLDER,
    OwnChecks,
    freshness_check,
    own_and_inherited,
    own_check_files,
    read_own_checks,
    read_quality_test,
)
from tidegate.project.directives import Directive, read_directives, read_python_directives
from tidegate.project.lib_functions import LIB_FOLDER, LibFunctions, lib_files, read_lib_functions
from tidegate.project.model import CodeFile, LoadedProject, Materialized, Model, ModelSettings
from tidegate.project.model_files import MACROS_FOLDER, MODEL_FOLDERS, ModelFiles, contract_files, discover
from tidegate.project.python_source import PythonSource
from tidegate.project.setting_keys import KEYS
from tidegate.project.setting_levels import SettingsLevel, conflicts, merge_levels, read_level
from tidegate.project.settings_files import SettingEntry, SourceNode, entries_of, read_settings_file, read_tree
from tidegate.project.template_names import MacroFile
from tidegate.project.texts import Texts
from tidegate.project.unit_test_files import TESTS_FOLDER, UnitTest, read_unit_tests, unit_test_files

if TYPE_CHECKING:
    from tidegate.project.contract_models import ContractModels, GoldTable

__all__ = ["PROJECT_FOLDERS", "load_project"]

PROJECT_FOLDERS = (*MODEL_FOLDERS, MACROS_FOLDER, MASKS_FOLDER, CHECKS_FOLDER, TESTS_FOLDER, LIB_FOLDER)


def load_project(settings: Settings, texts: Texts | None = None) -> LoadedProject:
    """`texts`: the texts of files read before; those read now are added, those of removed files are dropped."""
    texts = Texts() if texts is None else texts
    reader = _ProjectReader(settings, texts)
    project_files = discover(settings.root, settings.project.namespace)
    reader.problems += project_files.problems
    reader.read_own_checks()
    reader.read_functions()
    reader.read_masks()
    base = reader.project_defaults()
    folders = {os.path.dirname(path): reader.settings_file(path) for path in project_files.defaults}
    models = [model for files in project_files.models for model in reader.models(files, base, folders)]
    contracts = [reader.contract_models(path) for path in contract_files(settings.contracts.location)]
    gold = {table: terms for contract in contracts for table, terms in contract.gold.items()}
    models = [replace(m, contract=gold[m.table].terms) if m.contract is None and m.table in gold else m for m in models]
    reader.problems += _without_model(gold, {files.table for files in project_files.models})
    for contract in contracts:
        models += reader.with_tags(contract.models, base, folders)
    macros = [MacroFile(path, text) for path in project_files.macros if (text := reader.text(path)) is not None]
    for path in unit_test_files(settings.root):
        reader.unit_test_file(path)
    texts.keep_only(reader.read)
    unread = frozenset(files.table for files in project_files.models) - frozenset(model.table for model in models)
    unread |= frozenset(table for contract in contracts for table in contract.unread)
    return LoadedProject(
        tuple(models),
        tuple(macros),
        tuple(reader.problems),
        unread,
        tuple(reader.unit_tests),
        tuple(reader.own_checks.kinds),
        tuple(reader.own_masks),
        code_files=tuple(reader.code_files),
        functions=reader.functions.functions,
        function_names=frozenset(reader.functions.names),
        zones={zone: read_as for contract in contracts for zone, read_as in contract.zones.items()},
    )


class _ProjectReader:
    """Reads the files of one project and collects their problems."""

    def __init__(self, settings: Settings, texts: Texts) -> None:
        self.settings = settings
        self._texts = texts
        self._root = str(settings.root)
        self.read: set[str] = set()
        self.problems: list[Problem] = []
        self.unit_tests: list[UnitTest] = []
        self.own_checks = OwnChecks()
        self.own_masks: Mapping[str, str] = {}
        self.code_files: list[CodeFile] = []
        self.functions = LibFunctions()
        self._levels: list[tuple[SettingsLevel, ...]] = []  # `_merged` has their ids as keys, so they must stay alive
        self._merged: dict[tuple[int, ...], tuple[ModelSettings, Mapping[str, Place]]] = {}

    def text(self, path: str) -> str | None:
        self.read.add(path)
        try:
            return self._texts.read(self._root, path)
        except UnicodeDecodeError as error:
            fix: str | None = "save the file as UTF-8"
            line = error.object[: error.start].count(b"\n") + 1
            message, place = "the file is not UTF-8 text", Place(path, line)
        except OSError as error:
            message, place, fix = f"the file cannot be read: {error.strerror or error}", Place(path), None
        self.problems.append(Problem("UnreadableFile", message, place, suggestion=fix))
        return None

    def read_own_checks(self) -> None:
        paths = own_check_files(self.settings.root)
        texts = [(path, text) for path in paths if (text := self.text(path)) is not None]
        self.own_checks = read_own_checks(texts)
        self.code_files += (CodeFile(path, text) for path, text in texts if path.endswith(".py"))
        self.problems += self.own_checks.problems

    def read_functions(self) -> None:
        texts = [(path, text) for path in lib_files(self.settings.root) if (text := self.text(path)) is not None]
        self.code_files += (CodeFile(path, text) for path, text in texts)
        if texts:
            self.functions = read_lib_functions(texts)
            self.problems += self.functions.problems

    def read_masks(self) -> None:
        paths = mask_files(self.settings.root)
        self.own_masks, problems = read_masks((p, text) for p in paths if (text := self.text(p)) is not None)
        self.problems += problems

    def project_defaults(self) -> SettingsLevel:
        file = self.settings.file
        text = file.read_text("utf-8-sig") if self.settings.defaults and file.is_file() else ""
        name = file.relative_to(self.settings.root).as_posix() if file.is_relative_to(self.settings.root) else str(file)
        return self._level(entries_of(self.settings.defaults, text, name, ("defaults",)))

    def settings_file(self, path: str, table: TableName | None = None) -> SettingsLevel:
        """`table`: whose it is alone; only such a file can hold tests."""
        text = self.text(path)
        if text is None:
            return SettingsLevel({})
        entries, problems = read_settings_file(text, path)
        self.problems += problems
        if table is not None and any(entry.key == "tests" for entry in entries):
            self._unit_tests(text, path, table)
            entries = tuple(entry for entry in entries if entry.key != "tests")
        if any(entry.key in _PLACED for entry in entries):
            entries = _placed(entries, text, path)
        return self._level(entries)

    def contract_models(self, file: Path) -> ContractModels:
        """A file outside the project is named by its whole path."""
        # Only here: most projects have no such file.
        from tidegate.project.contract_models import ContractModels, read_contract_models

        is_inside = file.is_relative_to(self.settings.root)
        path = file.relative_to(self.settings.root).as_posix() if is_inside else str(file)
        if self.text(path) is None:
            return ContractModels()
        namespace = self.settings.project.namespace
        contract = self._texts.derive(path, namespace, lambda text: read_contract_models(text, path, namespace))
        self.problems += contract.problems
        if contract.generator is not None:
            self._generator(*contract.generator)
        return contract

    def with_tags(
        self, models: Sequence[Model], base: SettingsLevel, folders: Mapping[str, SettingsLevel]
    ) -> Iterator[Model]:
        """A contract's tables with the tags of columns that the project and its folders set, as for other models.
        Silver is masked. Bronze is not, because silver is made of it, so what is masked later is hidden there."""
        tagged = {}
        for model in models:
            path = f"{MODEL_FOLDERS[0]}/{model.table.layer}/{model.table.name}.sql"
            merged, origins = self._shared(base, *(folders[folder] for folder in _above(path) if folder in folders))
            tagged[model.table] = merged.column_tags, origins.get("column_tags", Place(model.file))
        for model in models:
            tags, place = tagged[model.table]
            stage = model.stage
            if stage is not None and not stage.is_silver:
                silver = next((tagged[other.table][0] for other in models if other is not model), {})
                tags, clear = tags_of_bronze(stage.ingestion, tags, silver, self.own_masks)
                self.problems += clear_in_bronze(model.table, clear, place)
                masks: tuple[ColumnMask, ...] = ()
            else:
                masks = masks_of(tags, self.own_masks, (), self.settings.masking.salt)
            if tags:
                origins = {**model.origins, "column_tags": place}
                settings = replace(model.settings, column_tags=tags)
                model = replace(model, settings=settings, masks=masks, origins=origins)
            yield model

    def _generator(self, name: str, place: Place) -> None:
        from tidegate.contracts.landing_issues import missing_generator

        root = str(self.settings.contracts.files_root)
        if not os.path.isfile(os.path.join(root, name)):
            message, fix = missing_generator(name, root)
            self.problems.append(Problem("InvalidContract", message, place, suggestion=fix))

    def unit_test_file(self, path: str) -> None:
        text = self.text(path)
        if text is not None:
            self._unit_tests(text, path)

    def _unit_tests(self, text: str, path: str, table: TableName | None = None) -> None:
        tests, problems = read_unit_tests(text, path, self.settings.project.namespace, table)
        self.unit_tests += tests
        self.problems += problems

    def models(self, files: ModelFiles, base: SettingsLevel, folders: Mapping[str, SettingsLevel]) -> list[Model]:
        models, before = [], len(self.problems)
        tests = [test for path in files.tests if (test := self._quality_test(path)) is not None]
        sidecar = [self.settings_file(path, files.table) for path in files.sidecars[:1]]
        contract = self._contract(files.contracts[0], files.table.name) if files.contracts else None
        for path in files.sources:
            source = self.text(path)
            if source is None:
                continue
            above = [folders[folder] for folder in _above(path) if folder in folders] if folders else []
            python = self._python(path)
            directives, problems = (
                read_directives(source, path, KEYS)
                if python is None
                else read_python_directives(python.comments, path, KEYS)
            )
            decorated = python.settings if python is not None else ()
            if directives or problems or decorated:
                self.problems += problems
                header = self._level([*(_written(directive, source) for directive in directives), *decorated])
                self.problems += conflicts(sidecar, header)
                merged, origins = merge_levels([base, *above, *sidecar, header])
            else:
                header = _NOTHING
                merged, origins = self._shared(base, *above, *sidecar)
            checks = self._checks([base, *above], [*sidecar, header], tests, merged)
            checks = self._with_freshness(checks, merged, origins.get("freshness", Place(path)))
            masks, tagged = self._masks(merged, [*sidecar, header]) if merged.column_tags else ((), {})
            origins = {**origins, **tagged} if tagged else origins
            models.append(Model(files.table, path, source, merged, contract, origins, checks, masks, python=python))
        if len(self.problems) > before:
            short = files.table.short(self.settings.project.namespace)
            self.problems[before:] = [replace(problem, model=short) for problem in self.problems[before:]]
        return models

    def _python(self, path: str) -> PythonSource | None:
        if not path.lower().endswith(".py"):
            return None
        # Only here: most projects have no such model.
        from tidegate.project.read_python import read_python

        return self._texts.derive(path, "python", lambda text: read_python(text, path))

    def _checks(
        self, above: list[SettingsLevel], own: list[SettingsLevel], tests: list[Check], settings: ModelSettings
    ) -> tuple[Check, ...]:
        declared = [check for level in own for check in level.checks]
        has_table = settings.materialized is not Materialized.EPHEMERAL
        inherited = [check for level in above for check in level.checks] if has_table else []
        if not declared and not inherited and not tests:
            return ()
        checks, problems = own_and_inherited([*declared, *tests], inherited)
        self.problems += problems
        return checks

    def _with_freshness(self, checks: tuple[Check, ...], settings: ModelSettings, place: Place) -> tuple[Check, ...]:
        """Unless the same check is declared on its own."""
        check = freshness_check(settings, place)
        if isinstance(check, Problem):
            self.problems.append(check)
        if not isinstance(check, Check) or any((c.stage, c.name) == (check.stage, check.name) for c in checks):
            return checks
        return (*checks, check)

    def _masks(
        self, settings: ModelSettings, own: list[SettingsLevel]
    ) -> tuple[tuple[ColumnMask, ...], Mapping[str, Place]]:
        """Also where the model itself tags its columns."""
        places = {column: place for level in own for column, place in level.tagged.items()}
        masks = masks_of(settings.column_tags, self.own_masks, places, self.settings.masking.salt)
        return masks, {f"column_tags.{column}": place for column, place in places.items()}

    def _shared(self, *levels: SettingsLevel) -> tuple[ModelSettings, Mapping[str, Place]]:
        """Many models have no settings of their own, and share those of the folders above them."""
        key = tuple(map(id, levels))
        if key not in self._merged:
            self._merged[key] = merge_levels(levels)
            self._levels.append(levels)
        return self._merged[key]

    def _quality_test(self, path: str) -> Check | None:
        source = self.text(path)
        if source is None:
            return None
        test, problems = read_quality_test(path, source)
        self.problems += problems
        return test

    def _contract(self, path: str, table: str) -> ModelContract | None:
        text = self.text(path)
        if text is None:
            return None
        contract, problems = read_contract(text, path, table)
        self.problems += problems
        return contract

    def _level(self, entries: Iterable[SettingEntry]) -> SettingsLevel:
        level = read_level(entries, self.own_checks.kinds)
        self.problems += level.problems
        if level.tagged:
            self.problems += unknown_masks(level.values["column_tags"][0], self.own_masks, level.tagged)
        return replace(level, checks=tuple(map(self._with_file, level.checks))) if level.checks else level

    def _with_file(self, check: Check) -> Check:
        """With the text of the file that the check needs."""
        call = check.call
        if call is None:
            return check
        if call.name in self.own_checks.files:
            file, text = self.own_checks.files[call.name]
            return replace(check, source=text, file=file)
        kind = kind_of(check)
        for at, _ in kind.of_kind(ParameterKind.FILE) if kind else ():
            if at < len(call.arguments) and call.arguments[at]:
                return replace(check, source=self._beside(call.arguments[at], check.place))
        return check

    def _beside(self, name: str, place: Place) -> str:
        """The text of a file of the project that a check names; empty where there is none."""
        path = os.path.normpath(name).replace(os.sep, "/")
        if os.path.isabs(name) or path.startswith("../"):
            message = f"'{name}' is outside the project"
            self.problems.append(Problem("MissingCheckFile", message, place, suggestion="name a file of the project"))
        elif not os.path.isfile(f"{self._root}/{path}"):
            folder = os.path.dirname(f"{self._root}/{path}")
            others = os.listdir(folder) if os.path.isdir(folder) else []
            fix = did_you_mean(nearest(os.path.basename(path), others)) or "the path begins at the project's folder"
            self.problems.append(Problem("MissingCheckFile", f"there is no file '{name}'", place, suggestion=fix))
        else:
            return self.text(path) or ""
        return ""


def _without_model(gold: Mapping[TableName, GoldTable], tables: Collection[TableName]) -> Iterator[Problem]:
    for table, contract in gold.items():
        if table not in tables:
            name = f"{table.layer}.{table.name}"
            message = f"no model makes {name}, so nothing is held against its contract"
            fix = f"add the model models/{table.layer}/{table.name}.sql; generators are not run"
            yield Problem("ContractWithoutModel", message, contract.place, Severity.WARN, fix, name)


_NOTHING = SettingsLevel({})
_PLACED = CHECK_KEYS | {"column", "columns"}
"""Settings whose parts are reported with their own places."""


def _written(directive: Directive, source: str) -> SettingEntry:
    """With the place where a check's text begins, because problems inside it are reported by their place."""
    if directive.key not in CHECK_KEYS:
        return SettingEntry(directive.key, directive.value, directive.place)
    line = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")[directive.place.line - 1]
    place = replace(directive.place, col=len(line.rstrip()) - len(directive.value) + 1)
    node = SourceNode(directive.value, place, directive.value)
    return SettingEntry(directive.key, directive.value, directive.place, node, in_header=True)


def _placed(entries: Iterable[SettingEntry], text: str, file: str) -> tuple[SettingEntry, ...]:
    """Checks and columns with the places of their keys."""
    tree = read_tree(text, file)
    nodes = tree.value if isinstance(tree, SourceNode) and isinstance(tree.value, dict) else {}
    return tuple(replace(entry, node=nodes.get(entry.key)) if entry.key in _PLACED else entry for entry in entries)


def _above(path: str) -> Iterator[str]:
    """The folders that a file lies in, the outermost first."""
    return accumulate(path.split("/")[:-1], "{}/{}".format)
