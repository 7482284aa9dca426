"""The same models made int8 by others from the same samples, for int8_scores.py --peers. Each function gives one that runs a
sample; ImportError where what it needs is not installed."""
import numpy as np
import onnx
from onnx import version_converter


def prepare_for_onnxruntime(model, prepared):
    """What its quantiser wants of a model: shapes, batch normalisations joined with convolutions, and opset 13, the first in
    which Q/DQ have scales per channel."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    loaded = onnx.load(model)
    if loaded.opset_import[0].version < 13:
        loaded = version_converter.convert_version(loaded, 13)
    converted = prepared.with_suffix(".converted.onnx")
    onnx.save(loaded, converted)
    quant_pre_process(str(converted), str(prepared), skip_symbolic_shape=True)


def quantise_with_onnxruntime(model, samples, scratch):
    """Its static quantiser: Q/DQ, weights in int8 per channel, activations in uint8 between their extremes."""
    import onnxruntime
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        def __init__(self):
            self._left = iter(samples)

        def get_next(self):
            return next(self._left, None)

    onnxruntime.set_default_logger_severity(4)
    prepared, made = scratch / "prepared.onnx", scratch / "quantised.onnx"
    prepare_for_onnxruntime(model, prepared)
    quantize_static(str(prepared), str(made), Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                    calibrate_method=CalibrationMethod.MinMax)
    session = onnxruntime.InferenceSession(str(made), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(None, feeds)))


def quantise_with_openvino(model, samples, scratch):
    """NNCF's post-training quantisation, with the preset for encoders where the inputs are words; multiplied in int8 by
    OpenVINO, whose floats are fp32 here."""
    import nncf
    import openvino

    is_encoder = all(np.issubdtype(array.dtype, np.integer) for array in samples[0].values())
    quantised = nncf.quantize(openvino.Core().read_model(model), nncf.Dataset(samples), subset_size=len(samples),
                              model_type=nncf.ModelType.TRANSFORMER if is_encoder else None)
    compiled = openvino.Core().compile_model(quantised, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    names = [output.get_names() for output in compiled.outputs]

    def run(feeds):
        results = compiled(feeds)
        return {name: results[index] for index, known in enumerate(names) for name in known}

    return run


PEERS = {"ONNX Runtime": quantise_with_onnxruntime, "OpenVINO (NNCF)": quantise_with_openvino}
