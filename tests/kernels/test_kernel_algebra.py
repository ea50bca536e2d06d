"""Kernels made from kernels are kernels, and say of themselves what they are."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from maxmargin import kernels
from maxmargin.errors import ModelFileError, ParameterError
from maxmargin.features import Monomials, Quadratic
from maxmargin.kernels import (
    EditDistance,
    FeatureMap,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    as_kernel,
    exp,
    from_function,
    from_record,
    mercer_check,
)


def length(x):
    return float(np.linalg.norm(x))


NAMED = [Linear(), Polynomial(2, 0.5, 1), Gaussian(0.1), Laplacian(0.3), Sigmoid(0.5, -1)]
SAVED = [
    *NAMED,
    EditDistance(0.5),
    Precomputed(),
    0.5 * Gaussian(gamma=0.1) + Linear(),
    Linear() + (Gaussian() + Laplacian()),
    (Linear() + Gaussian()) * Laplacian(),
    Linear() * (Gaussian() * Laplacian()),
    Linear() * Gaussian() * Laplacian(),
    2 * (3 * Linear()),
    2 * (Linear() * Gaussian()),
    2 * Linear() * Gaussian(),
    Linear() * (2 * Gaussian()),
    2 * (Linear() + Gaussian()),
    1 + Linear() + (Gaussian() + 2),
    (Linear() + 1) ** 2,
    (Linear() ** 2) ** 3,
    2 * Linear() ** 2,
    (2 * Linear()) ** 2,
    Polynomial(2) ** 2,
    exp(Linear() + 1) * 3,
    exp(exp(0.1 * Linear())) + (Linear() + 0.1),
    EditDistance() * EditDistance(2) + 1,
]
CODE = [
    FeatureMap(Quadratic()) + Linear(),
    FeatureMap(Monomials(2, 0.5)),
    from_function(length) * Gaussian(),
    2 * as_kernel(length) + EditDistance(),
]
MADE_OF_KERNELS = {
    "sum": lambda k, other: k + other,
    "product": lambda k, other: k * other,
    "positive multiple": lambda k, other: 0.3 * k,
    "shift": lambda k, other: k + 2.5,
    "power": lambda k, other: k**3,
    "exponential": lambda k, other: exp(k),
}
PROVEN = [Linear(), Polynomial(2, 0.5, 1), Gaussian(0.7), Laplacian(0.3), from_function(length)]
points = arrays(np.float64, st.tuples(st.integers(2, 8), st.just(3)), elements=st.floats(-1, 1, width=32))


@pytest.mark.parametrize("rule", MADE_OF_KERNELS)
@settings(deadline=None, max_examples=30)
@given(X=points, k=st.sampled_from(PROVEN), other=st.sampled_from(PROVEN))
def test_what_the_rules_make_of_kernels_is_positive_semidefinite(rule, X, k, other):
    kernel = MADE_OF_KERNELS[rule](k, other)
    assert kernel.positive_semidefinite is True
    assert mercer_check(kernel, X)


@pytest.mark.parametrize("kernel", SAVED + CODE, ids=repr)
def test_repr_evaluates_to_an_equal_kernel(kernel):
    names = vars(kernels) | {"Quadratic": Quadratic, "Monomials": Monomials, "length": length}
    same = eval(repr(kernel), {}, names)
    assert same == kernel
    assert hash(same) == hash(kernel)
    assert repr(same) == repr(kernel)


@pytest.mark.parametrize("kernel", SAVED + CODE, ids=repr)
def test_copies_and_pickles_are_equal(kernel):
    assert copy.deepcopy(kernel) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize("kernel", SAVED, ids=repr)
def test_a_record_gives_the_kernel_back(kernel):
    assert from_record(json.loads(json.dumps(kernel.to_record()))) == kernel


@pytest.mark.parametrize("kernel", CODE, ids=repr)
def test_code_is_never_written_to_a_record(kernel):
    with pytest.raises(ModelFileError, match="code is never written to a model file"):
        kernel.to_record()


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"kind": "Python"},
        {"kind": ["Linear"]},
        {"kind": "Linear", "gamma": 1},
        {"kind": "Gaussian", "gamma": -1},
        {"kind": "Sum", "left": {"kind": "Linear"}, "right": 3},
        {"kind": "Scaled", "factor": 1.0, "kernel": {"kind": "FeatureMap", "phi": "os.system"}},
    ],
    ids=str,
)
def test_a_record_of_no_kernel_is_refused(record):
    with pytest.raises(ModelFileError):
        from_record(record)


def test_a_record_is_plain():
    assert Gaussian(sigma=1).to_record() == {"kind": "Gaussian", "gamma": 0.5}
    assert (2 * Linear()).to_record() == {"kind": "Scaled", "factor": 2.0, "kernel": {"kind": "Linear"}}


@pytest.mark.parametrize(
    ("kernel", "mathematics"),
    [
        (0.5 * Gaussian(gamma=0.1) + Linear(), "0.5 exp(-0.1 |x - z|^2) + <x, z>"),
        (Polynomial(), "<x, z>^3"),
        (Polynomial(2, 0.5, 1), "(0.5 <x, z> + 1)^2"),
        (Polynomial(2, 0.5, 1) ** 2, "((0.5 <x, z> + 1)^2)^2"),
        (Sigmoid(coef0=-1), "tanh(<x, z> - 1)"),
        (Laplacian(), "exp(-|x - z|_1)"),
        (EditDistance(2), "exp(-2 edit(x, z))"),
        (Precomputed(), "K[x, z]"),
        ((Linear() + 1) * Gaussian(), "(<x, z> + 1) exp(-|x - z|^2)"),
        (exp(2 * Linear()), "exp(2 <x, z>)"),
        (FeatureMap(Quadratic()), "<phi(x), phi(z)>"),
        (from_function(length) ** 2, "(length(x) length(z))^2"),
        (as_kernel(lambda x, z: 1.0), "k(x, z)"),
    ],
)
def test_str_is_the_mathematics(kernel, mathematics):
    assert str(kernel) == mathematics


def test_kernels_are_values():
    assert Gaussian(0.5) == Gaussian(sigma=1) != Gaussian(0.6)
    assert Gaussian(1) != Laplacian(1)
    assert Linear() + 1 == 1 + Linear()
    assert 2 * Linear() == Linear() * 2 == np.float64(2) * Linear() == np.int64(2) * Linear()
    assert len({Gaussian(0.5), Gaussian(sigma=1), Polynomial(3), Polynomial(3.0)}) == 2
    assert repr(Gaussian(np.float32(0.5))) == "Gaussian(gamma=0.5)"
    with pytest.raises(AttributeError):
        Gaussian().gamma = 2


@pytest.mark.parametrize("make", [lambda: -1 * Linear(), lambda: Linear() * -0.5, lambda: Linear() - Gaussian()])
def test_what_could_make_k_of_x_and_x_negative_is_refused(make):
    with pytest.raises(ParameterError, match="not a kernel"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Linear() + -1,
        lambda: Linear() - 1,
        lambda: Linear() * np.inf,
        lambda: Linear() ** 0,
        lambda: Linear() ** 0.5,
        lambda: Linear() ** True,
        lambda: exp(3),
    ],
)
def test_other_numbers_that_break_a_kernel_are_refused(make):
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize("make", [lambda: Linear() + "x", lambda: [1] * Linear(), lambda: Linear() * True])
def test_what_is_no_number_is_no_operand(make):
    with pytest.raises(TypeError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Precomputed() + 1,
        lambda: 2 * Precomputed(),
        lambda: Linear() * Precomputed(),
        lambda: exp(Precomputed()),
        lambda: Precomputed() ** 2,
    ],
)
def test_precomputed_takes_no_part_in_the_algebra(make):
    with pytest.raises(ParameterError, match="Combine the matrices instead"):
        make()


def test_a_composite_compares_what_all_its_parts_compare():
    assert (Linear() + Gaussian()).on == "vectors"
    assert (EditDistance() * 2).on == "strings"
    assert (from_function(len) + EditDistance()).on == "strings"
    assert (FeatureMap(length) * from_function(length)).on == "anything"
    with pytest.raises(ParameterError, match="a kernel on strings and a kernel on vectors cannot be combined"):
        Linear() + EditDistance()


def test_a_composite_is_a_kernel_as_far_as_its_parts_are_known_to_be():
    unknown = as_kernel(length)
    assert (Linear() + FeatureMap(length)).positive_semidefinite is True
    assert (Linear() + Sigmoid()).positive_semidefinite is False
    assert (Linear() * unknown).positive_semidefinite is None
    assert exp(unknown + Sigmoid()).positive_semidefinite is False
    assert Precomputed().positive_semidefinite is None


@pytest.mark.parametrize(
    ("kernel", "answer"),
    [
        (Polynomial(), True),
        (Polynomial(degree=0, coef0=2), True),
        (Polynomial(coef0=-1), False),
        (Polynomial(degree=2.5, coef0=1), False),
    ],
    ids=repr,
)
def test_a_polynomial_is_a_kernel_for_whole_degrees_and_non_negative_constants(kernel, answer):
    assert kernel.positive_semidefinite is answer


def test_kernels_of_different_kinds_add_up_on_strings():
    strings = ["a", "ab"]
    expected = EditDistance()(strings) + np.outer([1, 2], [1, 2])
    assert np.array_equal((EditDistance() + from_function(len))(strings), expected)
