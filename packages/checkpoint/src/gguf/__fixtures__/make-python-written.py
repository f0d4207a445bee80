"""Writes python-written.gguf with the writer of the `gguf` package: a file that Hearth's own writer had no part in.

    pip install gguf==0.17.1 numpy
    python make-python-written.py
"""
import pathlib

import gguf
import numpy as np
from gguf.constants import GGMLQuantizationType as Type

writer = gguf.GGUFWriter(pathlib.Path(__file__).parent / "python-written.gguf", "llama")
writer.add_name("écrit by Python")
writer.add_uint64("test.u64", 2**63 + 1)
writer.add_int64("test.i64", -(2**53) - 1)
writer.add_float64("test.f64", 0.1)
writer.add_bool("test.bool", True)
writer.add_array("test.strings", ["a", "", "雪"])
writer.add_array("test.ints", [1, -2, 3])
writer.add_array("test.floats", [0.5, -1.5])
counting = np.arange(96, dtype=np.float32).reshape(3, 32)
writer.add_tensor("f32", counting)
writer.add_tensor("f16", counting[:1].astype(np.float16))
for kind in (Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.BF16):
    writer.add_tensor(kind.name.lower(), gguf.quantize(counting, kind), raw_dtype=kind)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
