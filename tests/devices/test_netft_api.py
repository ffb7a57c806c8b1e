"""netftapi2.xml: units, round trips, and documents that must be refused."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.netft import api
from devices.netft.rdt import Malformed

DOCUMENT = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<netft><prodname>Net F/T</prodname><setuserfilter>3</setuserfilter><setbias>1;2;3;-4;5;6</setbias>
<cfgcalsn>FT1234</cfgcalsn><cfgcpf>1000000</cfgcpf><cfgcpt>1000</cfgcpt><scfgfu>N</scfgfu><scfgtu>N-mm</scfgtu>
<comrdtrate>7000</comrdtrate></netft>"""


def test_newton_millimetres_become_newton_metres() -> None:
    calibration = api.parse_api(DOCUMENT)
    assert calibration.counts_per_newton == 1e6
    assert calibration.counts_per_newton_metre == 1e6
    np.testing.assert_allclose(calibration.scale * 1e6, np.ones(6))
    assert (calibration.serial, calibration.rdt_rate_hz, calibration.user_filter) == ("FT1234", 7000.0, "3")
    assert calibration.bias_counts == (1, 2, 3, -4, 5, 6)
    assert calibration.product == "netbox"


@pytest.mark.parametrize(
    ("force", "torque", "newton", "newton_metre"),
    [
        ("N", "Nm", 1, 1),
        ("N", "N-m", 1, 1),
        ("kN", "kN-m", 1e3, 1e3),
        ("lbf", "lbf-in", 4.4482216, 0.11298483),
        ("klbf", "lbf-ft", 4448.2216, 1.3558179),
        ("kgf", "kgf-cm", 9.80665, 0.0980665),
        ("n", "Nmm", 1, 1e-3),
    ],
)
def test_units(force: str, torque: str, newton: float, newton_metre: float) -> None:
    scale = api.SensorCalibration(1.0, 1.0, force, torque).scale
    np.testing.assert_allclose(scale, [newton] * 3 + [newton_metre] * 3, rtol=1e-7)


names = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), max_size=30)


calibrations = st.builds(
    api.SensorCalibration,
    counts_per_force=st.floats(1e-3, 1e12),
    counts_per_torque=st.floats(1e-3, 1e12),
    force_unit=st.sampled_from(["N", "lbf"]),
    torque_unit=st.sampled_from(["Nm", "N-mm", "lbf-in"]),
    product_name=names,
    serial=names,
    rdt_rate_hz=st.none() | st.floats(0.1, 1e5),
    bias_counts=st.just(()) | st.tuples(*[st.floats(-1e9, 1e9)] * 6),
)


@settings(deadline=None)
@given(calibrations)
def test_documents_and_json_survive_the_round_trip(calibration: api.SensorCalibration) -> None:
    assert api.parse_api(api.render_api(calibration)) == calibration
    assert api.SensorCalibration.from_json(json.loads(json.dumps(calibration.as_json()))) == calibration


def test_axia_is_found_by_its_name() -> None:
    assert api.parse_api(DOCUMENT.replace(b"Net F/T", b"Ethernet Axia80")).product == "axia"


def test_elements_are_found_at_any_depth_and_in_a_namespace() -> None:
    nested = DOCUMENT.replace(b"<netft>", b'<netft xmlns="urn:x"><a><b>').replace(b"</netft>", b"</b></a></netft>")
    assert api.parse_api(nested) == api.parse_api(DOCUMENT)


BILLION = b"""<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><netft><cfgcpf>&b;</cfgcpf></netft>"""
EXTERNAL = b"""<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><netft><cfgcpf>&a;</cfgcpf></netft>"""


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (b"", "not XML"),
        (b"<html><body>404</body>", "not XML"),
        (b"\x00\x01\x02", "not XML"),
        (b'<?xml version="1.0" encoding="no-such"?><netft/>', "not XML"),
        (BILLION, "document type"),
        (EXTERNAL, "document type"),
        (b"<netft>" + b" " * api.MAX_DOCUMENT + b"</netft>", "at most"),
        (b"<netft/>", "no <cfgcpf>"),
        (b"<a>" * 30_000 + b"</a>" * 30_000, "no <cfgcpf>"),
        (DOCUMENT.replace(b"1000000", b"many"), "<cfgcpf> is 'many'"),
        (DOCUMENT.replace(b"1000000", b"0"), "counts_per_force is 0.0"),
        (DOCUMENT.replace(b"1000000", b"-5"), "counts_per_force is -5.0"),
        (DOCUMENT.replace(b"1000000", b"1e999"), "a number expected"),
        (DOCUMENT.replace(b"1000000", b"nan"), "a number expected"),
        (DOCUMENT.replace(b"7000", b"-1"), "rdt_rate_hz is -1.0"),
        (DOCUMENT.replace(b"N-mm", b"cubits"), "unknown torque unit 'cubits'"),
        (DOCUMENT.replace(b"N-mm", b""), "no <scfgtu>"),
    ],
)
def test_bad_documents_are_refused(document: bytes, says: str) -> None:
    with pytest.raises(Malformed, match=says):
        api.parse_api(document)


@settings(deadline=None)
@given(st.data())
def test_mutated_documents_are_read_or_malformed(data: st.DataObject) -> None:
    document = bytearray(DOCUMENT)
    for _ in range(data.draw(st.integers(1, 6))):
        document[data.draw(st.integers(0, len(document) - 1))] = data.draw(st.integers(0, 255))
    try:
        calibration = api.parse_api(bytes(document))
    except Malformed:
        return
    assert np.isfinite(calibration.scale).all()


def test_unreadable_bias_is_left_out() -> None:
    assert api.parse_api(DOCUMENT.replace(b"1;2;3;-4;5;6", b"1;2;x")).bias_counts == ()
