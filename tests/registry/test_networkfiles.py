"""What files of TensorFlow Lite and Keras state about their tensors."""

import base64
import io
import json
import zipfile
import zlib
from contextlib import suppress

import pytest

from registry.weightsfiles.facts import Unreadable
from tests.registry.weightsfacts import read
from workers.testing.tflite_encoding import (
    FULLY_CONNECTED,
    Draft,
    EncodedOperator,
    StoredTensor,
    encode,
)

#: ``model.weights.h5`` as Keras 3.15 wrote it, of a trained layer of 2 inputs and 3 outputs.
_KERAS_WEIGHTS = (
    "c-rk+v2PMl7=P~$(hJd)CMF1J_0*73ZPQAqVQ6BFMH!4G*rAIlL{Ld6C50MvX-C`~7&><7(6NI9i)}|ohbB5QIym"
    "qjR37&|xc8uNQfjMwzvbiOefQqocfWhz@7}wQ;e{tx9Ucc^&@^HrPGZIhz!nsJ-W~%>!4|>pDg1w0Z@Uivk3j!&+"
    ")^|YV$mlO_&622VKssnM1(_+BFrv>?*sc)5#!#)*K^FK<L{H~*IG88T1|aOu1h?fu{bUzs=!|-@Ygpa^55VuIhDT"
    "%<gb~(d>$*>Wxg4R^l97|&leXMhxx2tbcy5aga6HKSkCkGlo(e6|MRqX{<<p0g~5Mo|G(}ZuUqo<T_N*u{dRJ#mX"
    "%C=HOYK8rS&76jofHLo>;*x4mET4^zq^|O5gw~j^Xu2=2bqmmWihgUy=Ay01KyAtK)E<$#}x-^Y+}Egm8VuVSGjr"
    "2m}IwKp+qZ1OkCLZ=AMHF0apYTPN4Xh-tL}F=&w28FjE#w-}eoWH<6F^;Pn^pGanMNzz<T3igS=S&!j=8nwn>=Pl"
    "$f^0&!fzHYrgD#r1Bp2oWK8OJr&$(06w%eOhN4OGA<UXh<+j~FNOeemj7`~9+I$X|?@=K<U=Ls**!`14lQWxg5c?"
    "|vC=j2F2fj#B`CTgQ9U3B3Nx`RaAQj9I>4rgYF7@;u#5Zv=g)H*lV5)f>9^eD%g@b#iN>U7hUkzIRVNZ^U5pm-DG"
    "IF2?cio$gC@bG}b?vfvf_-2wk-9Pg2pIw|L?*E(r4)kzhOr=|c3U(Qj5Hfkx4ZRe{sMzP2d{U&@vq7#=!T$|8tuZ"
    "_>z6~*XK0|u(JdRJs5N8v*AU5@S^l%p#Tk2V8`!QrvPt(V7hKM#I<;qQN(&y|VJ{qXrVGKm}(>zd3r<Ni}hC0?DC"
    "U$H6vq=+b9;@q^?tn#;Y-D>_XKWbL2`K_Auc=}>AYasAvnssj$H7oMBRkN1-e^;|k&WQakfuHx|J+h)%<$U$3Syh"
    "u}wYAj{a=f$t+o_R;X6URHc4wQto3ZncXsYJ^1m|ukU`?M^A0S^l>r<Iqz3NfEWh!%Q`%>q_@%_%+Z+JX7MF"
)


def keras_weights() -> bytes:
    return zlib.decompress(base64.b85decode(_KERAS_WEIGHTS))


def keras_model(weights: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("config.json", json.dumps({"class_name": "Functional"}))
        archive.writestr("model.weights.h5", weights)
    return stream.getvalue()


def tflite(weight_bytes: int = 6) -> bytes:
    draft = Draft()
    source = draft.add(StoredTensor("x", (1, 3), "int8", scale=0.1))
    weight = draft.add(StoredTensor("w", (2, 3), "int8", bytes(weight_bytes), scale=0.5))
    bias = draft.add(StoredTensor("b", (2,), "int32", bytes(8)))
    result = draft.add(StoredTensor("y", (1, 2), "int8", scale=0.1))
    draft.steps.append(EncodedOperator(FULLY_CONNECTED, (source, weight, bias), result))
    return encode(draft, source, result, 4)


@pytest.mark.parametrize("path", ["model.keras", "model.h5"])
def test_weights_of_keras_are_counted_without_those_of_the_optimizer(path: str) -> None:
    weights = keras_weights()

    facts = read(path, keras_model(weights) if path.endswith(".keras") else weights)

    assert [(one.name, one.dtype, one.shape) for one in facts.listed] == [
        ("layers/dense/vars/0", "float32", (2, 3)),
        ("layers/dense/vars/1", "float32", (3,)),
    ]
    assert ("optimizer", "2 tensors, not counted") in facts.metadata


def test_weights_of_keras_that_are_not_read_leave_the_other_facts() -> None:
    facts = read("model.keras", keras_model(b"no such file"))

    assert facts.tensors is None
    assert ("class", "Functional") in facts.metadata
    assert "does not begin" in dict(facts.metadata)["weights are not read"]


def test_a_tensorflow_lite_file_states_what_is_stored_and_how_it_is_quantised() -> None:
    facts = read("model.tflite", tflite())

    assert [(one.name, one.dtype, one.shape, one.size_bytes) for one in facts.listed] == [
        ("w", "int8", (2, 3), 6),
        ("b", "int32", (2,), 8),
    ]
    assert ("quantised", "1 of 2 tensors, 0 of them by channel") in facts.metadata
    assert facts.findings == ()
    assert facts.types == (("int8", 0.75), ("int32", 0.25))


def test_a_tensor_with_other_bytes_than_its_shape_needs_is_a_finding() -> None:
    assert "6 values of int8, but 5 bytes" in read("model.tflite", tflite(5)).findings[0]


@pytest.mark.parametrize("path", ["model.tflite", "model.h5"])
def test_damaged_files_are_refused_or_read_but_never_raise_anything_else(path: str) -> None:
    whole = tflite() if path.endswith("tflite") else keras_weights()
    for place in range(0, len(whole), max(1, len(whole) // 250)):
        for damaged in (whole[:place], whole[:place] + b"\xff" * 8 + whole[place + 8 :]):
            with suppress(Unreadable):
                read(path, damaged)
