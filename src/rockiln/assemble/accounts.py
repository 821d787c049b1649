"""base-passwd's masters, effects and the recipe's users → passwd, group, shadow, gshadow, shells, and homes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rockiln.assemble.tree import Tree, make_directory, make_file
from rockiln.errors import AssembleError
from rockiln.manifest import Entry
from rockiln.recipe import User

PASSWORD_DAY = 3652
"""Day on which passwords were last changed: 1980-01-01, the date of every file. (0 would ask for a new password.)"""

FIRST_SYSTEM_ID = 100
SHADOW_GROUP = 42
SHELLS = "usr/share/debianutils/shells"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The lines of passwd and group, split at the colons."""

    users: tuple[tuple[str, ...], ...]
    groups: tuple[tuple[str, ...], ...]

    @property
    def group_ids(self) -> dict[str, int]:
        return {group[0]: int(group[2]) for group in self.groups}


def read_accounts(tree: Tree) -> Accounts:
    """What base-passwd makes; nobody where it is not installed."""
    texts = [tree.read(f"usr/share/base-passwd/{name}.master") or b"" for name in ("passwd", "group")]
    users, groups = (tuple(tuple(line.split(":")) for line in text.decode().splitlines() if line) for text in texts)
    return Accounts(users=users, groups=groups)


def add_system_groups(accounts: Accounts, names: Iterable[str]) -> Accounts:
    """Groups that package scripts ask adduser for: the first free ids, in the order of their names."""
    groups = list(accounts.groups)
    for name in sorted(set(names) - accounts.group_ids.keys()):
        used = {int(group[2]) for group in groups}
        free = next(number for number in range(FIRST_SYSTEM_ID, 1000) if number not in used)
        groups.append((name, "!", str(free), ""))
    return Accounts(users=accounts.users, groups=tuple(groups))


def add_users(accounts: Accounts, users: Sequence[User]) -> Accounts:
    """The recipe's accounts, each with a group of its own name where its gid has none; no passwords."""
    rows, groups = list(accounts.users), list(accounts.groups)
    for user in users:
        taken = next((row for row in rows if row[0] == user.name or int(row[2]) == user.uid), None)
        if taken:
            hint = "choose another name and uid in the recipe's [[user]]"
            clash = f"the image has {taken[0]} ({taken[2]}) already"
            raise AssembleError(f"user {user.name} ({user.uid}): {clash}", hint=hint)
        rows.append((user.name, "!", str(user.uid), str(user.gid), "", f"/{user.home.strip('/')}", user.shell))
        if all(int(group[2]) != user.gid for group in groups):
            groups.append((user.name, "!", str(user.gid), ""))
    return Accounts(users=tuple(rows), groups=tuple(groups))


def write_accounts(tree: Tree, accounts: Accounts, *, has_shadow: bool) -> Tree:
    """passwd and group; with shadow passwords, shadow and gshadow too, as `shadowconfig on` leaves them."""
    if not accounts.users and not accounts.groups:
        return tree
    users = [[row[0], "x" if has_shadow else "*", *row[2:]] for row in accounts.users]
    groups = [[row[0], "x" if has_shadow else "*", *row[2:]] for row in accounts.groups]
    entries = [_lines(tree, "etc/passwd", users, 0o644, 0), _lines(tree, "etc/group", groups, 0o644, 0)]
    if has_shadow:
        shadow = [[row[0], row[1], str(PASSWORD_DAY), "0", "99999", "7", "", "", ""] for row in accounts.users]
        gshadow = [[row[0], row[1], "", row[3]] for row in accounts.groups]
        entries.append(_lines(tree, "etc/shadow", shadow, 0o640, SHADOW_GROUP))
        entries.append(_lines(tree, "etc/gshadow", gshadow, 0o640, SHADOW_GROUP))
    return tree.adding(entries)


def _lines(tree: Tree, path: str, rows: Iterable[Iterable[str]], mode: int, gid: int) -> Entry:
    text = "".join(":".join(row) + "\n" for row in rows)
    return make_file(tree.contents, path, text.encode(), "rockiln", mode, 0, gid)


def make_homes(tree: Tree, users: Sequence[User]) -> Tree:
    """A home for each of the recipe's users, with what is in /etc/skel; `/` and homes that exist are left alone."""
    entries: list[Entry] = []
    for user in users:
        home = user.home.strip("/")
        if not home or home in tree.entries:
            continue
        entries.append(make_directory(home, "rockiln", 0o755, user.uid, user.gid))
        for path in tree.below("etc/skel"):
            copied = tree.entries[path]._replace(uid=user.uid, gid=user.gid, owner="rockiln")
            entries.append(copied._replace(path=home + path.removeprefix("etc/skel")))
    return tree.adding(entries)


def write_shells(tree: Tree) -> Tree:
    """/etc/shells and the state of update-shells: what packages list, by the name of the list."""
    template = tree.require(SHELLS, "debianutils makes /etc/shells of it").decode()
    lists = [SHELLS, *(path for path in tree.below(f"{SHELLS}.d") if tree.entries[path].kind == "file")]
    packaged: list[str] = []
    for path in lists:
        for line in (tree.read(path) or b"").decode().splitlines():
            shell = line.partition("#")[0]
            folder, _, name = shell.rpartition("/")
            packaged += [shell, f"/{tree.resolve(folder)}/{name}"] if shell else []
    shells = list(dict.fromkeys(packaged))
    known = {line.partition("#")[0] for line in template.splitlines()}
    text = template + "".join(f"{shell}\n" for shell in shells if shell not in known)
    state = "".join(f"{shell}\n" for shell in shells)
    return tree.adding([
        make_file(tree.contents, "etc/shells", text.encode(), "rockiln"),
        make_file(tree.contents, "var/lib/shells.state", state.encode(), "rockiln"),
    ])

