"""Session files: recording, reading, replaying, importing and reporting."""
