# tier: cpu
# timeout-s: 180
"""A model is trained a little, saved, loaded, and answers the same; as SavedModel and in Keras' own format."""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

tf.config.set_visible_devices([], "GPU")
tf.keras.utils.set_random_seed(7)
points = np.random.default_rng(7).standard_normal((256, 4)).astype(np.float32)
answers = points.sum(axis=1, keepdims=True)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
losses = model.fit(points, answers, epochs=5, verbose=0).history["loss"]
assert losses[-1] < losses[0], losses
expected = model.predict(points, verbose=0)

with tempfile.TemporaryDirectory() as folder:
    model.export(str(Path(folder) / "served"))
    served = tf.saved_model.load(str(Path(folder) / "served"))
    np.testing.assert_allclose(served.serve(points).numpy(), expected, atol=1e-5)
    model.save(Path(folder) / "model.keras")
    loaded = tf.keras.models.load_model(Path(folder) / "model.keras")
    np.testing.assert_allclose(loaded.predict(points, verbose=0), expected, atol=1e-5)
print(f"loss {losses[0]:.3f} → {losses[-1]:.3f}")
