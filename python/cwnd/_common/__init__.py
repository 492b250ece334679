"""Used by every part: errors of one line, files that appear complete or not at all, checked arguments."""
