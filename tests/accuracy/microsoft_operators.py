#!/usr/bin/env python3
"""Operators of the domain com.microsoft, one small model each: what an engine makes of it against ONNX Runtime.

    microsoft_operators.py BUILD [NAME ...]
"""
import sys

import numpy as np

from one_node import UNREAD, Fixed, f32, i32, normal, run_cases, u8, uniform

def attention_cases():
    """B 2, S 5, N 2, D 4, hidden 8, input 6."""
    f = np.float32
    x, w, bias = normal(2, 5, 6), normal(6, 24), normal(24)
    yield "Attention", [x, Fixed(w), Fixed(bias)], [f], {"num_heads": 2}
    yield "Attention", [x, Fixed(w), Fixed(bias)], [f], {"num_heads": 2, "unidirectional": 1, "scale": 0.3}
    yield "Attention", [x, w, bias, i32(5, 3)], [f], {"num_heads": 2}
    yield "Attention", [x, w, bias, i32(5, 4, 1, 0)], [f], {"num_heads": 2}
    yield "Attention", [x, w, bias, uniform(2, 5, high=2, dtype=np.int32)], [f], {"num_heads": 2}
    yield "Attention", [x, w, bias, uniform(2, 5, 5, high=2, dtype=np.int32)], [f], {"num_heads": 2}
    yield "Attention", [x, w, bias, None, None, normal(2, 2, 5, 5)], [f], {"num_heads": 2}
    past = normal(2, 2, 2, 3, 4)
    yield "Attention", [x, w, bias, None, past], [f, f], {"num_heads": 2}
    yield "Attention", [x, w, bias, None, past], [f, f], {"num_heads": 2, "unidirectional": 1}
    yield "Attention", [x, normal(6, 20), normal(20)], [f], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4]}

    q, k, v = normal(2, 5, 8), normal(2, 7, 8), normal(2, 7, 8)
    yield "MultiHeadAttention", [q, k, v], [f], {"num_heads": 2}
    yield "MultiHeadAttention", [q, k, v, Fixed(normal(24))], [f], {"num_heads": 2}
    yield "MultiHeadAttention", [q, k, v, None, i32(7, 4)], [f], {"num_heads": 2}
    yield "MultiHeadAttention", [q, k, v, None, uniform(2, 7, high=2, dtype=np.int32)], [f], {"num_heads": 2}
    yield "MultiHeadAttention", [q, k, v, None, None, normal(1, 2, 5, 7)], [f], {"num_heads": 2}
    # ONNX Runtime's CPU kernel does not take what is packed: it gets the parts.
    qkv, kv = normal(2, 5, 2, 3, 4), normal(2, 7, 2, 2, 4)
    yield ("MultiHeadAttention", [qkv], [f], {"num_heads": 2}, [qkv[:, :, :, i].reshape(2, 5, 8) for i in range(3)])
    yield ("MultiHeadAttention", [q, kv], [f], {"num_heads": 2},
           [q] + [kv[:, :, :, i].reshape(2, 7, 8) for i in range(2)])
    yield "MultiHeadAttention", [q, normal(2, 2, 7, 4), normal(2, 2, 7, 4)], [f], {"num_heads": 2}
    yield ("MultiHeadAttention", [q, q, q, None, None, None, normal(2, 2, 3, 4), normal(2, 2, 3, 4)], [f, f, f],
           {"num_heads": 2})
    yield ("MultiHeadAttention", [q, q, q, None, None, None, normal(2, 2, 3, 4), normal(2, 2, 3, 4)], [f, f, f],
           {"num_heads": 2, "unidirectional": 1})


