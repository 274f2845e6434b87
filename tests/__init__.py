"""Tests. Windows are small here: with this some are on either side of what counts as large, and some cross it."""

import stairs.directory

stairs.directory.LEAST = 128
