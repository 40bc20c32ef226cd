"""The logger `structmargin` of the profiles, where Snakemake looks for it: under a package of this name."""

# No `from __future__ import annotations`: Snakemake takes the type of an option from its annotation.
from dataclasses import dataclass, field

from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from structmargin_suite.terminal.handler import LogHandler

__all__ = ["LogHandler", "LogHandlerSettings"]


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Options of the plugin on Snakemake's command line: --logger-structmargin-full."""

    full: bool = field(
        default=False, metadata={"help": "Show all that Snakemake says on the terminal, not only in its log."}
    )
