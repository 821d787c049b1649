"""images/NAME/image.toml → RecipeFile: the file as written, sections with their `when` still unselected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from rockiln.budget import Budget, read_budget
from rockiln.errors import FileFaultsError
from rockiln.expected_findings import ExpectedFinding, read_expected, read_provided
from rockiln.matrix import FLAVOURS, ORIGINS, Target
from rockiln.own_distributions import OwnWheels, read_own_wheels
from rockiln.slim_rules import DropRule, ShareRule, StripRule
from rockiln.tables import Table, list_words, quote, read_toml, suggest

SCHEMA = 1
TIERS = ("cpu", "gpu", "multi-gpu")
CPU_ORIGIN = "cpu"
"""What `when.rocm-origin` calls a row without ROCm."""
LAYER_LIMIT = 127
"""overlayfs mounts at most 128 layers, and one is the container's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """[[edit]]: a checked change of one file of one wheel. Fails unless the file is exactly the one it was made for."""

    path: str
    owner: str
    """"wheel:jaxlib"."""
    sha256_before: str
    replace: str
    """Text that occurs exactly once."""
    text: str
    """What stands there afterwards ("with" in the file)."""
    sha256_after: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """[[link]]: a symlink that no package brings, though something looks for it."""

    path: str
    target: str
    """As written into the symlink: absolute, or relative to the link's folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """[[user]]: an account besides those that Debian's base-passwd makes."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """Which targets a section is for; an empty field means any."""

    os: tuple[str, ...] = ()
    rocm_origin: tuple[str, ...] = ()
    flavour: tuple[str, ...] = ()
    version: SpecifierSet = field(default_factory=SpecifierSet)

    def holds(self, target: Target) -> bool:
        """Whether the section is for `target`; all given fields must agree."""
        return (
            (not self.os or target.os in self.os)
            and (not self.rocm_origin or (target.rocm_origin or CPU_ORIGIN) in self.rocm_origin)
            and (not self.flavour or (target.flavour or "runtime") in self.flavour)
            and self.version.contains(target.version, prereleases=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSet:
    """[[packages]]: debs, wheels or both, for the targets that `when` names."""

    when: When
    names: tuple[str, ...]
    wheels: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSet:
    """[[env]]: variables, for the targets that `when` names."""

    when: When
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeFile:
    """One image.toml. A scalar that is None is left to what the file extends."""

    name: str
    path: Path
    extends: str
    packages: tuple[PackageSet, ...]
    own_wheels: tuple[tuple[When, OwnWheels], ...]
    env: tuple[EnvSet, ...]
    edits: tuple[tuple[When, FileEdit], ...]
    drops: tuple[tuple[When, DropRule], ...]
    links: tuple[tuple[When, Link], ...]
    strips: tuple[tuple[When, StripRule], ...]
    shares: tuple[tuple[When, ShareRule], ...]
    budgets: tuple[tuple[When, Budget], ...]
    expected: tuple[tuple[When, ExpectedFinding], ...]
    provided_by_host: tuple[str, ...]
    users: tuple[User, ...]
    labels: Mapping[str, str]
    files: Mapping[str, str]
    writable_folders: tuple[str, ...]
    workdir: str | None
    user: str | None
    cmd: tuple[str, ...] | None
    layer_budget: int | None
    smoke_tiers: tuple[str, ...] | None
    smoke_data: tuple[str, ...]
    required_tiers: tuple[str, ...] | None


def read_recipes(images_path: Path) -> Mapping[str, RecipeFile]:
    """Read every images/NAME/image.toml; the faults of all files are in the one FileFaultsError."""
    files: dict[str, RecipeFile] = {}
    messages: list[str] = []
    names = sorted(path.parent.name for path in images_path.glob("*/image.toml"))
    if not names:
        raise FileFaultsError(f"{images_path.name}: no recipe here", hint=f"expected {images_path}/NAME/image.toml")
    for name in names:
        try:
            files[name] = read_recipe(images_path / name / "image.toml", names)
        except FileFaultsError as error:
            messages.append(error.message)
    messages += [message for name in files if (message := _circle(name, files))]
    if messages:
        raise FileFaultsError("\n".join(messages))
    return files


def read_recipe(path: Path, known_names: list[str]) -> RecipeFile:
    """Read one image.toml; every fault of the file is in the one FileFaultsError."""
    top = read_toml(path, "/".join(path.parts[-3:]))
    if top.number("schema") != SCHEMA and "schema" in top:
        top.fault("schema", f"this rockiln reads schema {SCHEMA} only")
    recipe = RecipeFile(
        name=path.parent.name,
        path=path,
        extends=_read_extends(top, known_names),
        packages=tuple(_read_packages(table) for table in top.tables("packages")),
        own_wheels=tuple(_read_own_section(table) for table in top.tables("own-wheels")),
        env=tuple(_read_env(table) for table in top.tables("env")),
        edits=tuple(_read_edit(table) for table in top.tables("edit")),
        drops=tuple(_read_drop(table) for table in top.tables("drop")),
        links=tuple(_read_link(table) for table in top.tables("link")),
        strips=tuple(_read_strip(table) for table in top.tables("strip")),
        shares=tuple(_read_share(table) for table in top.tables("share")),
        budgets=tuple(_read_budget_section(table) for table in top.tables("budget")),
        expected=tuple(_read_expected_section(table) for table in top.tables("expected")),
        provided_by_host=read_provided(top),
        users=tuple(_read_user(table) for table in top.tables("user")),
        labels=top.text_map("labels"),
        files=_read_files(top),
        writable_folders=_image_paths(top, "writable-folders", ()),
        workdir=_absolute(top, "workdir") if "workdir" in top else None,
        user=top.text("user-name") if "user-name" in top else None,
        cmd=top.texts("cmd") if "cmd" in top else None,
        layer_budget=_read_layer_budget(top) if "layer-budget" in top else None,
        smoke_tiers=_read_tiers(top, "smoke-tiers"),
        smoke_data=_image_paths(top, "smoke-data", ()),
        required_tiers=_read_tiers(top, "required-tiers"),
    )
    _know_optional(top)
    top.refuse_others()
    top.faults.raise_any()
    return recipe


def _know_optional(top: Table) -> None:
    """Make the keys above that were left out known, so that "did you mean" may name them."""
    for key in ("workdir", "user-name"):
        top.text(key, "")
    for key in ("cmd", "smoke-tiers", "required-tiers"):
        top.texts(key, ())
    top.number("layer-budget", 1)


def _read_extends(top: Table, known_names: list[str]) -> str:
    extends = top.text("extends", "")
    if extends and extends not in known_names:
        top.fault("extends", f"no images/{extends}/image.toml{suggest(extends, known_names)}")
    return extends


def _read_when(section: Table) -> When:
    table = section.table("when")
    when = When(
        os=table.texts("os", ()),
        rocm_origin=_closed(table, "rocm-origin", (*ORIGINS, CPU_ORIGIN)),
        flavour=_closed(table, "flavour", FLAVOURS),
        version=table.specifiers("version", ""),
    )
    table.refuse_others()
    return when


def _closed(table: Table, key: str, one_of: tuple[str, ...]) -> tuple[str, ...]:
    """An array of texts from a closed set."""
    texts = table.texts(key, ())
    for index, text in enumerate(texts):
        if text not in one_of:
            table.fault(key, f"{quote(text)} is not {list_words(one_of)}{suggest(text, one_of)}", index)
    return texts


def _read_packages(table: Table) -> PackageSet:
    found = PackageSet(when=_read_when(table), names=table.texts("names", ()), wheels=table.requirements("wheels", ()))
    table.text("why")
    table.refuse_others()
    return found


def _read_own_section(table: Table) -> tuple[When, OwnWheels]:
    found = _read_when(table), read_own_wheels(table)
    table.refuse_others()
    return found


def _read_env(table: Table) -> EnvSet:
    found = EnvSet(when=_read_when(table), values=table.text_map("values"))
    if "LD_LIBRARY_PATH" in found.values:
        message = "never set in an image: it makes every program load these libraries; ld.so.cache finds them"
        table.table("values").fault("LD_LIBRARY_PATH", message)
    table.text("why", "")
    table.refuse_others()
    return found


def _read_edit(table: Table) -> tuple[When, FileEdit]:
    edit = FileEdit(
        path=_image_path(table, "path"),
        owner=table.text("owner"),
        sha256_before=_sha256(table, "sha256-before"),
        replace=table.text("replace"),
        text=table.text("with"),
        sha256_after=_sha256(table, "sha256-after"),
        why=table.text("why"),
    )
    when = _read_when(table)
    table.refuse_others()
    return when, edit


def _read_drop(table: Table) -> tuple[When, DropRule]:
    drop = DropRule(
        rule=table.text("rule"),
        paths=_image_paths(table, "paths", None),
        keep=_image_paths(table, "keep", ()),
        owners=table.texts("owners", ()),
        why=table.text("why"),
    )
    when = _read_when(table)
    table.refuse_others()
    return when, drop


def _read_strip(table: Table) -> tuple[When, StripRule]:
    strip = StripRule(
        rule=table.text("rule"),
        owners=table.texts("owners"),
        keep=_image_paths(table, "keep", ()),
        why=table.text("why"),
    )
    when = _read_when(table)
    table.refuse_others()
    return when, strip


def _read_budget_section(table: Table) -> tuple[When, Budget]:
    found = _read_when(table), read_budget(table)
    table.refuse_others()
    return found


def _read_expected_section(table: Table) -> tuple[When, ExpectedFinding]:
    found = _read_when(table), read_expected(table)
    table.refuse_others()
    return found


def _read_share(table: Table) -> tuple[When, ShareRule]:
    share = ShareRule(
        rule=table.text("rule"),
        paths=_image_paths(table, "paths", None),
        keep=_image_paths(table, "keep", ()),
        owners=table.texts("owners", ()),
        with_paths=_image_paths(table, "with", ()),
        why=table.text("why"),
    )
    when = _read_when(table)
    table.refuse_others()
    return when, share


def _read_link(table: Table) -> tuple[When, Link]:
    link = Link(path=_image_path(table, "path"), target=table.text("target"))
    table.text("why")
    when = _read_when(table)
    table.refuse_others()
    return when, link


def _read_user(table: Table) -> User:
    user = User(
        name=table.text("name"),
        uid=table.number("uid"),
        gid=table.number("gid"),
        home=_absolute(table, "home"),
        shell=_absolute(table, "shell"),
    )
    table.refuse_others()
    return user


def _read_files(top: Table) -> Mapping[str, str]:
    files = top.text_map("files")
    for path in files:
        _check_image_path(top.table("files"), path, path)
    return files


def _read_layer_budget(top: Table) -> int:
    budget = top.number("layer-budget")
    if top.has("layer-budget", int) and not 1 <= budget <= LAYER_LIMIT:
        top.fault("layer-budget", f"{budget} is not between 1 and {LAYER_LIMIT}")
    return budget


def _read_tiers(top: Table, key: str) -> tuple[str, ...] | None:
    return _closed(top, key, TIERS) if key in top else None


def _image_path(table: Table, key: str) -> str:
    path = table.text(key)
    _check_image_path(table, key, path)
    return path


def _image_paths(table: Table, key: str, default: tuple[str, ...] | None) -> tuple[str, ...]:
    paths = table.texts(key, default)
    for index, path in enumerate(paths):
        _check_image_path(table, key, path, index)
    return paths


def _check_image_path(table: Table, key: str, path: str, index: int | None = None) -> None:
    if path.startswith("/"):
        table.fault(key, f"{quote(path)} starts with a slash; paths of the tree are written without", index)
    elif ".." in PurePosixPath(path).parts:
        table.fault(key, f"{quote(path)} leaves the image", index)


def _absolute(table: Table, key: str) -> str:
    path = table.text(key)
    if path and not path.startswith("/"):
        table.fault(key, f"{quote(path)} is not absolute")
    return path


def _sha256(table: Table, key: str) -> str:
    text = table.text(key)
    if text and (len(text) != 64 or set(text) - set("0123456789abcdef")):
        table.fault(key, f"{quote(text)} is not a sha256: 64 small hexadecimal digits")
    return text


def _circle(name: str, files: Mapping[str, RecipeFile]) -> str:
    """What is wrong with the chain of `extends` from `name`, or ""."""
    seen = [name]
    while (parent := files[seen[-1]].extends) in files:
        if parent in seen:
            return f"images/{name}/image.toml: extends: {' extends '.join([*seen, parent])}: a circle"
        seen.append(parent)
    return ""
