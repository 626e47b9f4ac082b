import pytest

from cudanalyst.errors import BadRequest
from cudanalyst.tools.devices import device_ids, load_device
from cudanalyst.tools.toolchain.arch import parse_arch
from cudanalyst.tools.toolchain.occupancy import SM_LIMITS


@pytest.mark.parametrize("device_id", device_ids())
def test_limits_agree_with_those_of_the_architecture(device_id):
    device = load_device(device_id)
    limits = SM_LIMITS[parse_arch(device.arch).number]
    assert device.id == device_id
    assert device.capability[0] * 10 + device.capability[1] == parse_arch(device.arch).number
    assert (device.warps_per_sm, device.blocks_per_sm) == (limits.warps, limits.blocks)
    assert (device.shared_bytes_per_sm, device.shared_bytes_per_block) == (
        limits.shared_bytes,
        limits.shared_bytes_per_block,
    )
    assert device.l2_gb_per_s > device.dram_gb_per_s


@pytest.mark.parametrize(
    ("device_id", "fp32", "fp64"),
    [("h200", 66.9, 33.5), ("a100", 19.5, 9.7), ("rtx4090", 82.6, 1.29), ("t4", 8.1, 0.254)],
)
def test_peaks_are_those_of_the_data_sheets(device_id, fp32, fp64):
    assert load_device(device_id).tflops("fp32") == pytest.approx(fp32, rel=0.01)
    assert load_device(device_id).tflops("fp64") == pytest.approx(fp64, rel=0.01)


def test_an_unknown_device_gets_the_list():
    with pytest.raises(BadRequest, match="a100, h200, rtx4090, t4"):
        load_device("../../secret")
