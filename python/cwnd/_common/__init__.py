"""What every part needs: errors of one line, files that appear complete or not at all, checked arguments."""
