"""What makes the server at home in others' programs; each module works without the rest."""