def grouped_attention_cases():
    """S 3, heads 4 and 2 of size 16, 6 keys before. ONNX Runtime takes more than one query after the first call only in
    a batch of 1."""
    f = np.float32
    angles = normal(32, 8)
    caches = [Fixed(np.cos(angles)), Fixed(np.sin(angles))]
    heads = {"num_heads": 4, "kv_num_heads": 2}
    now = [normal(1, 3, 64), normal(1, 3, 32), normal(1, 3, 32)]
    past = [normal(1, 2, 6, 16), normal(1, 2, 6, 16)]
    total, keys = Fixed(i32(9)[0]), i32(8)
    yield "GroupQueryAttention", now + past + [keys, total], [f, f, f], heads
    yield "GroupQueryAttention", now + past + [keys, total], [f, f, f], {**heads, "softcap": 2.0, "scale": 0.5}
    yield "GroupQueryAttention", now + past + [keys, total], [f, f, f], {**heads, "local_window_size": 4}
    yield "GroupQueryAttention", now + past + [keys, total] + caches, [f, f, f], {**heads, "do_rotary": 1}
    yield ("GroupQueryAttention", now + past + [keys, total] + caches, [f, f, f],
           {**heads, "do_rotary": 1, "rotary_interleaved": 1})
    yield "GroupQueryAttention", [normal(1, 3, 128), None, None] + past + [keys, total], [f, f, f], heads
    one = [normal(2, 1, 64), normal(2, 1, 32), normal(2, 1, 32)]
    two = [normal(2, 2, 6, 16), normal(2, 2, 6, 16)]
    rest = [Fixed(i32(7)[0])] + caches
    yield "GroupQueryAttention", one + two + [i32(6, 6)] + rest, [f, f, f], {**heads, "do_rotary": 1}
    # What lies behind a shorter batch's keys is anything. Without these outputs ONNX Runtime forgets the past.
    yield ("GroupQueryAttention", one + two + [i32(6, 4)] + rest, [f, UNREAD, UNREAD], {**heads, "do_rotary": 1})
    first, nothing = [np.repeat(x, 2, 0) for x in now], [np.zeros((2, 2, 0, 16), f)] * 2
    yield "GroupQueryAttention", first + nothing + [i32(2, 2), Fixed(i32(3)[0])], [f, f, f], heads
    yield "GroupQueryAttention", first + [None, None, i32(2, 2), Fixed(i32(3)[0])], [f, f, f], heads


def rotary_cases():
    f = np.float32
    angles = normal(16, 4)
    caches = [Fixed(np.cos(angles)), Fixed(np.sin(angles))]
    positions = uniform(2, 5, high=16, dtype=np.int64)
    for interleaved in (0, 1):
        yield "RotaryEmbedding", [normal(2, 5, 24), positions] + caches, [f], {"interleaved": interleaved}
        yield "RotaryEmbedding", [normal(2, 3, 5, 8), positions] + caches, [f], {"interleaved": interleaved}
    yield "RotaryEmbedding", [normal(2, 5, 24), np.array([2], np.int64)] + caches, [f], {}
    yield ("RotaryEmbedding", [normal(2, 5, 36), positions] + caches, [f],
           {"num_heads": 3, "rotary_embedding_dim": 8})


