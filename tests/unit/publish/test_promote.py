"""Tags move last, only forward, and to an index that says what was tested; the second time nothing moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from pushed_layout import HASTY, make_layout, push
from registry_server import RegistryServer
from rockiln.attest.envelope import STATEMENT_TYPE, open_envelope, seal
from rockiln.attest.statement import make_statement
from rockiln.errors import PromotionError, RegistryError
from rockiln.publish.attested import PREDICATE_NOTE, attach_result, find_attested
from rockiln.publish.gate import Verdict
from rockiln.publish.layout import Layout, make_index
from rockiln.publish.promote import Promotion, describe_promotion, promote_images, read_published
from rockiln.publish.results import PREDICATE_TYPE, make_predicate
from rockiln.publish.tags import Tags
from rockiln.publish_policy import MovingTag
from rockiln.registry.artifacts import Artifact, attach_artifact
from rockiln.registry.client import RegistryClient, open_repository
from rockiln.registry.reference import parse_reference
from rockiln.sign.keys import generate_key
from rockiln.smoke import CheckResult, Passed, SmokeReport

LATEST = MovingTag(tag="latest", rows="*", meaning="the newest")
TAGS = Tags(row="cpu-jax1.0", date="20261130", moving=(LATEST,))
VERDICT = Verdict(tested=("cpu",), untested={}, failed={}, has_unsigned=False)
Promote = Callable[..., Promotion]


@pytest.fixture(params=[False, True], ids=["tag schema", "referrers"])
def server(request: pytest.FixtureRequest) -> Iterator[RegistryServer]:
    with RegistryServer(has_referrers=request.param) as server:
        yield server


@pytest.fixture
def repository(server: RegistryServer) -> Iterator[RegistryClient]:
    with open_repository(parse_reference(f"{server.host}/a/jax"), {}, patience=HASTY) as repository:
        yield repository


@pytest.fixture
def layout(server: RegistryServer, tmp_path: Path) -> Layout:
    layout = make_layout(tmp_path / "image")
    push(layout, f"{server.host}/a/jax", {})
    return layout


def promote(repository: RegistryClient, layout: Layout, **changes: object) -> Promotion:
    settings = {"verdict": VERDICT, "tags": TAGS, **changes}
    return promote_images(repository, read_published(repository, layout.digest), **settings)  # type: ignore[arg-type]


def read_annotations(server: RegistryServer, promotion: Promotion) -> Mapping[str, str]:
    content, _ = server.repo("a/jax").manifests[promotion.reference.partition("@")[2]]
    annotations: Mapping[str, str] = json.loads(content)["annotations"]
    return annotations


def test_all_tags_name_the_index_over_the_image(
    server: RegistryServer, repository: RegistryClient, layout: Layout
) -> None:
    promotion = promote(repository, layout)
    digest = promotion.reference.partition("@")[2]
    assert server.repo("a/jax").tags == dict.fromkeys(("cpu-jax1.0-20261130", "cpu-jax1.0", "latest"), digest)
    index = json.loads(server.repo("a/jax").manifests[digest][0])
    assert [entry["digest"] for entry in index["manifests"]] == [layout.digest]
    assert index["manifests"][0]["platform"] == {"architecture": "amd64", "os": "linux"}


def test_index_says_what_is_untested(server: RegistryServer, repository: RegistryClient, layout: Layout) -> None:
    untested = {"gpu on gfx942": "no AMD GPU", "gpu on gfx950": "no AMD GPU"}
    verdict = Verdict(tested=("cpu",), untested=untested, failed={}, has_unsigned=True)
    promotion = promote(repository, layout, verdict=verdict)
    said = read_annotations(server, promotion)
    assert said["dev.rockiln.tested"] == "cpu"
    assert said["dev.rockiln.untested"] == "gpu on gfx942, gpu on gfx950"
    assert said["dev.rockiln.tested.unsigned"] == "true"
    assert said["dev.rockiln.target"] == "tiny"
    assert "untested: gpu on gfx942: no AMD GPU" in describe_promotion(promotion)


def test_second_promotion_moves_nothing_even_on_another_day(
    server: RegistryServer, repository: RegistryClient, layout: Layout
) -> None:
    promote(repository, layout)
    server.asked.clear()
    again = promote(repository, layout, tags=Tags(row="cpu-jax1.0", date="20270101", moving=(LATEST,)))
    assert not [asked for asked in server.asked if asked.method not in {"GET", "HEAD"}]
    assert "no tag moves: cpu-jax1.0, latest named this image already" in describe_promotion(again)


def test_newer_build_moves_the_rows_tag_and_leaves_the_dated_one(
    server: RegistryServer, repository: RegistryClient, layout: Layout, tmp_path: Path
) -> None:
    first = promote(repository, layout)
    newer = make_layout(tmp_path / "newer", seed="newer")
    push(newer, f"{server.host}/a/jax", {})
    second = promote(repository, newer)
    tags = server.repo("a/jax").tags
    assert tags["cpu-jax1.0-20261130"] == first.reference.partition("@")[2]
    assert tags["cpu-jax1.0-20261130.1"] == tags["cpu-jax1.0"] == second.reference.partition("@")[2]
    assert "cpu-jax1.0: moved from sha256:" in describe_promotion(second)


def test_run_that_was_cut_after_the_dated_tag_is_completed(
    server: RegistryServer, repository: RegistryClient, layout: Layout
) -> None:
    promotion = promote(repository, layout)
    digest = promotion.reference.partition("@")[2]
    server.repo("a/jax").tags = {"cpu-jax1.0-20261130": digest}
    promote(repository, layout)
    assert set(server.repo("a/jax").tags) == {"cpu-jax1.0-20261130", "cpu-jax1.0", "latest"}


def test_dry_run_moves_nothing(server: RegistryServer, repository: RegistryClient, layout: Layout) -> None:
    promotion = promote(repository, layout, is_dry=True)
    assert server.repo("a/jax").tags == {}
    assert len(server.repo("a/jax").manifests) == 1
    assert "would be new" in describe_promotion(promotion)


def test_image_without_a_layer_gets_no_tag(server: RegistryServer, repository: RegistryClient, layout: Layout) -> None:
    del server.repo("a/jax").blobs[layout.blobs[0].digest]
    with pytest.raises(RegistryError, match="1 blobs of the image are missing"):
        promote(repository, layout)
    assert server.repo("a/jax").tags == {}


def test_dated_tag_that_somebody_took_meanwhile_is_not_moved(
    server: RegistryServer, repository: RegistryClient, layout: Layout
) -> None:
    def take(handler: object) -> bool:
        if getattr(handler, "command", "") == "PUT" and "/manifests/sha256:" in getattr(handler, "path", ""):
            server.repo("a/jax").tags["cpu-jax1.0-20261130"] = layout.digest
        return False

    server.before = take
    with pytest.raises(PromotionError, match="a dated tag never moves"):
        promote(repository, layout)
    assert server.repo("a/jax").tags == {"cpu-jax1.0-20261130": layout.digest}


def test_index_of_two_platforms_is_promoted_whole(
    server: RegistryServer, repository: RegistryClient, layout: Layout, tmp_path: Path
) -> None:
    other = make_layout(tmp_path / "arm", seed="arm")
    push(other, f"{server.host}/a/jax", {})
    platforms = [{"os": "linux", "architecture": name} for name in ("amd64", "arm64")]
    pushed = make_index([(layout.images[0].manifest, platforms[0]), (other.images[0].manifest, platforms[1])])
    repository.push_manifest(pushed)
    promotion = promote_images(repository, read_published(repository, pushed.digest), VERDICT, TAGS)
    content, _ = server.repo("a/jax").manifests[promotion.reference.partition("@")[2]]
    assert {entry["digest"] for entry in json.loads(content)["manifests"]} == {layout.digest, other.digest}


def make_result() -> dict[str, object]:
    check = CheckResult(name="imports", tier="cpu", outcome=Passed(log=""), duration_s=1)
    report = SmokeReport(
        target_id="tiny", image_digest="", reference="", engine="fake", required_tiers=(), checks=(check,)
    )  # fmt: skip
    return make_predicate(report, (), (), 0)


def test_signed_result_is_found_with_its_key_only(repository: RegistryClient, layout: Layout) -> None:
    key, other = generate_key(), generate_key()
    attach_result(repository, layout.digest, make_result(), lambda statement: seal(statement, key))
    with_key = find_attested(
        repository, layout.digest, lambda content, name: open_envelope(content, key.public, name), allow_unsigned=False
    )
    assert [(item.tier, item.status, item.is_signed) for item in with_key.results] == [("cpu", "passed", True)]
    with_other = find_attested(
        repository, layout.digest, lambda content, name: open_envelope(content, other.public, name),
        allow_unsigned=True,
    )  # fmt: skip
    assert with_other.results == ()
    assert "the signature does not fit" in with_other.refused[0]
    without = find_attested(repository, layout.digest, None, allow_unsigned=True)
    assert "no key was given" in without.refused[0]


def test_unsigned_result_counts_where_that_is_said(repository: RegistryClient, layout: Layout) -> None:
    attach_result(repository, layout.digest, make_result(), None)
    assert find_attested(repository, layout.digest, None, allow_unsigned=True).results
    refused = find_attested(repository, layout.digest, None, allow_unsigned=False)
    assert (refused.results, len(refused.refused)) == ((), 1)
    assert "--allow-unsigned" in refused.refused[0]


def test_result_of_another_digest_counts_nothing(repository: RegistryClient, layout: Layout) -> None:
    """Somebody attaches to this image what was said about another one."""
    statement = make_statement("x", "sha256:" + "ab" * 32, PREDICATE_TYPE, make_result())
    artifact = Artifact(
        artifact_type=STATEMENT_TYPE, media_type=STATEMENT_TYPE, content=statement,
        annotations={PREDICATE_NOTE: PREDICATE_TYPE},
    )  # fmt: skip
    attach_artifact(repository, artifact, layout.digest)
    found = find_attested(repository, layout.digest, None, allow_unsigned=True)
    assert found.results == ()
    assert "about something else" in found.refused[0]
