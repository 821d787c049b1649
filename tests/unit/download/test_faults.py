"""One error says what every place answered about every file, briefly where many failed alike."""

from __future__ import annotations

from fault_server import make_artifact

from rockiln.download.faults import ArtifactFault, PlaceFault, make_error
from rockiln.download.transfer import FaultKind
from rockiln.errors import FetchError, GoneError, IntegrityError
from rockiln.places import Place

PLACE = Place(source="debian", base_url="http://user:pass@archive.test/debian", url="unused")
SNAPSHOT = Place(source="debian", base_url="http://snapshot.test/debian", url="unused")


def fault(number: int, *kinds: FaultKind, tries: int = 1, source: str = "debian") -> ArtifactFault:
    suffix = "whl" if source == "wheels" else "deb"
    places = zip((PLACE, SNAPSHOT), kinds, strict=False)
    return ArtifactFault(
        artifact=make_artifact(b"%d" % number, f"m{number}_1_all.{suffix}", source=source),
        places=tuple(PlaceFault(place=place, kind=kind, reason=kind.upper(), tries=tries) for place, kind in places),
    )


def test_files_that_failed_alike_stand_together_with_the_most_tries() -> None:
    error = make_error([fault(2, "unanswered", tries=0), fault(1, "unanswered", tries=3)], 9)
    assert error.message == (
        "2 of 9 files could not be fetched\n"
        "  m1_1_all.deb, m2_1_all.deb\n"
        "    source 'debian' at http://archive.test/debian: UNANSWERED (asked 3 times)"
    )


def test_kind_of_error_is_what_holds_for_all_files() -> None:
    assert type(make_error([fault(1, "gone", "gone"), fault(2, "gone")], 2)) is GoneError
    assert type(make_error([fault(1, "gone", "interrupted")], 1)) is FetchError
    assert type(make_error([fault(1, "gone"), fault(2, "refused")], 2)) is FetchError
    assert type(make_error([fault(1, "gone", "damaged")], 1)) is IntegrityError
    assert type(make_error([fault(1, "refused", "damaged")], 1)) is FetchError
    assert type(make_error([fault(1)], 1)) is FetchError


def test_integrity_error_of_one_file_carries_its_hash() -> None:
    one = fault(1, "damaged")
    error = make_error([one], 1)
    assert isinstance(error, IntegrityError)
    assert error.sha256 == one.artifact.sha256


def test_hint_has_one_entry_for_each_kind_of_trouble() -> None:
    faults = [fault(1, "gone"), fault(2, "gone", source="wheels"), fault(3, "refused"), fault(4, "unanswered")]
    faults += [fault(5, "refused", source="wheels"), fault(6, source="own")]
    own, stale, network = make_error(faults, 6).hint.split("; ")
    assert own == "build and lock it: rockiln lock"
    assert stale == "lock what the archive has now: rockiln lock --refresh debs --refresh wheels TARGET"
    assert network.startswith("check the network, or name a copy of debian: ")
    assert network.endswith(", and likewise wheels")