def fused_cases():
    f = np.float32
    yield "GridSample", [normal(2, 3, 5, 4), normal(2, 3, 3, 2)], [f], {"padding_mode": "border"}
    yield "Trilu", [normal(2, 4, 5), Fixed(np.array(1))], [f], {"upper": 0}
    yield "FusedMatMul", [normal(3, 4, 5), normal(3, 5, 6)], [f], {"alpha": 0.5}
    yield "FusedMatMul", [normal(3, 5, 4), normal(3, 6, 5)], [f], {"transA": 1, "transB": 1}
    yield "FusedMatMul", [normal(4, 3, 5), normal(3, 5, 6)], [f], {"transBatchA": 1}
    yield "FusedMatMul", [normal(5, 2, 3, 4), normal(2, 3, 6, 5)], [f], {"transBatchA": 1, "transA": 1, "transB": 1}
    yield "TransposeMatMul", [normal(3, 5, 4), normal(3, 5, 6)], [f], {"transA": 1}
    conv = [normal(1, 3, 8, 8), Fixed(normal(4, 3, 3, 3)), Fixed(normal(4))]
    for activation, numbers in (("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.1]),
                                ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4])):
        attributes = {"activation": activation, "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        yield "FusedConv", conv, [f], attributes | ({"activation_params": numbers} if numbers else {})
    yield "FusedConv", conv + [normal(1, 4, 6, 6)], [f], {"activation": "Relu"}
    yield "FusedGemm", [normal(3, 4), normal(5, 4), normal(5)], [f], {"transB": 1, "activation": "Relu"}
    yield ("FusedGemm", [normal(3, 4), normal(4, 5), normal(5)], [f],
           {"activation": "LeakyRelu", "activation_alpha": 0.3})
    yield "BiasGelu", [normal(2, 3, 8), normal(8)], [f], {}
    yield "FastGelu", [normal(2, 3, 8), normal(8)], [f], {}
    yield "FastGelu", [normal(2, 3, 8)], [f], {}
    yield "Gelu", [normal(2, 3, 8)], [f], {}
    yield "QuickGelu", [normal(2, 3, 8)], [f], {}
    yield "QuickGelu", [normal(2, 3, 8)], [f], {"alpha": 1.0}


def normalisation_cases():
    f = np.float32
    x, skip, scale, shift, bias = normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8)
    yield "SkipLayerNormalization", [x, skip, Fixed(scale), Fixed(shift), Fixed(bias)], [f, None, None, f], {}
    yield "SkipLayerNormalization", [x, skip, Fixed(scale)], [f], {"epsilon": 0.1}
    yield "SkipLayerNormalization", [x, normal(3, 8), scale, shift], [f], {}
    yield "SkipSimplifiedLayerNormalization", [x, skip, Fixed(scale), bias], [f, None, None, f], {}
    yield "SimplifiedLayerNormalization", [x, scale], [f], {"axis": -1, "domain": ""}
    ids = [uniform(2, 5, high=9, dtype=np.int32), uniform(2, 5, high=2, dtype=np.int32)]
    tables = [Fixed(normal(9, 8)), Fixed(normal(6, 8)), Fixed(normal(2, 8)), Fixed(scale), Fixed(shift)]
    mask = uniform(2, 5, high=2, dtype=np.int32)
    yield "EmbedLayerNormalization", ids + tables + [mask], [f, np.int32], {}
    yield "EmbedLayerNormalization", ids + tables, [f, np.int32, f], {"mask_index_type": 0}
    yield ("EmbedLayerNormalization", [ids[0], None] + tables[:2] + [None] + tables[3:] +
           [mask, uniform(2, 5, high=6, dtype=np.int32)], [f, np.int32], {})


