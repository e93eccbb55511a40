"""Columns of Arrow."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

x = np.arange(10.0)
a = pa.array(x)
a.sum()
a.to_numpy()[:3]
pa.table({"a": x, "b": x > 3}).to_pandas().shape
pa.array(np.array(["a", "b"]))
pa.array(x, mask=x > 5).null_count
pa.Tensor.from_numpy(x.reshape(2, 5)).shape
pa.py_buffer(x).size
pc.add(a, 1)[3]
pa.array([x, x]).type
pa.scalar(x[2])
pa.chunked_array([x, x]).length()
pa.FixedSizeListArray.from_arrays(x, 2)[1]
pa.array(np.array(["2020-01-01"], "M8[D]"))
pa.SparseCOOTensor.from_dense_numpy(x.reshape(2, 5)).non_zero_length
pa.compute.take(a, np.array([1, 2]))
pa.RecordBatch.from_arrays([pa.array(x)], ["q"]).num_rows
pa.serialize if 0 else 1
