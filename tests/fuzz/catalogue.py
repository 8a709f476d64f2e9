"""All targets, with how many inputs of each make up a full run."""

from tests.fuzz import (
    archives,
    checkpoints,
    journals,
    notation_files,
    options,
    processes,
    run_folders,
    settings_files,
    texts,
)

TARGETS = (
    texts.Positions,
    texts.Placements,
    texts.Moves,
    texts.Specs,
    notation_files.Ogn,
    notation_files.OgnFiles,
    settings_files.Toml,
    settings_files.Sealed,
    settings_files.Logs,
    archives.GameFiles,
    archives.Tables,
    archives.Rows,
    checkpoints.Checkpoints,
    journals.Journals,
    run_folders.RunFolders,
    processes.Processes,
    options.TrainOptions,
    options.CompareOptions,
    options.TournamentOptions,
    options.PlayOptions,
    options.TablebaseOptions,
)

APART = (
    archives.Tables,
    processes.Processes,
)  # not in the process of the tests: they end or copy it
FOR_A_LOOK = {  # inputs in the fast tests, of those that take longer
    checkpoints.Checkpoints.name: 60,
    run_folders.RunFolders.name: 20,
    options.TrainOptions.name: 100,
    options.CompareOptions.name: 60,
    options.TournamentOptions.name: 100,
    options.PlayOptions.name: 100,
    options.TablebaseOptions.name: 100,
    archives.Tables.name: 100,
    archives.GameFiles.name: 150,
    settings_files.Toml.name: 150,
    settings_files.Logs.name: 100,
}
# In the fast tests; a copy of the process for every input takes too long there.
LOOKED_AT = tuple(target for target in TARGETS if target is not processes.Processes)
