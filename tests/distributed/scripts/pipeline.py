"""A pipeline with GPipe, one stage to a rank, held against the model in one piece."""

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe


def layers(count):
    torch.manual_seed(0)
    return [nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(count)]


def tokenwise_loss(output, target):
    return nn.functional.mse_loss(output, target)


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(5)
    x, y = torch.randn(16, 16), torch.randn(16, 16)
    for kind in (ScheduleGPipe, Schedule1F1B):
        mine = layers(size)[rank]
        stage = PipelineStage(mine, rank, size, torch.device("cpu"))
        schedule = kind(stage, n_microbatches=4, loss_fn=tokenwise_loss)
        optimizer = torch.optim.SGD(mine.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            losses = []
            if rank == 0:
                schedule.step(x)
            elif rank == size - 1:
                output = schedule.step(target=y, losses=losses)
                mean = torch.stack(losses).mean().item()
                print(
                    f"{kind.__name__} step {step} {tuple(output.shape)} {len(losses)} loss {mean:.6f}"
                )
            else:
                schedule.step()
            optimizer.step()
        print(f"[{rank}] {kind.__name__} {sum(p.sum() for p in mine.parameters()).item():.5f}")
    if rank == 0:
        whole = nn.Sequential(*layers(size))
        optimizer = torch.optim.SGD(whole.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            loss = tokenwise_loss(whole(x), y)
            loss.backward()
            optimizer.step()
        print(f"whole {loss.item():.6f} {sum(p.sum() for p in whole[0].parameters()).item():.5f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
