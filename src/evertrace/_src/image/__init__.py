"""Images in other sizes."""