def quantised_cases():
    f, u = np.float32, np.uint8
    x, y = uniform(2, 3, 4), uniform(2, 3, 4)
    xq, yq, zq = [f32(0.02), u8(120)], [f32(0.03), u8(100)], [f32(0.05), u8(110)]
    for op in ("QLinearAdd", "QLinearMul"):
        yield op, [x] + xq + [y] + yq + zq, [u], {}
        yield op, [x] + xq + [uniform(4)] + yq + zq, [u], {}
        signed = [np.array(0, np.int8)]
        yield (op, [x.astype(np.int8), xq[0]] + signed + [y.astype(np.int8), yq[0]] + signed + [zq[0]] + signed,
               [np.int8], {})
    yield "QLinearConcat", zq + [x] + xq + [y] + yq, [u], {"axis": 1}
    sigmoid = [Fixed(f32(0.02)), Fixed(u8(120)), Fixed(f32(0.004)), Fixed(u8(3))]
    yield "QLinearSigmoid", [x] + sigmoid, [u], {}
    yield "QLinearLeakyRelu", [x] + sigmoid[:2] + [Fixed(zq[0]), Fixed(zq[1])], [u], {"alpha": 0.1}
    image = uniform(1, 3, 6, 6)
    for last in (0, 1):
        given = image.transpose(0, 2, 3, 1).copy() if last else image
        yield "QLinearGlobalAveragePool", [given] + xq + yq, [u], {"channels_last": last}
        yield ("QLinearAveragePool", [given] + xq + yq, [u],
               {"channels_last": last, "kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})
    for axis in (1, -1):
        yield "QLinearSoftmax", [x] + xq + [f32(0.004), u8(0)], [u], {"axis": axis, "opset": 13}
    condition = uniform(2, 3, 4, high=2).astype(bool)
    yield "QLinearWhere", [condition, x] + xq + [y] + yq + zq, [u], {}

    a, b, scales = uniform(3, 4), uniform(4, 5), (np.abs(normal(5)) * 0.01 + 0.01).astype(f)
    gemm = [a, f32(0.02), u8(120), Fixed(b), Fixed(f32(0.03)), Fixed(u8(100))]
    c = Fixed(uniform(5, high=100, dtype=np.int32))
    yield "QGemm", gemm + [c], [f], {"alpha": 2.0}
    yield "QGemm", gemm + [c, f32(0.5), u8(128)], [u], {}
    yield ("QGemm", [a, f32(0.02), u8(120), Fixed(b.T.copy()), Fixed(scales), Fixed(uniform(5, high=8))] + [c], [f],
           {"transB": 1})
    yield "MatMulIntegerToFloat", [a, Fixed(b), f32(0.02), f32(0.03), u8(120), u8(100), normal(5)], [f], {}
    yield "MatMulIntegerToFloat", [a, Fixed(b), f32(0.02), Fixed(scales), u8(120), Fixed(uniform(5))], [f], {}
    yield "DynamicQuantizeMatMul", [normal(3, 4), Fixed(b), f32(0.03), u8(100), normal(5)], [f], {}
    yield "DynamicQuantizeMatMul", [normal(2, 3, 4), Fixed(b), Fixed(scales)], [f], {}
    for bits, block, k in ((4, 16, 40), (4, 32, 64), (8, 16, 40), (2, 16, 64)):
        blocks = -(-k // block)
        weights = Fixed(uniform(6, blocks, block * bits // 8))
        factors = Fixed(normal(6, blocks))
        attributes = {"K": k, "N": 6, "block_size": block, "bits": bits, "accuracy_level": 1}
        zeros = Fixed(uniform(6, (blocks * bits + 7) // 8))
        yield "MatMulNBits", [normal(2, 3, k), weights, factors], [f], attributes
        yield "MatMulNBits", [normal(2, 3, k), weights, factors, zeros], [f], attributes
        yield "MatMulNBits", [normal(2, 3, k), weights.array, factors.array, zeros.array], [f], attributes
    yield "MatMulNBits", [normal(3, k), weights, factors, zeros, None, Fixed(normal(6))], [f], attributes
    for rows, directions in ((1, "forward"), (16, "bidirectional")):  # of scales: one a direction, or one a row
        count = 2 if directions == "bidirectional" else 1
        scale = lambda: Fixed((np.abs(normal(*((count,) if rows == 1 else (count, rows)))) * 0.01 + 0.01).astype(f))
        zero = Fixed(np.full((count,) if rows == 1 else (count, rows), 120, u))
        yield ("DynamicQuantizeLSTM", [normal(5, 3, 6), Fixed(uniform(count, 6, 16)), Fixed(uniform(count, 4, 16)),
                                       Fixed(normal(count, 32)), None, normal(count, 3, 4), normal(count, 3, 4), None,
                                       scale(), zero, scale(), zero], [f, f, f],
               {"hidden_size": 4, "direction": directions})
    attention = [uniform(2, 5, 6), Fixed(uniform(6, 24)), Fixed(normal(24)), f32(0.02), Fixed(f32(0.01))]
    yield "QAttention", attention + [i32(5, 3), u8(120), Fixed(u8(127))], [f], {"num_heads": 2}
    yield ("QAttention", attention + [None, u8(120), Fixed(u8(127)), normal(2, 2, 2, 3, 4)], [f, f],
           {"num_heads": 2, "unidirectional": 1})
    yield "QuantizeLinear", [normal(3, 4), f32(0.001), np.array(300, np.uint16)], [np.uint16], {}
    yield "DequantizeLinear", [uniform(3, 4, dtype=np.int16), f32(0.01), np.array(3, np.int16)], [f], {}


def dynamic_cases():
    f = np.float32
    x, w, bias = normal(2, 5, 6), Fixed(normal(6, 24)), Fixed(normal(24))
    hidden, other, masks = ("b", "s", None), ("b", "l", None), uniform(2, 5, high=2, dtype=np.int32)
    heads = {"num_heads": 2}
    yield "Attention", [x, w, bias, masks], [f], heads | {"symbols": ((0, hidden), (3, ("b", "s")))}
    yield "Attention", [x, w, bias, i32(5, 3)], [f], heads | {"symbols": ((0, hidden), (3, ("b",)))}
    yield ("Attention", [x, w, bias, None, normal(2, 2, 2, 3, 4)], [f, f],
           heads | {"unidirectional": 1, "symbols": ((0, hidden), (4, (None, "b", None, "p", None)))})
    past, cache = normal(2, 2, 3, 4), ("b", None, "p", None)
    q, k = normal(2, 5, 8), normal(2, 7, 8)
    yield "MultiHeadAttention", [q, k, k], [f], heads | {"symbols": ((0, hidden), (1, other), (2, other))}
    yield ("MultiHeadAttention", [q, q, q, None, None, None, past, past], [f, f, f],
           heads | {"symbols": ((0, hidden), (1, hidden), (2, hidden), (6, cache), (7, cache))})
    yield ("GroupQueryAttention", [normal(2, 1, 64), normal(2, 1, 32), normal(2, 1, 32), normal(2, 2, 6, 16),
                                   normal(2, 2, 6, 16), i32(6, 6), Fixed(i32(7)[0])], [f, f, f],
           {"num_heads": 4, "kv_num_heads": 2, "symbols": ((5, ("b",)),) + tuple((i, ("b", None, None, None)[:3 + i // 3]) for i in range(5))})
    caches = [Fixed(normal(16, 4)), Fixed(normal(16, 4))]
    yield ("RotaryEmbedding", [normal(2, 5, 24), uniform(2, 5, high=16, dtype=np.int64)] + caches, [f],
           {"symbols": ((0, hidden), (1, ("b", "s")))})
    norm = [Fixed(normal(8)), Fixed(normal(8))]
    yield ("SkipLayerNormalization", [normal(2, 3, 8), normal(2, 3, 8)] + norm, [f],
           {"symbols": ((0, hidden), (1, hidden))})
    ids, tables = uniform(2, 5, high=9, dtype=np.int32), [Fixed(normal(9, 8)), Fixed(normal(16, 8)), None]
    yield ("EmbedLayerNormalization", [ids, None] + tables + norm + [masks], [f, np.int32],
           {"symbols": ((0, ("b", "s")), (7, ("b", "s")))})
    yield ("MatMulNBits", [normal(2, 3, 40), Fixed(uniform(6, 3, 8)), Fixed(normal(6, 3))], [f],
           {"K": 40, "N": 6, "block_size": 16, "symbols": ((0, hidden),)})
    yield ("DynamicQuantizeMatMul", [normal(2, 3, 4), Fixed(uniform(4, 5)), Fixed(f32(0.03))], [f],
           {"symbols": ((0, hidden),)})
    yield ("QAttention", [uniform(2, 5, 6), Fixed(uniform(6, 24)), bias, f32(0.02), Fixed(f32(0.01)), i32(5, 3),
                          u8(120), Fixed(u8(127))], [f], heads | {"symbols": ((0, hidden), (5, ("b",)))})


FAMILIES = (fused_cases, normalisation_cases, attention_cases, grouped_attention_cases, rotary_cases, quantised_cases,
            dynamic_cases)

if __name__ == "__main__":
    # ONNX Runtime rounds this one's input and state to eight bits on the way.
    tolerances = {"DynamicQuantizeLSTM": 0.02}
    sys.exit(run_cases("com.microsoft", FAMILIES, sys.argv[1], sys.argv[2:], tolerances))
