"""A source is looked for at mirrors first, then at its own url, then where this host's own tools look."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from planning import make_matrix

from rockiln.errors import ResolveError
from rockiln.matrix import Source
from rockiln.resolve.host_apt import find_archives, host_transport
from rockiln.resolve.host_index import find_index
from rockiln.resolve.hosts import hide_password, source_urls

DEBIAN = Source(name="debian-12", kind="debian-archive", distribution="debian", suites=("bookworm",), keyring="k.gpg")
AMD = Source(name="rocm-debs", kind="debian-archive", url="https://amd.invalid/apt/", suites=("noble",))
INDEX = Source(name="wheels", kind="wheel-index")


@pytest.fixture
def apt_path(tmp_path: Path) -> Path:
    (tmp_path / "apt" / "sources.list.d").mkdir(parents=True)
    return tmp_path / "apt"


def test_mirrors_come_first_variable_before_file(tmp_path: Path) -> None:
    matrix = make_matrix(tmp_path, (AMD,), mirrors={"rocm-debs": ("https://file.invalid/apt",)})
    environ = {"ROCKILN_MIRROR_ROCM_DEBS": "https://one.invalid/apt https://two.invalid/apt/"}
    assert source_urls(AMD, matrix, environ) == (
        "https://one.invalid/apt",
        "https://two.invalid/apt",
        "https://file.invalid/apt",
        "https://amd.invalid/apt",
    )


def test_a_folder_may_stand_where_a_url_may(tmp_path: Path) -> None:
    environ = {"ROCKILN_MIRROR_ROCM_DEBS": "vendor/my+apt"}
    assert source_urls(AMD, make_matrix(tmp_path), environ)[0] == (tmp_path / "vendor" / "my+apt").as_uri()


def test_archive_is_found_in_deb822_sources(tmp_path: Path, apt_path: Path) -> None:
    (apt_path / "sources.list.d" / "debian.sources").write_text(
        "# comment\nTypes: deb deb-src\nURIs: http://mirror.invalid/debian/ http://mirror.invalid/debian-security\n"
        "Suites: bookworm\nComponents: main\n\n"
        "Types: deb\nEnabled: no\nURIs: http://off.invalid/debian\nSuites: bookworm\nComponents: main\n\n"
        "Types: deb-src\nURIs: http://src.invalid/debian\nSuites: bookworm\nComponents: main\n"
    )
    assert source_urls(DEBIAN, make_matrix(tmp_path), {}, apt_path) == ("http://mirror.invalid/debian",)


def test_archive_is_found_in_one_line_sources(apt_path: Path) -> None:
    (apt_path / "sources.list").write_text(
        "# deb http://comment.invalid/ubuntu noble main\n"
        "deb [arch=amd64 signed-by=/x y.gpg] http://a.invalid/ubuntu noble main # why\n"
        "deb-src http://src.invalid/ubuntu noble main\n"
        "deb\thttp://b.invalid/ubuntu/ noble-security main\n"
    )
    assert find_archives("ubuntu", apt_path) == ("http://a.invalid/ubuntu", "http://b.invalid/ubuntu")


def test_mirror_list_of_cloud_images_is_read(apt_path: Path) -> None:
    list_path = apt_path / "mirrors.list"
    list_path.write_text("# ours\nhttps://near.invalid/debian priority:1\nhttps://far.invalid/debian\n")
    (apt_path / "sources.list").write_text(f"deb mirror+file:{list_path} bookworm main\n")
    assert find_archives("debian", apt_path) == ("https://near.invalid/debian", "https://far.invalid/debian")


def test_unknown_archive_is_an_error_that_names_the_setting(tmp_path: Path, apt_path: Path) -> None:
    with pytest.raises(ResolveError, match="apt knows no archive called 'debian'") as error:
        source_urls(DEBIAN, make_matrix(tmp_path), {}, apt_path)
    assert "ROCKILN_MIRROR_DEBIAN_12=URL" in error.value.hint


def test_unreadable_apt_configuration_is_no_crash(apt_path: Path) -> None:
    (apt_path / "sources.list.d" / "bad.sources").write_bytes(b"\xff\xfe Types: deb\n:::\n")
    assert find_archives("debian", apt_path) == ()


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"])
def test_index_from_variable(name: str) -> None:
    assert find_index({name: "https://index.invalid/simple"}) == "https://index.invalid/simple"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("uv/uv.toml", '[[index]]\nurl = "no:"\n[[index]]\nurl = "https://yes.invalid"\ndefault = true\n'),
        ("uv/uv.toml", 'index-url = "https://yes.invalid"\n'),
        ("uv/uv.toml", '[pip]\nindex-url = "https://yes.invalid"\n'),
        ("pip/pip.conf", "[global]\nindex-url = https://yes.invalid\nextra-index-url = https://no.invalid\n"),
    ],
)
def test_index_from_the_users_files(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "none"), "HOME": str(tmp_path)}
    assert source_urls(INDEX, make_matrix(tmp_path), environ) == ("https://yes.invalid",)


def test_uv_goes_before_pip(tmp_path: Path) -> None:
    (tmp_path / "uv.toml").write_text('index-url = "https://uv.invalid"\n')
    environ = {"UV_CONFIG_FILE": str(tmp_path / "uv.toml"), "PIP_INDEX_URL": ""}
    assert find_index(environ) == "https://uv.invalid"


def test_extra_indexes_are_never_asked(tmp_path: Path) -> None:
    environ = {
        "XDG_CONFIG_HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path), "HOME": str(tmp_path),
        "UV_EXTRA_INDEX_URL": "https://no.invalid", "PIP_EXTRA_INDEX_URL": "https://no.invalid",
    }  # fmt: skip
    assert "no.invalid" not in find_index(environ)


def test_damaged_settings_are_passed_over(tmp_path: Path) -> None:
    for name in ("uv/uv.toml", "pip/pip.conf"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("= [")
    environ = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path), "HOME": str(tmp_path)}
    assert find_index(environ).startswith("https://")


@pytest.mark.skipif(shutil.which("apt-config") is None, reason="no apt here")
def test_host_proxy_is_kept_and_its_other_settings_are_not(tmp_path: Path) -> None:
    conf_path = tmp_path / "apt.conf"
    conf_path.write_text(
        'Acquire::http::Proxy "http://proxy.invalid:3128";\nAcquire::https::CaInfo "/etc/ca.pem";\n'
        'Acquire::http::Timeout "999";\nAcquire::Check-Valid-Until "false";\n'
        'Acquire::AllowInsecureRepositories "true";\n'
    )
    lines = host_transport({"PATH": "/usr/bin:/bin", "APT_CONFIG": str(conf_path)}).splitlines()
    assert 'Acquire::http::Proxy "http://proxy.invalid:3128";' in lines
    assert 'Acquire::https::CaInfo "/etc/ca.pem";' in lines
    assert not [line for line in lines if "Timeout" in line or "Valid" in line or "Insecure" in line]


def test_host_without_apt_has_no_transport_settings() -> None:
    assert host_transport({"PATH": "/nonexistent"}) == ""


def test_passwords_are_hidden() -> None:
    assert hide_password("https://me:secret@host.invalid:81/x?y=1") == "https://host.invalid:81/x?y=1"
