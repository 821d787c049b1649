# tier: cpu
# timeout-s: 120
"""TensorFlow is the record's version, and is built for ROCm exactly where the image is."""

import tensorflow as tf
from record import read_record, require_from_venv

record = read_record()
require_from_venv(tf)
assert tf.__version__ == record["version"], (tf.__version__, record["version"])
assert tf.test.is_built_with_rocm() == bool(record["rocm"]), tf.sysconfig.get_build_info()
assert not tf.test.is_built_with_cuda() or record["rocm"], tf.sysconfig.get_build_info()
print(tf.__version__, dict(tf.sysconfig.get_build_info()))
