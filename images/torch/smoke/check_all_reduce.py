# tier: multi-gpu
# timeout-s: 300
"""RCCL sums over all GPUs, one process a GPU."""

from gpus import require_gpus


def add_up(rank: int, count: int) -> None:
    """One process of the group."""
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29511", rank=rank, world_size=count)
    part = torch.full((1024,), rank + 1.0, device="cuda")
    dist.all_reduce(part)
    assert torch.all(part == count * (count + 1) / 2), part
    dist.destroy_process_group()


if __name__ == "__main__":
    archs = require_gpus(2)
    import torch
    from torch.multiprocessing import spawn

    gpus = torch.cuda.device_count()
    assert gpus >= len(archs), (gpus, archs)
    spawn(add_up, args=(gpus,), nprocs=gpus)
    print(f"sum over {gpus} GPUs")
