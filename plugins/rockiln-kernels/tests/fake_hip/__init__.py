"""A HIP runtime without a GPU: fake_hip.cc checks each launch, gfxemu executes it in this process's memory."""
