# tier: multi-gpu
# timeout-s: 300
"""RCCL sums over all GPUs."""

from gpus import require_gpus

archs = require_gpus(2)

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())
count = strategy.num_replicas_in_sync
assert count >= len(archs), (count, archs)


@tf.function
def add_up() -> tf.Tensor:
    def one() -> tf.Tensor:
        context = tf.distribute.get_replica_context()
        mine = tf.cast(context.replica_id_in_sync_group + 1, tf.float32) * tf.ones(1024)
        return context.all_reduce(tf.distribute.ReduceOp.SUM, mine)

    return strategy.experimental_local_results(strategy.run(one))


for part in add_up():
    assert float(tf.reduce_min(part)) == float(tf.reduce_max(part)) == count * (count + 1) / 2
print(f"sum over {count} GPUs")
