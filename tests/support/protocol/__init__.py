"""The commit protocol as a model that is searched: `world` is the server, `steps` a run, `search` all interleavings."""
