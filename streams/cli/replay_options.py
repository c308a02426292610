"""Arguments and options of ``switchboard replay``."""

from __future__ import annotations

from typing import Annotated

import typer

Name = Annotated[
    str,
    typer.Argument(help="The generation: 1 to 20 lowercase letters, digits and dashes.", show_default=False),
]
With = Annotated[
    list[str] | None,
    typer.Option("--with", metavar="SWITCHBOARD_NAME=VALUE", help="A setting that differs from the live ones."),
]
Partitions = Annotated[
    int,
    typer.Option(
        "--partitions",
        min=0,
        help="Partitions of its topics, but for those that are read with messages and commands; 0: as live.",
    ),
]
MaxRate = Annotated[
    float, typer.Option("--max-rate", min=0.0, help="Most messages a second; 0: as many as it can.")
]
MaxCost = Annotated[
    float,
    typer.Option("--max-cost", min=0.0, help="Pause after so many US dollars for models; 0: any amount."),
]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Also if the log no longer holds everything from its beginning.")
]
UntilCaughtUp = Annotated[
    bool, typer.Option("--until-caught-up", help="End when everything is read, instead of following the log.")
]
WebhooksStay = Annotated[
    bool,
    typer.Option("--webhooks-stay", help="Also if webhooks are sent the changes of the live generation then."),
]
