"""The vocabulary: each name once, a str, and no typo goes unnoticed."""

from __future__ import annotations

import pickle

import pytest

from accelcaps import Feature, FeatureRegistrationError, UnknownFeatureError
from accelcaps import features as F
from accelcaps.feature import FeatureRegistry
from accelcaps.features import REGISTRY


def test_a_feature_is_its_name():
    """It hashes, compares and serialises as a string."""
    assert F.DTYPE_BF16 == "dtype.bf16"
    assert {"dtype.bf16": 1}[F.DTYPE_BF16] == 1
    assert hash("dtype.bf16") == hash(F.DTYPE_BF16)
    assert F.DTYPE_BF16.group == "dtype"
    assert isinstance(F.DTYPE_BF16, Feature)


def test_pickling_keeps_what_a_feature_says():
    again = pickle.loads(pickle.dumps(F.DTYPE_BF16))

    assert (again, again.meaning) == (F.DTYPE_BF16, F.DTYPE_BF16.meaning)


@pytest.mark.parametrize("feature", list(REGISTRY), ids=str)
def test_every_feature_says_what_a_yes_promises(feature):
    assert feature.title
    assert len(feature.meaning.split()) >= 2
    assert feature.since


def test_every_constant_is_named_after_its_feature():
    """One constant for each name, spelt alike."""
    constants = {k: v for k, v in vars(F).items() if isinstance(v, Feature)}

    assert {str(f) for f in REGISTRY} == set(constants.values())
    assert all(k == v.upper().replace(".", "_") for k, v in constants.items())


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("dtype.bf17", "dtype.bf16"), ("op.asyncio", "op.async_io"), ("DTYPE.BF16", "dtype.bf16"),
     ("bf16", "dtype.bf16"), ("zero.4", "zero.3")],
)  # fmt: skip
def test_a_typo_is_an_error_with_the_nearest_names(typo, meant):
    with pytest.raises(UnknownFeatureError) as error:
        F.get(typo)

    assert meant in error.value.nearest
    assert typo in str(error.value)
    assert meant in str(error.value)


@pytest.mark.parametrize(
    ("word", "feature"),
    [("zero1", F.ZERO_1), ("zero3", F.ZERO_3), ("sparse_attn", F.OP_SPARSE_ATTN)],
)
def test_the_words_of_the_discussion_still_work(word, feature):
    assert feature is F.get(word)


def test_any_distribution_has_a_feature():
    feature = F.get("pkg.mpi4py")

    assert feature == "pkg.mpi4py"
    assert "mpi4py" in feature.meaning


def test_a_vendor_registers_names_of_its_own():
    registry = FeatureRegistry()

    feature = registry.register("x.acme.warp", "warp", "warps work", by="acme-torch")

    assert feature is registry.get("x.acme.warp")


def test_registering_twice_says_who_did():
    registry = FeatureRegistry()
    registry.register("x.acme.warp", "warp", "warps work", by="acme-torch")

    with pytest.raises(FeatureRegistrationError, match=r"other.*acme-torch has registered it"):
        registry.register("x.acme.warp", "warp", "warps work", by="other")


@pytest.mark.parametrize("name", ["acme.warp", "x.acme", "x.Acme.warp", "dtype.bf16", "x.acme."])
def test_a_vendor_cannot_take_a_name_outside_its_own(name):
    with pytest.raises(FeatureRegistrationError, match=r"x\.<vendor>"):
        FeatureRegistry().register(name, "t", "m", by="acme-torch")


def test_a_group_that_does_not_exist_is_an_error():
    with pytest.raises(UnknownFeatureError):
        REGISTRY.in_group("dtypes.*")


@pytest.mark.parametrize("pattern", ["dtype", "dtype.*"])
def test_a_group_is_asked_by_name_or_pattern(pattern):
    assert {"dtype"} == {feature.group for feature in REGISTRY.in_group(pattern)}
